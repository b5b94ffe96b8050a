//! A process that is replaced: its conversations go on in the next one, and nobody hears of it.

use std::cell::Cell;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Talk, message, opened, prompt, ready, render, wishes};
use crate::backend::codex::conversation::{self, SharedProcesses};
use crate::backend::codex::hub::{Ask, Member};
use crate::backend::codex::server::Note;
use crate::backend::codex::thread::{Effect, Input, Tag};
use crate::backend::event::{Block, Command, Event};

/// A conversation that leaves a process which is replaced.
fn leaving() -> Talk {
    let mut talk = Talk::in_turn();
    talk.input(Input::Retiring).end("completed", message("first"));
    assert_eq!(talk.methods().last(), Some(&"thread/unsubscribe"));
    talk.events.clear();
    talk.asked.clear();
    talk.other.clear();
    talk
}

#[test]
fn a_prompt_that_meets_the_replacement_of_the_process_goes_on_in_the_next() {
    let lost = || Input::Lost { failure: None, status: None, stderr_tail: String::new() };
    let closed = || Input::Notified { method: "thread/closed".to_owned(), params: json!({}) };
    let unsubscribed = |status: &str| Input::Replied { tag: Tag::Unsubscribe, outcome: Ok(json!({"status": status})) };
    for inputs in [
        vec![prompt("second"), unsubscribed("unsubscribed"), closed()],
        vec![prompt("second"), unsubscribed("notLoaded")],
        vec![prompt("second"), Input::Elapsed],
        vec![prompt("second"), lost()],
        vec![closed(), prompt("second")],
        vec![lost(), Input::Retiring, prompt("second")],
    ] {
        let mut talk = leaving();
        for input in inputs {
            talk.input(input);
        }
        assert_eq!(talk.other, [Effect::Disarm, Effect::Part, Effect::Join]);
        talk.input(ready()).reply(json!({})).reply(json!({"config": {}})).reply(opened("t"));
        assert_eq!(talk.methods(), ["account/read", "config/read", "thread/resume", "turn/start"]);
        assert_eq!(talk.asked[2].1["threadId"], "t");
        talk.reply(json!({"turn": {"id": "u"}})).end("completed", message("second"));
        talk.expect_events(&["final \"second\" EndTurn"]);
    }
}

#[test]
fn a_conversation_that_does_not_come_back_does_not_go_on_without_its_history() {
    let mut talk = leaving();
    talk.input(prompt("second")).notice("thread/closed", json!({}));
    talk.input(ready()).reply(json!({})).reply(json!({"config": {}})).refuse("no rollout found");
    assert_eq!(talk.methods().last(), Some(&"thread/unsubscribe"));
    talk.reply(json!({"status": "notLoaded"}));
    talk.expect_events(&[
        "failed protocol \"codex refuses to restore the conversation: no rollout found\"",
        "exited None \"\"",
    ]);
}

#[test]
fn what_ends_a_conversation_ends_it_between_two_processes_too() {
    let mut stopped = leaving();
    stopped.input(prompt("second")).input(Input::Command(Command::Interrupt)).notice("thread/closed", json!({}));
    stopped.expect_events(&["failed cancelled \"the turn was interrupted\""]);
    assert_eq!(stopped.other, [Effect::Disarm, Effect::Part]);

    let mut closed = leaving();
    closed.input(prompt("second")).input(Input::Command(Command::Close)).notice("thread/closed", json!({}));
    closed.expect_events(&[
        "failed cancelled \"the conversation was closed before it took the prompt\"",
        "exited None \"\"",
    ]);
}

/// The side of the shared process, played by hand.
struct Server {
    notes: mpsc::Receiver<Note>,
    inbox: Option<mpsc::Sender<Input>>,
}

impl Server {
    /// Waits for the member and tells it that the process answers.
    async fn welcome(&mut self) {
        let Some(Note::Join { inbox, .. }) = self.notes.recv().await else { panic!("nobody joined") };
        inbox.send(ready()).await.unwrap();
        self.inbox = Some(inbox);
    }

    async fn send(&self, input: Input) {
        self.inbox.as_ref().unwrap().send(input).await.unwrap();
    }

    /// Answers everything up to a request of `method`, and that one too.
    async fn serve_through(&mut self, method: &str) {
        loop {
            let Some(Note::Ask(Ask { tag, method: asked, .. })) = self.notes.recv().await else { panic!("left") };
            let mut result = opened("t");
            result["turn"] = json!({"id": "u"});
            result["status"] = json!("unsubscribed");
            self.send(Input::Replied { tag, outcome: Ok(result) }).await;
            if asked == method {
                return;
            }
        }
    }

    async fn notice(&self, method: &str, params: Value) {
        self.send(Input::Notified { method: method.to_owned(), params }).await;
    }

    async fn finish(&self, text: &str) {
        let turn = json!({"id": "u", "status": "completed", "items": message(text)});
        self.notice("turn/completed", json!({"threadId": "t", "turn": turn})).await;
    }
}

/// Starts a process for everybody who joins.
struct Servers {
    started: mpsc::Sender<Server>,
    members: Cell<Member>,
}

impl SharedProcesses for Servers {
    fn join(&self) -> (Member, mpsc::Sender<Note>) {
        let (sender, notes) = mpsc::channel(8);
        self.started.try_send(Server { notes, inbox: None }).ok().unwrap();
        self.members.set(self.members.get() + 1);
        (self.members.get(), sender)
    }

    fn unlist(&self, _: &mpsc::Sender<Note>) {}
}

#[tokio::test(start_paused = true)]
async fn the_old_process_hears_that_it_was_left_and_the_new_one_takes_the_prompt() {
    let (commands, command_receiver) = mpsc::channel(8);
    let (event_sender, mut events) = mpsc::channel::<Event>(8);
    let (server_sender, mut servers) = mpsc::channel(8);
    let processes = Servers { started: server_sender, members: Cell::new(0) };
    let say = async |text: &str| {
        commands.send(Command::Prompt { blocks: vec![Block::Text(text.to_owned())] }).await.unwrap();
    };
    let play = async {
        let mut old = servers.recv().await.unwrap();
        say("first").await;
        old.welcome().await;
        old.serve_through("turn/start").await;
        old.send(Input::Retiring).await;
        old.finish("first").await;
        old.serve_through("thread/unsubscribe").await;
        say("second").await;
        old.notice("thread/closed", json!({"threadId": "t"})).await;
        let mut new = servers.recv().await.unwrap();
        assert!(matches!(old.notes.recv().await, Some(Note::Leave(1))));
        drop(old);
        new.welcome().await;
        new.serve_through("turn/start").await;
        new.finish("second").await;
        let mut heard = Vec::new();
        while heard.len() < 3 {
            heard.push(render(&events.recv().await.unwrap()));
        }
        commands.send(Command::Close).await.unwrap();
        new.serve_through("thread/unsubscribe").await;
        new.notice("thread/closed", json!({"threadId": "t"})).await;
        heard.push(render(&events.recv().await.unwrap()));
        heard
    };
    let (heard, ()) = tokio::join!(play, conversation::run(wishes(), processes, command_receiver, event_sender));
    assert_eq!(
        heard,
        [
            "started 0.166.0 Some(\"gpt-5.5\") restored=false models=",
            "final \"first\" EndTurn",
            "final \"second\" EndTurn",
            "exited None \"\"",
        ]
    );
}
