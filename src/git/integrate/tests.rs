//! A child's work reaches the parent whole or not at all, whatever the two trees hold and wherever it is stopped.

mod hostile;
mod interrupted;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::git::diff::Kind;
use crate::git::handoff::{self, Ignored};
use crate::git::history::{Checkpoint, checkpoint};
use crate::git::testkit::{Sandbox, listing, run_git, write};
use crate::git::worktree::{self, New, Ways};

/// A parent and a child that started from what the parent had.
struct Family {
    sandbox: Sandbox,
    parent: Worktree,
    child: Worktree,
    turns: u32,
}

impl Family {
    /// A parent with an edited and an untracked file, and its child.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "*.log\n");
        sandbox.write("kept", "kept\n");
        sandbox.write("lines", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        sandbox.write("dir/one", "one\n");
        sandbox.write("dir/two", "two\n");
        sandbox.commit_all("base");
        Self::in_sandbox(sandbox, Ignored::Left, |parent| {
            write(&parent.join("README"), "edited by the parent\n");
            write(&parent.join("untracked"), "untracked\n");
        })
    }

    fn in_sandbox(sandbox: Sandbox, ignored: Ignored<'_>, edit: impl FnOnce(&Path)) -> Self {
        let parent = sandbox.session("abcdefgh");
        edit(&parent.path);
        let base = handoff::snapshot(&parent, "h_one", ignored).unwrap().commit;
        let root = sandbox.root().join("trees");
        let attributes = parent.attributes;
        let new = New { root: &root, id: "bbbbbbbb".parse().unwrap(), slug: "help", base, attributes };
        let child = worktree::create_by(&parent.repo, new, Ways::Checkout, &mut |_| {}).unwrap().worktree;
        Self { sandbox, parent, child, turns: 0 }
    }

    /// What the child has committed.
    fn done(&mut self) -> Child {
        self.turns += 1;
        let about = Checkpoint { session: "bbbbbbbb".parse().unwrap(), turn: self.turns, message: "x" };
        let head = checkpoint(&self.child, about).unwrap().unwrap().commit;
        Child { base: self.child.base, head }
    }

    fn child_writes(&self, name: &str, text: &str) {
        write(&self.child.path.join(name), text);
    }

    fn parent_writes(&self, name: &str, text: &str) {
        write(&self.parent.path.join(name), text);
    }

    #[track_caller]
    fn integrated(&self, child: Child) -> Vec<(String, Kind)> {
        let before = index(&self.parent);
        let outcome = integrate(&self.parent, child).unwrap();
        assert_eq!(index(&self.parent), before);
        self.is_tidy();
        let Outcome::Integrated { files } = outcome else { panic!("{outcome:?}") };
        files.into_iter().map(|file| (file.path.display().to_string(), file.kind)).collect()
    }

    /// Requires that nothing is written.
    #[track_caller]
    fn refused(&self, child: Child, expected: Outcome) {
        let before = (index(&self.parent), listing(&self.parent.path));
        assert_eq!(integrate(&self.parent, child).unwrap(), expected);
        assert_eq!((index(&self.parent), listing(&self.parent.path)), before);
        self.is_tidy();
    }

    #[track_caller]
    fn is_tidy(&self) {
        assert!(Scratch::find(&self.parent).is_none());
    }
}

fn index(tree: &Worktree) -> Vec<u8> {
    fs::read(tree.admin.join("index")).unwrap()
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

fn text(tree: &Worktree, name: &str) -> Option<String> {
    fs::read_to_string(tree.path.join(name)).ok()
}

#[test]
fn every_kind_of_change_arrives_and_nothing_is_staged() {
    let mut family = Family::new();
    let child = family.child.path.clone();
    family.child_writes("new/deep/file", "new\n");
    family.child_writes("untracked", "edited by the child\n");
    fs::write(child.join("binary"), b"\0\xff\n\r").unwrap();
    fs::remove_dir_all(child.join("dir")).unwrap();
    fs::set_permissions(child.join("kept"), Permissions::from_mode(0o755)).unwrap();
    symlink("/nowhere", child.join("link")).unwrap();
    fs::remove_file(child.join("lines")).unwrap();
    family.child_writes("lines/first", "1\n");
    family.child_writes("odd \"name\n\u{e9}", "odd\n");
    let done = family.done();
    let files = family.integrated(done);
    assert_eq!(files.len(), 10, "{files:?}");
    let expected = listing(&family.child.path);
    let found = listing(&family.parent.path);
    let without_git = |all: BTreeMap<PathBuf, String>| -> BTreeMap<_, _> {
        all.into_iter().filter(|(path, _)| path != Path::new(".git")).collect()
    };
    assert_eq!(without_git(found), without_git(expected));
    assert_eq!(run_git(&family.parent.path, &["diff", "--cached", "--name-only"]), "");
    assert_eq!(family.sandbox.oid(&family.parent.branch), family.parent.base);
}

#[test]
fn a_directory_gives_way_to_a_file_and_a_link_to_a_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/sub/one", "one\n");
    sandbox.write("dir/two", "two\n");
    symlink("dir", sandbox.main().join("link")).unwrap();
    sandbox.commit_all("base");
    let mut family = Family::in_sandbox(sandbox, Ignored::Left, |_| {});
    fs::remove_dir_all(family.child.path.join("dir")).unwrap();
    family.child_writes("dir", "a file\n");
    fs::remove_file(family.child.path.join("link")).unwrap();
    family.child_writes("link/inside", "inside\n");
    let done = family.done();
    family.integrated(done);
    assert_eq!(text(&family.parent, "dir").as_deref(), Some("a file\n"));
    assert_eq!(text(&family.parent, "link/inside").as_deref(), Some("inside\n"));
}

#[test]
fn both_sides_are_merged_line_by_line() {
    let mut family = Family::new();
    family.child_writes("lines", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    family.parent_writes("lines", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    family.parent_writes("later", "written while the child worked\n");
    let done = family.done();
    assert_eq!(family.integrated(done), [("lines".to_owned(), Kind::Modified)]);
    assert_eq!(text(&family.parent, "lines").as_deref(), Some("one\n2\n3\n4\n5\n6\n7\n8\nnine\n"));
    assert_eq!(text(&family.parent, "later").as_deref(), Some("written while the child worked\n"));
    assert_eq!(text(&family.parent, "README").as_deref(), Some("edited by the parent\n"));
}

#[test]
fn a_conflict_writes_nothing_and_lists_the_files() {
    let mut family = Family::new();
    family.child_writes("README", "by the child\n");
    family.child_writes("kept", "by the child\n");
    family.child_writes("fresh", "fresh\n");
    family.parent_writes("README", "by the parent\n");
    fs::remove_file(family.parent.path.join("kept")).unwrap();
    let done = family.done();
    family.refused(done, Outcome::Conflict { files: paths(&["README", "kept"]) });
}

#[test]
fn the_same_child_again_is_nothing_and_more_of_it_counts_from_there() {
    let mut family = Family::new();
    assert_eq!(
        integrate(&family.parent, Child { base: family.child.base, head: family.child.base }).unwrap(),
        Outcome::Nothing
    );
    family.child_writes("lines", "child\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let first = family.done();
    family.integrated(first);
    family.refused(first, Outcome::Nothing);
    // The parent goes on with what it got, and the child as well.
    family.parent_writes("lines", "child and parent\n2\n3\n4\n5\n6\n7\n8\n9\n");
    family.child_writes("more", "more\n");
    let second = family.done();
    family.integrated(Child { base: first.head, head: second.head });
    assert_eq!(text(&family.parent, "more").as_deref(), Some("more\n"));
    assert!(text(&family.parent, "lines").unwrap().starts_with("child and parent\n"));
}

#[test]
fn an_ignored_file_in_the_way_is_never_overwritten() {
    let mut family = Family::new();
    family.parent_writes("secret.log", "of the parent\n");
    family.child_writes("secret.log", "of the child\n");
    family.child_writes("fresh", "fresh\n");
    run_git(&family.child.path, &["add", "--force", "secret.log"]);
    let done = family.done();
    family.refused(done, Outcome::Changed { files: paths(&["secret.log"]) });
    // The very same content is no obstacle.
    family.parent_writes("secret.log", "of the child\n");
    assert_eq!(family.integrated(done), [("fresh".to_owned(), Kind::Added)]);
    family.refused(done, Outcome::Nothing);
}

#[test]
fn ignored_files_that_came_along_are_merged_like_others() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.commit_all("base");
    let patterns = ["*.log".to_owned()];
    let mut family = Family::in_sandbox(sandbox, Ignored::Taken(&patterns), |parent| {
        write(&parent.join("a.log"), "a\n");
        write(&parent.join("b.log"), "b\n");
    });
    family.child_writes("a.log", "by the child\n");
    let done = family.done();
    assert_eq!(family.integrated(done), [("a.log".to_owned(), Kind::Modified)]);
    assert_eq!(text(&family.parent, "a.log").as_deref(), Some("by the child\n"));
    assert_eq!(text(&family.parent, "b.log").as_deref(), Some("b\n"));
    family.refused(done, Outcome::Nothing);
}

#[test]
fn line_ends_and_filters_are_those_of_a_checkout() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.shout.clean", "tr A-Z a-z"]);
    sandbox.git(&["config", "filter.shout.smudge", "tr a-z A-Z"]);
    sandbox.write(".gitattributes", "*.bat text eol=crlf\n*.loud filter=shout\n");
    sandbox.write("run.bat", "one\r\n");
    sandbox.write("text.loud", "one\n");
    sandbox.commit_all("base");
    let mut family = Family::in_sandbox(sandbox, Ignored::Left, |_| {});
    assert_eq!(text(&family.parent, "text.loud").as_deref(), Some("ONE\n"));
    family.child_writes("run.bat", "one\r\ntwo\r\n");
    family.child_writes("new.bat", "new\r\n");
    family.child_writes("text.loud", "TWO\n");
    let done = family.done();
    family.integrated(done);
    assert_eq!(text(&family.parent, "run.bat").as_deref(), Some("one\r\ntwo\r\n"));
    assert_eq!(text(&family.parent, "new.bat").as_deref(), Some("new\r\n"));
    assert_eq!(text(&family.parent, "text.loud").as_deref(), Some("TWO\n"));
    family.refused(done, Outcome::Nothing);
}
