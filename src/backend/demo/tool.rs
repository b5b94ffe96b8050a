//! The tools of the demo agent, as its client sees them: streamed text, edits, commands, permissions, waits.

#![expect(clippy::disallowed_methods, reason = "the demo agent is a program of its own, and its pace is what it shows")]

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::thread;

use serde_json::{Value, json};

use crate::backend::demo::agent::{Agent, Gone, Refusal, Waited};
use crate::backend::demo::native::Refused;
use crate::backend::demo::script::{CallKind, Directive, Step};
use crate::backend::demo::turn::{End, Flow, Play};
use crate::backend::demo::work::{self, News, Wake};
use crate::backend::transport::jsonrpc::Message;

/// Characters per chunk of streamed text: small, so that a reader has to put a response together.
const CHUNK: usize = 12;

/// Output of a command beyond this is read but not shown.
const SHOWN_OUTPUT: usize = 128 * 1024;

/// A file before and after.
pub(super) struct Edit {
    old: String,
    new: String,
}

/// What a request for permission says about the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Title,
    Deed,
}

/// How far the edit tools reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fence {
    /// Into the work tree; a script that wants out has `@run`.
    Tree,
    Open,
}

impl<W: Write> Agent<W> {
    /// Sends text in small pieces.
    pub(super) fn stream(&mut self, play: &Play, kind: &str, text: &str) -> Result<Flow, Gone> {
        let characters: Vec<char> = text.chars().collect();
        for chunk in characters.chunks(CHUNK) {
            if self.is_cancelled(&play.session)? {
                return Ok(Flow::Stop(End::Cancelled));
            }
            let content = json!({"type": "text", "text": chunk.iter().collect::<String>()});
            self.update(&play.session, json!({"sessionUpdate": kind, "content": content}))?;
            thread::sleep(self.options.pace);
        }
        Ok(Flow::Next)
    }

    /// Reports an edit that was done, or was not.
    pub(super) fn edit(
        &mut self,
        play: &mut Play,
        title: &str,
        path: &str,
        done: io::Result<Edit>,
    ) -> Result<(), Gone> {
        let call = self.start_call(play, title, "edit", json!({"path": path}))?;
        match done {
            Ok(Edit { old, new }) => {
                let content = json!([{"type": "diff", "path": path, "oldText": old, "newText": new}]);
                let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed",
                    "content": content});
                self.update(&play.session, update)
            }
            Err(error) => self.end_call(play, &call, "failed", &error.to_string()),
        }
    }

    /// Announces a call. One that a person allowed is known already, so an update has to do.
    pub(super) fn start_call(
        &mut self,
        play: &mut Play,
        title: &str,
        kind: &str,
        input: Value,
    ) -> Result<String, Gone> {
        let (update, call) = match play.allowed.take() {
            Some(call) => ("tool_call_update", call),
            None => ("tool_call", next_call(play)),
        };
        let started = json!({"sessionUpdate": update, "toolCallId": call, "title": title, "kind": kind,
            "status": "in_progress", "rawInput": input, "content": []});
        self.update(&play.session, started)?;
        Ok(call)
    }

    pub(super) fn end_call(&mut self, play: &Play, call: &str, status: &str, output: &str) -> Result<(), Gone> {
        self.update(&play.session, call_update(call, status, output))
    }

    /// A call of a tool that is not there, or not for this: it fails, and the turn goes on.
    pub(super) fn refuse(&mut self, play: &mut Play, refused: &Refused) -> Result<(), Gone> {
        let call = self.start_call(play, refused.tool, "other", Value::Null)?;
        self.end_call(play, &call, "failed", &refused.reason)
    }

    pub(super) fn read_file(&mut self, play: &mut Play, path: &str) -> Result<(), Gone> {
        let fence = play.fence();
        let call = self.start_call(play, &format!("read {path}"), "read", json!({"path": path}))?;
        match find(&play.place, path, fence).and_then(fs::read_to_string) {
            Ok(text) => {
                play.draft.answer(text.trim_end());
                self.end_call(play, &call, "completed", &text)
            }
            Err(error) => self.end_call(play, &call, "failed", &error.to_string()),
        }
    }

    /// Runs a command; `told` is what the answer says about it.
    pub(super) fn run_command(&mut self, play: &mut Play, command: &str, told: Told) -> Result<Flow, Gone> {
        let call = self.start_call(play, command, "execute", json!({"command": command}))?;
        let token = self.token();
        let mut running = match work::run(command, &play.place, token, &self.wakes) {
            Ok(running) => running,
            Err(error) => return self.end_call(play, &call, "failed", &error.to_string()).map(|()| Flow::Next),
        };
        let mut output = Vec::new();
        loop {
            match self.wait(&play.session, |wake| wake.news_of(token))? {
                Waited::Cancelled => {
                    drop(running);
                    self.end_call(play, &call, "failed", "cancelled")?;
                    return Ok(Flow::Stop(End::Cancelled));
                }
                Waited::Got(News::Bytes(_)) if output.len() > SHOWN_OUTPUT => {}
                Waited::Got(News::Bytes(bytes)) => {
                    output.extend(bytes);
                    self.end_call(play, &call, "in_progress", &String::from_utf8_lossy(&output))?;
                }
                Waited::Got(News::Ended(status)) => {
                    running.over();
                    let text = String::from_utf8_lossy(&output);
                    if told == Told::Deed {
                        let code = status.and_then(|status| status.code()).unwrap_or(-1);
                        play.draft.answer(format!("{}[exit {code}]", text.trim_start()));
                    }
                    match status {
                        Some(status) if status.success() => self.end_call(play, &call, "completed", &text)?,
                        Some(status) => self.end_call(play, &call, "failed", &format!("{text}[{status}]"))?,
                        None => self.end_call(play, &call, "failed", &text)?,
                    }
                    return Ok(Flow::Next);
                }
            }
        }
    }

    pub(super) fn ask_permission(
        &mut self,
        play: &mut Play,
        title: &str,
        step: &Step,
        told: Told,
    ) -> Result<Flow, Gone> {
        let is_deed = |next: &&Step| next.line > step.line && next.directive != Directive::Begin;
        let deed = play.steps.iter().find(is_deed).map(|next| &next.directive);
        let (kind, preview) = describe(deed);
        let mut tool = json!({"title": title, "kind": kind,
            "content": [{"type": "content", "content": {"type": "text", "text": preview}}]});
        if told == Told::Deed {
            name_deed(&mut tool, deed);
        }
        let call = next_call(play);
        match self.ask_person(play, &call, tool)? {
            Answer::Cancelled => Ok(Flow::Stop(End::Cancelled)),
            Answer::Allowed => {
                play.allowed = Some(call);
                Ok(Flow::Next)
            }
            Answer::Refused(reason) => {
                let text = format!("Not allowed: {title}{reason}");
                let said = self.stream(play, "agent_message_chunk", &format!("{text}\n"))?;
                play.draft.answer(text);
                match said {
                    Flow::Next => Ok(Flow::SkipNext),
                    Flow::SkipNext | Flow::Stop(_) => Ok(said),
                }
            }
        }
    }

    /// Asks about a call that is not made.
    pub(super) fn ask_only(&mut self, play: &mut Play, kind: CallKind, target: &str) -> Result<Flow, Gone> {
        let (word, input, locations) = match kind {
            CallKind::Read => ("read", Value::Null, json!([{"path": target}])),
            CallKind::Edit => ("edit", Value::Null, json!([{"path": target}])),
            CallKind::Delete => ("delete", Value::Null, json!([{"path": target}])),
            CallKind::Search => ("search", Value::Null, json!([{"path": target}])),
            CallKind::Fetch => ("fetch", json!({"url": target}), json!([])),
            CallKind::Run => ("execute", json!({"command": target}), json!([])),
        };
        let title = format!("{word} {target}");
        let tool = json!({"title": title, "kind": word, "rawInput": input, "locations": locations});
        let call = next_call(play);
        match self.ask_person(play, &call, tool)? {
            Answer::Cancelled => return Ok(Flow::Stop(End::Cancelled)),
            Answer::Allowed => play.draft.answer(format!("{title}: allowed")),
            Answer::Refused(reason) => play.draft.answer(format!("{title}: refused{reason}")),
        }
        Ok(Flow::Next)
    }

    fn ask_person(&mut self, play: &Play, call: &str, mut tool: Value) -> Result<Answer, Gone> {
        let options = json!([
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ]);
        tool["toolCallId"] = json!(call);
        tool["status"] = json!("pending");
        let params = json!({"sessionId": play.session, "options": options, "toolCall": tool});
        let request = self.request("session/request_permission", params)?;
        let reply = self.wait(&play.session, |wake| {
            let Wake::Message(Message::Response { id, outcome }) = wake else { return None };
            (*id == request).then(|| outcome.clone().unwrap_or_default())
        })?;
        let Waited::Got(outcome) = reply else { return Ok(Answer::Cancelled) };
        if outcome["outcome"]["optionId"] == "allow" {
            return Ok(Answer::Allowed);
        }
        let reason = outcome["_meta"]["message"].as_str().map(|text| format!(" ({text})")).unwrap_or_default();
        Ok(Answer::Refused(reason))
    }

    pub(super) fn wait_for_file(&mut self, play: &Play, path: &str) -> Result<Flow, Gone> {
        let token = self.token();
        let waiting = work::wait_for(play.place.join(path), token, &self.wakes);
        let waited = self.wait(&play.session, |wake| {
            let Wake::Ready { token: done, problem } = wake else { return None };
            (*done == token).then(|| problem.clone())
        })?;
        drop(waiting);
        Ok(match waited {
            Waited::Got(None) => Flow::Next,
            Waited::Got(Some(problem)) => Flow::Stop(End::Refused(Refusal::new(-32603, problem))),
            Waited::Cancelled => Flow::Stop(End::Cancelled),
        })
    }
}

/// How a request for permission was answered.
enum Answer {
    Allowed,
    /// The reason in brackets, if there is one.
    Refused(String),
    Cancelled,
}

/// Rewrites a file.
pub(super) fn write(place: &Path, path: &str, fence: Fence, change: impl FnOnce(&str) -> String) -> io::Result<Edit> {
    let file = find(place, path, fence)?;
    let old = fs::read_to_string(&file).unwrap_or_default();
    let new = change(&old);
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(&file, &new)?;
    Ok(Edit { old, new })
}

/// Removes a file.
pub(super) fn delete(place: &Path, path: &str, fence: Fence) -> io::Result<Edit> {
    let file = find(place, path, fence)?;
    let old = fs::read_to_string(&file).unwrap_or_default();
    fs::remove_file(&file)?;
    Ok(Edit { old, new: String::new() })
}

/// The file that a directive names, from the work tree.
fn find(place: &Path, path: &str, fence: Fence) -> io::Result<PathBuf> {
    let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_plain || fence == Fence::Open {
        Ok(place.join(path))
    } else {
        Err(io::Error::other(format!("`{path}` is outside the work tree")))
    }
}

fn next_call(play: &mut Play) -> String {
    play.calls += 1;
    format!("call-{}-{}", play.remembered + 1, play.calls)
}

fn call_update(call: &str, status: &str, output: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status,
        "content": [{"type": "content", "content": {"type": "text", "text": output}}]})
}

/// Adds what the call touches, as agents do that know it.
fn name_deed(tool: &mut Value, deed: Option<&Directive>) {
    match deed {
        Some(Directive::Run(command) | Directive::Report(command)) => tool["rawInput"] = json!({"command": command}),
        Some(
            Directive::Write { path, .. }
            | Directive::Append { path, .. }
            | Directive::Delete(path)
            | Directive::Read(path),
        ) => {
            tool["locations"] = json!([{"path": path}]);
        }
        Some(_) | None => {}
    }
}

/// What a person is to decide about.
fn describe(next: Option<&Directive>) -> (&'static str, String) {
    match next {
        Some(Directive::Run(command) | Directive::Report(command)) => ("execute", command.clone()),
        Some(Directive::Read(path)) => ("read", path.clone()),
        Some(Directive::Write { path, text } | Directive::Append { path, text }) => ("edit", format!("{path}\n{text}")),
        Some(Directive::Delete(path)) => ("delete", path.clone()),
        Some(_) | None => ("other", String::new()),
    }
}
