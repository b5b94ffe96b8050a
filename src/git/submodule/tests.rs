//! Submodules that are filled, changed, deleted, put back, and those that lead elsewhere.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::git::stop::{StopSignal, stop_signal};
use crate::git::testkit::{Sandbox, run_git, write};

const ID: &str = "abcdefgh";

fn id() -> SessionId {
    ID.parse().unwrap()
}

/// A repository with the submodule `deep/sub`: `README`, a script, a link and an ignore file.
struct Case {
    sandbox: Sandbox,
    library: Sandbox,
    tree: Worktree,
}

impl Case {
    fn new() -> Self {
        let library = Sandbox::new();
        library.write("bin/tool", "tool\n");
        library.write(".gitignore", "*.o\n/out/\n");
        fs::set_permissions(library.main().join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("README", library.main().join("link")).unwrap();
        library.commit_all("library");
        let sandbox = Sandbox::new();
        sandbox.git(&["submodule", "--quiet", "add", library.main().to_str().unwrap(), "deep/sub"]);
        sandbox.commit_all("submodule");
        Self { tree: sandbox.session(ID), sandbox, library }
    }

    fn filled() -> Self {
        let case = Self::new();
        assert_eq!(fill(&case.tree, id()).unwrap(), Vec::<String>::new());
        case
    }

    fn sub(&self, path: &str) -> PathBuf {
        self.tree.path.join("deep/sub").join(path)
    }

    fn kept(&self) -> Vec<String> {
        let text = |file: &SubmoduleFile| format!("{:?} {} {:?}", file.kind, file.path.display(), file.lines);
        let kept = keep(&self.tree, id()).unwrap();
        assert_eq!(kept.left_out, Vec::<PathBuf>::new());
        kept.changes.iter().flat_map(|one| one.files.iter().map(text)).collect()
    }

    fn git(&self, args: &[&str]) -> String {
        self.sandbox.git(args)
    }
}

#[test]
fn a_submodule_is_filled_from_the_users_objects() {
    let case = Case::filled();
    assert_eq!(fs::read_to_string(case.sub("README")).unwrap(), "hello\n");
    assert_eq!(fs::read_link(case.sub("link")).unwrap(), Path::new("README"));
    assert_ne!(fs::metadata(case.sub("bin/tool")).unwrap().permissions().mode() & 0o100, 0);
    assert!(!case.sub(".git").exists());
    assert_eq!(case.kept(), Vec::<String>::new());
    assert_eq!(case.tree.repo.find_ref(&submodules_ref(id())).unwrap(), None);
    // What is there stays.
    write(&case.sub("README"), "changed\n");
    fill(&case.tree, id()).unwrap();
    assert_eq!(fs::read_to_string(case.sub("README")).unwrap(), "changed\n");
}

#[test]
fn what_changed_is_kept_with_its_earlier_states_and_comes_back() {
    let case = Case::filled();
    write(&case.sub("README"), "hello\nmore\n");
    write(&case.sub("new dir/new"), "new\n");
    write(&case.sub("out/ignored"), "x\n");
    write(&case.sub("a.o"), "x\n");
    fs::remove_file(case.sub("bin/tool")).unwrap();
    let expected = ["Changed README Some((1, 0))", "Deleted bin/tool Some((0, 1))", "Added new dir/new Some((1, 0))"];
    assert_eq!(case.kept(), expected);
    let name = submodules_ref(id());
    let first = case.sandbox.oid(&name);
    assert_eq!(case.kept(), expected);
    assert_eq!(case.sandbox.oid(&name), first, "the same state is kept once");
    assert_eq!(case.git(&["ls-tree", "-r", "--name-only", &name]), "deep/sub/README\ndeep/sub/new dir/new\n");

    write(&case.sub("README"), "hello\nother\n");
    case.kept();
    assert_eq!(case.git(&["show", &format!("{name}~1:deep/sub/README")]), "hello\nmore\n");

    fs::remove_dir_all(case.sub("")).unwrap();
    fs::remove_file(case.tree.admin.join(RECORD)).unwrap();
    fill(&case.tree, id()).unwrap();
    assert_eq!(fs::read_to_string(case.sub("README")).unwrap(), "hello\nother\n");
    assert_eq!(fs::read_to_string(case.sub("new dir/new")).unwrap(), "new\n");
    assert!(!case.sub("bin/tool").exists() && case.sub("link").exists());

    // All of it undone is a state too, and so is all of it deleted.
    write(&case.sub("README"), "hello\n");
    fs::remove_dir_all(case.sub("")).unwrap();
    assert_eq!(case.kept().len(), 4);
    forget(&case.tree.repo, id()).unwrap();
    assert_eq!(case.tree.repo.find_ref(&name).unwrap(), None);
}

#[test]
fn a_submodule_without_objects_says_so_and_what_is_put_there_is_kept() {
    let case = Case::new();
    fs::remove_dir_all(case.sandbox.main().join(".git/modules")).unwrap();
    let warnings = fill(&case.tree, id()).unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("`deep/sub` is empty") && warnings[0].contains("submodule update --init"),
        "{warnings:?}"
    );
    write(&case.sub("stray"), "stray\n");
    assert_eq!(case.kept(), ["Added stray Some((1, 0))"]);
    fs::remove_dir_all(case.sub("")).unwrap();
    fill(&case.tree, id()).unwrap();
    assert_eq!(fs::read_to_string(case.sub("stray")).unwrap(), "stray\n");
}

#[test]
fn a_worktree_that_was_deleted_says_nothing_about_its_submodules() {
    let case = Case::filled();
    write(&case.sub("README"), "changed\n");
    case.kept();
    let kept = case.sandbox.oid(&submodules_ref(id()));
    fs::remove_dir_all(&case.tree.path).unwrap();
    assert_eq!(case.kept(), Vec::<String>::new());
    fs::create_dir(&case.tree.path).unwrap();
    assert_eq!(case.kept(), Vec::<String>::new());
    assert_eq!(case.sandbox.oid(&submodules_ref(id())), kept);
}

#[test]
fn repositories_inside_are_never_opened_and_their_files_are_kept() {
    let case = Case::filled();
    run_git(&case.sub(""), &["init", "--quiet", "nested"]);
    write(&case.sub("nested/inside"), "inside\n");
    write(&case.sub(".git"), "gitdir: /elsewhere\n");
    let kept = keep(&case.tree, id()).unwrap();
    assert_eq!(kept.left_out, [Path::new("deep/sub/nested/.git")]);
    let paths: Vec<_> = kept.changes[0].files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(paths, [Path::new("nested/inside")]);
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let case = Case::new();
    let outside = case.sandbox.root().join("outside");
    write(&outside.join("sub/secret"), "secret\n");
    fs::remove_dir_all(case.tree.path.join("deep")).unwrap();
    symlink(&outside, case.tree.path.join("deep")).unwrap();
    assert_eq!(fill(&case.tree, id()).unwrap().len(), 1);
    assert_eq!(case.kept(), Vec::<String>::new());
    fs::remove_file(outside.join("sub/secret")).unwrap();
    fill(&case.tree, id()).unwrap();
    assert!(fs::read_dir(outside.join("sub")).unwrap().next().is_none());

    let case = Case::filled();
    write(&outside.join("secret"), "secret\n");
    symlink(outside.join("secret"), case.sub("stolen")).unwrap();
    assert_eq!(case.kept(), ["Added stolen Some((1, 0))"]);
    let kept = case.git(&["show", &format!("{}:deep/sub/stolen", submodules_ref(id()))]);
    assert_eq!(kept, outside.join("secret").display().to_string(), "the link, not what it leads to");
}

/// Commits a submodule called `own` at `path`, without a checkout of it; the worktree that starts from there.
fn commit_submodule(case: &Case, path: &str, commit: Oid) -> Worktree {
    case.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
    let url = case.library.main();
    case.sandbox.write(".gitmodules", &format!("[submodule \"own\"]\n\tpath = {path}\n\turl = {}\n", url.display()));
    case.git(&["add", ".gitmodules"]);
    case.git(&["commit", "--quiet", "--message", "another submodule"]);
    Worktree { base: case.sandbox.oid("HEAD"), ..case.tree.clone() }
}

#[test]
fn no_repository_is_read_that_a_link_in_the_checkout_leads_to() {
    for link in ["links", "links/main", "links/main/.git", "links/main/.git/objects"] {
        let (case, private) = (Case::new(), Sandbox::new());
        let tree = commit_submodule(&case, "links/main", private.oid("HEAD"));
        let target = private.root().join(Path::new(link).strip_prefix("links").unwrap());
        let link = case.sandbox.main().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&target, &link).unwrap();
        let warnings = fill(&tree, id()).unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("`links/main` is empty"), "{warnings:?}");
        assert_eq!(fs::read_dir(tree.path.join("links/main")).unwrap().count(), 0, "{}", link.display());
    }
}

#[test]
fn a_repository_in_the_checkout_fills_a_submodule_once_git_has_moved_it() {
    let case = Case::new();
    let library = case.library.main();
    run_git(&case.sandbox.main(), &["clone", "--quiet", library.to_str().unwrap(), "own"]);
    let tree = commit_submodule(&case, "own", case.library.oid("HEAD"));
    let warnings = fill(&tree, id()).unwrap();
    let command = warnings[0].split('`').find(|text| text.starts_with("git submodule")).unwrap();
    for command in command.split(" && ") {
        let words: Vec<_> = command.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
        run_git(&case.sandbox.main(), &words);
    }
    assert_eq!(fill(&tree, id()).unwrap(), Vec::<String>::new());
    assert_eq!(fs::read_to_string(tree.path.join("own/README")).unwrap(), "hello\n");
}

#[test]
fn names_and_paths_that_lead_out_are_left_alone() {
    for (name, path) in
        [("sub", "../out"), ("sub", "/out"), ("../../out", "deep/sub"), ("sub", ".git/x"), ("sub", "a/../../x")]
    {
        let case = Case::new();
        let text = format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = x\n");
        case.sandbox.write(".gitmodules", &text);
        let base = case.sandbox.commit_all("hostile");
        let tree = Worktree { base, ..case.tree.clone() };
        let warnings = fill(&tree, id()).unwrap();
        assert_eq!(warnings.len(), 1, "{name} {path}: {warnings:?}");
        assert!(!case.sandbox.root().join("out").exists() && !case.sub("README").exists());
        assert_eq!(keep(&tree, id()).unwrap(), KeptSubmodules::default());
    }
}

#[test]
fn work_in_a_repository_that_was_committed_by_mistake_is_kept() {
    let (sandbox, vendor) = (Sandbox::new(), Sandbox::new());
    let link = format!("160000,{},deep/vendor", vendor.head());
    sandbox.git(&["update-index", "--add", "--cacheinfo", &link]);
    sandbox.git(&["commit", "--quiet", "--message", "vendor"]);
    let tree = sandbox.session(ID);
    assert!(has_any(&tree).unwrap());
    assert_eq!(fill(&tree, id()).unwrap(), Vec::<String>::new());
    assert_eq!(keep(&tree, id()).unwrap(), KeptSubmodules::default());
    let work = tree.path.join("deep/vendor/work");
    write(&work, "work\n");
    let kept = keep(&tree, id()).unwrap();
    assert_eq!(
        kept.changes.iter().map(|one| (one.path.as_path(), one.files.len())).collect::<Vec<_>>(),
        [(Path::new("deep/vendor"), 1)]
    );
    assert_eq!(sandbox.git(&["show", &format!("{}:deep/vendor/work", submodules_ref(id()))]), "work\n");
    fs::remove_file(&work).unwrap();
    fill(&tree, id()).unwrap();
    assert_eq!(fs::read_to_string(&work).unwrap(), "work\n");
    // Files that take its place are an ordinary change.
    run_git(&tree.path, &["rm", "--quiet", "--cached", "deep/vendor"]);
    assert!(!has_any(&tree).unwrap());
}

#[test]
fn entries_called_git_are_left_out_and_named_but_for_the_submodules_own() {
    let case = Case::filled();
    for path in [".git", ".GIT", "notes/.git"] {
        write(&case.sub(path), "precious\n");
    }
    symlink("/precious", case.sub("bin/.Git")).unwrap();
    let mut left_out = keep(&case.tree, id()).unwrap().left_out;
    left_out.sort();
    assert_eq!(left_out, ["deep/sub/.GIT", "deep/sub/bin/.Git", "deep/sub/notes/.git"].map(PathBuf::from));
}

#[test]
fn a_name_that_no_tree_can_hold_keeps_nothing_else_from_being_kept() {
    let case = Case::filled();
    write(&case.sub("git~1"), "odd\n");
    write(&case.sub("work.txt"), "important\n");
    let kept = keep(&case.tree, id()).unwrap();
    assert_eq!(kept.left_out, [PathBuf::from("deep/sub/git~1")]);
    assert_eq!(case.git(&["show", &format!("{}:deep/sub/work.txt", submodules_ref(id()))]), "important\n");
}

#[test]
fn a_submodule_of_endless_depth_is_filled_as_far_as_a_directory_may_be_deep() {
    let case = Case::new();
    let library = case.library.repo().open().unwrap();
    let mut tree = library.treebuilder(None).unwrap();
    tree.insert("file", library.blob(b"deep").unwrap(), 0o100_644).unwrap();
    let mut tree = tree.write().unwrap();
    for _ in 0..20_000 {
        let mut above = library.treebuilder(None).unwrap();
        above.insert("d", tree, 0o040_000).unwrap();
        tree = above.write().unwrap();
    }
    let (tree, author) = (library.find_tree(tree).unwrap(), library.signature().unwrap());
    let commit = library.commit(None, &author, &author, "deep", &tree, &[]).unwrap().into();
    let target = open(&case.tree, Path::new("deep/sub"), Missing::Create).unwrap();
    let unfilled = write::fill(&library, commit, &target, case.tree.repo.stop()).unwrap();
    let depths: Vec<_> = unfilled.too_deep.iter().map(|path| path.components().count()).collect();
    assert_eq!(depths, [DEEPEST + 1]);
    let own = case.tree.repo.open().unwrap();
    let walked = walk::compare(&own, Some((&library, commit)), Some(&target), case.tree.repo.stop()).unwrap();
    assert_eq!((walked.files.len(), walked.left_out), (0, unfilled.too_deep));
    let deleted = walk::compare(&own, Some((&library, commit)), None, case.tree.repo.stop()).unwrap();
    assert_eq!(deleted.files.len(), 0);
}

#[test]
fn the_comparison_of_a_submodule_can_be_stopped() {
    let case = Case::filled();
    write(&case.sub("empty"), "");
    let compare = |stop: &StopSignal| {
        let directory = open(&case.tree, Path::new("deep/sub"), Missing::Refuse).unwrap();
        walk::compare(&case.tree.repo.open().unwrap(), None, Some(&directory), stop).map(|walked| walked.files.len())
    };
    let (guard, stop) = stop_signal().unwrap();
    assert_eq!(compare(&stop).unwrap(), 5);
    drop(guard);
    // A program that another test starts holds the other end until it is executed.
    assert!((0..1_000).any(|_| matches!(compare(&stop), Err(GitError::Stopped { .. }))));
}
