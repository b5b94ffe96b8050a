//! What a person configured for the agent programs, to be taken over.

use axum::extract::State;

use super::{App, Reply, reply};
use crate::api::error::ErrorBody;
use crate::api::import::{ImportRules, ImportServers, ListServers, RuleImport, ServerImport};
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

/// Lists what the user's settings of an agent program allow, and whether it can be imported.
#[utoipa::path(
    get, path = "/v1/import/rules",
    responses((status = 200, body = RuleImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn rules(State(app): State<App>) -> Reply<RuleImport> {
    reply(app.engine.importable_rules().await)
}

/// Adds such rules to the user's own file for all repositories.
#[utoipa::path(
    post, path = "/v1/import/rules", request_body = ImportRules,
    responses((status = 200, body = RuleImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn import_rules(State(app): State<App>, Body(request): Body<ImportRules>) -> Reply<RuleImport> {
    reply(app.engine.import_rules(request).await)
}
