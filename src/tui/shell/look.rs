//! Questions whose answer is a text to read, and what leaves the machine.

use super::daemon::Desk;
use crate::api::error::{Error, ErrorKind};
use crate::api::permission::ListPlans;
use crate::api::publish::{PullQuery, Push};
use crate::api::request::{ExplainPermission, ListTurns};
use crate::api::tool::ToolQuery;
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::tui::msg::{Publish, Reply};
use crate::tui::panel::{Depth, Look, Seen};

impl Desk {
    pub(super) async fn look(&self, to: &Connection, look: Look) -> Result<Reply, ClientError> {
        let seen = match look {
            Look::Pull { session, depth } => {
                let query = PullQuery { review: depth == Depth::Reviewed };
                Seen::Pull(to.pull(&session, &query).await?)
            }
            Look::Plan(plan) => {
                let text = tokio::fs::read_to_string(&plan.path).await.map_err(|error| {
                    let said = format!("failed to read the plan `{}`: {error}", plan.path);
                    ClientError::Refused(Error::new(ErrorKind::NotFound, said))
                })?;
                Seen::Plan { plan, text }
            }
            Look::Explain { session, tool, arguments } => {
                let call = ExplainPermission {
                    cwd: self.cwd.clone(),
                    session,
                    tool,
                    arguments,
                    ..ExplainPermission::default()
                };
                Seen::Explanation(to.explain(&call).await?)
            }
            Look::Tools { agent, model, profile } => {
                let (cwd, path) = (Some(self.cwd.clone()), self.path.clone());
                Seen::Tools(to.tools(&ToolQuery { cwd, path, agent, model, profile }).await?)
            }
            Look::Raw(session) => {
                let turns = to.turns(&session, &ListTurns { raw: true }).await?.items;
                Seen::Raw { session, text: turns.into_iter().rev().find_map(|turn| turn.raw) }
            }
            Look::Prepared(session) => {
                let prepared = to.review(&session).await?.prepared;
                Seen::Prepared { session, prepared }
            }
        };
        Ok(Reply::Seen(Box::new(seen)))
    }

    pub(super) async fn plans(&self, to: &Connection) -> Result<Reply, ClientError> {
        Ok(Reply::Plans(to.plans(&ListPlans { cwd: self.cwd.clone() }).await?.items))
    }
}

pub(super) async fn publish(to: &Connection, publish: Publish) -> Result<Reply, ClientError> {
    Ok(match publish {
        Publish::Push { session, branch } => {
            let pushed = to.push(&session, &Push { branch, ..Push::default() }).await?;
            let session = Some(Box::new(to.session(&session).await?));
            Reply::Done { said: format!("pushed to {}/{}", pushed.remote, pushed.branch), session }
        }
        Publish::Create { session, create } => {
            Reply::Seen(Box::new(Seen::Pull(to.create_pull(&session, &create).await?)))
        }
        Publish::Update { session, update } => {
            Reply::Seen(Box::new(Seen::Pull(to.update_pull(&session, &update).await?)))
        }
    })
}
