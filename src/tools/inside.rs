//! Work that is done inside a session's cage, in its work tree and nowhere else.

pub mod root;
