//! The paths of the interface and what stands behind them: thin calls of the engine.

mod agent;
mod attach;
mod daemon;
mod event;
mod family;
mod import;
mod permission;
mod project;
mod publish;
mod resolution;
mod review;
mod session;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;

use super::daemon::StopRequest;
use super::error::{self, Refusal};
use super::lifetime::Lifetime;
use super::listener;
use super::person;
use crate::api::error::Error;
use crate::engine::Engine;

/// A prompt may be long and hold images, which base64 makes a third longer; more than this is a mistake.
pub(super) const BODY_LIMIT: usize = 40 * 1024 * 1024;

/// What every handler can reach.
#[derive(Clone)]
pub(super) struct App {
    pub(super) engine: Engine,
    pub(super) about: Arc<About>,
    pub(super) life: watch::Receiver<Lifetime>,
    pub(super) stops: mpsc::Sender<StopRequest>,
    /// Cancelled when the daemon ends.
    pub(super) end: CancellationToken,
}

/// What does not change while the daemon lives.
pub(super) struct About {
    pub(super) socket: String,
    pub(super) started: Instant,
}

/// A handler's answer.
type Reply<T> = Result<Json<T>, Refusal>;

fn reply<T>(result: Result<T, Error>) -> Reply<T> {
    Ok(Json(result?))
}

/// The interface as a document; a test keeps the committed copy fresh.
#[derive(OpenApi)]
#[openapi(
    info(title = "Coppice", description = "HTTP and server-sent events over the daemon's unix socket"),
    paths(
        agent::check,
        agent::files,
        agent::list,
        agent::read,
        agent::seed,
        agent::tools,
        attach::attach,
        attach::detach,
        attach::input,
        attach::output,
        attach::size,
        daemon::status,
        daemon::stop,
        event::list,
        event::stream,
        family::handoffs,
        family::integrate,
        family::workflow,
        import::import_rules,
        import::import_servers,
        import::list_rules,
        import::list_servers,
        permission::explain,
        permission::plans,
        project::backends,
        project::check_backend,
        project::config,
        project::doctor,
        project::files,
        project::grant_trust,
        project::list_models,
        project::models,
        project::moved,
        project::read,
        project::relink,
        project::set_config,
        project::trust,
        publish::create_pull,
        publish::pull,
        publish::push,
        publish::update_pull,
        resolution::accept,
        resolution::propose,
        review::add,
        review::edit,
        review::forget,
        review::look_at,
        review::prepare,
        review::read,
        review::send,
        session::answer,
        session::archive,
        session::check,
        session::create,
        session::decide,
        session::diff,
        session::drop_prompt,
        session::inbox,
        session::list,
        session::merge,
        session::prompt,
        session::queue,
        session::read,
        session::rebase,
        session::remove,
        session::restore,
        session::resume,
        session::set_posture,
        session::stop,
        session::turns,
        session::undo,
    ),
    components(schemas(crate::api::event::Event, crate::api::event::Live))
)]
pub struct Document;

pub(super) fn router(app: App) -> Router {
    // An agent's process may look at sessions. It works with the tools that its session is served and needs nothing else.
    let open = Router::new()
        .route("/v1/daemon", get(daemon::status))
        .route("/v1/sessions", get(session::list))
        .route("/v1/sessions/{id}", get(session::read))
        .route("/v1/sessions/{id}/turns", get(session::turns))
        .route("/v1/sessions/{id}/queue", get(session::queue))
        .route("/v1/sessions/{id}/diff", get(session::diff))
        .route("/v1/sessions/{id}/handoffs", get(family::handoffs))
        .route("/v1/sessions/{id}/workflow", get(family::workflow))
        .route("/v1/sessions/{id}/review", get(review::read))
        .route("/v1/inbox", get(session::inbox))
        .route("/v1/events", get(event::list))
        .route("/v1/events/stream", get(event::stream));
    // All others change something, start programs, or run git in a directory that the request names.
    let personal = Router::new()
        .route("/v1/daemon/stop", post(daemon::stop))
        .route("/v1/sessions", post(session::create))
        .route("/v1/session-check", post(session::check))
        .route("/v1/sessions/{id}", delete(session::remove))
        .route("/v1/sessions/{id}/approvals/{request}", post(session::decide))
        .route("/v1/sessions/{id}/answers", post(session::answer))
        .route("/v1/sessions/{id}/prompts", post(session::prompt))
        .route("/v1/sessions/{id}/queue/{number}", delete(session::drop_prompt))
        .route("/v1/sessions/{id}/stop", post(session::stop))
        .route("/v1/sessions/{id}/resume", post(session::resume))
        .route("/v1/sessions/{id}/posture", post(session::set_posture))
        .route("/v1/sessions/{id}/undo", post(session::undo))
        .route("/v1/sessions/{id}/rebase", post(session::rebase))
        .route("/v1/sessions/{id}/merge", post(session::merge))
        .route("/v1/sessions/{id}/resolutions", post(resolution::propose))
        .route("/v1/sessions/{id}/resolutions/{proposal}", post(resolution::accept))
        .route("/v1/sessions/{id}/archive", post(session::archive))
        .route("/v1/sessions/{id}/restore", post(session::restore))
        .route("/v1/sessions/{id}/integrate", post(family::integrate))
        // What leaves the machine, in the person's name.
        .route("/v1/sessions/{id}/push", post(publish::push))
        .route("/v1/sessions/{id}/pr", get(publish::pull).post(publish::create_pull).patch(publish::update_pull))
        .route("/v1/sessions/{id}/review/comments", post(review::add))
        .route("/v1/sessions/{id}/review/comments/{comment}", put(review::edit).delete(review::forget))
        .route("/v1/sessions/{id}/review/files", put(review::look_at))
        .route("/v1/sessions/{id}/review/prepare", post(review::prepare))
        .route("/v1/sessions/{id}/review/send", post(review::send))
        // A terminal asks its own person, and what it asks nobody decides here.
        .route("/v1/sessions/{id}/attach", post(attach::attach))
        .route("/v1/sessions/{id}/attach/{attach}", delete(attach::detach))
        .route("/v1/sessions/{id}/attach/{attach}/output", get(attach::output))
        .route("/v1/sessions/{id}/attach/{attach}/input", post(attach::input))
        .route("/v1/sessions/{id}/attach/{attach}/size", post(attach::size))
        .route("/v1/agents", get(agent::list))
        .route("/v1/agents/check", post(agent::check))
        .route("/v1/agents/seed", post(agent::seed))
        .route("/v1/agents/{agent}", get(agent::read))
        .route("/v1/agent-files", get(agent::files))
        .route("/v1/tools", get(agent::tools))
        .route("/v1/permissions/explain", post(permission::explain))
        .route("/v1/plans", get(permission::plans))
        .route("/v1/project", get(project::read))
        .route("/v1/project/moved", get(project::moved))
        .route("/v1/project/relink", post(project::relink))
        .route("/v1/files", get(project::files))
        .route("/v1/trust", get(project::trust).post(project::grant_trust))
        .route("/v1/config", get(project::config).put(project::set_config))
        // What the person configured for other programs.
        .route("/v1/import/servers", post(import::import_servers))
        .route("/v1/import/servers/list", post(import::list_servers))
        .route("/v1/import/rules", post(import::import_rules))
        .route("/v1/import/rules/list", post(import::list_rules))
        // They start the programs that the caller's PATH names.
        .route("/v1/backends", get(project::backends))
        .route("/v1/backends/check", post(project::check_backend))
        .route("/v1/models", get(project::models).post(project::list_models))
        .route("/v1/doctor", post(project::doctor))
        .route_layer(middleware::from_fn(person::only));
    open.merge(personal)
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(listener::identify_peer))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_committed_document_is_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/openapi.json");
        let mut fresh = Document::openapi().to_pretty_json().unwrap();
        fresh.push('\n');
        if std::env::var_os("COPPICE_BLESS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == fresh, "run `COPPICE_BLESS=1 cargo test --lib` and commit schemas/");
    }
}
