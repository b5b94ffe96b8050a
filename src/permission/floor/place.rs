//! Places whose loss is the loss of a machine or of a home, by their names.

use super::super::compact::glob;

/// Directories that hold a system together, and the homes of its users.
const SYSTEM: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/nix",
    "/nix/store",
    "/opt",
    "/private",
    "/private/etc",
    "/private/var",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/db",
    "/var/lib",
    "/var/log",
];

/// How the names of disks begin, behind `/dev/`.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "mapper/", "loop", "nbd", "sr", "block/",
];

/// What would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    System,
    Home,
}

/// What is lost with a place and all that is in it; `base` is the directory that the command went to before.
pub(super) fn loss(path: &str, base: Option<&str>) -> Option<Loss> {
    let joined;
    let path = match base {
        Some(base) if !path.starts_with(['/', '~', '$']) => {
            joined = format!("{base}/{path}");
            &joined
        }
        Some(_) | None => path,
    };
    let (root, rest) = split_home(path).unwrap_or(("", path));
    if root.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let parts = parts(rest);
    if !root.is_empty() {
        return parts.is_empty().then_some(Loss::Home);
    }
    let is_meant = |name: &&str| {
        let pattern = format!("/{}", parts.join("/"));
        name.matches('/').count() == pattern.matches('/').count() && glob::matches(&pattern, name)
    };
    match parts.as_slice() {
        [] => Some(Loss::System),
        // A pattern for the first name reaches most of them.
        [first, ..] if is_pattern(first) => Some(Loss::System),
        ["home" | "Users", _] => Some(Loss::Home),
        [..] => SYSTEM.iter().any(is_meant).then_some(Loss::System),
    }
}

/// Whether a path is a disk, to write on which is to lose what is on it.
pub(super) fn is_disk(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").map(|name| name.trim_start_matches('/'));
    name.is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
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

/// The names in a path that count: without those that lead nowhere, and without a pattern for everything at its end.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    while parts.last().is_some_and(|part| matches!(*part, "*" | ".*" | "**" | "?*" | ".[!.]*" | ".??*")) {
        parts.pop();
    }
    parts
}

fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}
