//! Plan mode: which words mean what, and what follows from them.

use super::super::PlanAction as Action;
use super::*;

#[test]
fn every_action_has_a_key_a_number_and_words() {
    let keep = |wish: &str| Action::KeepPlanning(some(wish));
    for (answers, expected) in [
        (["A", "a", "1", "Accept edits", "[A] Approve and accept edits"], Action::AcceptEdits),
        (["M", "m ", "2", "approve", "[M] Approve and keep asking"], Action::KeepAsking),
        (["L", "l", "3", "LATER", "[L] Later: keep the plan and end the turn"], Action::Later),
        (["K", "k", "4", "keep planning", "K:"], keep("")),
        (["X", "x", "5", "Stop", "[X] Stop: do not keep the plan"], Action::Stop),
        (
            [
                "smaller steps",
                "K: smaller steps",
                "keep planning:smaller steps",
                "[K] Keep planning: smaller steps",
                " k : smaller steps ",
            ],
            keep("smaller steps"),
        ),
    ] {
        for answer in answers {
            assert_eq!(read_action(answer), Ok(expected.clone()), "{answer}");
        }
    }
    // A sentence that begins like a key is a wish.
    assert_eq!(read_action("A test: first"), Ok(keep("A test: first")));
}

#[test]
fn the_keys_mean_the_same_on_the_planners_card() {
    for (answer, expected) in [
        ("A", Ok(PlanDecision::Apply)),
        (" m", Ok(PlanDecision::Apply)),
        ("L", Ok(PlanDecision::Save)),
        ("k", Ok(PlanDecision::Revise(None))),
        ("X", Ok(PlanDecision::Stop)),
        ("edits", Ok(PlanDecision::Revise(some("edits")))),
    ] {
        assert_eq!(read_decision(answer, Applying::Offered), expected, "{answer}");
    }
    let refused = read_decision("a", Applying::Withheld).unwrap_err();
    assert_eq!(refused, "the plan cannot be applied: the session is read-only");
    assert_eq!((key("A").unwrap().posture(), key("M").unwrap().posture()), (NextPosture::Edits, NextPosture::Attended));
    assert_eq!((key("edits"), key("z")), (None, None));
}

#[test]
fn a_wrong_key_is_the_persons_to_mend() {
    let all = plan_actions().join(", ");
    for wrong in ["y", "7", "0", "?", "é"] {
        assert_eq!(read_action(wrong), Err(format!("`{wrong}` is none of {all}")));
    }
    assert_eq!(read_action(" "), Err(format!("a decision is needed: {all}")));
}

#[test]
fn each_action_has_its_effects() {
    for (action, word, posture, course) in [
        (Action::AcceptEdits, "apply", NextPosture::Edits, Course::HandsOver),
        (Action::KeepAsking, "apply", NextPosture::Attended, Course::HandsOver),
        (Action::Later, "save", NextPosture::Former, Course::Ends),
        (Action::KeepPlanning(None), "revise", NextPosture::Plan, Course::GoesOn),
        (Action::Stop, "stop", NextPosture::Plan, Course::Ends),
    ] {
        assert_eq!((action.word(), action.posture(), action.course()), (word, posture, course));
    }
}

#[test]
fn the_plan_goes_where_the_decision_says() {
    let plan = Plan::new("p_1".into(), "# Parse\n\n1. Read.\n", "", PlanSource::Turn(1));
    assert_eq!(card(&plan), "# Parse\n\n1. Read.\n\nWhat should happen with the completed plan?");
    assert_eq!(Action::AcceptEdits.answer(&plan), "# Parse\n\n1. Read.");
    assert_eq!(Action::Later.answer(&plan), "# Parse\n\n1. Read.\n\nThe plan is kept for later.");
    assert_eq!(Action::Stop.answer(&plan), STOPPED);
    assert!(Action::KeepPlanning(some("smaller")).told().contains("\n\nsmaller\n\nStay in plan mode"));
    let refined = refine_prompt(&plan, None);
    assert!(
        refined.contains("weakest parts") && refined.ends_with("# Plan: Parse\n\n# Parse\n\n1. Read."),
        "{refined}"
    );
    assert_eq!(resume_prompt(&plan, " \n"), plan.apply_prompt());
    assert!(resume_prompt(&plan, "In Rust.\n").ends_with("1. Read.\n\n# What the person adds\n\nIn Rust."));
}

#[test]
fn a_missing_plan_says_what_to_do() {
    assert!(no_plan("/p/x.md").contains("`/p/x.md` is missing or empty. Write the whole plan into it"));
    assert!(no_plan_notice("/p/x.md").ends_with("`/p/x.md` is missing or empty"));
}

proptest! {
    #[test]
    fn no_answer_breaks_the_card(answer in "\\PC{0,12}") {
        if let Ok(Action::KeepPlanning(Some(wish))) = read_action(&answer) {
            prop_assert!(answer.contains(&wish) && !wish.trim().is_empty());
        }
    }
}
