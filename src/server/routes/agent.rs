//! Agents: the catalog, one of them, a check of files, copies of our own.

use axum::extract::{Path, State};

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::agent::{
    Agent, AgentDiagnostic, AgentFiles, AgentPlace, AgentQuery, AgentRoles, CheckAgents, SeedAgents, SeededAgents,
    ShowAgent,
};
use crate::api::error::ErrorBody;
use crate::api::tool::{ToolQuery, ToolSurface};
use crate::server::error::{Asked, Body};

/// Lists the agents that work can be handed to, as a model is told.
#[utoipa::path(
    get, path = "/v1/agents", params(AgentQuery),
    responses((status = 200, body = AgentRoles), (status = "default", body = ErrorBody))
)]
pub(super) async fn list(State(app): State<App>, Asked(query): Asked<AgentQuery>) -> Reply<AgentRoles> {
    reply(app.engine.agents(query).await)
}

/// Lists every file that defines an agent or should, with what is wrong with it.
#[utoipa::path(
    get, path = "/v1/agent-files", params(AgentPlace),
    responses((status = 200, body = AgentFiles), (status = "default", body = ErrorBody))
)]
pub(super) async fn files(State(app): State<App>, Asked(place): Asked<AgentPlace>) -> Reply<AgentFiles> {
    reply(app.engine.agent_files(place).await)
}

/// Shows one agent as it would work on each backend.
#[utoipa::path(
    get, path = "/v1/agents/{agent}", params(("agent" = String, Path, description = "`AGENT` or `AGENT:PERSONA`"), ShowAgent),
    responses((status = 200, body = Agent), (status = "default", body = ErrorBody))
)]
pub(super) async fn read(
    State(app): State<App>,
    Path(agent): Path<String>,
    Asked(query): Asked<ShowAgent>,
) -> Reply<Agent> {
    reply(app.engine.agent(&agent, query).await)
}

/// Tells which tools an agent would get on a backend, and why it would not get the others.
#[utoipa::path(
    get, path = "/v1/tools", params(ToolQuery),
    responses((status = 200, body = ToolSurface), (status = "default", body = ErrorBody))
)]
pub(super) async fn tools(State(app): State<App>, Asked(query): Asked<ToolQuery>) -> Reply<ToolSurface> {
    reply(app.engine.tools(query).await)
}

/// Says what is wrong with files that the client read.
#[utoipa::path(
    post, path = "/v1/agents/check", request_body = CheckAgents,
    responses((status = 200, body = Page<AgentDiagnostic>), (status = "default", body = ErrorBody))
)]
pub(super) async fn check(State(app): State<App>, Body(check): Body<CheckAgents>) -> Reply<Page<AgentDiagnostic>> {
    reply(Ok(Page::whole(app.engine.check_agents(check))))
}

/// Copies the built-in agents into the user's own directory.
#[utoipa::path(
    post, path = "/v1/agents/seed", request_body = SeedAgents,
    responses((status = 200, body = SeededAgents), (status = "default", body = ErrorBody))
)]
pub(super) async fn seed(State(app): State<App>, Body(seed): Body<SeedAgents>) -> Reply<SeededAgents> {
    reply(app.engine.seed_agents(seed).await)
}
