//! Takes over what the user configured for the agent programs, at their word: nothing counts here before it is written to
//! a file of Coppice's own.

mod rules;
mod servers;
mod unused;

pub(super) use servers::HIDDEN;
