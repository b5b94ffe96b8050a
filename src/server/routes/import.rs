//! What a person configured for the agent programs, to be taken over.

use axum::extract::State;

use super::{App, Reply, reply};
use crate::api::error::ErrorBody;
use crate::api::import::{ImportRules, ImportServers, ListRules, ListServers, RuleImport, ServerImport};
use crate::server::error::Body;

/// Lists the MCP servers in the user's own configuration of the agent programs, and whether they can be imported.
#[utoipa::path(
    post, path = "/v1/import/servers/list", request_body = ListServers,
    responses((status = 200, body = ServerImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn list_servers(State(app): State<App>, Body(list): Body<ListServers>) -> Reply<ServerImport> {
    reply(app.engine.importable_servers(list).await)
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
    post, path = "/v1/import/rules/list", request_body = ListRules,
    responses((status = 200, body = RuleImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn list_rules(State(app): State<App>, Body(list): Body<ListRules>) -> Reply<RuleImport> {
    reply(app.engine.importable_rules(list).await)
}

/// Adds such rules to the user's own file for all repositories.
#[utoipa::path(
    post, path = "/v1/import/rules", request_body = ImportRules,
    responses((status = 200, body = RuleImport), (status = "default", body = ErrorBody))
)]
pub(super) async fn import_rules(State(app): State<App>, Body(request): Body<ImportRules>) -> Reply<RuleImport> {
    reply(app.engine.import_rules(request).await)
}
