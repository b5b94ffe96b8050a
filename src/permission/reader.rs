//! Programs that only read, each with the options that it may have. A long option must be spelled out, and an option that
//! is not listed may write a file, run a program, or take names of files from another file.

#[cfg(test)]
mod tests;

use super::shell::is_one_of;

/// Programs without any option that writes a file or runs a program.
pub(super) const READS: &str = ": b2sum basename cat cksum cmp column comm cut df dirname du echo egrep expand expr false \
                     fgrep fmt fold free grep groups head hexdump id join ls md5sum nl nproc od paste pwd readlink \
                     realpath rev seq sha1sum sha256sum sha512sum sleep stat sum tac tail tr true tsort type uname \
                     unexpand uptime wc whereis which whoami";

/// Programs that take all of their words for texts.
const TEXTUAL: &str = ": echo expr false true";

/// One row a line: names of programs, or of subcommands, with the same options; letters without a value, or whose value is
/// always the next word; letters behind which the rest of a word is their value; and long options.
const ROWS: &str = "\
    b2sum cksum md5sum sha1sum sha256sum sha512sum sum | btzrs | al | algorithm binary length tag text zero
    basename dirname | az | s | multiple suffix zero
    cat | AbeEnstTuv |  | number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank
    cmp | bls | in | bytes ignore-initial print-bytes quiet silent verbose
    column | texn | cNos | output-separator separator table table-columns
    comm | 123z |  | check-order nocheck-order output-delimiter total zero-terminated
    cut | nsz | bcdf | bytes characters complement delimiter fields only-delimited output-delimiter \
      zero-terminated
    df | ahHiklPT | Btx | all block-size human-readable inodes local portability print-type si total type
    diff | abBcdeEinNpqrsTtuwyZ | CUWxIF | brief color context exclude ignore-all-space ignore-blank-lines \
      ignore-case ignore-space-change new-file recursive report-identical-files side-by-side strip-trailing-cr \
      suppress-common-lines text unified width
    du | abcDhHklLmPsSx0 | Bdt | all apparent-size block-size bytes dereference exclude human-readable inodes \
      max-depth null one-file-system separate-dirs si summarize threshold time total
    egrep fgrep grep | EFGHILPRTUVZabchilnoqrsuvwxyz0123456789 | ABCDdefm | after-context basic-regexp \
      before-context binary-files byte-offset color colour context count dereference-recursive directories exclude \
      exclude-dir extended-regexp file files-with-matches files-without-match fixed-strings ignore-case include \
      initial-tab invert-match line-buffered line-number line-regexp max-count no-filename no-messages null \
      null-data only-matching perl-regexp quiet recursive regexp silent text with-filename word-regexp
    expand unexpand | ai | t | all first-only initial tabs
    fd | HILa0pgFsiu1q | tedEcjS | absolute-path case-sensitive changed-before changed-within exact-depth exclude \
      extension fixed-strings follow full-path glob hidden ignore-case max-depth max-results min-depth no-ignore \
      print0 size type
    file | bhiLkNr0 |  | brief dereference keep-going mime mime-encoding mime-type no-dereference no-pad raw
    fmt fold | bcstu | gpw | bytes crown-margin spaces split-only tagged-paragraph uniform-spacing width
    free | bghklmtw |  | bytes giga human kilo lohi mega total wide
    groups nproc sleep tsort whoami |  |  | all ignore
    head tail | Ffqrvz0123456789 | cns | bytes follow lines quiet retry silent verbose zero-terminated
    hexdump | bcCdovx | ens | canonical length no-squeezing skip
    id | agGnruzZ |  | group groups name real user zero
    join | iz | 12aejotv | check-order header ignore-case nocheck-order zero-terminated
    jq | nrcsSejaCMR |  | ascii-output color-output compact-output exit-status join-output monochrome-output \
      null-input raw-input raw-output slurp sort-keys tab
    ls | aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 | ITw | all almost-all author block-size classify color context \
      dereference directory escape file-type format full-time group-directories-first hide human-readable ignore \
      indicator-style inode kibibytes literal no-group numeric-uid-gid quote-name quoting-style recursive reverse \
      size sort time time-style width zero
    nl | p | bdfhilnsvw | body-numbering number-format number-separator number-width
    od | abcdfiloxsv | AjNStw | address-radix format output-duplicates read-bytes skip-bytes strings width
    paste rev | sz | d | delimiters serial zero-terminated
    pwd | LP |  | logical physical
    readlink realpath | efmnqsvzLPE |  | canonicalize canonicalize-existing canonicalize-missing logical \
      no-newline no-symlinks physical quiet relative-base relative-to strip zero
    rg | niIlcwvFSsUNHoux0LPqhap | ABCegmtTMjrEd | after-context before-context case-sensitive color column \
      context count count-matches files files-with-matches files-without-match fixed-strings glob heading hidden \
      iglob ignore-case invert-match json line-number max-columns max-count max-depth multiline no-filename \
      no-heading no-ignore no-ignore-vcs no-line-number null only-matching pcre2 regexp replace smart-case sort \
      stats trim type type-list type-not vimgrep with-filename word-regexp
    seq | w0123456789. | fs | equal-width format separator
    sort | bcCdfghiMmnRrsuVz | kt | check dictionary-order field-separator general-numeric-sort human-numeric-sort \
      ignore-case ignore-leading-blanks key merge month-sort numeric-sort random-sort reverse stable unique \
      version-sort zero-terminated
    stat | Lnrstx | cf | dereference file-system format printf terse
    tac | br | s | before regex separator
    tr | cCdst |  | complement delete squeeze-repeats truncate-set1
    tree | adfxipughsDtrcUCnJQFLPI0123456789 |  | dirsfirst du gitignore noreport prune
    type whereis which | abfmpPstu |  | all
    uname | aimnoprsv |  | all kernel-name kernel-release machine nodename operating-system
    uniq | cdDuiz | fsw | all-repeated count ignore-case repeated unique
    uptime | ps |  | pretty since
    wc | cLlmw |  | bytes chars lines max-line-length words";

/// Whether a program with these arguments only reads.
pub(super) fn only_reads(name: &str, arguments: &[&str]) -> bool {
    if is_one_of(TEXTUAL, name) {
        return true;
    }
    let dashes = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
    let (options, operands) = arguments.split_at(dashes);
    let count = options.iter().filter(|word| is_operand(word)).count() + operands.len().saturating_sub(1);
    // It writes its second file.
    knows_options(ROWS, name, arguments) && (name != "uniq" || count < 2)
}

/// Whether the row of a program, or of a subcommand, lists all options among its words. A dashed word behind `--` may be
/// the value of an option before it or a file with a misleading name, so it never passes.
pub(super) fn knows_options(table: &str, name: &str, words: &[&str]) -> bool {
    let mut rows = table.lines().map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let row = rows.find(|row| row.first().is_some_and(|names| is_one_of(names, name)));
    let Some([_, flags, valued, long]) = row.as_deref() else { return false };
    let knows = |word: &str| {
        if let Some(option) = word.strip_prefix("--") {
            return is_one_of(long, option.split('=').next().unwrap_or(option));
        }
        let letters = word.strip_prefix('-').unwrap_or(word);
        let end = letters.find(|c| valued.contains(c)).unwrap_or(letters.len());
        letters[..end].chars().all(|c| flags.contains(c))
    };
    let dashes = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (options, operands) = words.split_at(dashes);
    options.iter().all(|word| is_operand(word) || knows(word)) && operands.iter().skip(1).all(|word| is_operand(word))
}

fn is_operand(word: &str) -> bool {
    !word.starts_with('-') || word == "-"
}
