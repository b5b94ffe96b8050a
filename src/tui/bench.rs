//! A large scene for measurements: many sessions, and the transcript of one of them, drawn into memory.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;
use serde_json::json;

use super::model::Model;
use super::msg::{Msg, Reach, Reply};
use super::session;
use super::update::update;
use super::view::{prepare, view};
use crate::api::event::{Event, Payload};
use crate::api::session::Session;

const SIZE: Size = Size { width: 200, height: 50 };

/// Rows for one step of the wheel.
const NOTCH: i32 = 3;

/// Lines of one message, and of what one call writes.
const MESSAGE: usize = 20;
const OUTPUT: usize = 30;

/// A face with everything in it.
#[derive(Debug)]
pub struct Scene {
    model: Model,
    terminal: Terminal<TestBackend>,
}

/// A face that shows a transcript of so many lines, among so many sessions.
pub fn scene(lines: usize, sessions: usize) -> Scene {
    let mut model = Model { size: SIZE, ..Model::default() };
    let sessions: Vec<Session> = (0..sessions.max(1)).filter_map(session).collect();
    let shown = sessions.first().map(|session| session.id.clone()).unwrap_or_default();
    update(&mut model, Msg::Connected);
    update(&mut model, Msg::Reply(Reply::Sessions(sessions)));
    model.open_session(&shown);
    let events = story(&shown, lines);
    update(&mut model, Msg::Reply(Reply::Page { session: shown, events, reach: Reach::Start }));
    // Memory cannot refuse to be drawn into.
    let Ok(terminal) = Terminal::new(TestBackend::new(SIZE.width, SIZE.height));
    Scene { model, terminal }
}

impl Scene {
    /// One step of the wheel, upwards.
    pub fn scroll(&mut self) {
        session::scroll(&mut self.model, -NOTCH);
    }

    /// One frame.
    pub fn draw(&mut self) {
        prepare(&mut self.model);
        let Ok(_) = self.terminal.draw(|frame| view(&self.model, frame));
    }
}

fn session(number: usize) -> Option<Session> {
    let status = ["running", "ready", "queued", "merged"][number % 4];
    let session = json!({
        "id": format!("bench{number:03}"), "title": format!("Task number {number}"), "status": status, "waiting_for": null,
        "next": [], "backend": "scripted", "model": "large", "reasoning": "high", "agent": null, "persona": null,
        "surface": "enforced", "posture": "unattended", "sandbox": { "level": "workspace", "enforced": true },
        "project": "/src/app/.git", "base": { "name": "main", "commit": "0123456789" }, "branch": "coppice/bench",
        "worktree": "/data/bench", "parent": null, "children": [], "handoff": null, "thread_note": null,
        "subagent": null, "turns": 1, "queued": 0, "created_at": 1, "updated_at": 2, "removed_at": null,
        "usage": { "input_tokens": 1000, "output_tokens": 100, "cost_usd": 0.5 },
        "changes": { "files": 2, "insertions": 12, "deletions": 4 }, "questions": [], "approvals": [],
        "summary": null, "last_error": null, "conflicts": [],
    });
    serde_json::from_value(session).ok()
}

/// Messages and calls in turn.
fn story(session: &str, lines: usize) -> Vec<Event> {
    let words = "some words of an agent that explains what it has found in the code and what it is about to do next";
    let message: String = (0..MESSAGE / 2).map(|line| format!("{line}. {words}, `like this`\n\n")).collect();
    let output: String = (0..OUTPUT).map(|line| format!("test module::name_of_the_case_{line} ... ok\n")).collect();
    let payloads = (0..lines / (MESSAGE + OUTPUT)).flat_map(|number| {
        let (call, tool, title) = (format!("c{number}"), "execute".to_owned(), format!("cargo test case_{number}"));
        let input = Some(json!({ "command": title }));
        [
            Payload::Message { turn: 1, text: message.clone() },
            Payload::ToolStarted {
                turn: 1,
                call: call.clone(),
                tool: tool.clone(),
                title: title.clone(),
                input,
                auto: None,
            },
            Payload::ToolFinished { turn: 1, call, tool, title, ok: true, output: output.clone(), auto: None },
        ]
    });
    let event = |(payload, seq)| Event { seq, session: session.to_owned(), at: 1, v: 1, payload };
    payloads.zip(1..).map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_can_be_scrolled_from_the_end_to_the_beginning() {
        let mut scene = scene(1000, 20);
        scene.draw();
        let mut before = scene.terminal.backend().buffer().clone();
        for step in 0.. {
            scene.scroll();
            scene.draw();
            let shown = scene.terminal.backend().buffer().clone();
            if shown == before {
                assert!(step > 50, "{step}");
                break;
            }
            before = shown;
        }
    }
}
