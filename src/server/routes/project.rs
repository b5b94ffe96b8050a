//! Things of a repository or of the machine: trust, configuration, models, health.

use axum::extract::State;

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::backend::{BackendCheck, BackendEntry, CheckBackend};
use crate::api::error::ErrorBody;
use crate::api::project::{
    Backend, BackendQuery, Check, ConfigQuery, ConfigValue, Files, FilesQuery, GrantTrust, ListModels, MovedProject,
    Place, Project, Relink, Relinked, RunDoctor, SetConfig, Trust,
};
use crate::server::error::{Asked, Body};

/// Tells which repository a directory is in, and what is checked out there.
#[utoipa::path(
    get, path = "/v1/project", params(Place),
    responses((status = 200, body = Project), (status = "default", body = ErrorBody))
)]
pub(super) async fn read(State(app): State<App>, Asked(place): Asked<Place>) -> Reply<Project> {
    reply(app.engine.project(place).await)
}

/// Lists the former places of a repository that was moved, as far as sessions name them.
#[utoipa::path(
    get, path = "/v1/project/moved", params(Place),
    responses((status = 200, body = Page<MovedProject>), (status = "default", body = ErrorBody))
)]
pub(super) async fn moved(State(app): State<App>, Asked(place): Asked<Place>) -> Reply<Page<MovedProject>> {
    reply(app.engine.moved_projects(place).await.map(Page::whole))
}

/// Links the sessions of a repository that was moved to its new place.
#[utoipa::path(
    post, path = "/v1/project/relink", request_body = Relink,
    responses((status = 200, body = Relinked), (status = "default", body = ErrorBody))
)]
pub(super) async fn relink(State(app): State<App>, Body(relink): Body<Relink>) -> Reply<Relinked> {
    reply(app.engine.relink(relink).await)
}

/// Lists the files of a work tree that git does not ignore.
#[utoipa::path(
    get, path = "/v1/files", params(FilesQuery),
    responses((status = 200, body = Files), (status = "default", body = ErrorBody))
)]
pub(super) async fn files(State(app): State<App>, Asked(query): Asked<FilesQuery>) -> Reply<Files> {
    reply(app.engine.files(query).await)
}

/// Shows what a repository asks for, and whether the user agreed.
#[utoipa::path(
    get, path = "/v1/trust", params(Place),
    responses((status = 200, body = Trust), (status = "default", body = ErrorBody))
)]
pub(super) async fn trust(State(app): State<App>, Asked(place): Asked<Place>) -> Reply<Trust> {
    reply(app.engine.trust(place).await)
}

/// Agrees to exactly the text with the given hash.
#[utoipa::path(
    post, path = "/v1/trust", request_body = GrantTrust,
    responses((status = 200, body = Trust), (status = "default", body = ErrorBody))
)]
pub(super) async fn grant_trust(State(app): State<App>, Body(grant): Body<GrantTrust>) -> Reply<Trust> {
    reply(app.engine.grant(grant).await)
}

/// Lists every effective setting and where it came from.
#[utoipa::path(
    get, path = "/v1/config", params(ConfigQuery),
    responses((status = 200, body = Page<ConfigValue>), (status = "default", body = ErrorBody))
)]
pub(super) async fn config(State(app): State<App>, Asked(query): Asked<ConfigQuery>) -> Reply<Page<ConfigValue>> {
    reply(app.engine.config(query).await.map(Page::whole))
}

/// Writes or takes out one key of the user's file, or of what the user says about one project.
#[utoipa::path(
    put, path = "/v1/config", request_body = SetConfig,
    responses((status = 200, body = ConfigValue), (status = "default", body = ErrorBody))
)]
pub(super) async fn set_config(State(app): State<App>, Body(set): Body<SetConfig>) -> Reply<ConfigValue> {
    reply(app.engine.set_config(set).await)
}

/// Lists the backends, whether they can be used, and their models.
#[utoipa::path(
    get, path = "/v1/models", params(BackendQuery),
    responses((status = 200, body = Page<Backend>), (status = "default", body = ErrorBody))
)]
pub(super) async fn models(State(app): State<App>, Asked(query): Asked<BackendQuery>) -> Reply<Page<Backend>> {
    reply(app.engine.backends(query).await.map(Page::whole))
}

/// Lists the backends and their models with the caller's environment: its logins and settings.
#[utoipa::path(
    post, path = "/v1/models", request_body = ListModels,
    responses((status = 200, body = Page<Backend>), (status = "default", body = ErrorBody))
)]
pub(super) async fn list_models(State(app): State<App>, Body(list): Body<ListModels>) -> Reply<Page<Backend>> {
    reply(app.engine.list_backend_models(list).await.map(Page::whole))
}

/// Lists every backend that has a name: built in, configured, or a preset that can be added.
#[utoipa::path(
    get, path = "/v1/backends", params(BackendQuery),
    responses((status = 200, body = Page<BackendEntry>), (status = "default", body = ErrorBody))
)]
pub(super) async fn backends(State(app): State<App>, Asked(query): Asked<BackendQuery>) -> Reply<Page<BackendEntry>> {
    reply(app.engine.known_backends(query).await.map(Page::whole))
}

/// Starts a backend in the sandbox, has it open a session, and says what was refused.
#[utoipa::path(
    post, path = "/v1/backends/check", request_body = CheckBackend,
    responses((status = 200, body = BackendCheck), (status = "default", body = ErrorBody))
)]
pub(super) async fn check_backend(State(app): State<App>, Body(check): Body<CheckBackend>) -> Reply<BackendCheck> {
    reply(app.engine.check_backend(check).await)
}

/// Tries each thing that must work.
#[utoipa::path(
    post, path = "/v1/doctor", request_body = RunDoctor,
    responses((status = 200, body = Page<Check>), (status = "default", body = ErrorBody))
)]
pub(super) async fn doctor(State(app): State<App>, Body(request): Body<RunDoctor>) -> Reply<Page<Check>> {
    reply(app.engine.doctor(request).await.map(Page::whole))
}
