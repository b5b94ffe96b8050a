//! What stands between a merged tree and its commit: the user's hooks and signature.

use super::super::*;
use super::Case;
use crate::git::testkit::write_script;

#[test]
fn a_failing_hook_stops_the_merge_with_its_output() {
    let case = Case::new();
    let hook = case.sandbox.main().join(".git/hooks/pre-commit");
    write_script(&hook, "cat new/file; git diff --cached --name-only; echo no >&2; exit 1");
    let output = "new\nREADME\nnew/file\nno\n".to_owned();
    case.unmoved(Style::Squash, &Outcome::HookFailed { hook: Hook::PreCommit, output: output.clone() });
    case.unmoved(Style::Rebase, &Outcome::HookFailed { hook: Hook::PreCommit, output });
    write_script(&hook, "exit 0");
    write_script(&case.sandbox.main().join(".git/hooks/commit-msg"), "cat \"$1\"; exit 3");
    let output = "Do it\n\nAll of it.\n".to_owned();
    case.unmoved(Style::Squash, &Outcome::HookFailed { hook: Hook::CommitMsg, output });
}

#[test]
fn hooks_may_stage_changes_and_edit_the_message() {
    let case = Case::new();
    let hooks = case.sandbox.root().join("hooks of mine");
    case.sandbox.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    write_script(&hooks.join("pre-commit"), "echo formatted > new/file; git add new/file");
    write_script(&hooks.join("commit-msg"), "echo 'Ticket: 7' >> \"$1\"");
    let commit = case.merged(Style::Squash);
    assert_eq!(case.read("new/file"), "formatted\n");
    assert_eq!(case.show("%B", commit), "Do it\n\nAll of it.\nTicket: 7");
    assert_eq!(case.porcelain(), "");
}

#[test]
fn hooks_inside_a_work_tree_never_run() {
    let case = Case::new();
    write_script(&case.sandbox.main().join(".husky/pre-commit"), "exit 1");
    case.sandbox.git(&["config", "core.hooksPath", ".husky"]);
    let skipped = vec![case.sandbox.main().join(".husky/pre-commit")];
    assert!(matches!(case.merge(Style::Squash), Outcome::Merged { skipped_hooks, .. } if skipped_hooks == skipped));
}

#[test]
fn the_users_signature_is_on_the_commit_or_nothing_moves() {
    let case = Case::new();
    let gpg = case.sandbox.root().join("gpg");
    case.sandbox.git(&["config", "commit.gpgSign", "true"]);
    case.sandbox.git(&["config", "gpg.program", gpg.to_str().unwrap()]);
    write_script(&gpg, "echo 'no key' >&2; exit 2");
    let failed = merge(&case.tree, case.order(Style::Squash), &mut super::run_hook).unwrap_err();
    assert!(failed.to_string().contains("no key"), "{failed}");
    assert_eq!(case.sandbox.oid("main"), case.tree.base);
    let signature = "-----BEGIN PGP SIGNATURE-----\n\nfake\n-----END PGP SIGNATURE-----";
    write_script(
        &gpg,
        &format!("cat >/dev/null\ncat <<END\n{signature}\nEND\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2"),
    );
    let commit = case.merged(Style::Squash);
    assert!(case.sandbox.git(&["cat-file", "commit", &commit.to_string()]).contains("gpgsig "));
}
