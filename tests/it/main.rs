//! The one integration crate: everything here talks to the real binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test stops at the first surprise")]

mod supervisor;
