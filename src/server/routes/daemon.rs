//! The daemon about itself.

use axum::extract::State;
use tokio::sync::oneshot;

use super::{App, Reply, reply};
use crate::api;
use crate::api::daemon::{DaemonStatus, StopDaemon};
use crate::api::error::{Error, ErrorBody, ErrorKind};
use crate::server::daemon::StopRequest;
use crate::server::error::Body;
use crate::server::lifetime::Lifetime;

/// Tells who answers, in which version, and what it is busy with.
#[utoipa::path(
    get, path = "/v1/daemon",
    responses((status = 200, body = DaemonStatus), (status = "default", body = ErrorBody))
)]
pub(super) async fn status(State(app): State<App>) -> Reply<DaemonStatus> {
    let life = *app.life.borrow();
    reply(describe(&app, life).await)
}

/// Ends the daemon; `draining` of the reply tells whether it will.
#[utoipa::path(
    post, path = "/v1/daemon/stop", request_body = StopDaemon,
    responses((status = 200, body = DaemonStatus), (status = "default", body = ErrorBody))
)]
pub(super) async fn stop(State(app): State<App>, Body(stop): Body<StopDaemon>) -> Reply<DaemonStatus> {
    let (verdict, answer) = oneshot::channel();
    // Without an answer the daemon is past its end already.
    app.stops.send(StopRequest { how: stop.how, verdict }).await.ok();
    match answer.await {
        Ok(life) => reply(describe(&app, life).await),
        Err(_) => Err(Error::new(ErrorKind::Unavailable, "the daemon is ending").into()),
    }
}

async fn describe(app: &App, life: Lifetime) -> Result<DaemonStatus, Error> {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(DaemonStatus {
        running: true,
        pid: Some(std::process::id()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: api::VERSION,
        socket: app.about.socket.clone(),
        uptime_s: app.about.started.elapsed().as_secs(),
        clients: life.clients(),
        // A daemon whose store is damaged can still be looked at and ended.
        sessions: count(app.engine.count().await.unwrap_or_default()),
        running_turns: life.running_turns(),
        draining: life.is_draining(),
    })
}
