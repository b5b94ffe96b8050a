//! Permissions and plans: why a call would go ahead or not, and what waits to be carried out. Everybody may look.

use axum::extract::State;

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::error::ErrorBody;
use crate::api::permission::{Explanation, ListPlans, SavedPlan};
use crate::api::request::ExplainPermission;
use crate::server::error::{Asked, Body};

/// Says what would happen with a call, and by which rule. Nothing is run.
#[utoipa::path(
    post, path = "/v1/permissions/explain", request_body = ExplainPermission,
    responses((status = 200, body = Explanation), (status = "default", body = ErrorBody))
)]
pub(super) async fn explain(State(app): State<App>, Body(call): Body<ExplainPermission>) -> Reply<Explanation> {
    reply(app.engine.explain(call).await)
}

/// Lists the plans of a repository that wait, the last one first.
#[utoipa::path(
    get, path = "/v1/plans", params(ListPlans),
    responses((status = 200, body = Page<SavedPlan>), (status = "default", body = ErrorBody))
)]
pub(super) async fn plans(State(app): State<App>, Asked(list): Asked<ListPlans>) -> Reply<Page<SavedPlan>> {
    reply(app.engine.plans(list).await)
}
