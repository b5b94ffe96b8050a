//! Sessions: everything that can be asked of one, and the lists of them.

use axum::extract::{ConnectInfo, Path, State};

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::error::ErrorBody;
use crate::api::event::Engine;
use crate::api::request::{
    Answer, CreateSession, Decide, DiffQuery, ListSessions, ListTurns, Merge, Resume, SendPrompt, SetPosture, Undo,
};
use crate::api::session::{Diff, InboxItem, QueuedPrompt, Session, Turn};
use crate::server::error::{Asked, Body, Named};
use crate::server::listener::Peer;
use crate::server::person;

/// Lists sessions, those that wait for a person first. An agent's process cannot name a directory.
#[utoipa::path(
    get, path = "/v1/sessions", params(ListSessions),
    responses((status = 200, body = Page<Session>), (status = "default", body = ErrorBody))
)]
pub(super) async fn list(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Asked(list): Asked<ListSessions>,
) -> Reply<Page<Session>> {
    if list.cwd.is_some() {
        person::require(peer)?;
    }
    reply(app.engine.sessions(list).await)
}

/// Creates a session and begins its first turn.
#[utoipa::path(
    post, path = "/v1/sessions", request_body = CreateSession,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn create(State(app): State<App>, Body(create): Body<CreateSession>) -> Reply<Session> {
    reply(app.engine.create(create).await)
}

/// Tells who would work on a session, or why none can be created; nothing is.
#[utoipa::path(
    post, path = "/v1/session-check", request_body = CreateSession,
    responses((status = 200, body = Engine), (status = "default", body = ErrorBody))
)]
pub(super) async fn check(State(app): State<App>, Body(create): Body<CreateSession>) -> Reply<Engine> {
    reply(app.engine.check(create).await)
}

/// Reads one session, named by its id or a unique beginning of it.
#[utoipa::path(
    get, path = "/v1/sessions/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn read(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.session(&id).await)
}

/// Removes a session; it can be restored.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn remove(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.remove(&id).await)
}

/// Lists the turns of a session, the first one first.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/turns", params(("id" = String, Path), ListTurns),
    responses((status = 200, body = Page<Turn>), (status = "default", body = ErrorBody))
)]
pub(super) async fn turns(
    State(app): State<App>,
    Path(id): Path<String>,
    Asked(list): Asked<ListTurns>,
) -> Reply<Page<Turn>> {
    reply(app.engine.turns(&id, list).await.map(Page::whole))
}

/// Shows what a session, or one of its turns, changed. A `review` is remembered, and a merge of anything else refused.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/diff", params(("id" = String, Path), DiffQuery),
    responses((status = 200, body = Diff), (status = "default", body = ErrorBody))
)]
pub(super) async fn diff(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(id): Path<String>,
    Asked(query): Asked<DiffQuery>,
) -> Reply<Diff> {
    reply(app.engine.diff(&id, query, person::asker(peer)).await)
}

/// Lists everything that waits for a person, oldest first.
#[utoipa::path(
    get, path = "/v1/inbox",
    responses((status = 200, body = Page<InboxItem>), (status = "default", body = ErrorBody))
)]
pub(super) async fn inbox(State(app): State<App>) -> Reply<Page<InboxItem>> {
    reply(app.engine.inbox().await.map(Page::whole))
}

/// Allows or denies what an agent asked for; `request` may be `oldest`.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/approvals/{request}", params(("id" = String, Path), ("request" = String, Path)),
    request_body = Decide,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn decide(
    State(app): State<App>,
    Path((id, request)): Path<(String, String)>,
    Body(decide): Body<Decide>,
) -> Reply<Session> {
    reply(app.engine.decide(&id, &request, decide).await)
}

/// Sends a prompt; it waits its turn behind what is queued.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/prompts", params(("id" = String, Path)), request_body = SendPrompt,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn prompt(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(prompt): Body<SendPrompt>,
) -> Reply<Session> {
    reply(app.engine.send(&id, prompt).await)
}

/// Lists the prompts that no turn has begun with, the next one first.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/queue", params(("id" = String, Path)),
    responses((status = 200, body = Page<QueuedPrompt>), (status = "default", body = ErrorBody))
)]
pub(super) async fn queue(State(app): State<App>, Path(id): Path<String>) -> Reply<Page<QueuedPrompt>> {
    reply(app.engine.queue(&id).await.map(Page::whole))
}

/// Drops a prompt that waits; it is never sent.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}/queue/{number}", params(("id" = String, Path), ("number" = u32, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn drop_prompt(State(app): State<App>, Named((id, number)): Named<(String, u32)>) -> Reply<Session> {
    reply(app.engine.drop_prompt(&id, number).await)
}

/// Answers the open questions, one by one or all at once.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/answers", params(("id" = String, Path)), request_body = Answer,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn answer(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(answer): Body<Answer>,
) -> Reply<Session> {
    reply(app.engine.answer(&id, answer).await)
}

/// Goes on after an interruption or a failure.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/resume", params(("id" = String, Path)), request_body = Resume,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(resume): Body<Resume>,
) -> Reply<Session> {
    reply(app.engine.resume(&id, resume).await)
}

/// Resets the worktree to an earlier turn; what was there is kept.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/undo", params(("id" = String, Path)), request_body = Undo,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn undo(State(app): State<App>, Path(id): Path<String>, Body(undo): Body<Undo>) -> Reply<Session> {
    reply(app.engine.undo(&id, undo).await)
}

/// Merges the work into the branch that the session started from.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/merge", params(("id" = String, Path)), request_body = Merge,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn merge(State(app): State<App>, Path(id): Path<String>, Body(merge): Body<Merge>) -> Reply<Session> {
    reply(app.engine.merge(&id, merge).await)
}

/// Changes what a session may do by itself, in the middle of a turn too.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/posture", params(("id" = String, Path)), request_body = SetPosture,
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn set_posture(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(posture): Body<SetPosture>,
) -> Reply<Session> {
    reply(app.engine.set_posture(&id, posture).await)
}

/// Stops the turn in progress, or the program that a person works with.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/stop", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn stop(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.stop(&id).await)
}

/// Brings the session's branch up to date with its base, wholly or not at all.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/rebase", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn rebase(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.rebase(&id).await)
}

/// Puts a session away without losing its work.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/archive", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn archive(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.archive(&id).await)
}

/// Brings back a session that was removed.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/restore", params(("id" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = ErrorBody))
)]
pub(super) async fn restore(State(app): State<App>, Path(id): Path<String>) -> Reply<Session> {
    reply(app.engine.restore(&id).await)
}
