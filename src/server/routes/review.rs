//! A person's review of a session's changes: comments, files that were looked at, and the prompt they become.

use axum::extract::{Path, State};

use super::{App, Reply, reply};
use crate::api::error::{Error, ErrorBody, ErrorKind};
use crate::api::review::{AddComment, EditComment, LookAt, PrepareReview, Review};
use crate::api::session::Session;
use crate::server::error::Body;

/// Reads the comments on a session's changes and the files that were looked at.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/review", params(("id" = String, Path)),
    responses((status = 200, body = Review), (status = "default", body = ErrorBody))
)]
pub(super) async fn read(State(app): State<App>, Path(id): Path<String>) -> Reply<Review> {
    reply(app.engine.review(&id).await)
}

/// Comments on a line; it is a draft until it is sent.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/review/comments", params(("id" = String, Path)), request_body = AddComment,
    responses((status = 200, body = Review), (status = "default", body = ErrorBody))
)]
pub(super) async fn add(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(comment): Body<AddComment>,
) -> Reply<Review> {
    reply(app.engine.comment(&id, comment).await)
}

/// Words a draft differently.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/review/comments/{comment}",
    params(("id" = String, Path), ("comment" = u32, Path)), request_body = EditComment,
    responses((status = 200, body = Review), (status = "default", body = ErrorBody))
)]
pub(super) async fn edit(
    State(app): State<App>,
    Path((id, comment)): Path<(String, String)>,
    Body(edit): Body<EditComment>,
) -> Reply<Review> {
    reply(app.engine.edit_comment(&id, number(&comment)?, edit).await)
}

/// Forgets a comment.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}/review/comments/{comment}",
    params(("id" = String, Path), ("comment" = u32, Path)),
    responses((status = 200, body = Review), (status = "default", body = ErrorBody))
)]
pub(super) async fn forget(State(app): State<App>, Path((id, comment)): Path<(String, String)>) -> Reply<Review> {
    reply(app.engine.drop_comment(&id, number(&comment)?).await)
}

/// Remembers that a file was looked at, or that it was not.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/review/files", params(("id" = String, Path)), request_body = LookAt,
    responses((status = 200, body = Review), (status = "default", body = ErrorBody))
)]
pub(super) async fn look_at(State(app): State<App>, Path(id): Path<String>, Body(look): Body<LookAt>) -> Reply<Review> {
    reply(app.engine.look_at(&id, look).await)
}

/// Has a model prepare the review: its findings become drafts. Takes minutes; closing the connection gives it up.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/review/prepare", params(("id" = String, Path)), request_body = PrepareReview,
    responses((status = 200, body = Review), (status = "default", body = ErrorBody))
)]
pub(super) async fn prepare(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<PrepareReview>,
) -> Reply<Review> {
    reply(app.engine.prepare_review(&id, request).await)
}

/// Sends all drafts to the agent as one prompt, which waits its turn behind what is queued.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/review/send", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn send(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.send_review(&id).await)
}

fn number(text: &str) -> Result<u32, Error> {
    text.parse().map_err(|_| Error::new(ErrorKind::Invalid, format!("`{text}` is not the number of a comment")))
}
