//! Turns that go well: what reaches the model, how often it is asked, and what comes back.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::agent::{Agent, for_each_agent};
use crate::model::call::Call;
use crate::model::script::{Step, USAGE, answer, ask, say_before, serve};
use crate::stage::Stage;
use crate::user;

for_each_agent!(
    a_first_turn_brings_the_rules_and_the_schema,
    a_second_turn_brings_only_its_prompt,
    prose_before_the_response_is_dropped,
    a_question_ends_a_turn_and_its_answer_begins_the_next,
    a_plan_is_what_the_planner_hands_over,
    images_reach_the_model_in_order,
    a_reasoning_level_reaches_the_model,
    a_long_prompt_reaches_the_model,
    instructions_of_the_repository_and_of_the_user_reach_the_model,
    imports_rules_other_names_and_skills_of_the_user_reach_the_model,
);

/// From the rules that open a conversation.
const RULES: &str = "Git is read-only for you";
const PATH_RULE: &str = "Never write an absolute path";

/// One model call, with everything that a first turn promises.
fn a_first_turn_brings_the_rules_and_the_schema(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("hello")]);
    let id = stage.begin(agent, "greet the person");
    stage.rests(&id, "ready");

    assert_eq!(stage.last_answer(&id), "hello");
    assert_eq!(stage.deliveries(&id), ["bootstrap_full"]);
    let calls = model.calls();
    assert_eq!(calls.len(), 1, "a turn is one model call");
    let call = &calls[0];
    assert_eq!(call.model(), agent.model());
    assert!(call.texts().iter().any(|text| text.contains("greet the person")), "{:?}", call.texts());
    for rule in [RULES, PATH_RULE] {
        assert!(call.mentions(rule), "{rule}");
    }
    assert_schema(agent, call);
    assert_only_own_key(&stage, agent);

    let session = stage.session(&id);
    assert_eq!(session["backend"], agent.name());
    assert_eq!(session["model"], agent.model());
    assert_eq!(session["usage"]["input_tokens"], USAGE.input, "{}", session["usage"]);
    assert_eq!(session["usage"]["output_tokens"], USAGE.output, "{}", session["usage"]);
    stage.assert_only_the_asked_ran();
}

/// The same context, the schema again, the rules not.
fn a_second_turn_brings_only_its_prompt(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("the first word"), answer("the second word")]);
    let id = stage.begin(agent, "the first task");
    stage.rests(&id, "ready");
    stage.send(&id, "the second task", "ready");

    assert_eq!(stage.last_answer(&id), "the second word");
    assert_eq!(stage.deliveries(&id), ["bootstrap_full", "delta_only"]);
    let calls = model.calls();
    assert_eq!(calls.len(), 2);
    let call = &calls[1];
    for known in ["the first task", "the first word", "the second task"] {
        assert!(call.mentions(known), "{known}");
    }
    assert_eq!(call.request.body.to_string().matches(RULES).count(), 1, "the rules are in the context once");
    assert_schema(agent, call);
    let usage = &stage.session(&id)["usage"];
    assert_eq!(usage["input_tokens"], 2 * USAGE.input, "{usage}");
    assert_eq!(usage["output_tokens"], 2 * USAGE.output, "{usage}");
}

/// Talk before the one object is tolerated and not kept.
fn prose_before_the_response_is_dropped(agent: Agent) {
    let stage = Stage::new();
    let Step::Answer { response, .. } = answer("kept") else { unreachable!("an answer") };
    stage.model(agent).plays([Step::Answer { prose: "Here it is:\n".to_owned(), response }]);
    let id = stage.begin(agent, "talk, then answer");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "kept");
    assert_eq!(stage.model(agent).calls().len(), 1);
}

fn a_question_ends_a_turn_and_its_answer_begins_the_next(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([ask("Which colour?", &["red", "green"]), answer("painted")]);
    let id = stage.begin(agent, "paint it");
    stage.rests(&id, "asking");
    assert_eq!(stage.session(&id)["questions"][0]["text"], "Which colour?");

    stage.coppice(&["answer", &id, "2"]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "painted");
    let calls = model.calls();
    assert_eq!(calls.len(), 2);
    let last = calls[1].texts().pop().unwrap();
    assert!(last.contains("Which colour?") && last.contains("green"), "{last}");
}

/// A planner that answers a question shows no plan; one that hands a plan over waits for a person.
fn a_plan_is_what_the_planner_hands_over(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    let options = &["--agent", "planner"];
    model.plays([answer("in src/auth.rs")]);
    let id = stage.begin_with(agent, options, "where is the login?");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "in src/auth.rs");
    let ends = json!({ "question": "Done?", "options": ["Save plan", "Stop"], "purpose": "planner_save_plan" });
    let plan = "# Move the login\n\n1. Move it.";
    model.plays([say_before(plan, serve("question", ends)), answer("handed over")]);
    let id = stage.begin_with(agent, options, "plan to move the login");
    stage.rests(&id, "asking");
    let shown = stage.coppice(&["show", &id]).stdout();
    assert!(shown.contains("Save plan"), "{shown}");
    let answered = stage.coppice(&["answer", &id, "Save plan"]).exits(0).stderr;
    let saved = answered.split('`').nth(1).unwrap_or_default();
    assert_eq!(fs::read_to_string(saved).ok(), Some(format!("{plan}\n")), "{answered}");
    stage.rests(&id, "ready");
}

fn images_reach_the_model_in_order(agent: Agent) {
    let stage = Stage::new();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/images");
    let [green, red] = ["green.png", "red.png"].map(|name| images.join(name));
    stage.model(agent).plays([answer("seen")]);
    let options = ["--image", green.to_str().unwrap(), "--image", red.to_str().unwrap()];
    let id = stage.begin_with(agent, &options, "compare [Image #1] with [Image #2]");
    stage.rests(&id, "ready");
    let expected = [&green, &red].map(|path| base64(&fs::read(path).unwrap()));
    assert_eq!(stage.model(agent).calls()[0].images(), expected);
}

/// A level goes to the provider in its own word; where a model has none, it is refused before anything is created.
fn a_reasoning_level_reaches_the_model(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    let (asked, sent) = match agent {
        Agent::Claude => ("xhigh", "max"),
        Agent::Codex => ("xhigh", "xhigh"),
        Agent::Gemini => {
            let refused = stage.coppice(&["new", "--model", &agent.choice(), "--reasoning", "low", "think"]).exits(2);
            assert!(refused.stderr.contains("reasoning level"), "{}", refused.stderr);
            return;
        }
    };
    model.plays([answer("thought"), answer("thought again")]);
    let id = stage.begin_with(agent, &["--reasoning", asked], "think");
    stage.rests(&id, "ready");
    assert_eq!(stage.session(&id)["reasoning"], asked);
    assert_eq!(model.calls()[0].effort(), Some(sent));

    stage.coppice(&["send", &id, "--reasoning", "low", "think less"]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(model.calls()[1].effort(), Some("low"));
}

/// Two megabytes, or what the program takes at most; beyond that a person is told so.
fn a_long_prompt_reaches_the_model(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("read it all")]);
    let line = "all work and no play makes a dull prompt\n";
    let prompt = |bytes: usize| format!("{}THE-END-OF-IT", line.repeat(bytes / line.len()));
    let (choice, bytes) = match agent {
        // Only a model with a large context is asked at all.
        Agent::Claude => (format!("{}[1m]", agent.choice()), 2_000_000),
        Agent::Codex => (agent.choice(), 1_000_000),
        Agent::Gemini => (agent.choice(), 2_000_000),
    };
    let begin = |prompt: &str| {
        let id = stage.coppice_with_input(&["new", "--model", &choice, "-"], prompt.as_bytes()).stdout();
        id.trim().to_owned()
    };
    let id = begin(&prompt(bytes));
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "read it all");
    let calls = model.calls();
    assert_eq!(calls.len(), 1);
    let lines: usize = calls[0].texts().iter().map(|text| text.matches(line).count()).sum();
    assert_eq!(lines, prompt(bytes).matches(line).count());
    assert!(calls[0].mentions("THE-END-OF-IT"));

    if agent == Agent::Codex {
        let id = begin(&prompt(2_000_000));
        stage.rests(&id, "failed");
        assert_eq!(stage.session(&id)["last_error"]["kind"], "context");
        assert_eq!(model.calls().len(), 1);
    }
}

/// Each program's own file, found by itself or, where a safe start forbids that, handed over.
fn instructions_of_the_repository_and_of_the_user_reach_the_model(agent: Agent) {
    let stage = Stage::new();
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        stage.write(name, &format!("# Facts\nThe word of {name} is heron.\n"));
    }
    stage.commit("instructions");
    stage.model(agent).plays([answer("known")]);
    let id = stage.begin(agent, "use the word");
    stage.rests(&id, "ready");
    let file = match agent {
        Agent::Claude => "CLAUDE.md",
        Agent::Codex => "AGENTS.md",
        Agent::Gemini => "GEMINI.md",
    };
    let call = &stage.model(agent).calls()[0];
    let of_the_user = user::instructions(agent);
    for told in [&format!("The word of {file} is heron."), of_the_user] {
        assert!(call.mentions(told), "{told}: {}", call.request.body);
    }
}

/// What each program would read by itself beside its one file, with a repository that has a file of its own.
fn imports_rules_other_names_and_skills_of_the_user_reach_the_model(agent: Agent) {
    let mut stage = Stage::new();
    for name in ["AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "GEMINI.md", "NOTES.md"] {
        stage.write(name, &format!("The word of {name} is heron.\n"));
    }
    for name in ["deep/CLAUDE.md", "deep/NOTES.md"] {
        stage.write(name, "The word of the deep is coot.\n");
    }
    stage.commit("instructions");
    stage.settle(
        ".claude/skills/birds/SKILL.md",
        "---\ndescription: Names birds\n---\nThe word of the skill is osprey.\n",
    );
    let expected: &[&str] = match agent {
        Agent::Claude => {
            stage.settle(".claude/CLAUDE.md", "Mine is stork, and see @more/imported.md\n");
            stage.settle(".claude/more/imported.md", "The imported word is crane.\n");
            stage.settle(".claude/rules/style.md", "The word of the rule is ibis.\n");
            stage.settle(".claude/rules/web/forms.md", "The word of the form is dunlin.\n");
            &[
                "Mine is stork",
                "The imported word is crane.",
                "The word of the rule is ibis.",
                "The word of the form is dunlin.",
                "of CLAUDE.md is heron",
                "deep/CLAUDE.md",
            ]
        }
        Agent::Codex => {
            let config = fs::read_to_string(stage.path("home/.codex/config.toml")).unwrap();
            let told = "developer_instructions = \"The word of the developer is crane.\"\n";
            stage.settle(".codex/config.toml", &format!("{told}{config}"));
            &["The word of the developer is crane.", user::instructions(Agent::Codex), "of AGENTS.override.md is heron"]
        }
        Agent::Gemini => {
            let settings = json!({"model": {"name": "gemini-2.5-flash"}, "context": {"fileName": ["NOTES.md"]}});
            stage.settle(".gemini/settings.json", &settings.to_string());
            stage.settle(".gemini/NOTES.md", "Mine is stork, and see @imported.md\n");
            stage.settle(".gemini/imported.md", "The imported word is crane.\n");
            &["Mine is stork", "The imported word is crane.", "of NOTES.md is heron", "deep/NOTES.md"]
        }
    };
    stage.model(agent).plays([answer("known")]);
    let id = stage.begin(agent, "use $birds");
    stage.rests(&id, "ready");
    let call = &stage.model(agent).calls()[0];
    for told in expected.iter().chain(&["The word of the skill is osprey."]) {
        assert!(call.mentions(told), "{told}: {}", call.request.body);
    }
}

/// Where a provider takes a schema, it has the three keys of the response.
#[track_caller]
fn assert_schema(agent: Agent, call: &Call) {
    if agent.has_schema() {
        let schema = call.schema().expect("a schema");
        let keys: Vec<_> = schema["properties"].as_object().expect("properties").keys().cloned().collect();
        assert_eq!(keys, ["answer", "questions", "summary"], "{schema:#}");
    } else {
        assert!(call.mentions("questions"), "the schema is in the prompt");
    }
}

/// The agent's key went to its own model and nowhere else, and no other key went along.
#[track_caller]
fn assert_only_own_key(stage: &Stage, agent: Agent) {
    for other in Agent::ALL {
        let model = stage.model(other);
        let requests: Vec<_> = model.calls().into_iter().map(|call| call.request).chain(model.others()).collect();
        assert!(other == agent || requests.is_empty(), "{} was asked: {requests:?}", other.name());
        for key in Agent::ALL.map(|agent| agent.key().1) {
            let sent = requests.iter().any(|request| request.mentions(key));
            assert_eq!(sent, other == agent && key == agent.key().1, "{key} at {}", other.name());
        }
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[index]) } else { '=' });
        }
    }
    text
}
