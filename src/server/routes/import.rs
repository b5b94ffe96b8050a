//! What a person configured for the agent programs, to be taken over.

use axum::extract::State;

use super::{App, Reply, reply};
use crate::api::error::ErrorBody;
use crate::api::import::{ImportServers, ListServers, ServerImport};
use crate::server::error::{Asked, Body};

/// Lists the MCP servers in the user's own configuration of the agent programs, and whether they can be imported.
#[utoipa::path(
    get, path = "/v1/import/servers", params(ListServers),
    responses((status = 200, body = ServerImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn servers(State(app): State<App>, Asked(query): Asked<ListServers>) -> Reply<ServerImport> {
    reply(app.engine.importable_servers(query).await)
}

/// Writes MCP servers of the agent programs to the user's own configuration of Coppice.
#[utoipa::path(
    post, path = "/v1/import/servers", request_body = ImportServers,
    responses((status = 200, body = ServerImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn import_servers(State(app): State<App>, Body(request): Body<ImportServers>) -> Reply<ServerImport> {
    reply(app.engine.import_servers(request).await)
}
