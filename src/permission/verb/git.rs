//! Which calls of git only look. An unknown subcommand may be an alias, and so anything; an unknown option may run a
//! program or write a file.

use super::super::shell::{SimpleCommand, git_arguments, is_one_of};

/// Subcommands that read whatever their operands are.
pub(in super::super) const READS: &str = "annotate blame cat-file check-attr check-ignore cherry count-objects describe diff diff-files \
                     diff-index diff-tree for-each-ref grep log ls-files ls-tree merge-base name-rev range-diff \
                     rev-list rev-parse shortlog show show-branch show-ref status version whatchanged";

/// Long options that choose what is shown, and how. None of them runs a program, writes a file, reads what is in no
/// repository or ignored by it, or shows what an attribute says not to show.
const OPTIONS: &str = "\
    abbrev abbrev-commit abbrev-ref after all all-match always ancestry-path and author author-date-order \
    basic-regexp batch batch-check before boundary branch branches cached cc check cherry cherry-mark cherry-pick \
    color color-moved color-words column committer compact-summary contains count count-matches date date-order \
    decorate decorate-refs decorate-refs-exclude deduplicate deleted dense diff-algorithm diff-filter directory \
    dirstat dirty email error-unmatch exact-match exclude exclude-standard exit-code extended-regexp files \
    files-with-matches files-without-match find-copies find-copies-harder find-object find-renames first-parent \
    fixed-strings follow format full-history full-index full-name full-tree function-context get get-all \
    git-common-dir git-dir graph grep grep-reflog group heading histogram ignore-all-space ignore-blank-lines \
    ignore-case ignore-space-at-eol ignore-space-change ignored inter-hunk-context invert-grep invert-match \
    is-ancestor is-bare-repository is-inside-git-dir is-inside-work-tree left-only left-right line-number \
    line-porcelain list local long match max-count max-depth max-parents merge-base merged merges min-parents minimal \
    modified name-only name-status no-abbrev no-abbrev-commit no-color no-column no-decorate no-ext-diff no-merged \
    no-merges no-notes no-patch no-prefix no-renames no-textconv no-walk not null numbered numstat object-only \
    objects oneline only-matching or others parents patch patch-with-stat patience perl-regexp pickaxe-all \
    pickaxe-regex points-at porcelain pretty quiet raw reflog refs relative relative-date remotes reverse right-only \
    root short shortstat show-cdup show-current show-function show-prefix show-stash show-toplevel \
    simplify-by-decoration since skip sort sparse stage staged stat stat-count stat-width summary symbolic \
    symbolic-full-name tags topo-order unified unmerged until untracked-files use-mailmap verbose verify version \
    walk-reflogs word-diff word-diff-regex word-regexp";

/// Subcommands in which `-a` shows everything as text; a bundle of letters ends at one that takes a value.
const PATCHES: &str = "diff diff-files diff-index diff-tree log range-diff reflog show stash whatchanged";
const VALUED: &str = "BCGLMSUXln";

/// Options whose value is a format or an order, and may be the next word.
const FORMATTED: &str = "--format --pretty --sort";

/// Options of git itself that lead nowhere else and run nothing.
const MANNERS: &str = "--literal-pathspecs --no-optional-locks --no-pager --no-replace-objects -P";

/// Subcommands that read refs, settings and names, and options of `log` that bring no patch.
const FILELESS: &str = "branch check-attr check-ignore config count-objects for-each-ref ls-tree merge-base name-rev \
                        remote rev-list rev-parse show-ref tag version worktree";
const LOG_WITHOUT_PATCH: &str =
    "-- -1 -2 -3 -5 -10 -20 -n --all --decorate --graph --oneline --no-merges --first-parent";

/// Whether a call of git only looks; `root_names` are names of the directory to which it may go before.
pub(in super::super) fn reads(command: &SimpleCommand, root_names: &[&str]) -> bool {
    let texts = command.texts();
    let arguments = texts.get(1..).unwrap_or_default();
    if arguments == ["--version"] {
        return true;
    }
    let has_glob = command.words.iter().any(|word| word.is_glob);
    let [verb, words @ ..] = git_arguments(arguments) else { return false };
    let own = match &arguments[..arguments.len() - words.len() - 1] {
        ["-C", to, own @ ..] if *to == "." || root_names.contains(to) => own,
        own => own,
    };
    let is_separate = |word: &&str| is_one_of(FORMATTED, word);
    own.iter().all(|option| is_one_of(MANNERS, option))
        && words.iter().all(|word| is_harmless(verb, word) && !is_text(verb, word))
        // Git compares any files, once one of them is in no repository.
        && !(*verb == "diff" && words.iter().any(|word| word.starts_with('/') || word.split('/').any(|part| part == "..")))
        && !runs_signature_check(words)
        // The value of such an option may be a pattern.
        && !(has_glob && words.iter().any(is_separate))
        && (is_one_of(READS, verb) || !has_glob && looks(verb, words))
}

/// Whether a call that only looks compares no files, and so runs none of the programs that are set up for that.
pub(in super::super) fn reads_no_files(command: &SimpleCommand) -> bool {
    let texts = command.texts();
    match git_arguments(texts.get(1..).unwrap_or_default()) {
        ["log", words @ ..] => words.iter().all(|word| !word.starts_with('-') || is_one_of(LOG_WITHOUT_PATCH, word)),
        [verb, ..] => is_one_of(FILELESS, verb),
        [] => true,
    }
}

/// Whether a word is no option, or one that changes only what is shown.
fn is_harmless(verb: &str, word: &str) -> bool {
    // `--` may be the value of an option, so that options may follow.
    if let Some(long) = word.strip_prefix("--") {
        return long.is_empty() || is_one_of(OPTIONS, long.split('=').next().unwrap_or(long));
    }
    let Some(letters) = word.strip_prefix('-') else { return true };
    let names_file =
        letters.contains('S') && is_one_of("annotate blame", verb) || letters.contains('f') && verb == "grep";
    // `-O` opens files in a program, and an error shows what is in a file of revisions or expressions.
    !(letters.contains('O') || names_file)
}

/// Whether a word shows everything as text, which an attribute may forbid.
fn is_text(verb: &str, word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
    is_one_of(PATCHES, verb) && letters.chars().take_while(|c| !VALUED.contains(*c)).any(|c| c == 'a')
}

/// Whether all options of a subcommand that looks are listed, with those that show everything as text.
pub(in super::super) fn lists(verb: &str, words: &[&str]) -> bool {
    words.iter().all(|word| is_harmless(verb, word) || is_one_of("--binary --text", word))
        && !runs_signature_check(words)
}

/// Whether a format or an order among the words may make git run a program that checks signatures.
fn runs_signature_check(words: &[&str]) -> bool {
    let is_separate = words.iter().any(|word| is_one_of(FORMATTED, word));
    let is_format = |word: &str| word.contains('%') || FORMATTED.split(' ').any(|option| word.starts_with(option));
    let names = |word: &&str| word.contains("signature") && (is_separate || is_format(word));
    words.iter().any(|word| word.contains('%') && word.contains('G') || names(word))
}

/// Sections of settings of which each one can be shown, and settings by their section and key. None of them holds a token, a
/// password or an address, which may have one.
const SHOWN_SECTIONS: &str = "color column diff fetch format init log merge pager pull push rebase rerere status tag";
const SHOWN_SETTINGS: &str = "\
    author.email author.name branch.merge branch.rebase commit.gpgsign committer.email committer.name core.abbrev \
    core.autocrlf core.bare core.editor core.eol core.excludesfile core.filemode core.hookspath core.ignorecase \
    core.pager core.quotepath core.symlinks core.whitespace remote.fetch remote.push submodule.active submodule.path \
    submodule.recurse user.email user.name user.signingkey";

fn is_shown_setting(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let (section, key) = (name.split('.').next().unwrap_or_default(), name.rsplit('.').next().unwrap_or_default());
    is_one_of(SHOWN_SECTIONS, section) || is_one_of(SHOWN_SETTINGS, &format!("{section}.{key}"))
}

fn looks(verb: &str, words: &[&str]) -> bool {
    let is_end = |c: char| c == '=' || c.is_ascii_digit();
    let only = |flags: &str| words.iter().all(|word| is_one_of(flags, word.split(is_end).next().unwrap_or(word)));
    match (verb, words) {
        ("branch", ["--contains" | "--merged" | "--no-merged" | "--list" | "-l", rest @ ..])
        | ("tag", ["--list" | "-l" | "--contains" | "--points-at" | "--merged", rest @ ..]) => {
            !rest.iter().any(|word| word.starts_with('-') && !word.starts_with("--sort="))
        }
        ("branch", _) => only(
            "--all --color --column --format --list --no-color --no-column --remotes --show-current --sort --verbose \
             -a -l -r -v -vv -av -avv -rv",
        ),
        ("tag", _) => only("--sort --format --list -l -n"),
        // An address may hold a token.
        ("remote", []) => true,
        ("config", ["--get" | "--get-all" | "get", name]) => is_shown_setting(name),
        ("stash", ["list" | "show", ..]) | ("worktree", ["list", ..]) | ("reflog", ["show", ..]) => true,
        ("reflog", words) => words.iter().all(|word| word.starts_with('-')),
        _ => false,
    }
}
