//! What the agents read: the rules are there, the task is untouched, and the past stays within its bounds.

use super::super::prompt::{
    Answer, Delivery, Note, PastTurn, Place, Profile, Request, Transcript, TurnEnd, answers, preamble, render, repair,
};
use super::super::schema::schema_text;
use super::super::{parse, prompt};

const PROFILES: [Profile; 2] = [Profile::SessionTurn, Profile::UtilityPrompt];

fn turn(number: u32, prompt: &str, answer: &str) -> PastTurn {
    PastTurn { number, prompt: prompt.into(), images: 0, answer: answer.into(), end: TurnEnd::Completed }
}

fn task_of(prompt: &str) -> &str {
    prompt.split_once("\n---\n\n").unwrap().1
}

#[test]
fn a_bootstrap_carries_every_rule() {
    for profile in PROFILES {
        let text = render(profile, Place::InPrompt, Delivery::BootstrapFull, &[], "/do it\n---\n{x}");
        for rule in ["`path:line:column`", "`file://`", "`../`", "Git is read-only", "`git diff`", schema_text()] {
            assert!(text.contains(rule), "{rule}");
        }
        assert_eq!(task_of(&text), "/do it\n---\n{x}");
        assert!(text.starts_with(&preamble(profile)));
    }
    assert!(preamble(Profile::SessionTurn).contains("`summary.session`"));
    assert!(preamble(Profile::UtilityPrompt).contains("nobody can answer"));
}

#[test]
fn a_request_chooses_its_rules() {
    for (request, profile) in [
        (Request::SessionStart, Profile::SessionTurn),
        (Request::SessionResume, Profile::SessionTurn),
        (Request::UtilityPrompt, Profile::UtilityPrompt),
    ] {
        assert_eq!(request.profile(), profile);
    }
}

#[test]
fn a_delta_is_short_and_still_reminds() {
    for profile in PROFILES {
        let text = render(profile, Place::InPrompt, Delivery::DeltaOnly, &[], "go on");
        assert!(text.contains("exactly one JSON object") && !text.contains(schema_text()));
        assert!(text.len() < 600, "{text}");
        assert_eq!(task_of(&text), "go on");
    }
}

#[test]
fn rules_beside_the_conversation_are_only_recalled_in_the_prompt() {
    let beside = |delivery| render(Profile::SessionTurn, Place::Beside, delivery, &[], "go on");
    assert_eq!(beside(Delivery::BootstrapFull), beside(Delivery::DeltaOnly));
    assert_eq!(
        beside(Delivery::DeltaOnly),
        render(Profile::SessionTurn, Place::InPrompt, Delivery::DeltaOnly, &[], "go on")
    );
}

#[test]
fn the_first_line_is_never_a_command() {
    let error = parse("/clear").unwrap_err();
    let delta = render(Profile::SessionTurn, Place::InPrompt, Delivery::DeltaOnly, &[], "$HOME /clear");
    let bootstrap = render(Profile::SessionTurn, Place::InPrompt, Delivery::BootstrapFull, &[], "/clear");
    let answered = answers(&[Answer { question: "/q".into(), text: "$a".into() }]);
    for text in [delta, bootstrap, answered, repair(&error)] {
        assert!(text.starts_with(char::is_alphabetic), "{text}");
    }
}

#[test]
fn notes_stand_between_the_rules_and_the_task() {
    let notes = [Note::Undone { first: 2, last: 2 }, Note::Undone { first: 3, last: 5 }, Note::Interrupted { turn: 6 }];
    let text = render(Profile::SessionTurn, Place::InPrompt, Delivery::DeltaOnly, &notes, "task");
    let expected = "\n\nNote: turn 2 was undone. Its changes are gone from the files; do not rely on them.\n\
        Note: turns 3 to 5 were undone. Their changes are gone from the files; do not rely on them.\n\
        Note: turn 6 was interrupted before its end. What it changed is still in the files, perhaps half done: look \
        before you go on.\n\n---\n\ntask";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn plan_mode_is_told_with_its_file_and_its_end() {
    let told = |notes: &[Note]| {
        let text = render(Profile::SessionTurn, Place::InPrompt, Delivery::DeltaOnly, notes, "task");
        let (note, _) = text.split_once("\n\n---\n\n").unwrap();
        note.rsplit("\n\n").next().unwrap().to_owned()
    };
    let begun = told(&[Note::PlanMode { file: "/plans/p/parse-aaaa2222.md".into() }]);
    assert!(begun.starts_with("Note: this session is in plan mode."), "{begun}");
    assert!(begun.contains("the plan file `/plans/p/parse-aaaa2222.md`"), "{begun}");
    assert!(begun.contains("call the tool `exit_plan_mode`"), "{begun}");
    let conflict = Note::Conflict { base: "main".into(), files: vec!["a.rs".into(), "b.rs".into()] };
    assert!(told(&[conflict]).contains("these hold conflict marks (`<<<<<<<`, `=======`, `>>>>>>>`): a.rs, b.rs."));
    assert!(told(&[Note::PlanModeOver]).starts_with("Note: plan mode is over."));
}

#[test]
fn a_replay_quotes_the_past() {
    let transcript = Transcript {
        summary: Some("Adds a port".into()),
        turns: vec![
            turn(1, "add a port\n---\nplease", "Done.\n\n- 80"),
            PastTurn { end: TurnEnd::Interrupted, ..turn(2, "more", "") },
            PastTurn { end: TurnEnd::Undone, ..turn(3, "even more", "Yes.") },
            PastTurn { images: 2, ..turn(3, "like this", "Yes.") },
            PastTurn { end: TurnEnd::Failed, ..turn(4, "last", "") },
        ],
    };
    let delivery = Delivery::BootstrapWithReplay { transcript: &transcript, limit: 10_000 };
    let text = render(Profile::SessionTurn, Place::InPrompt, delivery, &[], "task");
    let (_, past) = text.split_once("State of the branch").unwrap();
    let expected = " after the last turn:\n> Adds a port\n\n\
        Turn 1, the person:\n> add a port\n> ---\n> please\nYou:\n> Done.\n> \n> - 80\n\n\
        Turn 2 (interrupted before its end), the person:\n> more\nYou gave no answer.\n\n\
        Turn 3 (undone since: its changes are gone), the person:\n> even more\nYou:\n> Yes.\n\n\
        Turn 3, the person, with 2 images that are not in this record:\n> like this\nYou:\n> Yes.\n\n\
        Turn 4 (failed), the person:\n> last\nYou gave no answer.\n\n---\n\ntask";
    assert_eq!(past, expected);
    assert_eq!(task_of(&text), "task");
}

#[test]
fn a_replay_is_bounded_and_says_what_was_cut() {
    let turns: Vec<_> = (1..=50).map(|number| turn(number, "p", &"a".repeat(900))).collect();
    let transcript = Transcript { summary: None, turns };
    let replayed = |transcript: &Transcript, limit| {
        let delivery = Delivery::BootstrapWithReplay { transcript, limit };
        let text = render(Profile::SessionTurn, Place::InPrompt, delivery, &[], "task");
        text[preamble(Profile::SessionTurn).len()..].to_owned()
    };
    let text = replayed(&transcript, 3000);
    assert!(text.contains("Turns 1 to 47 are left out for length.\n\nTurn 48, the person:\n> p"), "{text}");
    assert!(text.len() < 3500);
    assert!(!replayed(&transcript, 100_000).contains("left out"));
    assert!(
        replayed(&Transcript { turns: transcript.turns[..2].to_vec(), summary: None }, 1000)
            .contains("Turn 1 is left out")
    );

    let huge = Transcript { summary: Some("ß".repeat(50_000)), turns: vec![turn(1, "p", &"ä".repeat(100_000))] };
    let text = replayed(&huge, 4000);
    assert!(text.contains("bytes left out]") && text.len() < 5000, "{}", text.len());
    assert_eq!(replayed(&Transcript::default(), 1000), "\n\n---\n\ntask");
}

#[test]
fn a_repair_names_the_refusal() {
    let text = repair(&parse("All done.").unwrap_err());
    assert!(
        text.starts_with("Your last message was refused: the message holds no JSON object (message of 9 bytes).\n")
    );
    assert!(text.contains("exactly one JSON object") && text.contains("no code fence"));
}

#[test]
fn answers_come_as_one_task() {
    let answer = |question: &str, text: &str| Answer { question: question.into(), text: text.into() };
    assert_eq!(
        prompt::answers(&[answer("Which port?", "80"), answer("Why?", " \n")]),
        "The answers to your questions:\n\n1. Which port?\n80\n\n2. Why?\nno answer\n\n\
         Go on with the work. `no answer` means: decide yourself, and say in `answer` what you chose."
    );
    assert!(
        prompt::answers(&[answer("Which port?", "80")])
            .starts_with("The answer to your question:\n\n1. Which port?\n80\n")
    );
}
