//! What the sandbox refused, read out of what a program said as it failed. Pure.
//!
//! Programs word errors in their own ways, but they name the error and the path on one line. A path that the sandbox
//! leaves open is none of its refusals.

use std::path::{Component, Path, PathBuf};

use crate::backend::failure::{Failure, FailureKind};
use crate::backend::{Hosts, Limits};

/// The sandbox around a program.
#[derive(Debug, Clone, Copy)]
pub struct Sandbox<'a> {
    pub backend: &'a str,
    pub limits: &'a Limits,
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

/// Calls that the sandbox refuses as a whole: what programs say, what it means, and what helps.
const CALLS: &[(&[&str], &str, &str)] = &[
    (
        &["bwrap: no permissions", "bwrap: setting up uid map", "bwrap: creating new namespace"],
        "bubblewrap, which needs namespaces of its own",
        "switch the agent's own sandbox off in its settings: Coppice's holds it already",
    ),
    (
        &["docker.sock", "cannot connect to the docker daemon"],
        "the socket of Docker, which gives the rights of the administrator",
        "start containers outside of the session, or set `sandbox.level = \"off\"`",
    ),
    (
        &["forkpty", "openpty failed", "posix_openpt", "/dev/ptmx", "out of pty devices"],
        "a terminal of its own",
        "switch interactive terminals off in the agent's settings, or set `sandbox.level = \"off\"`",
    ),
];

/// What programs say that may not listen on a port of their own, which they may where the network is open.
const LISTENS: &[&str] = &["listen eacces", "listen eperm", "serveerror", "failed to start server", "failed to listen"];

/// What a failed program says about the sandbox as a failure of its own; `None` if the sandbox has nothing to do with it.
/// `exists` tells whether a path is there outside of the sandbox.
pub fn explain_refusal(said: &str, sandbox: Sandbox<'_>, exists: &dyn Fn(&Path) -> bool) -> Option<Failure> {
    said.lines().find_map(|line| refused_call(line, sandbox.limits).or_else(|| refused_path(line, sandbox, exists)))
}

fn refused_call(line: &str, limits: &Limits) -> Option<Failure> {
    let lower = line.to_lowercase();
    let is_restricted = limits.hosts != Hosts::Any;
    if is_restricted && LISTENS.iter().any(|word| lower.contains(word)) {
        let message = format!("the sandbox refuses the agent a port to listen on: {}", line.trim());
        let hint =
            "its network is restricted: set `sandbox.level = \"workspace\"`, and let an agent that may write run on it";
        return Some(Failure::new(FailureKind::Sandbox, message).with_hint(hint));
    }
    let (_, what, hint) = CALLS.iter().find(|(words, ..)| words.iter().any(|word| lower.contains(word)))?;
    let message = format!("the sandbox refuses the agent {what}: {}", line.trim());
    Some(Failure::new(FailureKind::Sandbox, message).with_hint(*hint))
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
    let access = if says(WRITES) || is_readable(path) || !exists(path) { Access::Write } else { Access::Read };
    let verb = match access {
        Access::Read => "reading",
        Access::Write => "writing",
    };
    let shown = shorten(path, sandbox.home);
    let message = format!("the sandbox keeps the agent from {verb} `{shown}`: {}", line.trim());
    Some(Failure::new(FailureKind::Sandbox, message).with_hint(hint(path, access, sandbox)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// The line of the configuration that opens a path.
fn hint(path: &Path, access: Access, sandbox: Sandbox<'_>) -> String {
    let below_home = path.strip_prefix(sandbox.home).ok();
    let is_within = |keys: &&&str| below_home.is_some_and(|rest| rest.starts_with(keys));
    if KEYS.iter().any(|keys| is_within(&keys)) {
        return "keys or programs of yours are there: pass the agent what it needs by `[backends.NAME] env`".to_owned();
    }
    // Above the home, or where Coppice keeps its own files.
    let is_own = sandbox.limits.hidden.iter().any(|own| path.starts_with(own) || own.starts_with(path));
    if sandbox.home.starts_with(path) && sandbox.home != path || is_own || is_system(path) {
        return "this place stays closed to agents; an agent that needs it cannot work in the sandbox".to_owned();
    }
    let open = match below_home {
        Some(rest) if rest.as_os_str().is_empty() => {
            return format!(
                "the home directory itself stays closed: `[backends.{}] env` can lead the agent to another directory",
                sandbox.backend
            );
        }
        Some(rest) => format!("~/{}", own_part(rest, sandbox.backend).display()),
        None => path.display().to_string(),
    };
    let (table, key, present) = match access {
        Access::Write => (format!("backends.{}", sandbox.backend), "paths", sandbox.paths),
        Access::Read => ("sandbox".to_owned(), "read", sandbox.read),
    };
    let listed: Vec<String> = present.iter().chain([&open]).map(|path| format!("\"{path}\"")).collect();
    format!("add `{key} = [{}]` below `[{table}]` in config.toml, then run `coppice resume`", listed.join(", "))
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
            ("PermissionError: [Errno 13] Permission denied: '/home/u/.vibe'", "~/.vibe", "~/.vibe"),
            ("OSError: [Errno 30] Read-only file system: '/home/u/.vibe/logs/a.log'", "~/.vibe/logs/a.log", "~/.vibe"),
            ("Error: failed to create /home/u/.codex/x: Permission denied (os error 13)", "~/.codex/x", "~/.codex"),
            ("panic: open /home/u/.crush/db: read-only file system", "~/.crush/db", "~/.crush"),
            ("/bin/sh: 1: cannot create /home/u/out: Permission denied", "~/out", "~/out"),
            ("mkdir: cannot create directory ‘/home/u/.x’: Permission denied", "~/.x", "~/.x"),
            ("warming up\nEPERM: operation not permitted, rename '/var/lib/x/a'\nbye", "/var/lib/x/a", "/var/lib/x/a"),
        ] {
            let expected = (
                format!("the sandbox keeps the agent from writing `{path}`"),
                format!("add `paths = [\"{line}\"]` below `[backends.mine]` in config.toml, then run `coppice resume`"),
            );
            assert_eq!(explain(said), Some(expected), "{said}");
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
            let (message, _) = explain(said).unwrap();
            assert!(message.starts_with(&format!("the sandbox refuses the agent {what}")), "{said}: {message}");
        }
    }

    #[test]
    fn a_port_is_refused_where_the_network_is_restricted() {
        let refused = |hosts| refused_call("ServeError", &Limits { hosts, ..Limits::default() }).is_some();
        assert!(refused(Hosts::Only { hosts: Vec::new(), proxy: 1 }) && !refused(Hosts::Any));
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
            assert!(!hint.contains("config.toml"), "{said}: {hint}");
        }
    }
}
