//! Any text is read without a panic, no command found in it breaks its line, and all judges of commands bear it.

#![no_main]

use coppice::permission::{self, flag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for line in permission::segments(text).unwrap_or_default() {
        assert!(!line.contains('\n'), "{line:?}");
    }
    permission::catastrophe(text);
    permission::only_reads(text);
    permission::only_git_reads(text);
    flag::destructive(text);
});
