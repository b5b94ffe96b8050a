//! Keys in, choices out.
