//! One turn of the demo agent: it plays the script of the prompt, step by step, and ends with one response.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::backend::demo::agent::{Agent, Gone, Refusal, Seat};
use crate::backend::demo::draft::{Draft, INVALID, default_steps};
use crate::backend::demo::script::{self, Directive, Step, Times};
use crate::backend::demo::served::Server;
use crate::backend::demo::state::Past;
use crate::backend::demo::tool::{Fence, Told};
use crate::backend::demo::{native, tool, work};
use crate::protocol::prompt::{self, Profile};

/// The size of the context it claims to have, in tokens.
const CONTEXT: u64 = 100_000;

/// What a step leads to.
pub(super) enum Flow {
    Next,
    /// Leaves out the step after this one, or the block it opens.
    SkipNext,
    Stop(End),
}

/// How a turn ends.
pub(super) enum End {
    Response,
    Cancelled,
    Refused(Refusal),
}

/// The turn as it is played.
pub(super) struct Play {
    pub(super) session: String,
    pub(super) place: PathBuf,
    /// The text the steps were read from.
    pub(super) script: String,
    pub(super) steps: Vec<Step>,
    pub(super) draft: Draft,
    pub(super) usage: Option<(u64, u64)>,
    pub(super) model: &'static str,
    pub(super) servers: Vec<Server>,
    /// The kinds of the prompt's parts, in their order.
    pub(super) parts: Vec<String>,
    /// How many turns were remembered before this one.
    pub(super) remembered: usize,
    pub(super) calls: usize,
    /// The call a person has allowed; the next tool is that call.
    pub(super) allowed: Option<String>,
    /// Said at the end instead of the response.
    pub(super) last_words: Option<String>,
    /// What the repair turn will say.
    pub(super) owed: Option<Times>,
}

impl Play {
    /// How far the next tool may reach: what a person allowed was named to them.
    pub(super) fn fence(&self) -> Fence {
        if self.allowed.is_some() { Fence::Open } else { Fence::Tree }
    }
}

impl<W: Write> Agent<W> {
    /// Answers `session/prompt`.
    pub(super) fn prompt(&mut self, session: &str, seat: Seat, params: &Value) -> Result<Result<Value, Refusal>, Gone> {
        let blocks = || params["prompt"].as_array().into_iter().flatten();
        let text: Vec<&str> = blocks().filter_map(|block| block["text"].as_str()).collect();
        let parts = blocks().map(part).collect();
        let task = self.task(&text.join(
            "
",
        ));
        let mut play = match task.and_then(|task| self.prepare(session, seat, parts, &task)) {
            Ok(play) => play,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let end = self.play(&mut play)?;
        self.finish(&play, end)
    }

    /// The script that a prompt brings; a question on the side brings none, so that it gets the one of the options.
    fn task(&self, text: &str) -> Result<String, Refusal> {
        let is_aside = text.starts_with(&prompt::preamble(Profile::UtilityPrompt));
        if let Some(tally) = &self.options.tally {
            let mut file = File::options().create(true).append(true).open(tally)?;
            file.write_all(if is_aside { b"aside\n" } else { b"turn\n" })?;
        }
        match (is_aside, &self.options.aside) {
            (false, _) => Ok(script::task(text).to_owned()),
            (true, Some(aside)) => Ok(aside.clone()),
            (true, None) => Err(Refusal::new(-32603, "a scripted agent has no opinion")),
        }
    }

    /// Remembers the prompt and decides what to play: its own script, what an earlier one left, or a small default.
    fn prepare(&mut self, session: &str, seat: Seat, parts: Vec<String>, task: &str) -> Result<Play, Refusal> {
        let own = script::parse(task).map_err(|error| Refusal::new(-32602, error.to_string()))?;
        let unknown = || Refusal::new(-32602, format!("session `{session}` not found"));
        let memory = self.state.recall(session).ok_or_else(unknown)?;
        let remembered = memory.turns.len();
        memory.turns.push(Past { prompt: task.to_owned(), answer: None });
        let (rest, owed) = (memory.rest.take(), memory.owed.take());
        let mut play = Play {
            session: session.to_owned(),
            place: seat.place,
            model: seat.model,
            servers: seat.servers,
            parts,
            script: task.to_owned(),
            steps: own,
            draft: Draft::default(),
            usage: None,
            remembered,
            calls: 0,
            allowed: None,
            last_words: None,
            owed: None,
        };
        match (play.steps.is_empty(), owed, rest) {
            (false, _, _) => {}
            (true, Some(owed), _) => play.last_words = Some(owed),
            (true, None, Some(rest)) => {
                play.steps = script::parse(&rest).map_err(|error| Refusal::new(-32602, error.to_string()))?;
                play.script = rest;
            }
            (true, None, None) => play.steps = default_steps(task, remembered + 1),
        }
        self.state.save(session)?;
        Ok(play)
    }

    fn play(&mut self, play: &mut Play) -> Result<End, Gone> {
        let mut at = 0;
        while let Some(step) = play.steps.get(at).cloned() {
            if self.is_cancelled(&play.session)? {
                return Ok(End::Cancelled);
            }
            at += 1;
            match self.perform(play, &step)? {
                Flow::Next => {}
                Flow::SkipNext => at = after_next(&play.steps, at),
                Flow::Stop(end) => return Ok(end),
            }
        }
        Ok(End::Response)
    }

    fn perform(&mut self, play: &mut Play, step: &Step) -> Result<Flow, Gone> {
        if let Some(refused) = native::refusal(&self.options.native, &step.directive) {
            return self.refuse(play, &refused).map(|()| Flow::Next);
        }
        match &step.directive {
            Directive::Say(text) => return self.stream(play, "agent_message_chunk", &format!("{text}\n")),
            Directive::Think(text) => return self.stream(play, "agent_thought_chunk", text),
            Directive::Plan(entries) => {
                let entries: Vec<Value> = entries
                    .iter()
                    .map(|entry| json!({"content": entry, "priority": "medium", "status": "pending"}))
                    .collect();
                self.update(&play.session, json!({"sessionUpdate": "plan", "entries": entries}))?;
            }
            Directive::Write { path, text } => {
                let done = tool::write(&play.place, path, play.fence(), |_| text.clone());
                self.edit(play, &format!("write {path}"), path, done)?;
            }
            Directive::Append { path, text } => {
                let done = tool::write(&play.place, path, play.fence(), |old| format!("{old}{text}"));
                self.edit(play, &format!("append to {path}"), path, done)?;
            }
            Directive::Delete(path) => {
                let done = tool::delete(&play.place, path, play.fence());
                self.edit(play, &format!("delete {path}"), path, done)?;
            }
            Directive::Read(path) => self.read_file(play, path)?,
            Directive::Run(command) => return self.run_command(play, command, Told::Title),
            Directive::Report(command) => return self.run_command(play, command, Told::Deed),
            Directive::Permission(title) => return self.ask_permission(play, title, step, Told::Title),
            Directive::Request(title) => return self.ask_permission(play, title, step, Told::Deed),
            Directive::May { kind, target } => return self.ask_only(play, *kind, target),
            Directive::Begin | Directive::End => {}
            Directive::Then => {
                self.keep_rest(play, step)?;
                return Ok(Flow::Stop(End::Response));
            }
            Directive::Ask { question, options } => play.draft.ask(question, options),
            Directive::Answer(text) => play.draft.answer(text),
            Directive::Summary { turn, session } => play.draft.summarise(turn, session),
            Directive::Usage { input, output, cost } => {
                play.usage = Some((*input, *output));
                if let Some(cost) = cost {
                    // What is told is the sum of the conversation.
                    let amount = self.charge(&play.session, *cost) as f64 / 1e6;
                    let cost = json!({"amount": amount, "currency": "USD"});
                    let update = json!({"sessionUpdate": "usage_update", "used": input, "size": CONTEXT, "cost": cost});
                    self.update(&play.session, update)?;
                }
            }
            Directive::Wait(path) => return self.wait_for_file(play, path),
            Directive::Fail { code, message } => {
                return Ok(Flow::Stop(End::Refused(Refusal::new(*code, message))));
            }
            Directive::Hang => {
                // Nothing is waited for, so only a cancel ends this.
                self.wait(&play.session, |_| None::<()>)?;
                return Ok(Flow::Stop(End::Cancelled));
            }
            Directive::Crash(times) => {
                self.keep_rest(play, step)?;
                if *times == Times::Always || self.state.spend(accident(play, step))? {
                    return Err(Gone::Crash);
                }
            }
            Directive::Garbage => self.send("this line is not JSON {")?,
            Directive::Raw(text) => play.last_words = Some(text.clone()),
            Directive::Invalid(times) => {
                play.last_words = Some(INVALID.to_owned());
                play.owed = Some(*times);
            }
            Directive::Huge(bytes) => {
                let call = self.start_call(play, &format!("{bytes} bytes"), "execute", json!({"bytes": bytes}))?;
                self.end_call(play, &call, "completed", &"x".repeat(*bytes))?;
            }
            Directive::Child(path) => {
                let done = work::start_stray()
                    .and_then(|pid| tool::write(&play.place, path, Fence::Tree, |_| format!("{pid}\n")));
                self.edit(play, "start a stray process", path, done)?;
            }
            Directive::Env(name) => {
                let value = std::env::var_os(name).map(|value| format!("{name}={}", value.to_string_lossy()));
                play.draft.answer(value.unwrap_or_else(|| format!("{name} is not set")));
            }
            Directive::EchoHistory => play.draft.answer(format!("remembered turns: {}", play.remembered)),
            Directive::EchoImages => {
                let images = play.parts.iter().filter(|part| *part != "text").count();
                play.draft.answer(format!("images: {images}, parts: {}", play.parts.join(", ")));
            }
            Directive::EchoModel => play.draft.answer(format!("model: {}", play.model)),
            Directive::Calls(calls) => return self.call_served(play, calls),
            Directive::Tools => return self.list_served(play),
            Directive::Native => play.draft.answer(native::describe(&self.options.native)),
        }
        Ok(Flow::Next)
    }

    /// Keeps what follows `step` for the next prompt that brings no script.
    fn keep_rest(&mut self, play: &Play, step: &Step) -> Result<(), Gone> {
        let rest: String = play.script.lines().skip(step.end).map(|line| format!("{line}\n")).collect();
        if let Some(memory) = self.state.recall(&play.session) {
            memory.rest = rest.contains('@').then_some(rest);
        }
        Ok(self.state.save(&play.session)?)
    }

    /// Says the last words of the turn and remembers them.
    fn finish(&mut self, play: &Play, end: End) -> Result<Result<Value, Refusal>, Gone> {
        match end {
            End::Refused(refusal) => return Ok(Err(refusal)),
            End::Cancelled => return Ok(Ok(json!({"stopReason": "cancelled"}))),
            End::Response => {}
        }
        let response = play.draft.response(play.steps.len());
        let text = play.last_words.clone().unwrap_or_else(|| response.clone());
        if let Flow::Stop(_) = self.stream(play, "agent_message_chunk", &text)? {
            return Ok(Ok(json!({"stopReason": "cancelled"})));
        }
        if let Some(memory) = self.state.recall(&play.session) {
            memory.owed = play.owed.map(|times| match times {
                Times::Once => response,
                Times::Always => INVALID.to_owned(),
            });
            if let Some(past) = memory.turns.last_mut() {
                past.answer = Some(text);
            }
        }
        self.state.save(&play.session)?;
        let mut result = json!({"stopReason": "end_turn"});
        if let Some((input, output)) = play.usage {
            let count = json!({"input_tokens": input, "output_tokens": output});
            result["_meta"] =
                json!({"quota": {"token_count": count, "model_usage": [{"model": play.model, "token_count": count}]}});
        }
        Ok(Ok(result))
    }
}

/// The kind of one part of a prompt; of an image, its type and the length of its base64.
fn part(block: &Value) -> String {
    match block["type"].as_str().unwrap_or_default() {
        "image" => {
            let data = block["data"].as_str().unwrap_or_default();
            format!("{} ({})", block["mimeType"].as_str().unwrap_or_default(), data.len())
        }
        other => other.to_owned(),
    }
}

/// The place after the next step, or after the block that it opens.
fn after_next(steps: &[Step], next: usize) -> usize {
    let opens = |step: &Step| step.directive == Directive::Begin;
    if !steps.get(next).is_some_and(opens) {
        return next + 1;
    }
    let mut depth = 0usize;
    for (place, step) in steps.iter().enumerate().skip(next) {
        if opens(step) {
            depth += 1;
        } else if step.directive == Directive::End {
            depth -= 1;
        }
        if depth == 0 {
            return place + 1;
        }
    }
    steps.len()
}

/// Names a one-time accident, so that the same script sent again does not have it twice.
fn accident(play: &Play, step: &Step) -> String {
    let mut hasher = DefaultHasher::new();
    play.script.hash(&mut hasher);
    format!("{:016x}:{}", hasher.finish(), step.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_skips_one_step_or_one_block() {
        #[track_caller]
        fn check(script: &str, next: usize, expected: usize) {
            assert_eq!(after_next(&script::parse(script).unwrap(), next), expected);
        }
        check("@hang\n@hang\n@hang", 1, 2);
        check("@begin\n@hang\n@begin\n@end\n@end\n@hang", 0, 5);
        check("@begin\n@hang", 0, 2);
        check("@end\n@hang", 0, 1);
        check("", 0, 1);
    }
}
