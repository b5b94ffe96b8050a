//! Permission requests: what is asked, and which of the agent's options a decision picks.
//!
//! Options are chosen by their kind, never by position or name, and never wider than the decision.

use serde_json::{Value, json};

use crate::backend::acp::update::{self, ToolUpdate};
use crate::backend::event::{ApprovalRequest, Decision, ToolKind};

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pending {
    /// The agent's id of the request, echoed in the answer.
    pub(crate) id: Value,
    pub(crate) approval: ApprovalRequest,
    options: Vec<(String, String)>,
}

/// Reads `session/request_permission`.
pub(crate) fn read(id: Value, params: &Value) -> Pending {
    let call = update::read_tool(&params["toolCall"]);
    let options = params["options"].as_array().into_iter().flatten();
    let options = options
        .filter_map(|option| Some((option["kind"].as_str()?.to_owned(), option["optionId"].as_str()?.to_owned())));
    Pending { approval: approval(&id, call), options: options.collect(), id }
}

fn approval(id: &Value, tool: ToolUpdate) -> ApprovalRequest {
    ApprovalRequest {
        request: id.to_string(),
        title: tool.title.unwrap_or_else(|| tool.call.clone()),
        call: tool.call,
        kind: tool.kind.unwrap_or(ToolKind::Other),
        input: tool.input,
        preview: tool.output.map(|text| update::bounded(&text)).unwrap_or_default(),
    }
}

impl Pending {
    /// The result that tells the agent a decision.
    pub(crate) fn answer(&self, decision: &Decision) -> Value {
        match decision {
            Decision::Once => self.pick(&["allow_once"], None),
            Decision::Deny { message } => self.pick(&["reject_once", "reject_always"], message.as_deref()),
        }
    }

    fn pick(&self, kinds: &[&str], message: Option<&str>) -> Value {
        let wanted = kinds.iter().find_map(|kind| self.options.iter().find(|(offered, _)| offered == kind));
        // Without a fitting option the call is refused: to be asked again is better than to allow too much.
        let Some((_, option)) = wanted else { return cancelled() };
        match message {
            None => json!({"outcome": {"outcome": "selected", "optionId": option}}),
            // The protocol has no place for a reason; agents that know this member may pass it on.
            Some(message) => {
                json!({"outcome": {"outcome": "selected", "optionId": option}, "_meta": {"message": message}})
            }
        }
    }
}

/// The result that withdraws a request together with its turn.
pub(crate) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(kinds: &[&str]) -> Pending {
        let options: Vec<Value> =
            kinds.iter().map(|kind| json!({"optionId": format!("id-{kind}"), "name": "x", "kind": kind})).collect();
        read(json!(0), &json!({"options": options, "toolCall": {"toolCallId": "c"}}))
    }

    #[track_caller]
    fn check(kinds: &[&str], decision: Decision, expected: Option<&str>) {
        let answer = pending(kinds).answer(&decision);
        assert_eq!(answer["outcome"]["optionId"].as_str(), expected);
        assert_eq!(answer["outcome"]["outcome"], if expected.is_some() { "selected" } else { "cancelled" });
    }

    #[test]
    fn options_are_picked_by_kind_and_never_wider() {
        let deny = || Decision::Deny { message: None };
        check(&["allow_always", "allow_once", "reject_once"], Decision::Once, Some("id-allow_once"));
        check(&["allow_always", "reject_once"], Decision::Once, None);
        check(&["allow_once", "reject_always", "reject_once"], deny(), Some("id-reject_once"));
        check(&["allow_once", "reject_always"], deny(), Some("id-reject_always"));
        check(&["allow_once"], deny(), None);
        check(&[], Decision::Once, None);
    }

    #[test]
    fn a_reason_travels_beside_the_outcome() {
        let answer = pending(&["reject_once"]).answer(&Decision::Deny { message: Some("use make".to_owned()) });
        assert_eq!(answer["_meta"]["message"], "use make");
    }
}
