//! Rows of programs with options that only read, and with others.

use super::*;

#[test]
fn every_program_that_reads_has_its_options() {
    for name in READS.split(' ') {
        assert!(only_reads(name, &[]), "{name}");
    }
}

#[test]
fn an_option_that_is_not_listed_is_no_mere_look() {
    for text in [
        "ls -la --color=auto src",
        "head -20 a",
        "head -n -5 a",
        "tail -n +5 a",
        "cut -d, -f1-3 a",
        "grep -rnE -A3 --include=a x .",
        "grep -e x -- a",
        "seq 5 -1 1",
        "wc -l a b",
        "du -sh a",
        "stat -c%s a",
        "md5sum a",
        "uniq -c a",
        "uniq -- a",
        "echo -- --anything",
        "sort -k2,2 -",
    ] {
        let words: Vec<_> = text.split(' ').collect();
        assert!(only_reads(words[0], &words[1..]), "{text}");
    }
    for text in [
        "du -a --files0-from=a",
        "wc --files0-from=a",
        "wc --files0 a",
        "md5sum -c a",
        "b2sum --check a",
        "sha256sum -bc a",
        "sort --files0-from=a",
        "uniq -- -c -d",
        "uniq a -- b",
        "uniq - b",
        "cat -- -n",
        "grep -e -- -f",
        "grep --fil=a b",
        "hexdump -f a b",
        "column --unknown a",
        "unknown",
    ] {
        let words: Vec<_> = text.split(' ').collect();
        assert!(!only_reads(words[0], &words[1..]), "{text}");
    }
}
