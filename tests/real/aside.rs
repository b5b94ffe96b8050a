//! What is asked beside a conversation: which models there are, and names that a small model makes when the user wants it.

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, changed, write};
use crate::stage::Stage;
use crate::user;

for_each_agent!(an_installed_program_tells_its_models, names_by_a_model_stay_out_of_the_conversation);

fn an_installed_program_tells_its_models(agent: Agent) {
    let stage = Stage::new();
    let backends = stage.json(&["models"]);
    let backend = backends.as_array().unwrap().iter().find(|backend| backend["name"] == agent.name()).unwrap();
    assert_eq!(backend["listed_by"], "agent", "{backends}");
    let default: Vec<_> =
        backend["models"].as_array().unwrap().iter().filter(|model| model["default"] == true).collect();
    assert!(matches!(default[..], [model] if model["id"] == user::model(agent)), "{backends}");
    let doctor = stage.coppice(&["doctor"]);
    let said = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(said.contains(agent.name()), "{said}");
    for agent in Agent::ALL {
        assert_eq!(stage.model(agent).calls().len(), 0, "{} costs no model call", agent.name());
    }
    stage.assert_only_the_asked_ran();
}

/// One more call each for the title and the commit message, by a cheaper model, and nothing of it in the session.
fn names_by_a_model_stay_out_of_the_conversation(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    stage.configure(&format!("titles = \"model\"\ncommit.message = \"model\"\n{}", user::COPPICE));
    model.replies_to("Name the piece of work", answer("A title by a model"));
    model.replies_to("Write the message of the git commit", answer("A message by a model"));
    model.plays([write("a.txt", "a\n"), changed("done", "Add a file"), answer("the second word")]);
    let id = stage.begin(agent, "please add a file");
    stage.rests(&id, "ready");

    // Names come when they come, and hold nothing up.
    assert_eq!(stage.wait_for_event(&id, "title_changed", 0)["title"], "A title by a model");
    stage.wait_for_event(&id, "reworded", 0);
    let branch = stage.session(&id)["branch"].as_str().unwrap().to_owned();
    assert_eq!(stage.git(&["log", "-1", "--format=%s", &branch]), "A message by a model");
    stage.send(&id, "the second task", "ready");
    let calls = model.calls();
    assert_eq!(calls.len(), 5);
    let last = calls.last().unwrap();
    for aside in ["by a model", "Name the piece of work", "Write the message of the git commit"] {
        assert!(!last.mentions(aside), "{aside}: {:?}", last.texts());
    }
    let small = calls.iter().filter(|call| call.model() != agent.model()).count();
    assert_eq!(small, 2, "a cheaper model does it");
}
