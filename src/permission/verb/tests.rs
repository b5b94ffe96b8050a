//! Rows of commands that only look, and of commands that may do more.

use super::*;

#[test]
fn r86_read_only_commands_of_git_are_known() {
    for text in [
        "git status",
        "git status --short && git diff HEAD~1 -- src",
        "git --no-pager log --oneline -5",
        "git show HEAD:src/main.rs",
        "git blame -L 1,5 a.rs",
        "git grep -n 'fn main'",
        "git ls-files '*.rs'",
        "git rev-parse --show-toplevel",
        "git branch",
        "git branch --show-current",
        "git branch -a",
        "git branch --contains abc",
        "git tag -l 'v*'",
        "git remote -v",
        "git config --get user.name",
        "git stash list",
        "git worktree list",
        "git log -Sa -Ga -n3",
        "git diff HEAD^ -- src/*.rs",
        "git ls-files --others --exclude-standard",
        "git status --untracked-files=all",
        "git log 2>/dev/null",
        "git log 'HEAD@{1}'",
        "git log --format='%h %an %s' -- src/signature.rs",
        "git for-each-ref --sort=-committerdate --format='%(refname)'",
        "/usr/bin/git status",
        "git --version",
    ] {
        assert!(only_git_reads(text), "{text}");
    }
}

#[test]
fn r86_all_others_are_asked_about() {
    for text in [
        "git",
        "git push",
        "git commit -m x",
        "git st",
        "git branch x",
        "git branch -D x",
        "git branch --list -D x",
        "git tag v1",
        "git remote add x y",
        "git remote show origin",
        "git config user.name x",
        "git config --get-urlmatch x y",
        "git config --get-all http.extraheader",
        "git config --get github.token",
        "git stash",
        "git stash pop",
        "git reflog expire",
        "git -c core.pager=x log",
        "git -c alias.st='!sh' st",
        "git -C .. status",
        "git -C sub status",
        "cd sub && git status",
        "git -C sub --no-pager status",
        "HOME=fix git status",
        "for HOME in fix; do git status; done",
        "git log HEAD@{1}",
        "git diff -- -a",
        "git log -S -- --output=x",
        "git grep -nO x",
        "git log --unknown",
        "git log --outpu x",
        "git for-each-ref --format='%(signature)'",
        "git diff *",
        "git -C /x status",
        "git --git-dir=x status",
        "git --exec-path=x status",
        "git -p log",
        "git diff --output=x",
        "git diff --outp=x",
        "git log --output x",
        "git diff --ext-diff",
        "git log --textconv",
        "git cat-file --filters x",
        "git grep -Oless x",
        "git grep --no-index x",
        "git grep --untracked x",
        "git grep --no-exclude-standard x",
        "git grep --no-exc x",
        "git grep --text x",
        "git diff --text",
        "git diff -a",
        "git log -pa",
        "git show --binary",
        "git stash show -pa",
        "git cat-file --batch --batch-all-objects",
        "git diff --no-index a b",
        "git diff --no-ind a b",
        "git blame --contents x a",
        "git grep --open-files-in-pager=x y",
        "git log --show-signature",
        "git log -1 -p --diff-merges=remerge",
        "git show --diff-merges=r",
        "git show --remerge-diff",
        "git log --format=%G?",
        "git log '--format=%+GK'",
        "git log '--format=%- GK'",
        "git log --pretty='tformat:%H% GS'",
        "git for-each-ref --format='%(*signature)'",
        "git for-each-ref --format '%(if)%(*signature:key)%(then)%(end)'",
        "git for-each-ref --format a*",
        "git for-each-ref --sort=-signature:key",
        "git for-each-ref --sort signature",
        "git branch --sort=signature",
        "git log $x",
        "git log \"$x\"",
        "git $x",
        "git diff {--output=x,y}",
        "git log > x",
        "git status; ls",
        "GIT_EXTERNAL_DIFF=x git diff",
        "git log $(x)",
        "./git status",
        "git log 'open",
        "",
    ] {
        assert!(!only_git_reads(text), "{text}");
    }
}

#[test]
fn a_word_that_leads_out_of_the_directory_is_seen() {
    for text in ["git log -3", "git diff HEAD~1 main..x -- a/b", "git show HEAD:a..b", "git grep -e 'a b' -- ..c"] {
        assert!(stays_below(&ShellText::read(text)), "{text}");
    }
    for text in
        ["git diff /etc/x a", "git diff ../a b", "git log -- a/../../b", "git blame --x=/etc/x a", "git log 'open"]
    {
        assert!(!stays_below(&ShellText::read(text)), "{text}");
    }
}

#[test]
fn what_only_reads_is_known() {
    for text in [
        "ls -la src | head -5",
        "cat a.txt b.txt 2>/dev/null",
        "grep -rn 'fn main' . | sort -u -k2,2 -t: | uniq -c",
        "rg -n TODO -g '*.rs' . || true",
        "find . -name '*.rs' -not -path './target/*'",
        "find src '(' -name a -o -name b ')' -print0",
        "[ -f a ] && cat a || echo no >&2",
        "test -d x && ls x/*",
        "sed -n '1,20p' a.rs",
        "git status && git log -3 | cat",
        "cat .env.example < a",
        "command -v rg",
        "/bin/ls src",
        "date +%s; pwd; date -u",
        "jq -r '.a[] | .b' x.json",
        "jq -r .a src/*.json",
        "printf '%s\\n' a",
        "printf '%-10s|%b %% %5.2s' a b c",
        "diff -u a b; file -b a; tree -L 2; fd -e rs; uniq -c a",
        "sort --reverse --key=2 a",
        "ls *.c; wc -l ./*; cat -- *",
        "grep -rn --include=*.c x .",
        "cd src && ls -la",
        "cd . && git status",
        "cd a/b; cat c",
        "node --version; python3 --version; gcc --version",
        "cat /proc/cpuinfo; ls /; grep -r proc src",
    ] {
        assert!(only_reads(text), "{text}");
    }
}

#[test]
fn a_command_may_change_to_the_root_of_the_tree_and_nowhere_else() {
    let reads = |text: &str, is_root| {
        let ground =
            ReadGround { is_root, root_names: &["/tree", "/alias"], drivers: Drivers::None, has_tree_secret: false };
        text_only_reads(&ShellText::read(text), ground)
    };
    assert!(reads("cd /tree && git status; cd /alias; ls", true));
    assert!(reads("cd sub && ls", true) && reads("cd sub && ls", false));
    for text in [
        "cd sub && git status",
        "cd sub; cd /tree; git status",
        "cd ../x && ls",
        "cd d*",
        "cd",
        "cd -",
        "cd /tree/sub; git status",
        "cd ..",
        "pushd /tree",
        "cd -P /tree",
    ] {
        assert!(!reads(text, true), "{text}");
    }
    assert!(reads("ls", false) && !reads("git status", false));
}

#[test]
fn a_search_through_the_whole_tree_is_no_mere_look_where_it_shows_secrets() {
    let reads = |text: &str, has_tree_secret| {
        text_only_reads(&ShellText::read(text), ReadGround { has_tree_secret, ..AT_ROOT })
    };
    for text in [
        "grep -r KEY .",
        "grep -rn KEY",
        "grep --recursive KEY ./",
        "rg --hidden KEY",
        "rg -uu KEY .",
        "diff -r . x",
        "grep -r KEY ./.",
        "rg -uu KEY ./.",
        "grep -r KEY src/..",
        "grep -r -e KEY -e X",
        "grep -rm 1 KEY",
        "rg -g '*' KEY",
        "diff -rU 1 x ././",
        "diff -N src .",
        "diff fixtures .",
        "diff ./ fixtures",
        "diff -x a fixtures src/..",
        "rg KEY --iglob='.E*'",
        "grep -r KEY -A 3",
        "grep -r --include='[.]env' KEY",
    ] {
        assert!(reads(text, false) && !reads(text, true), "{text}");
    }
    for text in ["grep -rn KEY src", "diff -r a b", "grep KEY a b", "rg -n KEY", "ls -R", "git grep KEY"] {
        assert!(reads(text, true), "{text}");
    }
}

#[test]
fn r90_what_may_do_more_is_not_taken_for_reading() {
    for text in [
        "git diff /dev/shm .",
        "git diff ../x .",
        "git blame -S.env a",
        "git grep -f.env",
        "cat -- -.env",
        "",
        "# nothing",
        "[[ -f a ]]",
        "ls > x",
        "{ ls; } > x",
        "ls | tee x",
        "cat x | sh",
        "cat x | python3",
        "echo x | xargs rm",
        "ls; rm x",
        "find . -delete",
        "find . -exec rm {} ;",
        "find . -fprint x",
        "find . $x",
        "find {-delete,.}",
        "fd -x rm",
        "sort -o x a",
        "sort -uo x a",
        "sort --outp=x a",
        "sort *",
        "rg --pre x y",
        "sed -i s/a/b/ x",
        "sed -n 's/a/b/w x' y",
        "awk 1 x",
        "uniq a b",
        "uniq a*",
        "uniq - b",
        "uniq -- a b",
        "uniq -- a -c",
        "sort --o=x a",
        "sort -T x a",
        "sort --files0 x",
        "wc *",
        "wc -l *.c",
        "du ?",
        "grep x [a-z]*",
        "grep -* x y",
        "sort -S1 x",
        "find . -name x -fls y",
        "find . -files0-from x",
        "tree -R -H . -L 1",
        "tree -Po x out.txt",
        "tree -Lo 1 a.c",
        "tree -P -o out.txt",
        "file -C -m x",
        "diff -l a b",
        "rg --hostname-bin x y",
        "rg -z x",
        "fd --exec-batch x",
        "fd -HX x",
        "fd -l",
        "jq -n env",
        "jq -n '$ENV'",
        "jq -n input_line*",
        "jq -n -- input_line*",
        "jq -n 'import \"m\" as m; m::x'",
        "jq -n 'include \"m\"; x'",
        "jq -n '\"m\" | modulemeta'",
        "date -d x -s y",
        "test -v 'a[$(x)]'",
        "[ -v 'a[$(x)]' ]",
        "[ 'a[$(x)]' -eq 1 ]",
        "test -R x",
        "printf %n HOME",
        "printf '%s%5n' a HOME",
        "printf %d 'a[$(x)]'",
        "printf '%(%s)T'",
        "printf '%' x",
        "read x",
        "wait -p x",
        "set -e",
        "cd /etc",
        "node --version -e 1",
        "cargo --version",
        "node x",
        "ps e",
        "cat < /dev/tcp/a/1",
        "cat ~/x",
        "find *",
        "rg x *",
        "xxd -r a b",
        "date -s x",
        "date 01010101",
        "hostname x",
        "printf -v PATH x",
        "read PATH",
        "PATH=x ls",
        "PATH=x",
        "LD_PRELOAD=x cat y",
        "path=x",
        "env",
        "printenv",
        "bash -c ls",
        "eval ls",
        "$x",
        "./ls",
        "ls 'open",
        "cat ~/.ssh/id_rsa",
        "cat ~/.ss*/x",
        "cat .env",
        "cat .e*",
        "cat a/.env.local",
        "cat .ENV",
        "rg KEY --iglob .ENV",
        "cat ~/.SSH/id_rsa",
        "cat a/ID_RSA",
        "arch -x86_64 rm x",
        "cat < ~/.aws/x",
        "while read l; do echo $l; done < ~/.netrc",
        "x=~/.ssh/x; cat $x",
        "grep -r x /proc/self/environ",
        "cat /etc/shadow",
        "cat /etc/shadow-",
        "grep -ra KEY /proc/self/",
        "grep -r KEY /proc",
        "cat /proc/1/task/1/mem",
        "cat ../../proc/self/maps",
        "rg -a KEY /",
        "echo $(rm x)",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <(rm x)",
        "ls() { rm x; }; ls",
        "f() { f | f & }",
        "git push",
    ] {
        assert!(!only_reads(text), "{text}");
    }
}
