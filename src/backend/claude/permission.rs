//! Permission: our callback decides nothing itself, it has every call asked about; the answer is a person's or a
//! policy's. Pure.

use std::path::Path;

use serde_json::{Value, json};

use crate::backend::claude::{mcp, plan, surface, tool};
use crate::backend::event::{ApprovalRequest, Decision};
use crate::backend::{Native, Purpose};

/// What the model reads when a refusal says nothing.
const REFUSED: &str = "The user refused this tool call.";

/// What the agent reads about an answer to the callback.
const DECIDES: &str = "Coppice decides about every call";
const NOT_THERE: &str = "This session does not have this tool.";

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pending {
    pub(crate) approval: ApprovalRequest,
    input: Value,
}

/// The answer to the callback before a call. Anything but a decision that the agent knows would fall back to rules of
/// its own, so there is always one.
pub(crate) fn before(request: &Value, purpose: Purpose, native: &Native) -> Value {
    let name = request["input"]["tool_name"].as_str().unwrap_or_default();
    // What neither leaves the conversation nor touches a file needs nobody's consent.
    let stays = name == tool::RESPONSE || mcp::own_name(name).is_some();
    let (decision, reason) = match purpose {
        Purpose::Session | Purpose::Utility | Purpose::Survey if stays => ("allow", DECIDES),
        Purpose::Session if !surface::has(native, name) => ("deny", NOT_THERE),
        Purpose::Session if plan::keeps(name) => ("allow", DECIDES),
        Purpose::Session => ("ask", DECIDES),
        Purpose::Utility | Purpose::Survey => ("deny", NOT_THERE),
    };
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": reason}})
}

/// Reads `can_use_tool`.
pub(crate) fn read(id: &str, mut request: Value, cwd: &Path) -> Pending {
    let input = request["input"].take();
    let name = request["tool_name"].as_str().unwrap_or_default();
    let approval = ApprovalRequest {
        request: id.to_owned(),
        tool: tool::known(name).to_owned(),
        call: request["tool_use_id"].as_str().unwrap_or(id).to_owned(),
        title: tool::title(name, &input, cwd),
        kind: tool::kind(name),
        input: Some(input.clone()),
        preview: tool::preview(name, &input, cwd),
        reach: tool::reach(name, &input, cwd),
    };
    Pending { approval, input }
}

impl Pending {
    /// The answer that tells the agent a decision. What was allowed is what was shown, so the input goes back unchanged;
    /// what the agent suggests as a rule for later is never taken.
    pub(crate) fn answer(self, decision: &Decision) -> Value {
        match decision {
            Decision::Once => json!({"behavior": "allow", "updatedInput": self.input}),
            Decision::Deny { message } => deny(message.as_deref().unwrap_or(REFUSED)),
        }
    }
}

/// Refuses a call; the model reads the reason word for word and goes on.
pub(crate) fn deny(reason: &str) -> Value {
    json!({"behavior": "deny", "message": reason})
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::backend::event::ToolKind;
    use crate::backend::{Access, NativeTool};
    use crate::permission::Reach;

    #[track_caller]
    fn check(tool: &str, purpose: Purpose, native: &Native, expected: &str) {
        let answer = before(&json!({"callback_id": "x", "input": {"tool_name": tool}}), purpose, native);
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], expected, "{tool}");
    }

    #[test]
    fn every_call_is_asked_about_unless_it_stays_in_the_conversation() {
        let whole = Native::default();
        for tool in ["StructuredOutput", "mcp__coppice__delegate", "TaskUpdate"] {
            check(tool, Purpose::Session, &whole, "allow");
        }
        for tool in ["Bash", "Read", "WebFetch", "mcp__other__delegate", "FromTheFuture", ""] {
            check(tool, Purpose::Session, &whole, "ask");
        }
        check("StructuredOutput", Purpose::Utility, &whole, "allow");
        check("Read", Purpose::Utility, &whole, "deny");
        check("TaskUpdate", Purpose::Utility, &whole, "deny");
    }

    #[test]
    fn a_tool_that_the_session_does_not_have_is_refused_at_the_call_too() {
        let reading = Native { tools: Some([NativeTool::Read].into()), access: Access::ReadOnly };
        for tool in ["Task", "Agent", "Workflow", "Skill", "AskUserQuestion"] {
            check(tool, Purpose::Session, &Native::default(), "deny");
        }
        for tool in ["Bash", "Write", "Edit", "NotebookEdit", "Grep", "TaskUpdate", "Agent", "FromTheFuture"] {
            check(tool, Purpose::Session, &reading, "deny");
        }
        check("Read", Purpose::Session, &reading, "ask");
        for tool in ["StructuredOutput", "mcp__coppice__delegate"] {
            check(tool, Purpose::Session, &reading, "allow");
        }
    }

    /// Plan mode is Coppice's: the program's own would be a second one that the sandbox, the card and a restart know
    /// nothing of, and its answer to a call takes the program out of the mode that we started it in.
    #[test]
    fn plan_mode_is_entered_and_left_through_coppice_alone() {
        let listed = Native { tools: Some(NativeTool::ALL.into_iter().collect()), access: Access::Write };
        let reading = Native { tools: None, access: Access::ReadOnly };
        for native in [&Native::default(), &listed, &reading] {
            for tool in ["EnterPlanMode", "ExitPlanMode"] {
                check(tool, Purpose::Session, native, "deny");
                check(tool, Purpose::Utility, native, "deny");
            }
            check("mcp__coppice__exit_plan_mode", Purpose::Session, native, "allow");
        }
    }

    fn pending() -> Pending {
        let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t",
            "input": {"command": "touch made"}, "permission_suggestions": [{"type": "addRules"}]});
        read("r", request, Path::new("/tree"))
    }

    #[test]
    fn a_request_tells_what_would_run() {
        let expected = ApprovalRequest {
            request: "r".to_owned(),
            call: "t".to_owned(),
            tool: "Bash".to_owned(),
            title: "touch made".to_owned(),
            kind: ToolKind::Execute,
            input: Some(json!({"command": "touch made"})),
            preview: "touch made".to_owned(),
            reach: Reach::Command { text: "touch made".to_owned(), cwd: PathBuf::from("/tree") },
        };
        assert_eq!(pending().approval, expected);
    }

    #[test]
    fn an_answer_echoes_the_input_or_gives_the_reason() {
        let allow = json!({"behavior": "allow", "updatedInput": {"command": "touch made"}});
        assert_eq!(pending().answer(&Decision::Once), allow);
        let deny = |message: Option<&str>| pending().answer(&Decision::Deny { message: message.map(str::to_owned) });
        assert_eq!(deny(Some("use make")), json!({"behavior": "deny", "message": "use make"}));
        assert_eq!(deny(None)["message"], REFUSED);
    }
}
