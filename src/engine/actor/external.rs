//! Calls of tools of external servers: decided about like the agent's own, then made by us.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::permission::Reach;
use crate::tools::external::ExternalTool;

use super::super::delegate::{News, What};
use super::super::record::{CallOrigin, DecisionRecord};
use super::Actor;
use super::approval::{self, Asked, Ruling};

/// A call that a person decides about.
pub(super) struct Held {
    pub(super) request: String,
    tool: ExternalTool,
    arguments: Value,
}

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
        };
        match self.rule(asked).await {
            Ruling::Allow => self.call_external(request, tool, arguments),
            Ruling::Deny(text) => self.answer_call(request, Err(text)).await,
            Ruling::Pending => self.calls.held.push(Held { request, tool, arguments }),
        }
    }

    /// A person has decided about a call that waits here.
    pub(super) async fn external_decided(&mut self, request: String, decision: DecisionRecord) {
        let Some(held) = self.calls.take_held(&request) else { return };
        match decision {
            DecisionRecord::Allow => self.call_external(request, held.tool, held.arguments),
            DecisionRecord::Deny { message } => {
                let text = message.unwrap_or_else(|| "The user refused this tool call.".to_owned());
                self.answer_call(request, Err(text)).await;
            }
        }
    }

    fn call_external(&mut self, request: String, tool: ExternalTool, arguments: Value) {
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
            sender.send(News { request, what: What::Done(outcome) }).await.ok();
        });
    }
}
