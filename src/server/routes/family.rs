//! Families: what a session delegated, the work that its family shares, and a child's result coming home.

use axum::extract::{Path, State};

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::error::ErrorBody;
use crate::api::handoff::Handoff;
use crate::api::session::Session;
use crate::api::workflow::Workflow;

/// Lists the delegations that a session asked for, oldest first.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/handoffs", params(("id" = String, Path)),
    responses((status = 200, body = Page<Handoff>), (status = "default", body = ErrorBody))
)]
pub(super) async fn handoffs(State(app): State<App>, Path(id): Path<String>) -> Reply<Page<Handoff>> {
    reply(app.engine.handoffs(&id).await)
}

/// Reads the tasks and the plan of the session's family.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/workflow", params(("id" = String, Path)),
    responses((status = 200, body = Workflow), (status = "default", body = ErrorBody))
)]
pub(super) async fn workflow(State(app): State<App>, Path(id): Path<String>) -> Reply<Workflow> {
    reply(app.engine.workflow(&id).await)
}

/// Brings a child's result into its parent's work tree, wholly or not at all.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/integrate", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn integrate(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.integrate(&id).await)
}
