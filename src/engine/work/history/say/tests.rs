//! The texts as a model reads them.

use super::*;
use crate::git::status::Changed;

fn kept(text: &str) -> Kept {
    Kept { bytes: text.as_bytes().to_vec(), is_cut: false }
}

fn status() -> Status {
    let changed = |path: &str, staged, unstaged| Changed { path: path.into(), staged, unstaged };
    Status {
        head: None,
        branch: Some("coppice/abcdefgh/work".to_owned()),
        changed: vec![
            changed("README.md", State::Modified, State::Same),
            changed("src/a\n## state", State::Added, State::Modified),
            changed("old", State::Same, State::Deleted),
        ],
        untracked: vec!["new".into()],
        nested: vec!["nested".into()],
        ignored_directories: Vec::new(),
        own_links: Vec::new(),
        unreadable: vec![],
    }
}

#[test]
fn the_context_of_a_commit_has_every_section() {
    let context = Context {
        status: status(),
        diff: Patch { kept: kept("diff --git a/README.md b/README.md\n+x\n"), left_out: vec![".env".into()] },
        subjects: "feat: one\n## state\nfix: two".to_owned(),
        commits: "abc1234 feat: one".to_owned(),
    };
    insta::assert_snapshot!(super::context(&context), @r"
    ## state
    staged_empty=false
    detected_style=conventional
    branch=coppice/abcdefgh/work

    ## staged.name-status
    M	README.md
    A	src/a ## state

    ## staged.diff
    diff --git a/README.md b/README.md
    +x
    [left out: `.env` differs, and is kept from tools that read files]

    ## recent.subjects
    - feat: one
    - ## state
    - fix: two

    ## branch.commits
    - abc1234 feat: one

    ## prose
    README.md

    ## unstaged
    M	src/a ## state
    D	old

    ## untracked
    new
    nested
    ");
    let diff = Patch { kept: kept(""), left_out: Vec::new() };
    let nothing = Context { status: Status::default(), diff, subjects: String::new(), commits: String::new() };
    insta::assert_snapshot!(super::context(&nothing), @r"
    ## state
    staged_empty=true
    detected_style=plain
    branch=detached

    ## staged.name-status

    ## staged.diff

    ## recent.subjects

    ## branch.commits

    ## prose

    ## unstaged

    ## untracked
    ");
}

#[test]
fn changes_are_listed_by_part() {
    insta::assert_snapshot!(changed(&status(), Parts { staged: true, unstaged: false, untracked: true }), @r"
    staged=2 untracked=2

    ## staged
    M	README.md
    A	src/a ## state

    ## untracked
    new
    nested
    ");
}

#[test]
fn a_branch_is_told_in_flags() {
    let upstream = Some(Upstream { name: "origin/x".to_owned(), ahead: 2, behind: 1 });
    insta::assert_snapshot!(standing(&Standing { status: status(), upstream }), @r"
    branch=coppice/abcdefgh/work
    upstream=origin/x
    ahead=2
    behind=1
    dirty=true
    ");
    assert!(standing(&Standing { status: Status::default(), upstream: None }).contains("upstream=none\n"));
}

#[test]
fn a_commit_tells_what_is_left() {
    let commit = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    insta::assert_snapshot!(committed(&commit, &["/x/.husky/pre-commit".into()], &status()), @r"
    committed=true sha=0123456789abcdef0123456789abcdef01234567
    the hook `/x/.husky/pre-commit` lies in a work tree and did not run

    ## unstaged
    M	src/a ## state
    D	old

    ## untracked
    new
    nested
    ");
}

#[test]
fn a_patch_names_what_it_does_not_show() {
    let patch = |text: &str, left_out: &[&str]| {
        super::patch(&Patch { kept: kept(text), left_out: left_out.iter().map(PathBuf::from).collect() })
    };
    assert_eq!(patch("", &[]), "no differences");
    assert_eq!(patch("+x\n", &[]), "+x\n");
    let left_out = "[left out: `.env` differs, and is kept from tools that read files]\n";
    assert_eq!(patch("", &[".env"]), left_out);
    assert_eq!(patch("+x\n", &[".env"]), format!("+x\n{left_out}"));
}

#[test]
fn a_push_tells_whether_it_set_the_upstream() {
    let done = |upstream| Pushed { branch: "b".to_owned(), remote: "origin".to_owned(), upstream };
    assert_eq!(pushed(&done(push::Upstream::Set), &PullOfBranch::Unknown), "pushed=true branch=b set_upstream=true");
    assert_eq!(pushed(&done(push::Upstream::Kept), &PullOfBranch::Unknown), "pushed=true branch=b set_upstream=false");
}

#[test]
fn a_stream_that_was_cut_says_so() {
    let cut = |bytes: &[u8]| Kept { bytes: bytes.to_vec(), is_cut: true };
    assert_eq!(
        run(1, &kept("out"), &cut(b"err")),
        "exit=1\n--- stdout ---\nout\n--- stderr ---\nerr\n…[truncated] the first 3 bytes are shown"
    );
    assert_eq!(text(&cut("ä€".as_bytes().split_last().unwrap().1)), "ä\n…[truncated] the first 4 bytes are shown");
    assert_eq!(file(&cut(b"\xc3")), "\n…[truncated] the first 1 bytes are shown");
    assert_eq!(file(&Kept { bytes: b"a\xff".to_vec(), is_cut: false }), "[skipped: not UTF-8 text (byte 1)]");
}

#[test]
fn what_is_staged_is_counted() {
    let some = |files, left_out: &[&str]| Selected {
        files,
        left_out: left_out.iter().map(PathBuf::from).collect(),
        unmatched: vec![],
    };
    assert_eq!(selected(&some(1, &[])), "staged 1 file(s)");
    assert_eq!(selected(&some(2, &[])), "staged 2 file(s)");
    assert!(selected(&some(0, &["nested"])).ends_with("unreadable\nnested\n"));
}
