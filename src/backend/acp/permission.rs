//! Permission requests: what is asked, and which of the agent's options a decision picks.
//!
//! Options are chosen by their kind, never by position or name, and never wider than the decision.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::backend::acp::policy::{Known, Policy, Refusals};
use crate::backend::acp::update::{self, ToolUpdate};
use crate::backend::event::{ApprovalRequest, Decision, ToolKind};
use crate::backend::{diff, output};
use crate::permission::Reach;

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pending {
    /// The agent's id of the request, echoed in the answer.
    pub(crate) id: Value,
    pub(crate) approval: ApprovalRequest,
    options: Vec<(String, String)>,
    refusals: Refusals,
}

/// Reads `session/request_permission`.
pub(crate) fn read(id: Value, params: &Value, cwd: &str, policy: &Policy) -> Pending {
    let cwd = Path::new(cwd);
    let call = &params["toolCall"];
    let options = params["options"].as_array().into_iter().flatten();
    let options = options
        .filter_map(|option| Some((option["kind"].as_str()?.to_owned(), option["optionId"].as_str()?.to_owned())));
    let tool = update::read_tool(call);
    let known = policy.reads.and_then(|reads| reads(call, cwd)).unwrap_or_else(|| Known {
        tool: tool.kind.unwrap_or(ToolKind::Other).tool().to_owned(),
        reach: read_reach(call, cwd),
        note: None,
    });
    let shown = known.note.clone().or_else(|| tool.output.clone()).unwrap_or_default();
    let preview = preview(call, shown, &known.reach, cwd);
    Pending {
        approval: approval(&id, tool, known, preview, cwd),
        options: options.collect(),
        id,
        refusals: policy.refusals,
    }
}

fn approval(id: &Value, tool: ToolUpdate, known: Known, preview: String, cwd: &Path) -> ApprovalRequest {
    ApprovalRequest {
        request: id.to_string(),
        title: title(tool.title, &tool.call, &known, cwd),
        tool: known.tool,
        call: tool.call,
        kind: tool.kind.unwrap_or(ToolKind::Other),
        input: tool.input,
        preview,
        reach: known.reach,
    }
}

/// What a person is asked about: the agent's own title, unless it leaves out the command, or there is none.
fn title(given: Option<String>, call: &str, known: &Known, cwd: &Path) -> String {
    let given = given.unwrap_or_default();
    match &known.reach {
        Reach::Command { text, .. } if !given.contains(text.trim()) => text.clone(),
        _ if !given.is_empty() => given,
        Reach::Command { text, .. } | Reach::Url(text) => text.clone(),
        Reach::Paths(paths) => {
            let named = paths.iter().map(|path| path.strip_prefix(cwd).unwrap_or(path).display().to_string());
            std::iter::once(known.tool.clone()).chain(named).collect::<Vec<_>>().join(" ")
        }
        Reach::Mcp { .. } | Reach::Elsewhere => call.to_owned(),
    }
}

/// What the call would do: the difference of a file, the command, the address, else what the agent shows.
fn preview(call: &Value, shown: String, reach: &Reach, cwd: &Path) -> String {
    let edits = call["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "diff");
    let edits: String = edits
        .map(|edit| {
            let text = |member: &str| edit[member].as_str().unwrap_or_default();
            let path = Path::new(text("path"));
            let path = path.strip_prefix(cwd).unwrap_or(path).to_string_lossy();
            diff::of_file(&path, text("oldText"), text("newText"))
        })
        .collect();
    let preview = match reach {
        _ if !edits.is_empty() => edits.trim_end().to_owned(),
        Reach::Command { text, .. } if shown.is_empty() || shown == *text => text.clone(),
        Reach::Command { text, .. } => format!("{text}\n{shown}"),
        Reach::Url(url) if shown.is_empty() => url.clone(),
        Reach::Url(_) | Reach::Paths(_) | Reach::Mcp { .. } | Reach::Elsewhere => shown,
    };
    output::bounded(&preview)
}

/// What the call touches, as far as the protocol has a place for it.
fn read_reach(call: &Value, cwd: &Path) -> Reach {
    let diffs = call["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "diff");
    let locations = call["locations"].as_array().into_iter().flatten();
    let named = diffs.chain(locations).filter_map(|place| place["path"].as_str());
    let paths: Vec<PathBuf> = named.map(|path| cwd.join(path)).collect();
    let input = |member: &str| call["rawInput"][member].as_str();
    match call["kind"].as_str().map(update::read_kind) {
        Some(ToolKind::Execute) => match read_command(&call["rawInput"]["command"]) {
            Some(text) => {
                let place = input("cwd").map_or_else(|| cwd.to_owned(), |own| cwd.join(own));
                Reach::Command { text, cwd: place }
            }
            None => Reach::Elsewhere,
        },
        Some(ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Search) => {
            Reach::Paths(paths)
        }
        Some(ToolKind::Fetch) => input("url").map_or(Reach::Elsewhere, |url| Reach::Url(url.to_owned())),
        Some(ToolKind::Think | ToolKind::Other) | None => Reach::Elsewhere,
    }
}

/// The text of a command: as it is, out of the shell that runs it, or made of its words.
fn read_command(command: &Value) -> Option<String> {
    if let Some(text) = command.as_str() {
        return Some(text.to_owned());
    }
    let words: Option<Vec<&str>> = command.as_array()?.iter().map(Value::as_str).collect();
    match words?.as_slice() {
        [] => None,
        [shell, "-c" | "-lc", text] if SHELLS.iter().any(|name| Path::new(shell).ends_with(name)) => {
            Some((*text).to_owned())
        }
        words => Some(words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// Shells whose text reads as we read it.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh"];

/// A word as a shell would have it.
fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl Pending {
    /// The result that tells the agent a decision.
    pub(crate) fn answer(&self, decision: &Decision) -> Value {
        match decision {
            Decision::Once => self.pick(&["allow_once"], None),
            Decision::Deny { message: Some(message) } if self.refusals == Refusals::AsOption => {
                json!({"outcome": {"outcome": "selected", "optionId": unlike_an_option(message)}})
            }
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

/// A reason must not be the name of an option: that one would be chosen.
fn unlike_an_option(reason: &str) -> String {
    format!("Not allowed: {reason}")
}

/// The result that withdraws a request together with its turn.
pub(crate) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::acp::policy::Reading;
    use crate::backend::acp::tests::POLICY;

    fn policy(refusals: Refusals) -> Policy {
        Policy { reads: None, refusals, ..POLICY }
    }

    fn pending(kinds: &[&str]) -> Pending {
        pending_of(kinds, Refusals::Beside)
    }

    fn pending_of(kinds: &[&str], refusals: Refusals) -> Pending {
        let options: Vec<Value> =
            kinds.iter().map(|kind| json!({"optionId": format!("id-{kind}"), "name": "x", "kind": kind})).collect();
        let params = json!({"options": options, "toolCall": {"toolCallId": "c"}});
        read(json!(0), &params, "/repo", &policy(refusals))
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
            assert_eq!(read_reach(&call, Path::new("/repo")), expected, "{call}");
        };
        let paths = |paths: &[&str]| Reach::Paths(paths.iter().map(PathBuf::from).collect());
        check(
            json!({"kind": "edit", "content": [{"type": "diff", "path": "/repo/a"}], "locations": [{"path": "b"}]}),
            paths(&["/repo/a", "/repo/b"]),
        );
        check(json!({"kind": "edit"}), paths(&[]));
        let command = Reach::Command { text: "make".into(), cwd: "/repo/sub".into() };
        check(json!({"kind": "execute", "rawInput": {"command": "make", "cwd": "sub"}}), command);
        for (words, text) in [
            (json!(["/bin/bash", "-lc", "touch 'a b' && ls"]), "touch 'a b' && ls"),
            (json!(["touch", "a b", "it's", ""]), r"touch 'a b' 'it'\''s' ''"),
            (json!(["python3", "-c", "print(1)"]), "python3 -c 'print(1)'"),
            (json!(["bash", "-lc", "ls", "-a"]), "bash -lc ls -a"),
        ] {
            let command = Reach::Command { text: text.into(), cwd: "/repo".into() };
            check(json!({"kind": "execute", "rawInput": {"command": words}}), command);
        }
        for odd in [json!([]), json!(["ls", 1]), json!({"line": "ls"})] {
            check(json!({"kind": "execute", "rawInput": {"command": odd}}), Reach::Elsewhere);
        }
        check(json!({"kind": "execute", "title": "make"}), Reach::Elsewhere);
        check(json!({"kind": "fetch", "locations": [{"path": "/repo/a"}]}), Reach::Elsewhere);
        let page = Reach::Url("https://a.example".to_owned());
        check(json!({"kind": "fetch", "rawInput": {"url": "https://a.example"}}), page);
        check(json!({"kind": "fetch", "rawInput": {"query": "https://a.example"}}), Reach::Elsewhere);
        check(json!({}), Reach::Elsewhere);
    }

    #[test]
    fn a_title_names_what_a_person_decides_about() {
        let check = |call: Value, expected: &str| {
            let pending = read(json!(0), &json!({"toolCall": call}), "/repo", &policy(Refusals::Beside));
            assert_eq!(pending.approval.title, expected, "{call}");
        };
        check(json!({"toolCallId": "c", "kind": "execute", "title": "bash", "rawInput": {"command": "make"}}), "make");
        check(json!({"kind": "execute", "title": "`make` in sub", "rawInput": {"command": "make"}}), "`make` in sub");
        check(json!({"kind": "edit", "title": "Write a", "locations": [{"path": "a"}]}), "Write a");
        check(json!({"toolCallId": "c", "kind": "edit", "locations": [{"path": "a"}]}), "edit a");
        check(
            json!({"toolCallId": "c", "kind": "fetch", "rawInput": {"url": "https://a.example"}}),
            "https://a.example",
        );
        check(json!({"toolCallId": "c"}), "c");
    }

    #[test]
    fn a_preview_shows_what_would_happen() {
        let check = |call: Value, expected: &str| {
            let pending = read(json!(0), &json!({"toolCall": call}), "/repo", &policy(Refusals::Beside));
            assert_eq!(pending.approval.preview, expected, "{call}");
        };
        let text = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        check(
            json!({"kind": "edit", "content": [{"type": "diff", "path": "/repo/a", "oldText": "x\n", "newText": "y\n"}]}),
            "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y",
        );
        check(json!({"kind": "execute", "rawInput": {"command": "make"}, "content": text("make")}), "make");
        check(
            json!({"kind": "execute", "rawInput": {"command": "make"}, "content": text("(Builds)")}),
            "make\n(Builds)",
        );
        check(json!({"kind": "fetch", "rawInput": {"url": "https://a.example"}}), "https://a.example");
        check(json!({"kind": "other", "content": text("whatever")}), "whatever");
    }

    #[test]
    fn a_call_is_told_by_the_agents_own_name_where_its_words_are_known() {
        let of = |reads: Option<Reading>| {
            let params = json!({"toolCall": {"toolCallId": "c", "kind": "edit"}});
            let approval = read(json!(0), &params, "/repo", &Policy { reads, ..policy(Refusals::Beside) }).approval;
            (approval.tool, approval.reach)
        };
        assert_eq!(of(None), ("edit".to_owned(), Reach::Paths(Vec::new())));
        let known = ("replace".to_owned(), Reach::Elsewhere);
        assert_eq!(
            of(Some(|_, _| Some(Known { tool: "replace".to_owned(), reach: Reach::Elsewhere, note: None }))),
            known
        );
    }

    #[test]
    fn a_reason_is_never_an_option() {
        let options = ["allow_once", "reject_once"];
        let deny = |message: Option<&str>| Decision::Deny { message: message.map(str::to_owned) };
        let answer = |message| pending_of(&options, Refusals::AsOption).answer(&deny(message));
        assert_eq!(answer(Some("use make"))["outcome"]["optionId"], "Not allowed: use make");
        assert_eq!(answer(Some("id-allow_once"))["outcome"]["optionId"], "Not allowed: id-allow_once");
        assert_eq!(answer(None)["outcome"]["optionId"], "id-reject_once");
    }

    #[test]
    fn a_reason_travels_beside_the_outcome() {
        let answer = pending(&["reject_once"]).answer(&Decision::Deny { message: Some("use make".to_owned()) });
        assert_eq!(answer["_meta"]["message"], "use make");
    }
}
