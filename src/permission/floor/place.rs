//! Places whose loss is the loss of a machine or of a home, by their names.

use std::borrow::Cow;

use super::super::compact::glob;

/// Directories that hold a system together, and the homes of its users.
const SYSTEM: &str = "/Applications /Library /System /Users /Volumes /bin /boot /dev /etc /home /lib /lib32 /lib64 \
                      /media /mnt /nix /nix/store /opt /private /private/etc /private/var /proc /root /run /sbin /snap \
                      /srv /sys /usr /usr/bin /usr/include /usr/lib /usr/lib64 /usr/local /usr/local/bin \
                      /usr/local/lib /usr/sbin /usr/share /var /var/db /var/lib /var/log";

/// How the names of disks begin, behind `/dev/`.
const DISKS: &str = "sd hd vd xvd nvme mmcblk disk rdisk dm- md mapper/ loop nbd sr block/";

/// What would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    System,
    Home,
}

/// What is lost with a place and all that is in it; `base` is the directory that the command went to before.
pub(super) fn loss(path: &str, base: Option<&str>) -> Option<Loss> {
    let path = &joined(path, base);
    let (root, rest) = split_home(path).unwrap_or(("", path));
    if root.is_empty() && !rest.starts_with('/') {
        return None;
    }
    // Who climbs out of a home may come back to it.
    if !root.is_empty() && climbs_out(rest) {
        return Some(Loss::Home);
    }
    let mut parts = parts(rest);
    // A pattern for everything at the end means the directory.
    while parts.last().is_some_and(|part| matches!(*part, "*" | ".*" | "**" | "?*" | ".[!.]*" | ".??*")) {
        parts.pop();
    }
    if !root.is_empty() {
        return parts.is_empty().then_some(Loss::Home);
    }
    let is_meant = |name: &str| {
        let pattern = format!("/{}", parts.join("/"));
        name.matches('/').count() == pattern.matches('/').count() && glob::matches(&pattern, name)
    };
    match parts.as_slice() {
        [] => Some(Loss::System),
        // A pattern for the first name reaches most of them.
        [first, ..] if is_pattern(first) => Some(Loss::System),
        ["home" | "Users", _] => Some(Loss::Home),
        [..] => SYSTEM.split(' ').any(is_meant).then_some(Loss::System),
    }
}

/// Whether to write to a path is to lose what is on a disk, or to tell the kernel to stop.
pub(super) fn is_fatal(path: &str, base: Option<&str>) -> bool {
    let path = joined(path, base);
    match parts(&path).as_slice() {
        _ if !path.starts_with('/') => false,
        ["proc", name] => glob::matches(name, "sysrq-trigger"),
        ["dev", names @ ..] => {
            let name = names.join("/");
            // Behind the first sign of a pattern may be anything.
            let head = name.split(['*', '?', '[']).next().unwrap_or_default();
            let may_be = |disk: &str| head.starts_with(disk) || head.len() < name.len() && disk.starts_with(head);
            DISKS.split(' ').any(may_be)
        }
        _ => false,
    }
}

/// A path, told from the directory that the command went to before.
pub(super) fn joined<'a>(path: &'a str, base: Option<&str>) -> Cow<'a, str> {
    let process_cwd = path.strip_prefix("/proc/").and_then(|path| path.split_once("/cwd"));
    match base {
        Some(base) if process_cwd.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with('/')) => {
            format!("{base}{}", process_cwd.unwrap_or_default().1).into()
        }
        Some(base) if !path.starts_with(['/', '~', '$']) => format!("{base}/{path}").into(),
        Some(_) | None => path.into(),
    }
}

/// A path that begins with a home, and what is behind it.
fn split_home(path: &str) -> Option<(&str, &str)> {
    let end = if let Some(braced) = path.strip_prefix("${HOME") {
        let close = braced.find('}')?;
        (!braced.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')).then_some("${HOME}".len() + close)?
    } else if path.starts_with("$HOME") {
        "$HOME".len()
    } else if path.starts_with('~') {
        path.find('/').unwrap_or(path.len())
    } else {
        return None;
    };
    let (root, rest) = path.split_at(end);
    (rest.is_empty() || rest.starts_with('/')).then_some((root, rest))
}

/// Whether a path leads above the directory that it begins in.
fn climbs_out(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').any(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}

/// The names in a path, without those that lead nowhere.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // It is a link to `/proc/self/fd`.
            ".." if parts == ["dev", "fd"] => parts = vec!["proc", "self"],
            ".." => drop(parts.pop()),
            // The root of a process is that of the machine.
            part if matches!(parts.as_slice(), ["proc", _] | ["proc", _, "task", _]) && glob::matches(part, "root") => {
                parts.clear();
            }
            part => parts.push(part),
        }
    }
    parts
}

fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}
