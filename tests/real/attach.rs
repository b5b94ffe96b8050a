//! The programs' own interfaces on conversations that they had with us, in the worktree and behind the same walls.

use std::fs;

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, say};
use crate::seat::Seat;
use crate::stage::Stage;

for_each_agent!(a_person_sees_the_conversation_and_goes_on_with_it);

/// The resumed interface shows what was said, takes a prompt, and a later turn knows of all of it.
fn a_person_sees_the_conversation_and_goes_on_with_it(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("the zanzibar answer")]);
    let id = stage.begin(agent, "tell me about quetzals");
    stage.rests(&id, "ready");

    model.clear().always(say("a marmalade reply"));
    let mut seat = Seat::take(&stage.to_start(&["attach", &id]));
    match agent {
        // It does not show responses that have a form.
        Agent::Claude => seat.shows("quetzals"),
        Agent::Codex => {
            // The work tree stays untrusted, and it says so before anything else.
            seat.shows("Open restricted");
            // It may offer another model as well, and keeps the answer.
            seat.insists("\r", "zanzibar");
        }
        Agent::Gemini => {
            seat.showed("zanzibar");
            seat.shows("Type your message");
        }
    }
    seat.insists("what about ocelots", "what about ocelots");
    seat.insists("\r", "marmalade");
    seat.types("\x1d");
    seat.ends();
    assert_eq!(stage.session(&id)["status"], "ready");
    let detached = stage.of_kind(&id, "detached");
    assert_eq!((detached.len(), &detached[0]["program"]), (1, &"agent".into()));

    model.clear().always(answer("the last answer"));
    stage.send(&id, "the second task", "ready");
    assert_eq!(stage.last_answer(&id), "the last answer");
    let call = model.calls().pop().unwrap();
    assert_eq!(call.model(), agent.model());
    // A reply that a person left in the middle of may not be kept.
    for known in ["quetzals", "ocelots", "the second task"] {
        assert!(call.mentions(known), "{known}: {:?}", call.texts());
    }
    // Codex asks for its announcements before it looks at any setting.
    let besides: &[&str] = if agent == Agent::Codex { &["raw.githubusercontent.com:443"] } else { &[] };
    stage.assert_only_the_asked_ran_besides(besides);
    let own = fs::read_dir(stage.path("home/.codex")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = own.filter(|name| name.to_string_lossy().ends_with("config.toml")).collect();
    assert_eq!(left, ["config.toml"]);
}
