//! Proposed resolutions of a conflict: asked for, and accepted.

use axum::extract::{Path, State};

use super::{App, Reply, reply};
use crate::api::error::ErrorBody;
use crate::api::resolution::ResolutionProposal;
use crate::api::session::Session;

/// Asks the session's model for a resolution of all marked regions. Nothing but the proposal is kept.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/resolutions", params(("id" = String, Path)),
    responses((status = 200, body = ResolutionProposal), (status = "default", body = ErrorBody))
)]
pub(super) async fn propose(State(app): State<App>, Path(id): Path<String>) -> Reply<ResolutionProposal> {
    reply(app.engine.propose_resolution(&id).await)
}

/// Applies exactly this proposal, if the files are as they were when it was made.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/resolutions/{proposal}",
    params(("id" = String, Path), ("proposal" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn accept(State(app): State<App>, Path((id, proposal)): Path<(String, String)>) -> Reply<Session> {
    reply(app.engine.accept_resolution(&id, proposal).await)
}
