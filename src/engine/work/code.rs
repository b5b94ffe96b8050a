//! What the language servers of a work tree know.
//!
//! Answers are JSON: paths from the root of the tree, lines from one, characters from zero in units of UTF-16.

mod change;
mod desk;
mod diagnose;
mod keep;
mod look;
mod place;
mod refs;
mod start;
mod trace;
mod watch;

use std::sync::Arc;

use crate::tools::Answer;
use crate::tools::code::Request;

use super::super::delegate::Caller;
use super::super::shared::Shared;
use super::Consent;
use desk::Desk;

pub(in crate::engine) use diagnose::after_write;
pub(in crate::engine) use keep::Languages;

/// Performs a call.
pub(super) async fn perform(
    shared: &Arc<Shared>,
    caller: &Caller,
    consent: &Consent,
    request: Request,
) -> Result<Answer, String> {
    let work = async {
        let desk = Desk::open(shared, caller).await?;
        match request {
            Request::Symbols { query } => look::symbols(&desk, &query).await,
            Request::Definition { at } => look::definition(&desk, &at).await,
            Request::Diagnostics { paths } => diagnose::diagnostics(&desk, &paths, diagnose::LIMIT).await,
            Request::Refs { at, mode, most, declaration } => refs::refs(&desk, &at, mode, most, declaration).await,
            Request::Trace { at, mode, depth, most } => trace::trace(&desk, &at, mode, depth, most).await,
            Request::Rename { at, name } => change::rename(&desk, consent, &at, &name).await,
            Request::Action(action) => change::action(&desk, consent, &action).await,
        }
    };
    tokio::select! {
        done = work => done.map(|value| Answer::from(value.to_string())),
        () = caller.cancel.cancelled() => Err("the call was given up".to_owned()),
    }
}
