//! Names, decisions and prompts of plans.

use super::*;

fn plan(markdown: &str, request: &str) -> Plan {
    Plan::new("p1".into(), markdown, request, PlanSource::Turn(2))
}

#[test]
fn a_plan_is_named_after_its_heading() {
    for (markdown, request, expected) in [
        ("Intro\n\n## Add a login ##\n# Other", "do it", "Add a login"),
        ("```\n# no heading\n```\n# Yes", "do it", "Yes"),
        ("#no heading\n####### neither\n#\n", "\n  do it\nplease", "do it"),
        ("text", " ", "Plan"),
    ] {
        assert_eq!(plan(markdown, request).title, expected);
    }
    assert_eq!(
        plan("\n# A\ntext\n", "r"),
        Plan { id: "p1".into(), title: "A".into(), markdown: "# A\ntext".into(), source: PlanSource::Turn(2) }
    );
}

#[test]
fn the_file_is_named_after_the_session_the_task_or_the_plan() {
    let plan = plan("# The Plan", "");
    for (session, task, expected) in [
        ("Add: a Login!", "task", "add-a-login-plan.md"),
        ("", "Fix  it.", "fix-it-plan.md"),
        (" -- ", "", "the-plan.md"),
        ("../../etc/passwd", "", "etc-passwd-plan.md"),
    ] {
        assert_eq!(plan.file_name(session, task), expected);
    }
    assert_eq!(super::plans::plan("# 日本", "").file_name("", ""), "plan.md");
    assert_eq!(plan.file_name(&"x".repeat(300), ""), format!("{}-plan.md", "x".repeat(80)));
}

#[test]
fn a_plan_must_be_shown_before_it_is_asked_about() {
    let two = ["yes".to_owned(), "no".to_owned()];
    assert_eq!(check_save_plan(&two, "# Plan"), Ok(()));
    assert_eq!(
        check_save_plan(&two, " \n").unwrap_err(),
        "question failed: show the complete plan as text first, then ask again."
    );
    for options in [&two[..0], &two[..1], &[two.clone(), two.clone()].concat()] {
        assert_eq!(
            check_save_plan(options, "# Plan").unwrap_err(),
            "question failed: planner_save_plan requires exactly two options: one that accepts the plan and one \
             that revises it."
        );
    }
}

#[test]
fn a_person_has_four_options() {
    assert_eq!(DECISION_QUESTION, "What should happen with the completed plan?");
    assert_eq!(decision_options(Applying::Offered), ["Save plan", "Apply plan", "Revise plan", "Stop"]);
    assert_eq!(decision_options(Applying::Withheld), ["Save plan", "Revise plan", "Stop"]);
}

#[test]
fn an_answer_is_a_decision() {
    let revise = |wish: &str| PlanDecision::Revise(some(wish));
    for (answer, expected) in [
        ("Save plan", PlanDecision::Save),
        (" apply PLAN ", PlanDecision::Apply),
        ("Revise plan", revise("")),
        ("Stop", PlanDecision::Stop),
        ("1", PlanDecision::Save),
        ("2", PlanDecision::Apply),
        ("3", revise("")),
        ("4", PlanDecision::Stop),
        ("Revise plan: use SQL", revise("use SQL")),
        ("revise plan:", revise("")),
        ("Use SQL: it is there", revise("Use SQL: it is there")),
        ("stop using SQL", revise("stop using SQL")),
    ] {
        assert_eq!(read_decision(answer, Applying::Offered), Ok(expected), "{answer}");
    }
    assert_eq!(read_decision("2", Applying::Withheld), Ok(revise("")));
    for (answer, applying, expected) in [
        ("", Applying::Withheld, "a decision is needed: Save plan, Revise plan, Stop"),
        ("Apply plan", Applying::Withheld, "the plan cannot be applied: the session is read-only"),
        ("4", Applying::Withheld, "`4` is not one of the 3 options: Save plan, Revise plan, Stop"),
        ("0", Applying::Withheld, "`0` is not one of the 3 options: Save plan, Revise plan, Stop"),
    ] {
        assert_eq!(read_decision(answer, applying).unwrap_err(), expected);
    }
}

#[test]
fn the_next_turn_has_the_plan() {
    let plan = plan("# Add a login\n\n1. Do it.", "");
    assert!(plan.apply_prompt().ends_with("# Plan: Add a login\n\n# Add a login\n\n1. Do it."));
    assert!(plan.revise_prompt(Some("Use SQL.")).contains("revised:\n\nUse SQL.\n\n"));
    assert!(plan.revise_prompt(None).contains("weakest parts"));
    assert_eq!(saved_message(".coppice/plans/x-plan.md"), "Saved plan to `.coppice/plans/x-plan.md`.");
    assert_eq!(STOPPED, "Stopped. The plan was not saved or applied.");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let plan = plan(&text, &text);
        prop_assert!(!plan.file_name(&text, &text).contains(['/', '\\', '\0']));
        read_decision(&text, Applying::Offered).ok();
    }
}
