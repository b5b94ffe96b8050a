//! Calls of tools of external servers: decided about like the agent's own, then made by us.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::permission::Reach;
use crate::tools::Answer;
use crate::tools::external::ExternalTool;

use super::super::delegate::{News, What};
use super::super::record::CallOrigin;
use super::Actor;
use super::approval::{self, Asked};
use super::passed::CardOf;
use super::work::Act;

impl Actor {
    /// The model calls a tool of an external server.
    pub(super) async fn external_called(&mut self, request: String, tool: ExternalTool, arguments: Value) {
        let preview = serde_json::to_string_pretty(&arguments).unwrap_or_default();
        let asked = Asked {
            request: request.clone(),
            tool: tool.permission().tool,
            reach: Reach::Mcp { server: tool.server.clone(), tool: tool.tool.clone(), effect: tool.effect },
            kind: "mcp".to_owned(),
            title: format!("{} of {}", tool.tool, tool.server),
            call_hash: approval::hash([&tool.name, &preview]),
            preview,
            origin: CallOrigin::Served,
            card: CardOf::Served { tool: tool.name.clone(), arguments: arguments.clone() },
        };
        self.decide_and_act(asked, Act::External { tool: Box::new(tool), arguments }).await;
    }

    pub(super) fn call_external(&mut self, request: String, tool: ExternalTool, arguments: Value) {
        let Some(servers) = self.turn.as_ref().and_then(|turn| turn.servers.clone()) else { return };
        let cancel = CancellationToken::new();
        self.calls.open(&request, cancel.clone());
        let sender = self.calls.sender();
        self.shared.tasks.spawn(async move {
            let servers: Arc<super::super::external::Servers> = servers;
            let outcome = tokio::select! {
                outcome = servers.call(&tool, arguments) => outcome,
                () = cancel.cancelled() => return,
            };
            // A turn that is over hears nothing.
            sender.send(News { request, what: What::Done(outcome.map(Answer::from)) }).await.ok();
        });
    }
}
