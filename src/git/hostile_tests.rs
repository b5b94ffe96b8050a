//! An agent that has turned everything in its worktree against the engine: nothing that it planted runs.

use std::fs;
use std::path::{Path, PathBuf};

use super::capture::Stops;
use super::diff::{self, Target};
use super::history::{self, Checkpoint};
use super::merge::{self, Merge, Outcome, Style};
use super::testkit::{Sandbox, reset, run_git, write, write_script};
use super::{GitError, Worktree, branch, commit, listing, look, push, status};

/// A session whose agent has rewritten `.git` and planted programs wherever git looks for some.
struct Trap {
    sandbox: Sandbox,
    tree: Worktree,
    markers: PathBuf,
}

impl Trap {
    fn set() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("tracked.txt", "tracked\n");
        sandbox.commit_all("more");
        let markers = sandbox.root().join("markers");
        fs::create_dir(&markers).unwrap();
        // A filter and merge driver of the user, as large-file storage has one. Only the base may choose them.
        let user = planted(&markers, "user-filter");
        for key in ["filter.own.clean", "filter.own.smudge", "filter.own.process", "diff.own.textconv"] {
            sandbox.git(&["config", key, &user]);
        }
        sandbox.git(&["config", "merge.own.driver", &user]);
        let tree = sandbox.session("abcdefgh");
        let trap = Self { sandbox, tree, markers };
        trap.plant_git_directory();
        trap.plant_nested_repository("nested");
        let attributes = "* filter=evil diff=evil merge=evil\n*.txt filter=own diff=own merge=own\n";
        write(&trap.tree.path.join(".gitattributes"), attributes);
        write(
            &trap.tree.path.join(".gitmodules"),
            "[submodule \"nested\"]\n\tpath = nested\n\turl = ./x\n\tupdate = !touch x\n",
        );
        write(&trap.tree.path.join("tracked.txt"), "changed\n");
        write(&trap.tree.path.join("new.txt"), "new\n");
        trap
    }

    fn plant_git_directory(&self) {
        let fake = self.tree.path.join("fake");
        run_git(&self.tree.path, &["clone", "--quiet", "--bare", ".", "fake"]);
        run_git(&self.tree.path, &["config", "--file", "fake/config", "core.bare", "false"]);
        self.plant_settings(&fake);
        fs::remove_file(self.tree.path.join(".git")).unwrap();
        write(&self.tree.path.join(".git"), format!("gitdir: {}\n", fake.display()));
    }

    fn plant_nested_repository(&self, name: &str) {
        let nested = self.tree.path.join(name);
        fs::create_dir_all(&nested).unwrap();
        run_git(&nested, &["init", "--quiet"]);
        write(&nested.join("inside"), "inside\n");
        run_git(&nested, &["add", "inside"]);
        run_git(&nested, &["-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "-m", "x"]);
        self.plant_settings(&nested.join(".git"));
        write(&nested.join("inside"), "changed\n");
    }

    /// Every setting that makes git run a program, and every hook.
    fn plant_settings(&self, git_dir: &Path) {
        let mut config = fs::read_to_string(git_dir.join("config")).unwrap();
        for (section, key) in [
            ("core", "fsmonitor"),
            ("core", "sshCommand"),
            ("core", "pager"),
            ("core", "editor"),
            ("core", "askPass"),
            ("credential", "helper"),
            ("diff", "external"),
            ("diff \"evil\"", "textconv"),
            ("diff \"evil\"", "command"),
            ("filter \"evil\"", "clean"),
            ("filter \"evil\"", "smudge"),
            ("filter \"evil\"", "process"),
            ("merge \"evil\"", "driver"),
            ("gpg", "program"),
        ] {
            config += &format!("[{section}]\n\t{key} = \"{}\"\n", planted(&self.markers, key));
        }
        fs::write(git_dir.join("config"), config).unwrap();
        for hook in
            ["pre-commit", "commit-msg", "post-checkout", "post-index-change", "reference-transaction", "post-commit"]
        {
            let program = planted(&self.markers, hook);
            write_script(&git_dir.join("hooks").join(hook), &program);
            write_script(&self.tree.path.join("hooks").join(hook), &program);
        }
    }

    #[track_caller]
    fn nothing_ran(&self) {
        let ran: Vec<_> = fs::read_dir(&self.markers).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(ran.is_empty(), "planted programs ran: {ran:?}");
    }
}

/// A shell command that leaves a mark.
fn planted(markers: &Path, name: &str) -> String {
    format!("touch '{}/{name}'; cat", markers.display())
}

#[test]
fn the_trap_works_on_git_as_people_run_it() {
    let trap = Trap::set();
    run_git(&trap.tree.path, &["status", "--porcelain"]);
    assert!(trap.markers.join("fsmonitor").exists(), "without this mark the other test would prove nothing");
    let trap = Trap::set();
    run_git(&trap.sandbox.main(), &["hash-object", "--path=x.txt", "README"]);
    trap.nothing_ran();
    let attributes = trap.tree.path.join(".gitattributes");
    fs::copy(attributes, trap.sandbox.main().join(".gitattributes")).unwrap();
    run_git(&trap.sandbox.main(), &["hash-object", "--path=x.txt", "README"]);
    assert!(trap.markers.join("user-filter").exists());
}

#[test]
fn nothing_planted_in_a_worktree_runs() {
    let trap = Trap::set();
    let tree = &trap.tree;
    let seen = status::read(tree).unwrap();
    assert_eq!(seen.branch.as_deref(), Some("coppice/abcdefgh/work"));
    assert!(seen.nested.contains(&PathBuf::from("nested")), "{seen:?}");
    trap.nothing_ran();

    let listed = listing::of_tree(tree, 9999).unwrap().paths;
    assert!(["new.txt", "tracked.txt"].iter().all(|name| listed.contains(&PathBuf::from(name))), "{listed:?}");
    assert!(!listed.iter().any(|path| path.starts_with("nested") || path.starts_with(".git")), "{listed:?}");
    trap.nothing_ran();

    let snapshot = history::snapshot(tree, "refs/coppice/snapshots/abcdefgh/1", "snapshot").unwrap();
    assert!(snapshot.left_out.contains(&PathBuf::from("nested")));
    trap.nothing_ran();

    for to in [Target::WorkTree, Target::Commit(snapshot.commit)] {
        assert!(!diff::patch(tree, &tree.base, to, 1000).unwrap().bytes.is_empty());
        assert!(!diff::stat(tree, &tree.base, to).unwrap().is_empty());
    }
    assert!(diff::touches_attributes(&diff::files(tree, &tree.base, Target::WorkTree).unwrap()));
    trap.nothing_ran();

    let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "work" };
    let recorded = history::checkpoint(tree, about).unwrap().unwrap();
    assert_eq!(trap.sandbox.git(&["show", &format!("{}:new.txt", recorded.commit)]), "new\n");
    assert_eq!(trap.sandbox.git(&["ls-tree", "-r", &recorded.commit.to_string(), "nested"]), "");
    trap.nothing_ran();

    reset(tree, &tree.base).unwrap();
    reset(tree, &recorded.commit).unwrap();
    trap.nothing_ran();

    trap.sandbox.git(&["switch", "--quiet", "--create", "elsewhere"]);
    trap.sandbox.write("tracked.txt", "tracked\nby the user\n");
    let onto = trap.sandbox.commit_all("meanwhile");
    let conflict = merge::RebaseOutcome::Conflict { files: vec!["tracked.txt".into()] };
    assert_eq!(merge::rebase(tree, &onto, tree.base).unwrap(), conflict);
    trap.nothing_ran();

    let order = Merge {
        target: Some("refs/heads/main"),
        style: Style::NoFf,
        message: "work",
        base: tree.base,
        hooks: crate::git::merge::HookPolicy::Check,
        ssh_agent: None,
    };
    let outcome = merge::merge(tree, order, &mut |hook| panic!("{hook:?}")).unwrap();
    assert!(matches!(outcome, Outcome::Merged { .. }), "{outcome:?}");
    trap.nothing_ran();
}

#[test]
fn nothing_planted_in_a_worktree_runs_for_a_tool() {
    let trap = Trap::set();
    let (tree, all) = (&trap.tree, 1024 * 1024);
    let base = look::revision(tree, "HEAD").unwrap();
    assert_eq!(base, tree.base);
    assert!(matches!(look::show(&tree.repo, &base, Path::new("tracked.txt"), all).unwrap(), look::Shown::File(_)));
    assert!(!look::log(tree, &base, Path::new("tracked.txt"), 10).unwrap().is_empty());
    assert!(!look::subjects(tree, &base, 10).unwrap().is_empty());
    assert!(!look::blame(tree, &base, Path::new("tracked.txt"), (1, 1), all).unwrap().bytes.is_empty());
    assert_eq!(look::standing(tree).unwrap().status.branch.as_ref(), Some(&tree.branch));
    let view = diff::View { paths: &[], without: &[".env"], limit: all };
    let patch = diff::patch_head(tree, &base, Target::WorkTree, view).unwrap();
    assert!(String::from_utf8_lossy(&patch.kept.bytes).contains("+changed"));
    trap.nothing_ran();

    assert_eq!(commit::stage_paths(tree, &["tracked.txt".into()]).unwrap().files, 1);
    assert!(!diff::staged_head(tree, &base, view).unwrap().kept.bytes.is_empty());
    assert_eq!(commit::unstage(tree, &[".".into()]).unwrap(), 1);
    assert!(commit::stage_all(tree).unwrap().left_out.contains(&PathBuf::from("nested")));
    let outcome = commit::commit(tree, "work", &mut |hook| panic!("{hook:?}")).unwrap();
    assert!(matches!(outcome, commit::Outcome::Committed { .. }), "{outcome:?}");
    write(&tree.path.join("tracked.txt"), "again\n");
    commit::commit_all(tree, "more").unwrap().unwrap();
    branch::create(tree, "beside", &base, &[]).unwrap();
    trap.nothing_ran();

    let remote = trap.sandbox.root().join("remote.git");
    run_git(&trap.sandbox.root(), &["init", "--quiet", "--bare", "remote.git"]);
    trap.sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    push::push(tree, "main", [], &Stops::new()).unwrap();
    branch::roll_back(tree, &base, &tree.base, "refs/coppice/undo/abcdefgh/1").unwrap();
    assert_eq!(trap.sandbox.oid(&tree.branch), base);
    trap.nothing_ran();
}

#[test]
fn a_git_file_that_leads_elsewhere_does_not_lead_the_engine() {
    let trap = Trap::set();
    let other = Sandbox::new();
    write(&trap.tree.path.join(".git"), format!("gitdir: {}\n", other.main().join(".git").display()));
    let before = other.head();
    let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "work" };
    let recorded = history::checkpoint(&trap.tree, about).unwrap().unwrap();
    assert_eq!(trap.sandbox.oid(&trap.tree.branch), recorded.commit);
    assert_eq!(other.head(), before);
    let base = trap.tree.repo.resolve_base(&trap.tree.path, None);
    assert!(matches!(base, Err(GitError::OtherRepository { .. })));
    fs::remove_file(trap.tree.path.join(".git")).unwrap();
    assert!(status::read(&trap.tree).unwrap().is_clean());
}
