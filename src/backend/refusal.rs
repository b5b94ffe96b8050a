//! What the sandbox refused, read out of what a program said as it failed. Pure.
//!
//! Programs word errors in their own ways, but they name the error and the path on one line. A path that the sandbox
//! leaves open is none of its refusals.

use std::path::{Component, Path, PathBuf};

use crate::backend::failure::{Failure, FailureKind};
use crate::backend::{Access, Hosts, Limits};

/// The sandbox around a program.
#[derive(Debug, Clone, Copy)]
pub struct Sandbox<'a> {
    pub backend: &'a str,
    pub limits: &'a Limits,
    /// Whether the agent only reads, which restricts its network at any level.
    pub access: Access,
    pub worktree: &'a Path,
    pub home: &'a Path,
    /// What `[backends.NAME] paths` lists already.
    pub paths: &'a [String],
    /// The same for `sandbox.read`.
    pub read: &'a [String],
}

/// Directories below the home directory that hold the files of many programs.
const SHARED: &[&str] = &[".local/share", ".local/state", ".local/lib", ".local", ".cache", ".config"];

/// What holds keys, or runs in the user's own shells, which nobody is advised to open. An agent may have written the message.
const KEYS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".gitconfig",
    ".config/git",
    ".config/gh",
    ".config/gcloud",
    ".config/coppice",
    ".npmrc",
    ".pypirc",
    ".cargo",
    ".mozilla",
    ".local/bin",
    ".config/autostart",
    ".config/systemd",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
];

/// What programs say when the kernel refuses something, in lower case.
const DENIED: &[&str] = &[
    "eacces",
    "eperm",
    "erofs",
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "(os error 1)",
    "(os error 13)",
    "(os error 30)",
];

/// The same for a file that is there, but not in the namespace of the sandbox.
const HIDDEN: &[&str] = &["enoent", "no such file or directory", "(os error 2)"];

/// Words of calls that change something.
const WRITES: &[&str] = &["mkdir", "create", "write", "rename", "unlink", "symlink", "erofs", "read-only", "append"];

/// Words of calls that make a directory, and of those that make or open a file.
const MAKES_DIRECTORY: &[&str] = &["mkdir", "create directory", "create dir", "make directory", "creating directory"];
const OPENS_FILE: &[&str] = &["open", "cannot create", "touch", "create file", "creat ", "write file"];

/// Calls that the sandbox refuses as a whole: what programs say, what it means, and what a person may do instead of giving
/// up the sandbox.
const CALLS: &[(&[&str], &str, &str)] = &[
    (
        &["bwrap: no permissions", "bwrap: setting up uid map", "bwrap: creating new namespace"],
        "bubblewrap, which needs namespaces of its own",
        "switch the agent's own sandbox off in its settings",
    ),
    (
        &["docker.sock", "cannot connect to the docker daemon"],
        "the socket of Docker, which gives the rights of the administrator",
        "start containers outside of the session",
    ),
    (
        &["forkpty", "openpty failed", "posix_openpt", "/dev/ptmx", "out of pty devices"],
        "a terminal of its own",
        "switch interactive terminals off in the agent's settings",
    ),
];

/// What programs say that may not listen on a port of their own, which they may where the network is open.
const LISTENS: &[&str] = &["listen eacces", "listen eperm", "serveerror", "failed to start server", "failed to listen"];

/// What a failed program says about the sandbox as a failure of its own; `None` if the sandbox has nothing to do with it.
/// `exists` tells whether a path is there outside of the sandbox.
pub fn explain_refusal(said: &str, sandbox: Sandbox<'_>, exists: &dyn Fn(&Path) -> bool) -> Option<Failure> {
    said.lines().find_map(|line| refused_call(line, sandbox).or_else(|| refused_path(line, sandbox, exists)))
}

fn refused_call(line: &str, sandbox: Sandbox<'_>) -> Option<Failure> {
    let lower = line.to_lowercase();
    let is_restricted = sandbox.limits.hosts != Hosts::Any;
    let set_level = |level: &str| format!("set `level = \"{level}\"` below `[sandbox]` in config.toml");
    let (what, hint) = if is_restricted && LISTENS.iter().any(|word| lower.contains(word)) {
        let (who, level) = match sandbox.access {
            Access::Write => ("its network", "workspace"),
            Access::ReadOnly => ("the network of an agent that only reads", "off"),
        };
        ("a port to listen on", format!("{who} is restricted: {}, then run `coppice resume`", set_level(level)))
    } else {
        let (_, what, instead) = CALLS.iter().find(|(words, ..)| words.iter().any(|word| lower.contains(word)))?;
        (*what, format!("{instead}, or {}; then run `coppice resume`", set_level("off")))
    };
    let message = format!("the sandbox refuses the agent {what}: {}", line.trim());
    Some(Failure::new(FailureKind::Sandbox, message).with_hint(hint))
}

fn refused_path(line: &str, sandbox: Sandbox<'_>, exists: &dyn Fn(&Path) -> bool) -> Option<Failure> {
    let lower = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let (is_denied, is_hidden) = (says(DENIED), says(HIDDEN));
    let paths = paths_in(line);
    let is_within = |path: &Path, roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root));
    let is_writable = |path: &Path| path.starts_with(sandbox.worktree) || is_within(path, &sandbox.limits.write);
    let is_readable = |path: &Path| is_writable(path) || is_within(path, &sandbox.limits.read);
    // A shell names itself before the path that it could not write.
    let closed = paths.iter().find(|path| !is_readable(path));
    let closed = closed.or_else(|| paths.iter().find(|path| says(WRITES) && !is_writable(path)));
    let path = closed.filter(|path| is_denied || (is_hidden && exists(path)))?;
    let need = match () {
        () if !says(WRITES) && !is_readable(path) && exists(path) => Need::Read,
        () if exists(path) => Need::Write(Target::Present),
        () if says(MAKES_DIRECTORY) => Need::Write(Target::Directory),
        () if says(OPENS_FILE) => Need::Write(Target::File),
        () => Need::Write(Target::Unknown),
    };
    let verb = match need {
        Need::Read => "reading",
        Need::Write(_) => "writing",
    };
    let shown = shorten(path, sandbox.home);
    let message = format!("the sandbox keeps the agent from {verb} `{shown}`: {}", line.trim());
    Some(Failure::new(FailureKind::Sandbox, message).with_hint(hint(path, need, sandbox)))
}

/// What a program wanted with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Read,
    Write(Target),
}

/// What it wanted to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// It is there already.
    Present,
    Directory,
    File,
    /// Neither is there, and the words fit both.
    Unknown,
}

/// The line of the configuration that opens a path.
fn hint(path: &Path, need: Need, sandbox: Sandbox<'_>) -> String {
    let Sandbox { backend, home, .. } = sandbox;
    let below_home = path.strip_prefix(home).ok();
    let is_within = |keys: &&&str| below_home.is_some_and(|rest| rest.starts_with(keys));
    if KEYS.iter().any(|keys| is_within(&keys)) {
        return format!(
            "keys or programs of yours are there: pass the agent what it needs in a variable below `[backends.{backend}.env]`, \
             then run `coppice resume`"
        );
    }
    // Above the home, or where Coppice keeps its own files.
    let is_own = sandbox.limits.hidden.iter().any(|own| path.starts_with(own) || own.starts_with(path));
    if home.starts_with(path) && home != path || is_own || is_system(path) {
        return "this place stays closed to agents; an agent that needs it cannot work in the sandbox".to_owned();
    }
    let open = match below_home {
        Some(rest) if rest.as_os_str().is_empty() => {
            let own = home.join(".local/share").join(backend).display().to_string();
            return format!(
                "the home directory itself stays closed: give the agent another one by `env.HOME = \"{own}\"` and \
                 `paths = [{}]` below `[backends.{backend}]` in config.toml, then run `coppice resume`",
                add(sandbox.paths, &own)
            );
        }
        Some(rest) => home.join(own_part(rest, backend)),
        None => path.to_owned(),
    };
    let shown = shorten(&open, home);
    let add_line = |shown: &str| {
        let (table, key, present) = match need {
            Need::Write(_) => (format!("backends.{backend}"), "paths", sandbox.paths),
            Need::Read => ("sandbox".to_owned(), "read", sandbox.read),
        };
        format!("add `{key} = [{}]` below `[{table}]` in config.toml, then run `coppice resume`", add(present, shown))
    };
    let target = match need {
        Need::Read | Need::Write(Target::Present) => return add_line(&shown),
        // What is in the way is made by the program.
        Need::Write(_) if open != path => Target::Directory,
        Need::Write(target) => target,
    };
    // What is listed and missing is made as a directory, or as a file if its name has an extension.
    match (target, open.extension().is_some()) {
        (Target::Directory, true) => add_line(&format!("{shown}/")),
        (Target::File, false) => format!("{}, then {}", make_file(&shown), add_line(&shown)),
        (Target::Unknown, false) => format!("{}; if it is a file, {} first", add_line(&shown), make_file(&shown)),
        (Target::Present | Target::Directory, false) | (Target::Present | Target::File | Target::Unknown, true) => {
            add_line(&shown)
        }
    }
}

/// A list of the configuration with one more entry.
fn add(present: &[String], entry: &str) -> String {
    let entries: Vec<_> = present.iter().map(String::as_str).chain([entry]).map(|path| format!("\"{path}\"")).collect();
    entries.join(", ")
}

/// How a person makes an empty file. A name that a shell would read in another way is not put into a command.
fn make_file(shown: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    match shown.strip_prefix("~/").unwrap_or(shown).chars().all(is_plain) {
        true => format!("run `touch {shown}`"),
        false => "make an empty file there".to_owned(),
    }
}

/// What belongs to the system or shows processes.
fn is_system(path: &Path) -> bool {
    ["/proc", "/sys", "/dev", "/run", "/etc", "/root", "/boot"].iter().any(|place| path.starts_with(place))
}

/// The directory of one program among those that many share.
fn own_part(below_home: &Path, backend: &str) -> PathBuf {
    let shared = SHARED.iter().map(Path::new).find(|shared| below_home.starts_with(shared));
    let depth = shared.map_or(0, |shared| shared.components().count()) + 1;
    let own: PathBuf = below_home.components().take(depth).collect();
    // A program that makes its directories one by one fails at the first one above its own.
    match own.to_str() {
        Some(".local") => Path::new(".local/share").join(backend),
        Some(shared) if SHARED.contains(&shared) => own.join(backend),
        _ => own,
    }
}

fn shorten(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
        Ok(_) | Err(_) => path.display().to_string(),
    }
}

/// The absolute paths in a line: in quotes, or as words.
fn paths_in(line: &str) -> Vec<PathBuf> {
    let quotes = ['\'', '"', '`', '‘', '’'];
    let pieces: Vec<&str> = line.split(quotes).collect();
    let quoted = pieces.iter().skip(1).step_by(2).filter(|piece| piece.starts_with('/')).copied();
    let is_edge = |c: char| c.is_whitespace() || ['(', ')', '[', ']', ',', ';', '='].contains(&c);
    let words = pieces.iter().step_by(2).flat_map(|piece| piece.split(is_edge));
    let words = words.filter(|word| word.starts_with('/')).map(|word| word.trim_end_matches([':', '.', ',']));
    // What the configuration would read in another way than it is written is no path for a hint.
    let is_spelled = |path: &PathBuf| path.to_string_lossy().chars().all(|c| c != '\\' && !c.is_control());
    let is_plain = |path: &PathBuf| {
        path.components().count() > 1 && !path.components().any(|part| part == Component::ParentDir) && is_spelled(path)
    };
    quoted.chain(words).map(PathBuf::from).filter(is_plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "/home/u";

    #[track_caller]
    fn explain(said: &str) -> Option<(String, String)> {
        let limits = Limits {
            read: ["/usr", "/bin", "/etc", "/home/u/.local/bin"].map(PathBuf::from).to_vec(),
            write: ["/data/sessions/1/tmp"].map(PathBuf::from).to_vec(),
            hidden: vec!["/coppice/data".into()],
            ..Limits::default()
        };
        let sandbox = Sandbox {
            backend: "mine",
            limits: &limits,
            access: Access::Write,
            worktree: Path::new("/data/worktrees/1"),
            home: Path::new(HOME),
            paths: &[],
            read: &["~/notes".to_owned()],
        };
        let exists = |path: &Path| path.starts_with("/home/u/.there");
        let failure = explain_refusal(said, sandbox, &exists)?;
        assert_eq!(failure.kind, FailureKind::Sandbox);
        Some((failure.message.split(": ").next().unwrap().to_owned(), failure.hint))
    }

    /// The configuration line that opens a path for writing.
    fn opens(path: &str) -> String {
        format!("add `paths = [\"{path}\"]` below `[backends.mine]` in config.toml, then run `coppice resume`")
    }

    #[test]
    fn the_refused_directory_is_named_with_the_line_that_opens_it() {
        for (said, path, line) in [
            (
                "Error: EACCES: permission denied, mkdir '/home/u/.local/share/x/log'",
                "~/.local/share/x/log",
                "~/.local/share/x",
            ),
            ("EACCES: permission denied, mkdir '/home/u/.local'", "~/.local", "~/.local/share/mine"),
            ("EROFS: read-only file system, mkdir '/home/u/.config'", "~/.config", "~/.config/mine"),
            ("OSError: [Errno 30] Read-only file system: '/home/u/.vibe/logs/a.log'", "~/.vibe/logs/a.log", "~/.vibe"),
            ("Error: failed to create /home/u/.codex/x: Permission denied (os error 13)", "~/.codex/x", "~/.codex"),
            ("panic: open /home/u/.crush/db: read-only file system", "~/.crush/db", "~/.crush"),
            ("mkdir: cannot create directory ‘/home/u/.x’: Permission denied", "~/.x", "~/.x"),
            ("warming up\nEACCES: permission denied, mkdir '/var/lib/x/a'\nbye", "/var/lib/x/a", "/var/lib/x/a"),
            ("EACCES: permission denied, mkdir '/home/u/com.x.y'", "~/com.x.y", "~/com.x.y/"),
            ("EACCES: permission denied, open '/home/u/com.x.y/log'", "~/com.x.y/log", "~/com.x.y/"),
        ] {
            let expected = (format!("the sandbox keeps the agent from writing `{path}`"), opens(line));
            assert_eq!(explain(said), Some(expected), "{said}");
        }
    }

    #[test]
    fn a_refused_file_is_made_before_it_is_opened() {
        for (said, expected) in [
            ("EACCES: permission denied, open '/home/u/.x.json'", opens("~/.x.json")),
            ("PermissionError: [Errno 13] Permission denied: '/home/u/.x.json'", opens("~/.x.json")),
            (
                "/bin/sh: 1: cannot create /home/u/out: Permission denied",
                format!("run `touch ~/out`, then {}", opens("~/out")),
            ),
            (
                "EACCES: permission denied, open '/home/u/$(out)'",
                format!("make an empty file there, then {}", opens("~/$(out)")),
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/u/.vibe'",
                format!("{}; if it is a file, run `touch ~/.vibe` first", opens("~/.vibe")),
            ),
        ] {
            assert_eq!(explain(said).map(|(_, hint)| hint), Some(expected), "{said}");
        }
    }

    #[test]
    fn a_file_that_is_there_is_opened_for_reading() {
        let expected = (
            "the sandbox keeps the agent from reading `~/.there/key`".to_owned(),
            "add `read = [\"~/notes\", \"~/.there\"]` below `[sandbox]` in config.toml, then run `coppice resume`"
                .to_owned(),
        );
        for said in [
            "EACCES: permission denied, open '/home/u/.there/key'",
            "ENOENT: no such file or directory, open '/home/u/.there/key'",
        ] {
            assert_eq!(explain(said), Some(expected.clone()), "{said}");
        }
    }

    #[test]
    fn calls_that_are_refused_as_a_whole_have_their_own_words() {
        for (said, what) in [
            ("bwrap: No permissions to create new namespace", "bubblewrap"),
            ("Error: forkpty(3) failed.", "a terminal"),
            ("OSError: openpty failed: out of pty devices", "a terminal"),
            ("permission denied while trying to connect to unix:///var/run/docker.sock", "the socket of Docker"),
        ] {
            let (message, hint) = explain(said).unwrap();
            assert!(message.starts_with(&format!("the sandbox refuses the agent {what}")), "{said}: {message}");
            let line = "or set `level = \"off\"` below `[sandbox]` in config.toml; then run `coppice resume`";
            assert!(hint.ends_with(line), "{hint}");
        }
    }

    #[test]
    fn a_port_is_refused_where_the_network_is_restricted() {
        let hint = |hosts, access| {
            let limits = Limits { hosts, ..Limits::default() };
            let (worktree, home) = (Path::new("/w"), Path::new(HOME));
            let sandbox = Sandbox { backend: "mine", limits: &limits, access, worktree, home, paths: &[], read: &[] };
            refused_call("ServeError", sandbox).map(|failure| failure.hint)
        };
        let restricted = || Hosts::Only { hosts: Vec::new(), proxy: 1 };
        for (access, line) in
            [(Access::Write, "set `level = \"workspace\"` below"), (Access::ReadOnly, "set `level = \"off\"` below")]
        {
            assert!(hint(restricted(), access).unwrap().contains(line), "{access:?}");
            assert_eq!(hint(Hosts::Any, access), None);
        }
    }

    #[test]
    fn what_the_sandbox_leaves_open_is_not_its_fault() {
        for said in [
            "",
            "TypeError: fetch failed",
            "EACCES: permission denied, open '/data/worktrees/1/locked'",
            "EACCES: permission denied, mkdir '/data/sessions/1/tmp/x'",
            "ENOENT: no such file or directory, open '/home/u/.absent'",
            "/usr/bin/agent: permission denied by the service",
            "the file /home/u/.x was read",
            "EACCES: permission denied, mkdir '/home/u/\\u002essh/x'",
        ] {
            assert_eq!(explain(said), None, "{said}");
        }
    }

    #[test]
    fn nobody_is_advised_to_open_keys_or_the_whole_home() {
        for said in [
            "EACCES: permission denied, mkdir '/home/u/.ssh/x'",
            "EACCES: permission denied, mkdir '/home/u'",
            "EACCES: permission denied, mkdir '/home'",
            "EACCES: permission denied, open '/home/u/.netrc'",
            "EACCES: permission denied, open '/home/u/.config/gh/hosts.yml'",
            "EACCES: permission denied, open '/home/u/.bashrc'",
            "EACCES: permission denied, mkdir '/coppice/data/x'",
            "EACCES: permission denied, mkdir '/coppice'",
            "EACCES: permission denied, mkdir '/proc/self/root/home/u/.ssh/x'",
        ] {
            let (_, hint) = explain(said).unwrap();
            let is_closed =
                !hint.contains("config.toml") || hint.contains("`env.HOME = \"/home/u/.local/share/mine\"`");
            assert!(is_closed && !hint.contains("NAME"), "{said}: {hint}");
        }
    }
}
