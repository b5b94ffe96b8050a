//! Repositories as people have them: a session works, is undone and is merged in each, and the checkout is clean afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

/// Runs two turns in a checkout, takes the second one back, and merges.
#[track_caller]
fn works_and_merges(env: &TestEnv, checkout: &Path, options: &[&str]) -> String {
    let id = works(env, checkout, options);
    env.coppice_in(checkout, &["merge", &id]).succeeds();
    assert_eq!(fs::read_to_string(checkout.join("work.txt")).unwrap(), "one\n");
    assert_eq!(env.git_in(checkout, &["status", "--porcelain"]), "");
    id
}

#[track_caller]
fn works(env: &TestEnv, checkout: &Path, options: &[&str]) -> String {
    let script = write("work.txt", "one");
    let new = [&["new", "--model", "demo"], options, &[&script]].concat();
    let id = env.coppice_in(checkout, &new).stdout().trim().to_owned();
    env.wait_for(&id, "ready");
    assert_eq!(env.json(&["diff", &id])["changes"]["files"], 1);
    env.send_ready(&id, &[], &steps(&[write("work.txt", "two"), write("more.txt", "two")]));
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(env.json(&["diff", &id])["changes"]["files"], 1);
    id
}

/// A clone of the test's repository.
fn clone(env: &TestEnv, options: &[&str]) -> PathBuf {
    env.git(&["config", "uploadpack.allowFilter", "true"]);
    let (from, to) = (format!("file://{}", env.repo().display()), env.path("clone"));
    env.git(&[&["clone", "-q"], options, &[&from, to.to_str().unwrap()]].concat());
    to
}

#[test]
fn a_shallow_clone() {
    let env = TestEnv::new();
    env.write("README.md", "# second\n");
    env.commit("second");
    let checkout = clone(&env, &["--depth", "1"]);
    works_and_merges(&env, &checkout, &[]);
    assert_eq!(env.git_in(&checkout, &["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_partial_clone_fetches_what_a_session_needs() {
    let env = TestEnv::new();
    env.write("old.txt", "old\n");
    env.commit("old");
    env.write("old.txt", "new\n");
    env.commit("new");
    let checkout = clone(&env, &["--filter=blob:none"]);
    works_and_merges(&env, &checkout, &[]);
    // Nothing of the older commit is there yet.
    let id = env.coppice_in(&checkout, &["new", "--model", "demo", "--base", "main~2", &run("cat old.txt")]).stdout();
    env.wait_for(id.trim(), "ready");
    assert_eq!(fs::read_to_string(env.worktree(id.trim()).join("old.txt")).unwrap(), "old\n");
}

#[test]
fn a_bare_repository_with_worktrees_of_the_users_own() {
    let env = TestEnv::new();
    let (bare, checkout) = (env.path("project/.bare"), env.path("project/main"));
    env.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    env.git_in(&bare, &["worktree", "add", "-q", checkout.to_str().unwrap(), "main"]);
    works_and_merges(&env, &checkout, &[]);
    let feature = env.path("project/feature");
    env.git_in(&bare, &["worktree", "add", "-q", "-b", "feature", feature.to_str().unwrap(), "main~1"]);
    let id = works(&env, &feature, &[]);
    assert_eq!(env.session(&id)["base"]["name"], "feature");
}

#[test]
fn files_in_large_file_storage() {
    let env = TestEnv::new();
    env.git(&["lfs", "install", "--local"]);
    env.git(&["lfs", "track", "*.bin"]);
    env.write("a.bin", "the content\n");
    env.commit("a large file");
    let checkout = clone(&env, &[]);
    env.git_in(&checkout, &["lfs", "install", "--local"]);
    env.git_in(&checkout, &["lfs", "pull"]);
    let id = works(&env, &checkout, &[]);
    let tree = env.worktree(&id);
    assert_eq!(fs::read_to_string(tree.join("a.bin")).unwrap(), "the content\n");
    env.send_ready(&id, &[], &write("a.bin", "other content"));
    env.coppice_in(&checkout, &["merge", &id]).succeeds();
    assert_eq!(fs::read_to_string(checkout.join("a.bin")).unwrap(), "other content\n");
    let pointer = env.git_in(&checkout, &["cat-file", "blob", "HEAD:a.bin"]);
    assert!(pointer.starts_with("version https://git-lfs.github.com/spec/v1"), "{pointer}");
    assert_eq!(env.git_in(&checkout, &["status", "--porcelain"]), "");
}

#[test]
fn line_ends_that_git_converts() {
    let env = TestEnv::new();
    env.git(&["config", "core.autocrlf", "true"]);
    fs::remove_file(env.repo().join("README.md")).unwrap();
    env.git(&["checkout", "-q", "README.md"]);
    assert_eq!(env.read("README.md"), "# sample\r\n");
    let id = env.create_ready(&steps(&[run("printf 'one\\r\\ntwo\\r\\n' > README.md"), say("done")]));
    assert_eq!(env.json(&["diff", &id])["changes"]["insertions"], 2);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("README.md"), "one\r\ntwo\r\n");
    assert_eq!(env.git(&["cat-file", "blob", "HEAD:README.md"]), "one\ntwo");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn long_paths() {
    let env = TestEnv::new();
    let name = "n".repeat(250);
    // Longer than the longest path that the kernel takes in one call is what no checkout of the user's could hold.
    let deep = [name.as_str(); 13].join("/");
    env.write(&format!("{deep}/file.txt"), "deep\n");
    env.commit("deep");
    let id = works_and_merges(&env, &env.repo(), &[]);
    assert_eq!(fs::read_to_string(env.repo().join(deep).join("file.txt")).unwrap(), "deep\n");
    env.coppice(&["rm", &id]).succeeds();
}

/// jj keeps the checkout of a colocated repository at a detached commit, and its own files where git ignores them.
#[test]
fn a_checkout_that_jj_keeps_too() {
    let env = TestEnv::new();
    fs::create_dir_all(env.repo().join(".jj/repo")).unwrap();
    env.write(".jj/.gitignore", "/*\n");
    env.write(".jj/repo/store", "jj\n");
    env.git(&["checkout", "-q", "--detach"]);
    let warned = env.coppice(&["new", "--model", "demo", &say("hello")]);
    assert!(
        warned.stderr.contains("HEAD is detached") && warned.stderr.contains("`--base BRANCH`"),
        "{}",
        warned.stderr
    );
    let id = works(&env, &env.repo(), &["--base", "main"]);
    assert!(!env.worktree(&id).join(".jj").exists());
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "main:work.txt"]), "one");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.read(".jj/repo/store"), "jj\n");
}
