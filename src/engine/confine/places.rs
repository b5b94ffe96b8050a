//! Which places processes may read: a list, so that a secret which nobody thought of stays closed. Pure.

use std::path::{Component, Path, PathBuf};

use crate::api::request::Environment;

/// What every program needs. Of `/sys` it is what tells how many processors there are.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/proc",
    "/opt",
    "/nix/store",
    "/home/linuxbrew/.linuxbrew",
    "/run/systemd/resolve",
    "/run/current-system",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Toolchains and start files of shells below the home directory. Of those that keep credentials beside their
/// programs, only the programs are listed.
const TOOLCHAINS: &[&str] = &[
    ".rustup",
    ".nvm",
    ".volta",
    ".fnm",
    ".asdf",
    ".pyenv",
    ".rbenv",
    ".sdkman/candidates",
    ".bun/bin",
    ".deno/bin",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/uv",
    ".local/share/pnpm",
    ".m2/repository",
    "go/bin",
    "go/pkg",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshenv",
    ".zprofile",
    ".zshrc",
];

/// Of Cargo's own directory, what holds no credentials.
const CARGO: &[&str] = &["bin", "env", "registry", "git"];

/// Variables that name the directory of a toolchain as a whole.
const NAMED: &[&str] = &[
    "RUSTUP_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "GOROOT",
    "PNPM_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "JAVA_HOME",
];

/// Everything that may be read whatever the session is about.
pub(super) fn common(env: &Environment) -> Vec<PathBuf> {
    let home = env.get("HOME").map(PathBuf::from);
    let mut found: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    found.extend(home.iter().flat_map(|home| TOOLCHAINS.iter().map(|name| home.join(name))));
    let cargo = cargo_home(env);
    found.extend(cargo.iter().flat_map(|cargo| CARGO.iter().map(|name| cargo.join(name))));
    let named = NAMED.iter().filter_map(|name| env.get(*name)).map(PathBuf::from);
    let programs = env.get("PATH").into_iter().flat_map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let programs = programs.flat_map(|directory| with_libraries(&directory));
    let is_narrow = |path: &PathBuf| is_narrow(path, home.as_deref());
    found.extend(named.chain(programs).filter(is_narrow));
    found.sort();
    found.dedup();
    found
}

/// What tools that read files may open without a question. The files of `/proc` show the environment of processes, and so
/// an agent's login.
pub(super) fn readable_by_tools(env: &Environment) -> Vec<PathBuf> {
    common(env).into_iter().filter(|path| !path.starts_with("/proc")).collect()
}

/// The directory of the user's own cargo.
pub(super) fn cargo_home(env: &Environment) -> Option<PathBuf> {
    let named = env.get("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| env.get("HOME").map(|home| Path::new(home).join(".cargo")))
}

/// A directory of programs, and the libraries that are installed beside it.
fn with_libraries(directory: &Path) -> Vec<PathBuf> {
    let beside = directory.parent().filter(|_| directory.ends_with("bin"));
    let libraries = beside.into_iter().flat_map(|parent| ["lib", "libexec"].map(|name| parent.join(name)));
    std::iter::once(directory.to_owned()).chain(libraries).collect()
}

/// Whether a directory that a variable names may be opened: not the home directory or what holds it, and nothing that
/// the words leave open.
fn is_narrow(path: &Path, home: Option<&Path>) -> bool {
    let is_plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    is_plain && path.components().count() > 2 && home.is_none_or(|home| !home.starts_with(path))
}

/// The part of a pattern before its first wildcard.
pub(super) fn fixed_part(pattern: &str) -> PathBuf {
    let is_fixed = |part: &&str| !part.contains(['*', '?', '[', '{']);
    pattern.trim_start_matches('/').split('/').take_while(is_fixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_variable_opens_no_home_and_nothing_above_it() {
        let path = "/home/u/bin:/home/u:/home:/:relative:/home/u/../v/bin:/data/tools/bin:/usr/bin";
        let found =
            common(&env(&[("HOME", "/home/u"), ("PATH", path), ("GOROOT", "/home/u"), ("NVM_DIR", "/nvm/here")]));
        let has = |path: &str| found.contains(&PathBuf::from(path));
        for open in ["/home/u/bin", "/data/tools/bin", "/data/tools/lib", "/nvm/here", "/home/u/.rustup", "/usr"] {
            assert!(has(open), "{open}");
        }
        for closed in ["/home/u", "/home", "/", "relative", "/home/u/../v/bin", "/home/u/.ssh", "/home/u/.cargo"] {
            assert!(!has(closed), "{closed}");
        }
    }

    #[test]
    fn processes_are_open_to_programs_and_not_to_tools_that_read_files() {
        let env = env(&[("HOME", "/home/u"), ("PATH", "/usr/bin:/proc/self/root")]);
        let is_process = |path: &PathBuf| path.starts_with("/proc");
        assert!(common(&env).iter().any(is_process));
        let found = readable_by_tools(&env);
        assert!(!found.iter().any(is_process) && found.contains(&PathBuf::from("/usr")), "{found:?}");
    }

    #[test]
    fn credentials_of_cargo_stay_closed_wherever_it_lives() {
        for variables in [&[("HOME", "/home/u")][..], &[("HOME", "/home/u"), ("CARGO_HOME", "/var/cargo")]] {
            let found = common(&env(variables));
            let credentials =
                |path: &PathBuf| [".cargo", "cargo", "config", "config.toml"].iter().any(|name| path.ends_with(name));
            assert!(!found.iter().any(credentials), "{found:?}");
            assert!(found.iter().any(|path| path.ends_with("registry")));
        }
    }

    #[test]
    fn a_pattern_is_fixed_up_to_its_first_wildcard() {
        for (pattern, expected) in
            [(".env", ".env"), ("a/b/*.txt", "a/b"), ("/node_modules", "node_modules"), ("*.x", "")]
        {
            assert_eq!(fixed_part(pattern), PathBuf::from(expected), "{pattern}");
        }
    }
}
