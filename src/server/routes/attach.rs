//! A person at a terminal in a session's worktree. What is shown and typed are raw bytes, whose meaning is nobody's
//! business here.

use std::convert::Infallible;

use axum::body::{self, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use futures_util::stream;

use super::{App, Reply, reply};
use crate::api::attach::{Attach, Attached, Left, Resize};
use crate::api::error::ErrorBody;
use crate::server::error::{Body, Refusal};

/// Starts a program on a terminal in a session's worktree. No turn begins until it ends.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/attach", params(("id" = String, Path)), request_body = Attach,
    responses((status = 200, body = Attached), (status = "default", body = ErrorBody))
)]
pub(super) async fn attach(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(attach): Body<Attach>,
) -> Reply<Attached> {
    reply(app.engine.attach(&id, attach).await)
}

/// Shows what the program shows, until it ends. The program ends when nobody reads this.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/attach/{attach}/output", params(("id" = String, Path), ("attach" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = "default", body = ErrorBody)
    )
)]
pub(super) async fn output(
    State(app): State<App>,
    Path((id, attach)): Path<(String, String)>,
) -> Result<impl IntoResponse, Refusal> {
    let output = app.engine.attach_output(&id, &attach).await?;
    let pieces = stream::unfold(output, async |mut output| {
        let piece = output.next().await?;
        Some((Ok::<_, Infallible>(piece), output))
    });
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], body::Body::from_stream(pieces)))
}

/// Types into the terminal; answered when the bytes are there.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/attach/{attach}/input", params(("id" = String, Path), ("attach" = String, Path)),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204), (status = "default", body = ErrorBody))
)]
pub(super) async fn input(
    State(app): State<App>,
    Path((id, attach)): Path<(String, String)>,
    bytes: Bytes,
) -> Result<StatusCode, Refusal> {
    app.engine.attach_input(&id, &attach, bytes.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes the size of the terminal.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/attach/{attach}/size", params(("id" = String, Path), ("attach" = String, Path)),
    request_body = Resize,
    responses((status = 204), (status = "default", body = ErrorBody))
)]
pub(super) async fn size(
    State(app): State<App>,
    Path((id, attach)): Path<(String, String)>,
    Body(size): Body<Resize>,
) -> Result<StatusCode, Refusal> {
    app.engine.attach_size(&id, &attach, size).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the program, and tells how it ended and what was committed.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}/attach/{attach}", params(("id" = String, Path), ("attach" = String, Path)),
    responses((status = 200, body = Left), (status = "default", body = ErrorBody))
)]
pub(super) async fn detach(State(app): State<App>, Path((id, attach)): Path<(String, String)>) -> Reply<Left> {
    reply(app.engine.detach(&id, &attach).await)
}
