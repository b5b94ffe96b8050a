//! What stands between a merged tree and its commit: the user's hooks and signature.

use std::path::Path;

use super::super::*;
use super::Case;
use crate::git::testkit::{Sandbox, run_git, write, write_script};

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

/// A case whose hooks lie outside of the repository: `pre-commit` as given.
fn with_hook(body: &str) -> Case {
    let case = Case::new();
    let hooks = case.sandbox.root().join("hooks of mine");
    case.sandbox.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    write_script(&hooks.join("pre-commit"), body);
    case
}

fn merge_with(case: &Case, hooks: HookPolicy<'_>) -> Outcome {
    let order = case.order(Style::Squash);
    merge(&case.tree, Merge { hooks, ..order }, &mut super::run_hook).unwrap()
}

#[test]
fn what_hooks_stage_needs_consent_to_exactly_that() {
    let case = with_hook("echo formatted > new/file; echo extra > extra; git add new/file extra; git rm -q other");
    let Outcome::HookChanged(changes) = merge_with(&case, HookPolicy::Check) else { panic!("merged") };
    let listed: Vec<_> = changes.files.iter().map(|file| (file.path.to_str().unwrap(), file.kind)).collect();
    assert_eq!(listed, [("extra", "added"), ("new/file", "changed"), ("other", "deleted")]);
    assert_eq!((changes.files[0].insertions, changes.files[1].deletions), (1, 1));
    case.unmoved(Style::Squash, &Outcome::HookChanged(changes.clone()));
    assert_eq!(merge_with(&case, HookPolicy::AcceptOnly("0123456789ab")), Outcome::HookChanged(changes.clone()));
    // A target that moves elsewhere changes nothing about what was agreed to.
    case.sandbox.write("unrelated", "unrelated\n");
    case.sandbox.git(&["add", "unrelated"]);
    case.sandbox.git(&["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "meanwhile"]);
    let merged = merge_with(&case, HookPolicy::AcceptOnly(&changes.id));
    assert!(matches!(merged, Outcome::Merged { hooks: HookReport { changes: Some(seen), .. }, .. } if seen == changes));
    assert_eq!(
        (case.read("new/file"), case.read("extra"), case.porcelain()),
        ("formatted\n".into(), "extra\n".into(), String::new())
    );
}

#[test]
fn all_changes_of_hooks_can_be_accepted_and_hooks_skipped() {
    let case = with_hook("echo formatted > new/file; git add new/file");
    write_script(&case.sandbox.root().join("hooks of mine/commit-msg"), "echo 'Ticket: 7' >> \"$1\"");
    let Outcome::Merged { commit, hooks, .. } = merge_with(&case, HookPolicy::AcceptAll) else { panic!("refused") };
    assert!(hooks.edited_message);
    assert_eq!((case.read("new/file"), case.porcelain()), ("formatted\n".into(), String::new()));
    assert_eq!(case.show("%B", commit), "Do it\n\nAll of it.\nTicket: 7");

    let case = with_hook("exit 1");
    assert!(matches!(merge_with(&case, HookPolicy::Skip), Outcome::Merged { .. }));
}

#[test]
fn a_rebase_leaves_out_what_hooks_stage_and_says_so() {
    let case = with_hook("echo extra > extra; git add extra");
    let Outcome::Merged { hooks, .. } = case.merge(Style::Rebase) else { panic!("refused") };
    assert_eq!(hooks.changes.unwrap().files[0].path, PathBuf::from("extra"));
    assert!(!case.sandbox.main().join("extra").exists());
}

#[test]
fn nothing_that_hooks_link_to_is_taken_over() {
    let secret = Sandbox::new();
    secret.write("secret", "of another repository\n");
    secret.commit_all("secret");
    let blob = secret.oid("HEAD:secret").to_string();
    let objects = secret.main().join(".git/objects");
    let (from, objects) = (objects.join(&blob[..2]).join(&blob[2..]), objects.display().to_string());
    let entry = format!("git update-index --add --cacheinfo 100644,{blob},stolen");
    let own = format!("\"$GIT_OBJECT_DIRECTORY\"/{}", &blob[..2]);
    for body in [
        // An index that is a link; objects by a link, by a linked directory, by alternates.
        "cp \"$GIT_INDEX_FILE\" other; rm \"$GIT_INDEX_FILE\"; ln -s \"$PWD/other\" \"$GIT_INDEX_FILE\"".to_owned(),
        format!("mkdir -p {own}; ln -s '{}' {own}/{}; {entry}", from.display(), &blob[2..]),
        format!("ln -s '{objects}/{}' {own}; {entry}", &blob[..2]),
        format!(
            "mkdir -p \"$GIT_OBJECT_DIRECTORY/info\"; echo '{objects}' > \"$GIT_OBJECT_DIRECTORY/info/alternates\"; {entry}"
        ),
        format!("rm -r \"$GIT_OBJECT_DIRECTORY\"; ln -s '{objects}' \"$GIT_OBJECT_DIRECTORY\"; {entry}"),
        // Content under the name of other content.
        format!("mkdir -p {own}; printf x > {own}/{}; GIT_INDEX_FILE=$GIT_INDEX_FILE {entry}", &blob[2..]),
    ] {
        let case = with_hook(&format!("{{ {body}; }} 2>/dev/null; exit 0"));
        let order = Merge { hooks: HookPolicy::AcceptAll, ..case.order(Style::Squash) };
        let merged = merge(&case.tree, order, &mut super::run_hook);
        let main = case.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
        assert!(!main.contains("stolen"), "{body}: {merged:?}");
        let found = case.tree.repo.open().unwrap().odb().unwrap().exists(git2::Oid::from_str(&blob).unwrap());
        assert!(!found, "{body}");
    }
}

#[test]
fn hooks_of_the_checkout_run_as_the_commit_has_them() {
    // Tracked, as with a plain relative `core.hooksPath`.
    let case = Case::new();
    write_script(&case.sandbox.main().join("tools/hooks/pre-commit"), "cat new/file; exit 1");
    case.sandbox.commit_all("hooks");
    case.sandbox.git(&["config", "core.hooksPath", "tools/hooks"]);
    let failed = |output: &str| Outcome::HookFailed { hook: Hook::PreCommit, output: output.to_owned() };
    case.unmoved(Style::Squash, &failed("new\n"));
    // Another branch is shown: the target's hook counts, not the files that happen to be there.
    case.sandbox.git(&["switch", "--quiet", "--create", "elsewhere", "HEAD~1"]);
    assert_eq!(case.merge(Style::Squash), failed("new\n"));

    // A session that deletes the check, or makes it a plain file, is merged without it, with a warning.
    case.sandbox.git(&["switch", "--quiet", "main"]);
    run_git(&case.tree.path, &["merge", "--quiet", "-m", "base", "main"]);
    run_git(&case.tree.path, &["update-index", "--chmod=-x", "tools/hooks/pre-commit"]);
    run_git(&case.tree.path, &["commit", "--quiet", "--no-verify", "-m", "by the agent itself"]);
    let Outcome::Merged { hooks, .. } = case.merge(Style::Squash) else { panic!("refused") };
    assert_eq!(hooks.changed_hooks, [Path::new("tools/hooks/pre-commit")]);

    // husky: wrappers that git ignores, and a script that it tracks.
    let case = Case::new();
    let main = case.sandbox.main();
    write_script(&main.join(".husky/pre-commit"), "echo husky says no; exit 1");
    case.sandbox.commit_all("husky");
    write(&main.join(".husky/_/.gitignore"), "*");
    write(
        &main.join(".husky/_/h"),
        "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\nexit $?\n",
    );
    for name in ["pre-commit", "commit-msg"] {
        write_script(&main.join(".husky/_").join(name), ". \"$(dirname \"$0\")/h\"");
    }
    case.sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
    case.unmoved(Style::Squash, &failed("husky says no\n"));
    // A session that changes the hook is merged by its own version, with a warning.
    run_git(&case.tree.path, &["merge", "--quiet", "-m", "base", "main"]);
    write_script(&case.tree.path.join(".husky/pre-commit"), "exit 0");
    case.work(3, "more", "more\n");
    let Outcome::Merged { hooks, .. } = case.merge(Style::Squash) else { panic!("refused") };
    assert_eq!(hooks, HookReport { changed_hooks: vec![".husky/pre-commit".into()], ..HookReport::default() });
}

#[test]
fn a_link_to_a_hook_of_the_checkout_runs_it_and_one_into_a_worktree_stops_the_merge() {
    let case = Case::new();
    write_script(&case.sandbox.main().join("check.sh"), "echo checked; exit 1");
    case.sandbox.commit_all("check");
    let hook = case.sandbox.main().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../../check.sh", &hook).unwrap();
    case.unmoved(Style::Squash, &Outcome::HookFailed { hook: Hook::PreCommit, output: "checked\n".into() });

    std::fs::remove_file(&hook).unwrap();
    write_script(&case.tree.path.join("planted"), "exit 0");
    std::os::unix::fs::symlink(case.tree.path.join("planted"), &hook).unwrap();
    case.unmoved(Style::Squash, &Outcome::Refused(Refusal::UnusableHooks { paths: vec![hook] }));
    assert!(matches!(merge_with(&case, HookPolicy::Skip), Outcome::Merged { .. }));
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
