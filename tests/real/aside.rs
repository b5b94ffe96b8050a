//! What is asked beside a conversation: which models there are, and names that a small model makes when the user wants it.

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, changed, write};
use crate::stage::Stage;
use crate::user;

for_each_agent!(an_installed_program_tells_its_models, names_by_a_model_stay_out_of_the_conversation);

fn an_installed_program_tells_its_models(agent: Agent) {
    let stage = Stage::new();
    let models = stage.json(&["models"]).to_string();
    assert!(models.contains(agent.model()), "{models}");
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
    model.plays([write("a.txt", "a\n"), changed("done", "Add a file")]).always(answer("A name by a model"));
    let id = stage.begin(agent, "please add a file");
    stage.rests(&id, "ready");
    // Names come when they come, and hold nothing up.
    let calls = [3, 4].map(|number| model.wait_for_call(number));
    for call in &calls {
        assert!(!call.mentions("Git is read-only for you") || call.texts().len() < 4, "{:?}", call.texts());
    }
    model.clear().plays([answer("the second word")]);
    stage.send(&id, "the second task", "ready");
    let last = model.calls().pop().unwrap();
    assert!(!last.mentions("A name by a model"), "{:?}", last.texts());
}
