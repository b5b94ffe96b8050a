//! Programs that git runs when it only reads, by its configuration: converters and external diffs, filters, monitors of
//! the file system. A command that such a setting names may be a file of the worktree.

use super::command::Git;
use super::{GitError, Repo};

/// Which configuration the git of a session reads besides that of the machine and of the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobalConfig {
    /// The user's own.
    User,
    /// A private one without drivers. Such a session does not refresh the index, either.
    Private,
}

/// The first setting by which git may run a program when it reads files of a worktree.
pub fn find_read_driver(repo: &Repo, global: GlobalConfig) -> Result<Option<String>, GitError> {
    let git = Git::new(repo, "config").args(["--list", "--show-scope", "--null"]);
    let git = match global {
        GlobalConfig::User => git,
        GlobalConfig::Private => git.env("GIT_CONFIG_GLOBAL", "/dev/null"),
    };
    let listed = git.run()?;
    let listed = String::from_utf8_lossy(&listed);
    let mut parts = listed.split('\0');
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        // Our own settings come by the command line.
        if scope != "command" && runs_program(key, value, global) {
            return Ok(Some(key.to_owned()));
        }
    }
    Ok(None)
}

/// Whether a setting makes git run a program when it reads. The filters of git-lfs are its own programs.
fn runs_program(key: &str, value: &str, global: GlobalConfig) -> bool {
    let Some((section, rest)) = key.split_once('.') else { return false };
    let (name, variable) = rest.rsplit_once('.').map_or((None, rest), |(name, variable)| (Some(name), variable));
    match (section, name, variable) {
        ("filter", Some(_), "clean" | "smudge" | "process") => !value.is_empty() && !value.starts_with("git-lfs "),
        ("diff", Some(_), "textconv" | "command") | ("diff", None, "external") => !value.is_empty(),
        ("core", None, "fsmonitor") => {
            let is_switch = ["", "0", "1", "true", "false", "yes", "no", "on", "off"];
            !is_switch.contains(&value.to_ascii_lowercase().as_str())
        }
        // A look that refreshes the index runs a hook.
        ("core", None, "hookspath") => {
            global == GlobalConfig::User && !value.is_empty() && !value.starts_with(['/', '~'])
        }
        ("log", None, "showsignature") => matches!(value, "" | "1" | "true" | "yes" | "on"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testkit::Sandbox;

    #[test]
    fn settings_that_run_programs_are_known() {
        use GlobalConfig::{Private, User};
        for (key, value, global, expected) in [
            ("diff.pdf.textconv", "./tools/t", User, true),
            ("diff.a.b.command", "x", Private, true),
            ("diff.external", "x", User, true),
            ("diff.pdf.binary", "true", User, false),
            ("diff.algorithm", "histogram", User, false),
            ("filter.x.clean", "./clean", User, true),
            ("filter.x.process", "x", User, true),
            ("filter.x.required", "true", User, false),
            ("filter.lfs.clean", "git-lfs clean -- %f", User, false),
            ("filter.lfs.process", "git-lfs filter-process", User, false),
            ("filter.lfs.clean", "./git-lfs clean -- %f", User, true),
            ("core.fsmonitor", "true", User, false),
            ("core.fsmonitor", ".git/hooks/query-watchman", User, true),
            ("core.hookspath", ".husky", User, true),
            ("core.hookspath", ".husky", Private, false),
            ("core.hookspath", "/home/me/hooks", User, false),
            ("log.showsignature", "true", User, true),
            ("user.name", "x", User, false),
        ] {
            assert_eq!(runs_program(key, value, global), expected, "{key}={value}");
        }
    }

    #[test]
    fn a_driver_of_the_repository_is_found_and_our_own_settings_are_none() {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo();
        assert_eq!(find_read_driver(&repo, GlobalConfig::User).unwrap(), None);
        sandbox.git(&["config", "diff.pdf.textconv", "./tools/t"]);
        let found = find_read_driver(&repo, GlobalConfig::Private).unwrap();
        assert_eq!(found.as_deref(), Some("diff.pdf.textconv"));
    }
}
