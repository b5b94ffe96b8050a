//! Plans that wait to be carried out. Everybody may look.

use axum::extract::State;

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::error::ErrorBody;
use crate::api::permission::{ListPlans, SavedPlan};
use crate::server::error::Asked;

/// Lists the plans of a repository that wait, the last one first.
#[utoipa::path(
    get, path = "/v1/plans", params(ListPlans),
    responses((status = 200, body = Page<SavedPlan>), (status = "default", body = ErrorBody))
)]
pub(super) async fn plans(State(app): State<App>, Asked(list): Asked<ListPlans>) -> Reply<Page<SavedPlan>> {
    reply(app.engine.plans(list).await)
}
