//! What the agent asks of us in the middle of a turn: approvals, results of served tools, answers of a person.
//!
//! A decision is never wider than the one call: no session-wide consent, no rule that is written down.

use std::path::Path;

use serde_json::{Value, json};

use crate::backend::codex::item;
use crate::backend::codex::text::script;
use crate::backend::event::{ApprovalRequest, Decision, ToolKind};
use crate::backend::output::bounded;
use crate::permission::Reach;

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pending {
    /// The agent's id of the request, echoed in the answer.
    pub(super) id: Value,
    pub(super) approval: ApprovalRequest,
    form: Form,
}

/// The shape of the answer.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Decision,
    Elicitation,
    /// What was asked for, to be granted as it is.
    Permissions(Value),
}

/// What is answered to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Accept,
    Decline,
    /// Declined together with its turn.
    Cancel,
}

impl From<&Decision> for Answer {
    fn from(decision: &Decision) -> Self {
        match decision {
            Decision::Once => Self::Accept,
            // The protocol has no place for a reason.
            Decision::Deny { .. } => Self::Decline,
        }
    }
}

/// Reads a request for approval; `None` when it is not one. `started` is the item that the request belongs to.
pub(super) fn read(id: &Value, method: &str, params: &Value, started: Option<&Value>, cwd: &Path) -> Option<Pending> {
    let (title, kind, input, preview, reach, form) = match method {
        "item/commandExecution/requestApproval" => {
            let command = script(params["command"].as_str().unwrap_or_default());
            let title = if command.is_empty() { "run a command".to_owned() } else { command.clone() };
            // Commands ask only to leave the sandbox: one that stays inside runs without a question.
            let input = json!({"command": command, "cwd": params["cwd"]});
            (title, ToolKind::Execute, input, preview(&command, params), Reach::Elsewhere, Form::Decision)
        }
        "item/fileChange/requestApproval" => {
            let (paths, diff) = started.map(|item| (item::changed_paths(item), item::diff(item))).unwrap_or_default();
            // A granted root would stay open for the rest of the conversation.
            let reach = match params["grantRoot"].as_str() {
                Some(_) => Reach::Elsewhere,
                None => Reach::Paths(paths.iter().map(|path| cwd.join(path)).collect()),
            };
            let title = match started.map(|item| item::read(item, cwd)) {
                Some(item::Item::Tool(call)) => call.title,
                Some(item::Item::Message | item::Item::Silent) | None => "edit files".to_owned(),
            };
            (title, ToolKind::Edit, json!({"paths": paths}), preview(&diff, params), reach, Form::Decision)
        }
        "item/permissions/requestApproval" => {
            let asked = &params["permissions"];
            let form = Form::Permissions(asked.clone());
            let title = "more permissions for this turn".to_owned();
            (title, ToolKind::Other, asked.clone(), preview(&asked.to_string(), params), Reach::Elsewhere, form)
        }
        "mcpServer/elicitation/request" if params["_meta"]["codex_approval_kind"] == "mcp_tool_call" => {
            let title = params["message"].as_str().unwrap_or("call a tool").to_owned();
            let input = params["_meta"]["tool_params"].clone();
            let shown = bounded(&input.to_string());
            (title, ToolKind::Other, input, shown, Reach::Elsewhere, Form::Elicitation)
        }
        _ => return None,
    };
    let call = params["itemId"].as_str().unwrap_or_default().to_owned();
    let approval = ApprovalRequest {
        request: id.to_string(),
        call,
        tool: kind.tool().to_owned(),
        title,
        kind,
        input: Some(input),
        preview,
        reach,
    };
    Some(Pending { id: id.clone(), approval, form })
}

impl Pending {
    /// The result that tells the agent.
    pub(super) fn result(&self, answer: Answer) -> Value {
        let (decision, action) = match answer {
            Answer::Accept => ("accept", "accept"),
            Answer::Decline => ("decline", "decline"),
            Answer::Cancel => ("cancel", "cancel"),
        };
        match (&self.form, answer) {
            (Form::Decision, _) => json!({"decision": decision}),
            (Form::Elicitation, Answer::Accept) => json!({"action": action, "content": {}}),
            (Form::Elicitation, Answer::Decline | Answer::Cancel) => json!({"action": action}),
            (Form::Permissions(asked), Answer::Accept) => json!({"permissions": asked, "scope": "turn"}),
            (Form::Permissions(_), Answer::Decline | Answer::Cancel) => json!({"permissions": {}, "scope": "turn"}),
        }
    }
}

/// The result of a served tool. Text only: a structured result would hide it.
pub(super) fn tool_result(outcome: &Result<String, String>) -> Value {
    let (text, success) = match outcome {
        Ok(text) => (text, true),
        Err(text) => (text, false),
    };
    json!({"contentItems": [{"type": "inputText", "text": text}], "success": success})
}

/// What a model that asks in the middle of a turn is told: its questions belong into the response.
pub(super) fn no_person(params: &Value) -> Value {
    let text = "Nobody can answer in the middle of a turn. End the turn and put the question into `questions`.";
    let questions = params["questions"].as_array().into_iter().flatten();
    let answers =
        questions.filter_map(|question| Some((question["id"].as_str()?.to_owned(), json!({"answers": [text]}))));
    json!({"answers": answers.collect::<serde_json::Map<_, _>>()})
}

fn preview(what: &str, params: &Value) -> String {
    match params["reason"].as_str().filter(|reason| !reason.trim().is_empty()) {
        Some(reason) => bounded(&format!("{what}\n({reason})")),
        None => bounded(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, params: Value, started: Option<Value>) -> Pending {
        read(&json!(0), method, &params, started.as_ref(), Path::new("/tree")).unwrap()
    }

    #[test]
    fn a_command_asks_to_leave_the_sandbox() {
        let params = json!({"itemId": "c", "command": "/bin/bash -lc 'touch /x'", "cwd": "/tree", "reason": "marker"});
        let pending = ask("item/commandExecution/requestApproval", params, None);
        let approval = &pending.approval;
        assert_eq!((approval.title.as_str(), approval.preview.as_str()), ("touch /x", "touch /x\n(marker)"));
        assert_eq!(
            (&approval.reach, approval.kind, approval.call.as_str()),
            (&Reach::Elsewhere, ToolKind::Execute, "c")
        );
    }

    #[test]
    fn a_patch_shows_the_item_before_it() {
        let item =
            json!({"type": "fileChange", "changes": [{"path": "/tree/a", "kind": {"type": "add"}, "diff": "x\n"}]});
        let pending =
            ask("item/fileChange/requestApproval", json!({"itemId": "c", "grantRoot": null}), Some(item.clone()));
        assert_eq!(pending.approval.reach, Reach::Paths(vec!["/tree/a".into()]));
        assert_eq!((pending.approval.title.as_str(), pending.approval.preview.as_str()), ("edit a", "/tree/a\n+x"));
        let granting = ask("item/fileChange/requestApproval", json!({"grantRoot": "/"}), Some(item));
        assert_eq!(granting.approval.reach, Reach::Elsewhere);
        let unknown = ask("item/fileChange/requestApproval", json!({"grantRoot": null}), None);
        assert_eq!(unknown.approval.reach, Reach::Paths(Vec::new()));
    }

    #[test]
    fn an_answer_is_never_wider_than_the_call() {
        let command = ask("item/commandExecution/requestApproval", json!({}), None);
        assert_eq!(command.result(Answer::from(&Decision::Once)), json!({"decision": "accept"}));
        assert_eq!(command.result(Answer::from(&Decision::Deny { message: None })), json!({"decision": "decline"}));
        assert_eq!(command.result(Answer::Cancel), json!({"decision": "cancel"}));
        let asked = json!({"network": {"enabled": true}, "fileSystem": null});
        let wider = ask("item/permissions/requestApproval", json!({"permissions": asked}), None);
        assert_eq!(wider.result(Answer::Accept), json!({"permissions": asked, "scope": "turn"}));
        assert_eq!(wider.result(Answer::Decline), json!({"permissions": {}, "scope": "turn"}));
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session"], "tool_params": {"a": 1}});
        let tool = ask("mcpServer/elicitation/request", json!({"_meta": meta, "message": "Allow?"}), None);
        assert_eq!(tool.result(Answer::Accept), json!({"action": "accept", "content": {}}));
        assert_eq!(tool.result(Answer::Decline), json!({"action": "decline"}));
    }

    #[test]
    fn a_form_of_an_mcp_server_is_no_approval() {
        let params = json!({"_meta": null, "requestedSchema": {"type": "object"}});
        assert_eq!(read(&json!(0), "mcpServer/elicitation/request", &params, None, Path::new("/")), None);
        assert_eq!(read(&json!(0), "execCommandApproval", &json!({}), None, Path::new("/")), None);
    }

    #[test]
    fn a_question_is_sent_to_the_end_of_the_turn() {
        let answers = no_person(&json!({"questions": [{"id": "q1"}, {"id": "q2"}]}));
        assert!(answers["answers"]["q2"]["answers"][0].as_str().unwrap().contains("`questions`"));
    }
}
