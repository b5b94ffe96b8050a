//! Work that served tools ask for, performed where it belongs: in the session's cage, by its language servers, in its
//! repository, or at GitHub.
//!
//! By the time a call comes here it is allowed. Both outcomes are texts for the model.

use std::sync::Arc;

use crate::tools::{Answer, Work};

use super::delegate::Caller;
use super::shared::Shared;

/// What the work of one turn shares; it ends with the turn.
#[derive(Default)]
pub(super) struct Bench {}

/// Performs a call.
pub(super) async fn perform(
    _shared: &Arc<Shared>,
    _caller: &Caller,
    _bench: &Arc<Bench>,
    work: Work,
) -> Result<Answer, String> {
    match work {
        Work::Files(request) => match request {},
        Work::Command(request) => match request {},
        Work::Code(request) => match request {},
        Work::History(request) => match request {},
        Work::GitHub(request) => match request {},
    }
}
