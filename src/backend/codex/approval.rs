//! What the agent asks of us in the middle of a turn: approvals, results of served tools, answers of a person.
//!
//! A decision is never wider than the one call: no session-wide consent, no rule that is written down.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::backend::codex::item;
use crate::backend::codex::text::script;
use crate::backend::event::{ApprovalRequest, Decision, ToolKind, ToolOutput};
use crate::backend::output::bounded;
use crate::mcp;
use crate::permission::{Effect, Reach};

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
            // The answer has no place for a reason.
            Decision::Deny { .. } => Self::Decline,
        }
    }
}

/// Reads a request for approval; `None` when it is not one. `open` are the items that run, the latest last.
pub(super) fn read<'a>(
    id: &Value,
    method: &str,
    params: &Value,
    open: impl DoubleEndedIterator<Item = &'a Value>,
    cwd: &Path,
) -> Option<Pending> {
    let mut open = open.rev();
    let asked = match method {
        "item/commandExecution/requestApproval" => command(params),
        "item/fileChange/requestApproval" => patch(params, open.find(|item| item["id"] == params["itemId"]), cwd),
        "item/permissions/requestApproval" => permissions(params),
        "mcpServer/elicitation/request" if params["_meta"]["codex_approval_kind"] == "mcp_tool_call" => {
            let is_call = |item: &Value| item["type"] == "mcpToolCall" && item["server"] == params["serverName"];
            mcp(params, open.find(|item| is_call(item) && item["arguments"] == params["_meta"]["tool_params"]))
        }
        _ => return None,
    };
    let Asked { call, tool, title, kind, input, preview, reach, form } = asked;
    let call = call.or_else(|| params["itemId"].as_str().map(str::to_owned)).unwrap_or_default();
    let approval =
        ApprovalRequest { request: id.to_string(), call, tool, title, kind, input: Some(input), preview, reach };
    Some(Pending { id: id.clone(), approval, form })
}

/// What one request asks for.
struct Asked {
    /// The item, where the request itself does not name it.
    call: Option<String>,
    tool: String,
    title: String,
    kind: ToolKind,
    input: Value,
    preview: String,
    reach: Reach,
    form: Form,
}

fn command(params: &Value) -> Asked {
    let command = script(params["command"].as_str().unwrap_or_default());
    let cwd = params["cwd"].as_str().map(PathBuf::from);
    let reach = match cwd {
        Some(cwd) if !command.is_empty() && !leaves(params) => Reach::Command { text: command.clone(), cwd },
        Some(_) | None => Reach::Elsewhere,
    };
    Asked {
        call: None,
        tool: "bash".to_owned(),
        title: if command.is_empty() { "run a command".to_owned() } else { command.clone() },
        kind: ToolKind::Execute,
        input: json!({"command": command, "cwd": params["cwd"]}),
        preview: preview(&command, params),
        reach,
        form: Form::Decision,
    }
}

/// Whether a command wants more than its sandbox. Only a model that gives a reason can be told from one that does not
/// want out; the profile of the thread holds both.
fn leaves(params: &Value) -> bool {
    let is_other = params["kind"].as_str().is_some_and(|kind| kind != "command");
    let wanted = ["reason", "additionalPermissions", "networkApprovalContext"];
    is_other || wanted.iter().any(|name| !params[*name].is_null())
}

fn patch(params: &Value, started: Option<&Value>, cwd: &Path) -> Asked {
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
    Asked {
        call: None,
        tool: "patch".to_owned(),
        title,
        kind: ToolKind::Edit,
        input: json!({"paths": paths}),
        preview: preview(&diff, params),
        reach,
        form: Form::Decision,
    }
}

fn permissions(params: &Value) -> Asked {
    let asked = &params["permissions"];
    Asked {
        call: None,
        tool: "request_permissions".to_owned(),
        title: "more permissions for this turn".to_owned(),
        kind: ToolKind::Other,
        input: asked.clone(),
        preview: preview(&asked.to_string(), params),
        reach: Reach::Elsewhere,
        form: Form::Permissions(asked.clone()),
    }
}

/// The request does not name the tool; the call that waits for it does.
fn mcp(params: &Value, started: Option<&Value>) -> Asked {
    let (server, name) = (params["serverName"].as_str(), started.and_then(|item| item["tool"].as_str()));
    let (tool, reach) = match (server, name) {
        (Some(server), Some(tool)) => {
            let is_reader = started.is_some_and(|item| item["readOnlyHint"] == true);
            let effect = if is_reader { Effect::Reads } else { Effect::Destroys };
            let reach = Reach::Mcp { server: server.to_owned(), tool: tool.to_owned(), effect };
            (format!("mcp:{server}:{tool}"), reach)
        }
        (_, _) => (ToolKind::Other.tool().to_owned(), Reach::Elsewhere),
    };
    let input = params["_meta"]["tool_params"].clone();
    Asked {
        call: started.and_then(|item| item["id"].as_str()).map(str::to_owned),
        tool,
        title: params["message"].as_str().unwrap_or("call a tool").to_owned(),
        kind: ToolKind::Other,
        preview: bounded(&input.to_string()),
        input,
        reach,
        form: Form::Elicitation,
    }
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
pub(super) fn tool_result(outcome: &Result<ToolOutput, String>) -> Value {
    let (text, images, success) = match outcome {
        Ok(ToolOutput { text, images }) => (text, images.as_slice(), true),
        Err(text) => (text, [].as_slice(), false),
    };
    let image = |image: &mcp::Image| {
        let url = format!("data:{};base64,{}", image.mime_type, image.data);
        json!({"type": "inputImage", "imageUrl": url})
    };
    let text = json!({"type": "inputText", "text": text});
    let items: Vec<Value> = std::iter::once(text).chain(images.iter().map(image)).collect();
    json!({"contentItems": items, "success": success})
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
        read(&json!(0), method, &params, started.iter(), Path::new("/tree")).unwrap()
    }

    #[test]
    fn a_result_is_a_text_and_what_there_is_to_see() {
        let text = json!({"type": "inputText", "text": "label"});
        let output = ToolOutput::from("label".to_owned());
        assert_eq!(tool_result(&Ok(output.clone())), json!({"contentItems": [text], "success": true}));
        let image = json!({"type": "inputImage", "imageUrl": "data:image/png;base64,AA=="});
        let seen = tool_result(&Ok(output.with_image("image/png".to_owned(), "AA==".to_owned())));
        assert_eq!(seen, json!({"contentItems": [text, image], "success": true}));
        assert_eq!(tool_result(&Err("label".to_owned())), json!({"contentItems": [text], "success": false}));
    }

    #[test]
    fn a_command_is_judged_by_its_text_unless_it_wants_out() {
        let plain = json!({"itemId": "c", "kind": "command", "command": "/bin/bash -lc 'touch x'", "cwd": "/tree/sub"});
        let approval = ask("item/commandExecution/requestApproval", plain.clone(), None).approval;
        let reach = Reach::Command { text: "touch x".to_owned(), cwd: "/tree/sub".into() };
        assert_eq!((approval.reach, approval.tool.as_str(), approval.preview.as_str()), (reach, "bash", "touch x"));
        assert_eq!(
            (approval.title.as_str(), approval.kind, approval.call.as_str()),
            ("touch x", ToolKind::Execute, "c")
        );
        for (name, value) in [
            ("reason", json!("marker")),
            ("reason", json!("")),
            ("additionalPermissions", json!({"network": {"enabled": true}})),
            ("networkApprovalContext", json!({"host": "x"})),
            ("kind", json!("writeStdin")),
            ("command", json!("")),
            ("cwd", Value::Null),
        ] {
            let mut params = plain.clone();
            params[name] = value;
            let approval = ask("item/commandExecution/requestApproval", params, None).approval;
            assert_eq!(approval.reach, Reach::Elsewhere, "{name}");
        }
    }

    #[test]
    fn a_patch_shows_the_item_before_it() {
        let item = json!({"type": "fileChange", "id": "c",
            "changes": [{"path": "/tree/a", "kind": {"type": "add"}, "diff": "x\n"}]});
        let params = json!({"itemId": "c", "grantRoot": null});
        let pending = ask("item/fileChange/requestApproval", params.clone(), Some(item.clone()));
        assert_eq!(pending.approval.reach, Reach::Paths(vec!["/tree/a".into()]));
        assert_eq!((pending.approval.title.as_str(), pending.approval.preview.as_str()), ("edit a", "/tree/a\n+x"));
        assert_eq!(pending.approval.tool, "patch");
        let granting = ask("item/fileChange/requestApproval", json!({"itemId": "c", "grantRoot": "/"}), Some(item));
        assert_eq!(granting.approval.reach, Reach::Elsewhere);
        let unknown = ask("item/fileChange/requestApproval", params, None);
        assert_eq!(unknown.approval.reach, Reach::Paths(Vec::new()));
    }

    #[test]
    fn a_tool_of_a_server_is_named_by_the_call_that_waits() {
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "tool_params": {"a": 1}});
        let params = json!({"serverName": "docs", "_meta": meta, "message": "Allow?"});
        let item = |server: &str, reads: bool| {
            json!({"type": "mcpToolCall", "id": "m", "server": server, "tool": "put", "arguments": {"a": 1},
                "readOnlyHint": reads})
        };
        let reach = |item| {
            let approval = ask("mcpServer/elicitation/request", params.clone(), Some(item)).approval;
            (approval.tool, approval.call, approval.reach)
        };
        let put = |effect| Reach::Mcp { server: "docs".to_owned(), tool: "put".to_owned(), effect };
        assert_eq!(reach(item("docs", false)), ("mcp:docs:put".to_owned(), "m".to_owned(), put(Effect::Destroys)));
        assert_eq!(reach(item("docs", true)).2, put(Effect::Reads));
        assert_eq!(reach(item("other", true)), ("unknown".to_owned(), String::new(), Reach::Elsewhere));
    }

    #[test]
    fn an_answer_is_never_wider_than_the_call() {
        let command = ask("item/commandExecution/requestApproval", json!({}), None);
        assert_eq!(command.result(Answer::from(&Decision::Once)), json!({"decision": "accept"}));
        assert_eq!(command.result(Answer::from(&Decision::Deny { message: None })), json!({"decision": "decline"}));
        assert_eq!(command.result(Answer::Cancel), json!({"decision": "cancel"}));
        let asked = json!({"network": {"enabled": true}, "fileSystem": null});
        let wider = ask("item/permissions/requestApproval", json!({"permissions": asked}), None);
        assert_eq!((wider.approval.tool.as_str(), &wider.approval.reach), ("request_permissions", &Reach::Elsewhere));
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
        assert_eq!(read(&json!(0), "mcpServer/elicitation/request", &params, [].iter(), Path::new("/")), None);
        assert_eq!(read(&json!(0), "execCommandApproval", &json!({}), [].iter(), Path::new("/")), None);
    }

    #[test]
    fn a_question_is_sent_to_the_end_of_the_turn() {
        let answers = no_person(&json!({"questions": [{"id": "q1"}, {"id": "q2"}]}));
        assert!(answers["answers"]["q2"]["answers"][0].as_str().unwrap().contains("`questions`"));
    }
}
