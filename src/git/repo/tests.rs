//! Every layout a person may start in, and the exact words for those that do not work.

use std::fs;

use super::*;
use crate::git::place::Place;
use crate::git::testkit::{Sandbox, run_git, write};

#[test]
fn a_checkout_a_directory_in_it_and_a_linked_worktree_are_one_repository() {
    let sandbox = Sandbox::new();
    let session = sandbox.session("abcdefgh");
    let inside = sandbox.main().join("deep/er");
    fs::create_dir_all(&inside).unwrap();
    let repo = sandbox.repo();
    assert_eq!(repo.checkout(), Some(sandbox.main().as_path()));
    assert_eq!(repo.common_dir(), sandbox.main().join(".git"));
    assert_eq!(Repo::discover(&inside).unwrap(), repo);
    assert_eq!(Repo::discover(&session.path).unwrap(), repo);
}

#[test]
fn a_git_directory_among_the_files_of_another_repository_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(&["clone", "--quiet", "--bare", ".", "docs/x.git"]);
    let nested = Repo::discover(&sandbox.main().join("docs/x.git/refs"));
    assert!(matches!(nested, Err(GitError::NestedGitDirectory { .. })), "{nested:?}");
    // Whatever its settings say, and whatever is around it.
    run_git(&sandbox.main().join("docs/x.git"), &["config", "core.bare", "false"]);
    run_git(&sandbox.main().join("docs/x.git"), &["config", "core.worktree", ".."]);
    sandbox.git(&["clone", "--quiet", "--bare", ".", "docs/outer"]);
    sandbox.git(&["clone", "--quiet", "--bare", ".", "docs/outer/inner"]);
    for place in ["docs/x.git", "docs/outer", "docs/outer/inner"] {
        let nested = Repo::discover(&sandbox.main().join(place));
        assert!(matches!(nested, Err(GitError::NestedGitDirectory { .. })), "{place}: {nested:?}");
        assert!(Place::find(&sandbox.main().join(place)).is_err(), "{place}");
    }
    // A directory of worktrees around its own bare repository.
    sandbox.git(&["clone", "--quiet", "--bare", ".", "../project/.bare"]);
    let project = sandbox.root().join("project");
    write(&project.join(".git"), "gitdir: ./.bare\n");
    run_git(&project, &["worktree", "add", "--quiet", "one", "main"]);
    for place in ["", ".bare", "one"] {
        assert_eq!(Repo::discover(&project.join(place)).unwrap().common_dir(), project.join(".bare"), "{place}");
    }
}

#[test]
fn programs_are_found_that_are_set_for_the_branch_of_a_worktree() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session("aaaaaaaa");
    write(&sandbox.root().join("own"), "[filter \"x\"]\nclean = ./tools/clean\n");
    let include = sandbox.root().join("own").display().to_string();
    sandbox.git(&["config", &format!("includeIf.onbranch:{}.path", tree.branch), &include]);
    let repo = sandbox.repo();
    assert!(!repo.runs_programs(repo.common_dir()));
    assert!(repo.runs_programs(&tree.admin));
}

#[test]
fn a_bare_repository_has_no_checkout() {
    let sandbox = Sandbox::new();
    sandbox.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = sandbox.root().join("bare.git");
    let repo = Repo::discover(&bare).unwrap();
    assert_eq!((repo.common_dir(), repo.checkout()), (bare.as_path(), None));
    run_git(&bare, &["worktree", "add", "--quiet", "../linked", "main"]);
    assert_eq!(Repo::discover(&sandbox.root().join("linked")).unwrap(), repo);
    let base = repo.resolve_base(&bare, None).unwrap();
    assert_eq!(base, Base { name: "main".into(), branch: Some("refs/heads/main".into()), commit: sandbox.head() });
}

#[test]
fn a_separate_git_directory_and_a_submodule_keep_their_checkout() {
    let sandbox = Sandbox::new();
    sandbox.git(&["clone", "--quiet", "--separate-git-dir=../elsewhere", ".", "../apart"]);
    let apart = Repo::discover(&sandbox.root().join("apart")).unwrap();
    assert_eq!(apart.checkout(), Some(sandbox.root().join("apart").as_path()));
    sandbox.git(&["submodule", "--quiet", "add", "../apart", "sub"]);
    let sub = Repo::discover(&sandbox.main().join("sub")).unwrap();
    assert_eq!(sub.checkout(), Some(sandbox.main().join("sub").as_path()));
    assert_eq!(sub.common_dir(), sandbox.main().join(".git/modules/sub"));
    assert_eq!(Repo::discover(sub.common_dir()).unwrap(), sub);
    run_git(&sandbox.main().join("sub"), &["worktree", "add", "--quiet", "-b", "side", "../../linked"]);
    assert_eq!(Repo::discover(&sandbox.root().join("linked")).unwrap(), sub);
}

#[track_caller]
fn refused(dir: &Path, expected: &str) {
    let shown = Repo::discover(dir).unwrap_err().to_string();
    assert_eq!(shown.replace(dir.to_str().unwrap(), "DIR"), expected);
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let sandbox = Sandbox::unborn();
    refused(&sandbox.root(), "`DIR` is not in a git repository");
    refused(&sandbox.root().join("absent"), "`DIR` is not in a git repository");
    refused(&sandbox.main(), "the repository at `DIR` has no commits");
    for (name, option, expected) in [
        ("sha256", "--object-format=sha256", "an object format other than sha1"),
        ("reftable", "--ref-format=reftable", "the reftable format"),
    ] {
        let path = sandbox.root().join(name);
        run_git(&sandbox.root(), &["init", "--quiet", option, name]);
        refused(&path, &format!("the repository at `DIR` uses {expected}, which is not supported"));
    }
    sandbox.git(&["config", "core.repositoryFormatVersion", "1"]);
    sandbox.git(&["config", "extensions.partialClone", "origin"]);
    refused(&sandbox.main(), "the repository at `DIR` uses a partial clone, which is not supported");
}

#[test]
fn a_repository_of_somebody_else_is_refused_with_the_way_to_trust_it() {
    let error = git2::Error::new(ErrorCode::Owner, git2::ErrorClass::Config, "not owned");
    let refused = open_error(Path::new("/their/repo"), error);
    assert_eq!(refused.to_string(), "the repository at `/their/repo` belongs to another user");
    let hint = "if you trust it, run `git config --global --add safe.directory /their/repo`";
    assert_eq!(refused.hint().as_deref(), Some(hint));
}

#[test]
fn an_unborn_head_beside_other_branches_needs_a_named_base() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "--quiet", "--orphan", "empty"]);
    let repo = sandbox.repo();
    let refused = repo.resolve_base(&sandbox.main(), None).unwrap_err();
    assert!(matches!(refused, GitError::NoCommits { .. }));
    assert_eq!(repo.resolve_base(&sandbox.main(), Some("main")).unwrap().commit, sandbox.oid("main"));
}

#[test]
fn every_way_to_name_a_base() {
    let sandbox = Sandbox::new();
    let first = sandbox.head();
    sandbox.git(&["tag", "-a", "-m", "one", "v1"]);
    sandbox.git(&["branch", "feature/x"]);
    sandbox.write("more", "more\n");
    let second = sandbox.commit_all("second");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let repo = sandbox.repo();
    for (wanted, name, branch, commit) in [
        (None, "main", Some("refs/heads/main"), second),
        (Some("HEAD"), "main", Some("refs/heads/main"), second),
        (Some("main"), "main", Some("refs/heads/main"), second),
        (Some("refs/heads/main"), "main", Some("refs/heads/main"), second),
        (Some("feature/x"), "feature/x", Some("refs/heads/feature/x"), first),
        (Some("v1"), "v1", None, first),
        (Some("HEAD~1"), "HEAD~1", None, first),
        (Some("origin/main"), "origin/main", None, second),
        (Some(&first.to_string()), &first.to_string(), None, first),
        (Some(&first.short()), &first.short(), None, first),
    ] {
        let expected = Base { name: name.into(), branch: branch.map(str::to_owned), commit };
        assert_eq!(repo.resolve_base(&sandbox.main(), wanted).unwrap(), expected, "{wanted:?}");
    }
}

#[test]
fn a_name_that_is_no_base_is_named() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    for (wanted, expected) in [
        ("nope", "no branch, tag or commit is named `nope`"),
        ("", "no branch, tag or commit is named ``"),
        ("--force", "no branch, tag or commit is named `--force`"),
        ("HEAD:README", "`HEAD:README` is not a commit"),
        ("main..main", "no branch, tag or commit is named `main..main`"),
    ] {
        assert_eq!(repo.resolve_base(&sandbox.main(), Some(wanted)).unwrap_err().to_string(), expected);
    }
    let other = Sandbox::new();
    assert!(matches!(repo.resolve_base(&other.main(), None), Err(GitError::OtherRepository { .. })));
}

#[test]
fn a_detached_head_has_no_branch_to_merge_into() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "--quiet", "--detach"]);
    let commit = sandbox.head();
    let base = sandbox.repo().resolve_base(&sandbox.main(), None).unwrap();
    assert_eq!(base, Base { name: commit.short(), branch: None, commit });
}

#[test]
fn the_base_is_what_the_users_own_worktree_has_checked_out() {
    let sandbox = Sandbox::new();
    let session = sandbox.session("abcdefgh");
    let base = sandbox.repo().resolve_base(&session.path, None).unwrap();
    assert_eq!(base.branch.as_deref(), Some("refs/heads/coppice/abcdefgh/work"));
}

#[test]
fn the_identity_is_the_users_or_missing() {
    let sandbox = Sandbox::new();
    let ada = Identity { name: "Ada".into(), email: "ada@example.com".into() };
    assert_eq!(sandbox.repo().identity().unwrap(), ada);
    sandbox.git(&["config", "--unset", "user.email"]);
    let missing = sandbox.repo().identity().unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no git identity is configured: run `git config --global user.name \"Your Name\"` \
         and `git config --global user.email you@example.com`"
    );
}

#[test]
fn a_branch_named_coppice_blocks_the_namespace() {
    let sandbox = Sandbox::new();
    assert!(sandbox.repo().check_namespace().is_ok());
    sandbox.git(&["branch", "coppice"]);
    let taken = sandbox.repo().check_namespace().unwrap_err();
    assert_eq!(taken.to_string(), "the branch `coppice` takes the place of the branches below `coppice/`");
    assert_eq!(taken.hint().as_deref(), Some("rename it: `git branch --move coppice coppice-old`"));
}

#[test]
fn refs_are_read_without_discovery() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert_eq!(repo.find_ref("refs/heads/main").unwrap(), Some(sandbox.head()));
    assert_eq!(repo.find_ref("refs/heads/other").unwrap(), None);
}

#[test]
fn identities_parse() {
    for (said, expected) in [
        ("Ada L <a@b> 1700000000 +0100\n", Some(("Ada L", "a@b"))),
        ("A <> 1 +0000", Some(("A", ""))),
        ("nothing", None),
    ] {
        let expected = expected.map(|(name, email)| Identity { name: name.into(), email: email.into() });
        assert_eq!(parse_identity(said.as_bytes()), expected);
    }
}
