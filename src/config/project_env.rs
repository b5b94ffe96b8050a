//! Variables of a project for its sessions and their commands: which are passed on, and which are set. Pure.

use std::collections::BTreeMap;

/// Names that decide which programs run, what the loader loads into them, or how Coppice and git work. A trailing `*`
/// stands for any rest. `GITHUB_TOKEN` is for the daemon; `gh` also reads `GH_TOKEN`.
const RESERVED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "LD_*",
    "DYLD_*",
    "GIT_*",
    "COPPICE_*",
    "GITHUB_TOKEN",
];

/// Names that say where a program finds the user's settings and login. Files in such a directory can change after somebody
/// agreed to the name, and some of them are commands.
const SETTINGS_DIRECTORIES: &[&str] =
    &["CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"];

/// The rule about names, for errors.
pub(super) const RESERVED_TEXT: &str = "none of them reserved (`PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `TMPDIR`, \
    `ENV`, `BASH_ENV`, `SHELLOPTS`, `BASHOPTS`, `LD_*`, `DYLD_*`, `GIT_*`, `COPPICE_*`, `GITHUB_TOKEN`, \
    `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME`)";

/// What the programs of a project get of the user's own set-up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectEnv {
    /// Names of the user's environment, or beginnings of names with a `*` behind them.
    pub pass: Vec<String>,
    /// Values that replace those of the environment.
    pub set: BTreeMap<String, String>,
    pub registry_tokens: RegistryTokens,
}

/// Whether sessions get the user's logins at package registries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RegistryTokens {
    #[default]
    Withheld,
    Passed,
}

/// Whether one of the patterns of `env.pass` passes a variable. A pattern never reaches a reserved name.
pub fn is_passed(pass: &[String], name: &str) -> bool {
    !is_reserved(name) && pass.iter().any(|pattern| matches_pattern(pattern, name))
}

/// Whether a name may be set for sessions.
pub(super) fn is_settable(name: &str) -> bool {
    is_variable(name) && !is_reserved(name)
}

/// Whether an entry of `env.pass` is a name or the beginning of names, and neither is reserved.
pub(super) fn is_pass_pattern(pattern: &str) -> bool {
    is_settable(pattern.strip_suffix('*').unwrap_or(pattern))
}

/// Whether a variable leads a program to the user's own settings.
pub(super) fn names_settings(name: &str) -> bool {
    SETTINGS_DIRECTORIES.contains(&name)
}

fn is_variable(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().next().is_some_and(|first| !first.is_ascii_digit()) && name.chars().all(is_part)
}

fn is_reserved(name: &str) -> bool {
    names_settings(name) || RESERVED.iter().any(|pattern| matches_pattern(pattern, name))
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_with_at_most_a_star_at_its_end() {
        for pattern in ["DATABASE_URL", "RUST_*", "_x", "G*", "npm_token", "HOMEBREW_PREFIX"] {
            assert!(is_pass_pattern(pattern), "{pattern}");
        }
        for pattern in [
            "",
            "*",
            "*_URL",
            "A*B",
            "A**",
            "1A",
            "A B",
            "A=B",
            "PATH",
            "HOME",
            "GIT_*",
            "GIT_DIR",
            "LD_PRELOAD",
            "LD_LIB*",
            "COPPICE_HOME",
            "GITHUB_TOKEN",
            "BASH_ENV",
            "CODEX_HOME",
        ] {
            assert!(!is_pass_pattern(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_wide_pattern_reaches_no_reserved_name() {
        let pass = ["G*", "L*", "DATABASE_URL"].map(str::to_owned);
        for (name, expected) in [
            ("GOOD", true),
            ("DATABASE_URL", true),
            ("DATABASE_URL_2", false),
            ("GIT_DIR", false),
            ("GITHUB_TOKEN", false),
            ("LD_PRELOAD", false),
        ] {
            assert_eq!(is_passed(&pass, name), expected, "{name}");
        }
    }
}
