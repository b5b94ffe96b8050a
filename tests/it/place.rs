//! Where a client stands, as the API tells it: the repository around a directory, and the files there.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

fn project(env: &TestEnv, cwd: &Path) -> Value {
    let text = crate::http::get(env, &format!("/v1/project?cwd={}", cwd.display()), &[]);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_directory_belongs_to_the_project_of_its_sessions() {
    let env = TestEnv::new();
    env.git(&["clone", "-q", ".", "../upstream"]);
    env.git(&["remote", "add", "origin", "../upstream"]);
    env.git(&["fetch", "-q", "origin"]);
    env.git(&["branch", "-q", "--set-upstream-to", "origin/main"]);
    env.write("more.txt", "more");
    env.commit("ahead");
    let (repo, id) = (env.repo().canonicalize().unwrap(), env.create_ready(&write("file.txt", "one")));
    let session = env.session(&id);
    let expected = json!({
        "project": session["project"], "root": repo, "name": "repo", "branch": "main", "ahead": 1, "behind": 0,
        "has_commits": true,
    });
    assert_eq!(project(&env, &repo.join("docs")), expected);

    // An agent that rewrites `.git` does not decide where its worktree belongs.
    let worktree = env.worktree(&id);
    fs::write(worktree.join(".git"), "gitdir: /nowhere\n").unwrap();
    let inside = json!({
        "project": session["project"], "root": worktree, "name": "repo", "branch": session["branch"],
        "ahead": null, "behind": null, "has_commits": true,
    });
    assert_eq!(project(&env, &worktree.join("src")), inside);
}

#[test]
fn a_repository_without_commits_is_a_project_and_a_plain_directory_is_none() {
    let env = TestEnv::new();
    let empty = env.path("empty");
    fs::create_dir(&empty).unwrap();
    env.git_in(&empty, &["init", "-q", "-b", "trunk"]);
    env.coppice(&["daemon", "start"]).succeeds();
    let found = project(&env, &empty);
    assert_eq!((&found["branch"], &found["has_commits"]), (&json!("trunk"), &json!(false)));

    let refused = crate::http::reply(&env, &format!("/v1/project?cwd={}", env.path("home").display()));
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(refused.contains("is not in a git repository") && refused.contains("git init"), "{refused}");
}

fn files(env: &TestEnv, query: &str) -> Value {
    serde_json::from_str(&crate::http::get(env, &format!("/v1/files?{query}"), &[])).unwrap()
}

#[test]
fn files_are_listed_as_they_are_without_what_is_ignored() {
    let env = TestEnv::new();
    let work = [run("rm README.md"), write("made/here.txt", "1"), write("build/out", "2"), say("done")];
    let id = env.create_ready(&steps(&work));
    env.write("untracked.txt", "x");
    env.write(".env", "SECRET=1");
    let repo = env.repo().canonicalize().unwrap();
    let own = json!([".gitignore", "README.md", "docs/notes with space.txt", "src/main.rs", "untracked.txt"]);
    let expected = json!({"root": repo, "paths": own, "truncated": false});
    assert_eq!(files(&env, &format!("cwd={}", repo.join("src").display())), expected);

    // An agent that rewrites `.git` does not decide what is listed.
    let worktree = env.worktree(&id);
    fs::write(worktree.join(".git"), "gitdir: /nowhere\n").unwrap();
    let paths = json!([".gitignore", "docs/notes with space.txt", "made/here.txt", "src/main.rs"]);
    let expected = json!({"root": worktree, "paths": paths, "truncated": false});
    assert_eq!(files(&env, &format!("session={id}")), expected);
    assert_eq!(files(&env, &format!("cwd={}", worktree.join("src").display())), expected);

    // Without a worktree, the session's branch still has them.
    env.coppice(&["archive", &id]).succeeds();
    assert_eq!(files(&env, &format!("session={id}")), json!({"root": null, "paths": paths, "truncated": false}));
}

#[test]
fn somebodys_files_have_to_be_named() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    for query in ["".to_owned(), format!("cwd={}&session=abc", env.repo().display())] {
        let refused = crate::http::reply(&env, &format!("/v1/files?{query}"));
        assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("name one of the two"), "{refused}");
    }
    let refused = crate::http::reply(&env, "/v1/files?session=zzzz");
    assert!(refused.starts_with("HTTP/1.1 404"), "{refused}");
}
