//! What leaves the machine: pushes and pull requests. For people only.

use axum::extract::{Path, State};

use super::{App, Reply, reply};
use crate::api::error::ErrorBody;
use crate::api::publish::{CreatePull, Pull, PullQuery, Push, Pushed, UpdatePull};
use crate::server::error::{Asked, Body};

/// Pushes the session's branch to `origin`, never by force.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/push", params(("id" = String, Path)), request_body = Push,
    responses((status = 200, body = Pushed), (status = "default", body = ErrorBody))
)]
pub(super) async fn push(State(app): State<App>, Path(id): Path<String>, Body(push): Body<Push>) -> Reply<Pushed> {
    reply(app.engine.push(&id, push).await)
}

/// Opens a pull request for the session's branch, which must be at `origin`.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/pr", params(("id" = String, Path)), request_body = CreatePull,
    responses((status = 200, body = Pull), (status = "default", body = ErrorBody))
)]
pub(super) async fn create_pull(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(create): Body<CreatePull>,
) -> Reply<Pull> {
    reply(app.engine.create_pull(&id, create).await)
}

/// Changes title and text of the pull request of the session's branch.
#[utoipa::path(
    patch, path = "/v1/sessions/{id}/pr", params(("id" = String, Path)), request_body = UpdatePull,
    responses((status = 200, body = Pull), (status = "default", body = ErrorBody))
)]
pub(super) async fn update_pull(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(update): Body<UpdatePull>,
) -> Reply<Pull> {
    reply(app.engine.update_pull(&id, update).await)
}

/// Reads the pull request of the session's branch; with its checks and its diff where that is asked for.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/pr", params(("id" = String, Path), PullQuery),
    responses((status = 200, body = Pull), (status = "default", body = ErrorBody))
)]
pub(super) async fn pull(
    State(app): State<App>,
    Path(id): Path<String>,
    Asked(query): Asked<PullQuery>,
) -> Reply<Pull> {
    reply(app.engine.pull(&id, query).await)
}
