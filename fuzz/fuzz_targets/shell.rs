//! Any text is read without a panic, no command found in it breaks its line, and all judges of commands bear it.

#![no_main]

use coppice::permission::{self, flag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let segments = permission::segments(text);
    assert_eq!(segments.is_none(), permission::describe_opaque(text).is_some());
    for line in segments.iter().flatten() {
        assert!(!line.contains('\n'), "{line:?}");
    }
    if segments.is_none() {
        assert!(!permission::only_reads(text) && !permission::only_git_reads(text));
    }
    permission::catastrophe(text);
    permission::only_reads(text);
    permission::only_git_reads(text);
    flag::destructive(text);
});
