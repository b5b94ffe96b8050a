//! A checkpoint that gets another message.

use super::*;

#[test]
fn a_reworded_checkpoint_differs_in_its_message_only() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("new"), "new\n");
    let old = take(&tree, 1);
    // What is not committed stays as it is, staged or not.
    write(&tree.path.join("staged"), "staged\n");
    run_git(&tree.path, &["add", "staged"]);
    write(&tree.path.join("loose"), "loose\n");
    let hooks = sandbox.main().join(".git/hooks");
    let proof = sandbox.root().join("hook-ran");
    for hook in ["reference-transaction", "commit-msg", "post-commit", "post-rewrite"] {
        write_script(&hooks.join(hook), &format!("touch '{}'", proof.display()));
    }
    let before = (porcelain(&tree), fs::read(tree.admin.join("index")).unwrap());
    fs::remove_file(&proof).ok();

    let told = Checkpoint { message: "Say it better\n\nWith a body.", ..about(1) };
    let new = reword(&tree, &old, told).unwrap().unwrap();

    assert!(!proof.exists());
    assert_eq!((sandbox.oid(&tree.branch), sandbox.oid("refs/coppice/checkpoints/abcdefgh/1")), (new, new));
    assert_eq!((porcelain(&tree), fs::read(tree.admin.join("index")).unwrap()), before);
    let facts = |commit: Oid| {
        let format = "--format=%T %P %an %ae %ad %cn %ce %cd";
        sandbox.git(&["show", "--no-patch", "--date=raw", format, &commit.to_string()])
    };
    assert_eq!(facts(new), facts(old));
    let said = sandbox.git(&["show", "--no-patch", "--format=%B", &new.to_string()]);
    assert_eq!(said.trim_end(), "Say it better\n\nWith a body.\n\nCoppice-Session: abcdefgh");
    // Whoever still knows the commit by its old name can go back to it, also after a garbage collection.
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(reset(&tree, &old).map(|()| porcelain(&tree)).unwrap(), "");
    assert_eq!(reset(&tree, &new).map(|()| porcelain(&tree)).unwrap(), "");
    assert_eq!(checkpoint(&tree, about(2)).unwrap(), None);
}

#[test]
fn only_the_last_commit_and_only_our_own_is_reworded() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("one"), "1\n");
    let first = take(&tree, 1);
    write(&tree.path.join("two"), "2\n");
    let second = take(&tree, 2);
    assert_eq!(reword(&tree, &first, about(1)).unwrap(), None);
    // The ref of another turn does not keep this commit.
    assert_eq!(reword(&tree, &second, about(1)).unwrap(), None);
    write(&tree.path.join("own"), "own\n");
    run_git(&tree.path, &["add", "own"]);
    run_git(&tree.path, &["commit", "--quiet", "--message", "own"]);
    let own = take(&tree, 3);
    assert_eq!(reword(&tree, &own, about(3)).unwrap(), None);
    assert_eq!(sandbox.oid(&tree.branch), own);
    assert_eq!(sandbox.oid("refs/coppice/checkpoints/abcdefgh/1"), first);
    assert!(!sandbox.main().join(".git/refs/heads").join(format!("{}.lock", tree.branch)).exists());
}
