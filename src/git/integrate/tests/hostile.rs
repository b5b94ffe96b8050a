//! Trees that an agent has turned against the engine: nothing outside the parent's tree is read, written or run.

use super::*;
use crate::git::Oid;
use crate::git::command::Git;

/// A commit of a tree that no work tree could have, on top of the child's base.
fn forged(family: &Family, entries: &str) -> Child {
    let repo = &family.parent.repo;
    let tree = Git::new(repo, "mktree").input(entries.as_bytes()).run_oid().unwrap();
    let base = family.child.base;
    let commit = |tree: Oid| {
        let git = Git::new(repo, "commit-tree").env("GIT_AUTHOR_NAME", "a").env("GIT_AUTHOR_EMAIL", "b");
        let git = git.env("GIT_COMMITTER_NAME", "a").env("GIT_COMMITTER_EMAIL", "b");
        git.args([&tree.to_string(), "-p", &base.to_string(), "-m", "x"]).run_oid().unwrap()
    };
    Child { base, head: commit(tree) }
}

fn blob(family: &Family, text: &str) -> Oid {
    Git::new(&family.parent.repo, "hash-object").args(["-w", "--stdin"]).input(text).run_oid().unwrap()
}

/// The entries of the child's base, and one more.
fn with(family: &Family, entry: &str) -> String {
    format!("{}{entry}\n", family.sandbox.git(&["ls-tree", &family.child.base.to_string()]))
}

#[test]
fn a_tree_that_reaches_into_a_git_directory_is_refused() {
    let family = Family::new();
    let hook = blob(&family, "#!/bin/sh\n");
    let inner = Git::new(&family.parent.repo, "mktree").input(format!("100755 blob {hook}\tpost-checkout\n"));
    let inner = inner.run_oid().unwrap();
    for name in [".git", ".GIT"] {
        let child = forged(&family, &with(&family, &format!("040000 tree {inner}\t{name}")));
        family.refused(child, Outcome::Refused { files: paths(&[&format!("{name}/post-checkout")]) });
    }
}

#[test]
fn a_nested_repository_is_refused() {
    let family = Family::new();
    let child = forged(&family, &with(&family, &format!("160000 commit {}\tnested", family.parent.base)));
    family.refused(child, Outcome::Refused { files: paths(&["nested"]) });
}

#[test]
fn a_directory_that_became_a_link_is_not_written_through() {
    let outside = |family: &Family| family.sandbox.root().join("outside");
    // An ignored link in place of a directory that git does not know in the parent.
    let mut family = Family::new();
    fs::create_dir(outside(&family)).unwrap();
    symlink(outside(&family), family.parent.path.join("way.log")).unwrap();
    family.child_writes("way.log/file", "file\n");
    run_git(&family.child.path, &["add", "--force", "way.log"]);
    let done = family.done();
    family.refused(done, Outcome::Changed { files: paths(&["way.log/file"]) });
    // A tracked directory that the parent's agent swapped for a link.
    family.child_writes("dir/one", "by the child\n");
    fs::remove_file(family.child.path.join("way.log/file")).unwrap();
    let done = family.done();
    fs::rename(family.parent.path.join("dir"), outside(&family).join("dir")).unwrap();
    symlink(outside(&family).join("dir"), family.parent.path.join("dir")).unwrap();
    let before = listing(&outside(&family));
    let outcome = integrate(&family.parent, done).unwrap();
    assert!(matches!(outcome, Outcome::Conflict { .. }), "{outcome:?}");
    assert_eq!(listing(&outside(&family)), before);
}

#[test]
fn links_swapped_in_during_the_change_lead_nowhere() {
    let mut family = Family::new();
    family.child_writes("dir/one", "by the child\n");
    family.child_writes("dir/three", "three\n");
    let done = family.done();
    let (outside, tree) = (family.sandbox.root().join("outside"), family.parent.path.clone());
    let mut steps = 0;
    let outcome = integrate_by(&family.parent, done, &mut || {
        steps += 1;
        if steps == 1 {
            fs::rename(tree.join("dir"), &outside).unwrap();
            symlink(&outside, tree.join("dir")).unwrap();
        }
        Ok(())
    });
    assert_eq!(outcome.unwrap(), Outcome::Changed { files: paths(&["dir/one"]) });
    assert_eq!(fs::read_to_string(outside.join("one")).unwrap(), "one\n");
    assert!(!outside.join("three").exists());
}

#[test]
fn a_file_that_changes_at_the_last_moment_stays_as_it_is() {
    for at in 1..=4 {
        let mut family = Family::new();
        family.child_writes("README", "by the child\n");
        family.child_writes("kept", "by the child\n");
        let done = family.done();
        let tree = family.parent.path.clone();
        let mut steps = 0;
        let outcome = integrate_by(&family.parent, done, &mut || {
            steps += 1;
            if steps == at {
                write(&tree.join("kept"), "at the last moment\n");
            }
            Ok(())
        });
        // Up to the moment in which it was taken away, and in the moment in which its place was free.
        assert_eq!(outcome.unwrap(), Outcome::Changed { files: paths(&["kept"]) }, "{at}");
        assert_eq!(text(&family.parent, "README").as_deref(), Some("edited by the parent\n"), "{at}");
        let kept = text(&family.parent, "kept").unwrap();
        let saved = run_git(&family.parent.path, &["for-each-ref", "--format=%(refname)", "refs/coppice/undo"]);
        match at {
            4 => {
                // What was in the place of the file is in a commit.
                assert_eq!(kept, "kept\n");
                let said = run_git(&family.parent.path, &["show", &format!("{}:kept", saved.trim())]);
                assert_eq!(said, "at the last moment\n");
            }
            _ => assert_eq!((kept.as_str(), saved.as_str()), ("at the last moment\n", ""), "{at}"),
        }
        family.is_tidy();
    }
}

#[test]
fn an_index_that_hides_a_change_hides_nothing() {
    let mut family = Family::new();
    run_git(&family.parent.path, &["update-index", "--assume-unchanged", "kept"]);
    family.parent_writes("kept", "hidden\n");
    family.child_writes("kept", "by the child\n");
    let done = family.done();
    family.refused(done, Outcome::Changed { files: paths(&["kept"]) });
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nobody() {
    let mut family = Family::new();
    family.child_writes("pipe.log", "by the child\n");
    run_git(&family.child.path, &["add", "--force", "pipe.log"]);
    let done = family.done();
    let pipe = family.parent.path.join("pipe.log");
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let outcome = integrate(&family.parent, done).unwrap();
    assert_eq!(outcome, Outcome::Changed { files: paths(&["pipe.log"]) });
}

#[test]
fn attributes_of_either_agent_run_no_filter_and_no_merge_driver() {
    let sandbox = Sandbox::new();
    let marker = sandbox.root().join("ran");
    let program = format!("touch '{}'; cat", marker.display());
    for key in ["filter.own.smudge", "filter.own.clean", "merge.own.driver"] {
        sandbox.git(&["config", key, &program]);
    }
    sandbox.write("lines", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.commit_all("base");
    let attributes = "* filter=own merge=own\n";
    let mut family =
        Family::in_sandbox(sandbox, Ignored::Left, |parent| write(&parent.join(".gitattributes"), attributes));
    family.child_writes("lines", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    family.parent_writes("lines", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let done = family.done();
    family.integrated(done);
    assert!(!marker.exists());
    assert_eq!(text(&family.parent, "lines").as_deref(), Some("one\n2\n3\n4\n5\n6\n7\n8\nnine\n"));
}
