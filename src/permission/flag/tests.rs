//! Rows of git calls and the flags in them that people are warned about.

use super::*;

#[test]
fn destructive_flags_are_named() {
    for (text, expected) in [
        ("git push --force origin main", &["--force"][..]),
        ("git push -f", &["-f"]),
        ("git push -uf origin x", &["-uf"]),
        ("git push --force-with-lease=x --mirror", &["--force-with-lease", "--mirror"]),
        ("git push origin +main :old", &["+main", ":old"]),
        ("git push origin --delete x", &["--delete"]),
        ("git push --del x", &["--del"]),
        ("git push --de origin main", &["--de"]),
        ("git push --mi origin", &["--mi"]),
        ("git reset --ha HEAD~1", &["--ha"]),
        ("git reset --h HEAD~1", &["--h"]),
        ("git clean --fo", &["--fo"]),
        ("git tag --de v1", &["--de"]),
        ("git switch --di main", &["--di"]),
        ("git push --receive-pack='touch x;' . main", &["--receive-pack"]),
        ("git push --exec=x --rec y .", &["--exec", "--rec"]),
        ("git fetch --upload-pack=x .", &["--upload-pack"]),
        ("git pull --upl x .", &["--upl"]),
        ("git fetch origin +main:main", &["+main:main"]),
        ("git log --output=x", &["--output"]),
        ("git diff --outp x", &["--outp"]),
        ("git stash show -p --output=x", &["--output"]),
        ("git rebase -x 'make' main", &["-x"]),
        ("git submodule foreach make", &["foreach"]),
        ("git branch -D x", &["-D"]),
        ("git branch --delete --force x", &["--delete", "--force"]),
        ("git reset --hard HEAD~1", &["--hard"]),
        ("git clean -fdx", &["-fdx"]),
        ("git clean -d -f", &["-d", "-f"]),
        ("git checkout -- .", &["-- ."]),
        ("git checkout .", &["."]),
        ("git checkout -f main", &["-f"]),
        ("git checkout HEAD~1 .", &["HEAD~1 ."]),
        ("git checkout README.md", &["README.md"]),
        ("git checkout src/", &["src/"]),
        ("git checkout main src", &["main src"]),
        ("git restore src/a.rs", &["src/a.rs"]),
        ("git stash drop", &["drop"]),
        ("git stash clear", &["clear"]),
        ("git fetch --prune", &["--prune"]),
        ("git tag -d v1", &["-d"]),
        ("git -C sub -c a=b push --force", &["-C", "-c", "--force"]),
        ("git -c alias.x='!touch y' x", &["-c"]),
        ("git --exec-path=./evil status", &["--exec-path"]),
        ("git archive -o y HEAD", &["-o"]),
        ("git archive --output=y HEAD", &["--output"]),
        ("git clone -c core.fsmonitor=./evil a b", &["-c"]),
        ("cd x && git push -f && git reset --hard", &["-f", "--hard"]),
        ("git push -f; git push -f", &["-f"]),
        ("bash -c 'git push --force'", &["--force"]),
        ("timeout 5 git push --force", &["--force"]),
        ("echo $(git branch -D x)", &["-D"]),
        ("git worktree remove --force x", &["--force", "remove"]),
        ("git push --force 'open", &["--force"]),
        ("git format-patch -o /x HEAD", &["-o"]),
        ("git format-patch --output-dir=/x HEAD", &["--output-dir"]),
        ("git cat-file --textconv HEAD:x", &["--textconv"]),
        ("git checkout-index --prefix=/x/ -a", &["--prefix"]),
        ("git --work-tree=/x checkout y", &["--work-tree"]),
    ] {
        assert_eq!(destructive(text), expected, "{text}");
    }
}

#[test]
fn a_repository_on_this_disk_may_run_programs() {
    let may_run = |text: &str| {
        ShellText::read(text).commands.iter().any(|command| may_run_others(command, &["origin".to_owned()]))
    };
    for text in [
        "git push ./x main",
        "git push ../x main",
        "git push /x main",
        "git push --repo=./x",
        "git fetch file:///x",
        "git fetch 'ext::sh -c x'",
        "git pull ./x",
        "git ls-remote ./x",
        "git archive --remote=./x HEAD",
        "git archive --remo ./x HEAD",
        "git push tb side",
        "git push --repo=tb",
        "git push -u tb side",
        "git push -o origin ./evil HEAD:x",
        "git push --push-option origin evil/repo",
        "git pull -X origin ./evil",
        "git fetch --shallow-since origin ./evil",
        "git push origin ./evil",
        "git remote set-url origin ./evil https:",
        "git remote add https://host/x ./evil",
        "git remote add tb ./tb",
        "git remote set-url origin tb",
        "git rebase -s a/b main",
        "git rebase -sa/b main",
        "git rebase --strat=a/b main",
        "git cherry-pick --strategy=a/b x",
        "git revert -s a/b x",
        "git merge -s a/b x",
        "git commit --allow-empty -F .env",
        "git commit -m -- --template=x",
        "git add -f .env",
        "git add --pathspec-from-file=x",
        "git archive --add-file=x HEAD",
        "git blame --contents=x a",
        "git grep --untracked --no-exclude-standard KEY",
        "git cat-file --batch-all-objects",
    ] {
        assert!(may_run(text), "{text}");
    }
    for text in [
        "git push origin main",
        "git push -u origin feature/a:b",
        "git push https://host/x main",
        "git fetch git@host:x",
        "git fetch --all",
        "git archive HEAD ./src",
        "git remote add x https://host/x",
        "git rebase --onto main a b",
        "git rebase -i HEAD~3",
        "git commit -am x --amend",
        "git commit -qm x",
        "git cherry-pick -x a",
        "git merge --no-ff x",
        "git add -A src",
        "git stash push -u -m x",
        "git diff --text",
    ] {
        assert!(!may_run(text), "{text}");
    }
    for text in ["git log --format=%G?", "git log --pretty='%h %GG'", "git log --format '%+G?'"] {
        assert!(may_run(text), "{text}");
    }
}

#[test]
fn what_destroys_nothing_is_not_named() {
    for text in [
        "git commit -m 'push --force'",
        "git commit -F msg -f",
        "git log --hard",
        "git log --oneline --output-indicator-new=x",
        "git push origin main",
        "git push -o force",
        "git branch --format=%h",
        "git branch -u force x",
        "git checkout -b feature",
        "git checkout main",
        "git checkout -b feature origin/main",
        "git checkout feature/a",
        "git switch -c D",
        "git restore --staged a",
        "git stash push",
        "git add -f x",
        "git diff -D",
        "git tag -m 'df' v1",
        "git reset --soft HEAD~1",
        "git reset --mixed",
        "git push --tags --set-upstream origin main",
        "git fetch --all --tags --depth=1",
        "git rebase --continue",
        "git grep -n x",
        "grep -f x --force",
        "echo git push --force",
        "rm -f x",
    ] {
        assert_eq!(destructive(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_call_of_git_that_writes_its_directory_is_known() {
    for (text, expected) in [
        ("git commit -m x", Some("git commit")),
        ("make && git -C . add a", Some("git add")),
        ("git stash", Some("git stash")),
        ("git branch x", Some("git branch")),
        ("bash -c 'git fetch'", Some("git fetch")),
        ("git stash list", None),
        ("git branch -a", None),
        ("git config --get user.name", None),
        ("git log; git status", None),
        ("git apply x.patch", None),
        ("git push origin x", None),
        ("echo git commit", None),
        ("git init t && cd t && git commit -m x", None),
    ] {
        assert_eq!(find_git_write(text).as_deref(), expected, "{text}");
    }
}
