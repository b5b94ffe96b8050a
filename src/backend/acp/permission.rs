//! Permission requests: what is asked, and which of the agent's options a decision picks.
//!
//! Options are chosen by their kind, never by position or name, and never wider than the decision.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::backend::acp::policy::Titles;
use crate::backend::acp::update::{self, ToolUpdate};
use crate::backend::event::{ApprovalRequest, Decision, ToolKind};
use crate::backend::output;
use crate::permission::Reach;

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pending {
    /// The agent's id of the request, echoed in the answer.
    pub(crate) id: Value,
    pub(crate) approval: ApprovalRequest,
    options: Vec<(String, String)>,
}

/// Reads `session/request_permission`.
pub(crate) fn read(id: Value, params: &Value, cwd: &str, titles: Titles) -> Pending {
    let call = update::read_tool(&params["toolCall"]);
    let options = params["options"].as_array().into_iter().flatten();
    let options = options
        .filter_map(|option| Some((option["kind"].as_str()?.to_owned(), option["optionId"].as_str()?.to_owned())));
    let reach = read_reach(&params["toolCall"], Path::new(cwd), titles);
    Pending { approval: approval(&id, call, reach), options: options.collect(), id }
}

fn approval(id: &Value, tool: ToolUpdate, reach: Reach) -> ApprovalRequest {
    let kind = tool.kind.unwrap_or(ToolKind::Other);
    ApprovalRequest {
        request: id.to_string(),
        tool: kind.tool().to_owned(),
        title: tool.title.unwrap_or_else(|| tool.call.clone()),
        call: tool.call,
        kind,
        input: tool.input,
        preview: tool.output.map(|text| output::bounded(&text)).unwrap_or_default(),
        reach,
    }
}

/// What the call touches, as far as the agent says.
fn read_reach(call: &Value, cwd: &Path, titles: Titles) -> Reach {
    let diffs = call["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "diff");
    let locations = call["locations"].as_array().into_iter().flatten();
    let named = diffs.chain(locations).filter_map(|place| place["path"].as_str());
    let paths: Vec<PathBuf> = named.map(|path| cwd.join(path)).collect();
    match call["kind"].as_str().map(update::read_kind) {
        Some(ToolKind::Execute) => match titles {
            Titles::ForPeople => read_command(call, cwd),
            Titles::Commands => read_titled_command(call, cwd),
        }
        .unwrap_or(Reach::Elsewhere),
        Some(ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Search) => {
            Reach::Paths(paths)
        }
        Some(ToolKind::Think | ToolKind::Fetch | ToolKind::Other) | None => Reach::Elsewhere,
    }
}

/// The command an agent names apart from its title.
fn read_command(call: &Value, cwd: &Path) -> Option<Reach> {
    let input = &call["rawInput"];
    let place = input["cwd"].as_str().map_or_else(|| cwd.to_owned(), |own| cwd.join(own));
    Some(Reach::Command { text: input["command"].as_str()?.to_owned(), cwd: place })
}

/// The command of an agent whose titles are commands. It runs in the work tree unless its explanation begins with
/// another directory; the words for the work tree name the directory of the process instead, so they are not read.
fn read_titled_command(call: &Value, cwd: &Path) -> Option<Reach> {
    let text = call["title"].as_str().filter(|title| !title.is_empty())?.to_owned();
    let explanation = call["content"][0]["content"]["text"].as_str()?;
    if explanation.starts_with("[current working directory ") {
        return Some(Reach::Command { text, cwd: cwd.to_owned() });
    }
    let (place, rest) = explanation.strip_prefix("[in ")?.split_once(']')?;
    // A directory may have a bracket in its name: with a second one, nobody can say where it ends.
    (!rest.contains(']')).then(|| Reach::Command { text, cwd: cwd.join(place) })
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
        read(json!(0), &json!({"options": options, "toolCall": {"toolCallId": "c"}}), "/repo", Titles::ForPeople)
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
    fn a_call_reaches_what_the_agent_names() {
        let check = |call: Value, expected: Reach| {
            assert_eq!(read_reach(&call, Path::new("/repo"), Titles::ForPeople), expected, "{call}");
        };
        let paths = |paths: &[&str]| Reach::Paths(paths.iter().map(PathBuf::from).collect());
        check(
            json!({"kind": "edit", "content": [{"type": "diff", "path": "/repo/a"}], "locations": [{"path": "b"}]}),
            paths(&["/repo/a", "/repo/b"]),
        );
        check(json!({"kind": "edit"}), paths(&[]));
        let command = Reach::Command { text: "make".into(), cwd: "/repo/sub".into() };
        check(json!({"kind": "execute", "rawInput": {"command": "make", "cwd": "sub"}}), command);
        check(json!({"kind": "execute", "title": "make"}), Reach::Elsewhere);
        check(json!({"kind": "fetch", "locations": [{"path": "/repo/a"}]}), Reach::Elsewhere);
        check(json!({}), Reach::Elsewhere);
    }

    #[test]
    fn a_title_is_a_command_where_the_agent_keeps_it_so() {
        let check = |title: &str, explanation: &str, expected: Option<&str>| {
            let content = json!([{"type": "content", "content": {"type": "text", "text": explanation}}]);
            let call = json!({"kind": "execute", "title": title, "content": content});
            let command = |cwd: &str| Reach::Command { text: title.to_owned(), cwd: cwd.into() };
            let expected = expected.map_or(Reach::Elsewhere, command);
            assert_eq!(read_reach(&call, Path::new("/repo"), Titles::Commands), expected, "{explanation}");
        };
        check("make", "[current working directory /neutral] (Build [all])", Some("/repo"));
        check("make", "[in sub] (Build)", Some("/repo/sub"));
        check("make", "[in /etc]", Some("/etc"));
        // The directory could be `a` or `a] x/../../../etc`.
        check("make", "[in a] x/../../../etc] (Build)", None);
        check("make", "[in a] [background]", None);
        check("make", "Build it", None);
        check("", "[current working directory /neutral]", None);
        let bare = json!({"kind": "execute", "title": "make", "rawInput": {"command": "ls"}});
        assert_eq!(read_reach(&bare, Path::new("/repo"), Titles::Commands), Reach::Elsewhere);
    }

    #[test]
    fn a_reason_travels_beside_the_outcome() {
        let answer = pending(&["reject_once"]).answer(&Decision::Deny { message: Some("use make".to_owned()) });
        assert_eq!(answer["_meta"]["message"], "use make");
    }
}
