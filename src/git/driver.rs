//! Programs that git runs when it only reads, by its configuration: converters and external diffs, filters, monitors of
//! the file system. A command that such a setting names may be a file of the worktree.

use std::collections::BTreeMap;

use super::command::Git;
use super::{GitError, Repo};

/// How a command of git-lfs begins.
const LFS: &str = "git-lfs ";

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
    find_setting(git, |key, value| runs_program(key, value, global))
}

/// Whether git may run a program when it writes files of a checkout. `git` is a run of `config` there.
pub(super) fn has_filter(git: Git) -> Result<bool, GitError> {
    Ok(find_setting(git.args(["--list", "--show-scope", "--null"]), is_filter)?.is_some())
}

/// Whether git runs any filter when it writes files, git-lfs included. `git` is a run of `config` there.
pub(super) fn has_any_filter(git: Git) -> Result<bool, GitError> {
    let is_meant = |key: &str, value: &str| names_filter(key) && !value.is_empty();
    Ok(find_setting(git.args(["--list", "--show-scope", "--null"]), is_meant)?.is_some())
}

/// Whether git may run a program of the user's when it reads, writes or merges files. `git` is a run of `config`.
pub(super) fn has_filter_or_merge_driver(git: Git) -> Result<bool, GitError> {
    let is_meant = |key: &str, value: &str| is_filter(key, value) || is_merge_driver(key, value);
    Ok(find_setting(git.args(["--list", "--show-scope", "--null"]), is_meant)?.is_some())
}

/// The first setting of a list with scopes for which this is so.
fn find_setting(list: Git, is_meant: impl Fn(&str, &str) -> bool) -> Result<Option<String>, GitError> {
    let listed = list.run()?;
    let listed = String::from_utf8_lossy(&listed);
    let mut parts = listed.split('\0');
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        // Our own settings come by the command line.
        if scope != "command" && is_meant(key, value) {
            return Ok(Some(key.to_owned()));
        }
    }
    Ok(None)
}

/// The filters of git-lfs: settings and commands. `git` is a run of `config`.
pub(super) fn list_lfs_filters(git: Git) -> Result<Vec<(String, String)>, GitError> {
    let listed = git.args(["--list", "--null"]).run()?;
    let listed = String::from_utf8_lossy(&listed);
    let settings = listed.split('\0').filter_map(|entry| entry.split_once('\n'));
    // Of several values the last one counts.
    let filters: BTreeMap<_, _> = settings.filter(|(key, _)| names_filter(key)).collect();
    let own = filters.into_iter().filter(|(_, command)| runs_lfs(command));
    Ok(own.map(|(key, command)| (key.to_owned(), command.to_owned())).collect())
}

/// Whether a command is one of git-lfs, in whatever way it is named.
fn runs_lfs(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    command.starts_with(LFS)
        || command.starts_with("git lfs ")
        || (program.starts_with('/') && program.ends_with("/git-lfs"))
}

/// Whether a setting is a filter. Those of git-lfs are its own programs.
fn is_filter(key: &str, value: &str) -> bool {
    names_filter(key) && !value.is_empty() && !value.starts_with(LFS)
}

fn names_filter(key: &str) -> bool {
    let variable = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')).map(|(_, variable)| variable);
    matches!(variable, Some("clean" | "smudge" | "process"))
}

fn is_merge_driver(key: &str, value: &str) -> bool {
    key.starts_with("merge.") && key.ends_with(".driver") && !value.is_empty()
}

/// Whether a setting makes git run a program when it reads.
fn runs_program(key: &str, value: &str, global: GlobalConfig) -> bool {
    let Some((section, rest)) = key.split_once('.') else { return false };
    let (name, variable) = rest.rsplit_once('.').map_or((None, rest), |(name, variable)| (Some(name), variable));
    match (section, name, variable) {
        ("filter", ..) => is_filter(key, value),
        ("diff", Some(_), "textconv" | "command") | ("diff", None, "external") => !value.is_empty(),
        ("core", None, "fsmonitor") => {
            let is_switch = ["", "0", "1", "true", "false", "yes", "no", "on", "off"];
            !is_switch.contains(&value.to_ascii_lowercase().as_str())
        }
        // A look that refreshes the index runs a hook.
        ("core", None, "hookspath") => {
            global == GlobalConfig::User && !value.is_empty() && !value.starts_with(['/', '~'])
        }
        // A patch of a merge is then made by merging again, with the merge drivers.
        ("log", None, "diffmerges") => matches!(value, "remerge" | "r"),
        ("log", None, "showsignature") => !["0", "false", "no", "off"].contains(&value.to_ascii_lowercase().as_str()),
        ("format", None, "pretty") | ("pretty", ..) => checks_signatures(value),
        _ => false,
    }
}

/// Whether a format has a field about signatures, which a program checks. Signs may stand before its letter.
fn checks_signatures(format: &str) -> bool {
    format.split('%').skip(1).any(|field| field.trim_start_matches(['+', '-', ' ']).starts_with('G'))
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
            ("log.showsignature", "True", User, true),
            ("log.showsignature", "2", User, true),
            ("log.showsignature", "Off", User, false),
            ("format.pretty", "format:%h %G?", User, true),
            ("format.pretty", "%h %s", User, false),
            ("pretty.mine.short", "%+GG", User, true),
            ("log.diffmerges", "remerge", User, true),
            ("log.diffmerges", "first-parent", User, false),
            ("user.name", "x", User, false),
        ] {
            assert_eq!(runs_program(key, value, global), expected, "{key}={value}");
        }
    }

    #[test]
    fn commands_of_git_lfs_are_known() {
        for (command, expected) in [
            ("git-lfs filter-process", true),
            ("git lfs smudge -- %f", true),
            ("/usr/bin/git-lfs smudge --skip -- %f", true),
            ("./git-lfs smudge -- %f", false),
            ("/usr/bin/git-lfs-more smudge", false),
            ("sed s/git-lfs //", false),
        ] {
            assert_eq!(runs_lfs(command), expected, "{command}");
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
