//! A live session moves from one program to another: the same worktree, the record of the conversation, the next model.

use std::fs;

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, write};
use crate::stage::Stage;

for_each_agent!(a_live_session_moves_to_another_backend);

fn a_live_session_moves_to_another_backend(agent: Agent) {
    let next = match agent {
        Agent::Claude => Agent::Codex,
        Agent::Codex => Agent::Gemini,
        Agent::Gemini => Agent::Claude,
    };
    let stage = Stage::new();
    stage.model(agent).plays([write("first.txt", "one\n"), answer("the first word")]);
    let id = stage.begin(agent, "the first task");
    stage.rests(&id, "ready");
    let tree = stage.worktree(&id);

    stage.model(next).plays([write("second.txt", "two\n"), answer("the second word")]);
    stage.coppice(&["send", &id, "--model", &next.choice(), "the second task"]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "the second word");
    assert_eq!(stage.deliveries(&id), ["bootstrap_full", "bootstrap_with_replay"]);
    let session = stage.session(&id);
    assert_eq!(session["backend"], next.name());
    assert_eq!(session["model"], next.model());
    assert_eq!(stage.worktree(&id), tree);
    for (file, content) in [("first.txt", "one\n"), ("second.txt", "two\n")] {
        assert_eq!(fs::read_to_string(tree.join(file)).unwrap(), content);
    }
    let call = &stage.model(next).calls()[0];
    for known in ["the first task", "the first word", "the second task"] {
        assert!(call.mentions(known), "{known}");
    }
    assert_eq!(stage.model(agent).calls().len(), 2);
}
