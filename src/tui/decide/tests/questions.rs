//! Questions: sequential, with saved progress, and all answers sent together.

use std::sync::Arc;

use super::*;
use crate::api::session::{Question, Status, WaitingFor};
use crate::api::workflow::{Plan, Workflow};
use crate::tui::composer;
use crate::tui::decide::body::{self, Body};
use crate::tui::model::Overlay;
use crate::tui::sample::{NARROW, WIDE, model, screen, write};
use crate::tui::state::Saved;
use ratatui::layout::Size;

fn question(text: &str, options: &[&str]) -> Question {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Question { text: text.into(), options, ..Question::default() }
}

fn asking(questions: Vec<Question>) -> Session {
    Session { questions, ..sample::asking() }
}

fn library() -> Question {
    question("I compared all three.\nWhich one should I use?", &["jiff", "chrono", "time"])
}

fn answered(answers: &[&str]) -> Vec<Request> {
    let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
    vec![Request::Answer { session: "abcd2345".into(), answers }]
}

/// Opens the questions, presses keys (a word in quotes is typed), and gives back what was asked for.
#[track_caller]
fn check(questions: Vec<Question>, keys: &[&str], expected: &[Request]) {
    let (mut model, _) = opened(model(WIDE, vec![asking(questions)]), "abcd2345", &["a"]);
    assert!(is_open(&model));
    let mut requests = Vec::new();
    for key in keys {
        requests.extend(match key.strip_prefix('"') {
            Some(text) => write(&mut model, text),
            None => press(&mut model, &[key]),
        });
    }
    requests.retain(|request| *request != Request::Save);
    assert_eq!(requests, expected, "{keys:?}");
}

/// What a face keeps, as it comes back from the disk.
fn kept(model: &Model) -> Saved {
    Saved::parse(&serde_json::to_string(&composer::saved(model)).unwrap())
}

#[test]
fn answers_so_far_are_there_after_a_restart() {
    let two = || vec![library(), question("Which port?", &[])];
    let several = Question { multiple: true, ..question("Which ones?", &["a", "b", "c"]) };
    let later = |questions| Session { turns: 2, ..asking(questions) };
    for (questions, keys, then, expected) in [
        (two(), &["2", "enter"][..], &["\"80", "enter"][..], &["chrono", "80"][..]),
        (two(), &["2", "enter", "\"80"], &["enter"], &["chrono", "80"]),
        (two(), &["tab", "\"std", "tab", "?"], &["tab", "enter", "enter"], &["std", "no answer"]),
        (two(), &["2", "enter", "\"80", "ctrl+c"], &["enter"], &["chrono", "80"]),
        (two(), &["tab", "\"std"], &["enter", "enter"], &["std", "no answer"]),
        (vec![several], &["2", "3"], &["enter"], &["b, c"]),
    ] {
        let typed = |model: &mut Model, keys: &[&str]| -> Vec<Request> {
            let one = |key: &&str| match key.strip_prefix('"') {
                Some(text) => write(model, text),
                None => press(model, &[key]),
            };
            keys.iter().flat_map(one).filter(|request| *request != Request::Save).collect()
        };
        let (mut before, _) = opened(model(WIDE, vec![asking(questions.clone())]), "abcd2345", &["a"]);
        typed(&mut before, keys);
        let mut after = model(WIDE, vec![asking(questions.clone())]);
        composer::restore(&mut after, kept(&before));
        assert_eq!(kept(&after).answers, kept(&before).answers, "{keys:?}");
        let (mut after, _) = opened(after, "abcd2345", &["a"]);
        assert_eq!(typed(&mut after, then), answered(expected), "{keys:?}");
        // Asked again in another turn, the question is another one.
        let mut other = model(WIDE, vec![later(questions.clone())]);
        composer::restore(&mut other, kept(&before));
        came(&mut other, later(questions));
        assert!(kept(&other).answers.is_empty(), "{keys:?}");
    }
    let (untouched, _) = opened(model(WIDE, vec![asking(two())]), "abcd2345", &["a", "j"]);
    assert!(kept(&untouched).answers.is_empty(), "nothing is answered");
}

#[test]
fn an_option_is_chosen_with_the_cursor_or_its_number_and_enter_sends_it() {
    check(vec![library()], &["enter"], &answered(&["jiff"]));
    check(vec![library()], &["j", "enter"], &answered(&["chrono"]));
    check(vec![library()], &["down", "down", "up", "enter"], &answered(&["chrono"]));
    check(vec![library()], &["3", "enter"], &answered(&["time"]));
    check(vec![library()], &["3"], &[]);
    check(vec![library()], &["9", "0", "enter"], &answered(&["jiff"]));
}

#[test]
fn a_number_without_an_option_is_said_to_be_none() {
    for (key, is_said) in [("3", false), ("4", false), ("7", true), ("0", true)] {
        let (mut model, _) = opened(model(WIDE, vec![asking(vec![library()])]), "abcd2345", &["a", key]);
        assert_eq!(screen(&mut model).contains(&format!("there is no option {key}")), is_said, "{key}");
    }
}

#[test]
fn past_the_edge_of_the_list_is_the_free_answer() {
    check(vec![library()], &["j", "j", "j", "\"std", "enter"], &answered(&["std"]));
    check(vec![library()], &["k", "\"jk1 q", "enter"], &answered(&["jk1 q"]));
    check(vec![library()], &["4", "\"std", "enter"], &answered(&["std"]));
    check(vec![library()], &["tab", "\"std", "tab", "enter"], &answered(&["jiff"]));
    check(vec![library()], &["tab", "\"std", "tab", "tab", "enter"], &answered(&["std"]));
    check(vec![library()], &["k", "up", "enter"], &answered(&["time"]));
    check(vec![library()], &["k", "down", "enter"], &answered(&["jiff"]));
    check(vec![question("Port?", &[])], &["\"80", "shift+enter", "\"or 81", "enter"], &answered(&["80\nor 81"]));
}

#[test]
fn a_blank_answer_is_stored_as_no_answer() {
    check(vec![library()], &["tab", "enter"], &answered(&["no answer"]));
    check(vec![question("Port?", &[])], &["\"  ", "enter"], &answered(&["no answer"]));
}

#[test]
fn questions_come_one_after_the_other_and_one_message_answers_all() {
    let three = || vec![library(), question("Port?", &[]), question("Sure?", &["yes", "no"])];
    check(three(), &["2", "enter", "\"8080", "enter", "j", "enter"], &answered(&["chrono", "8080", "no"]));
    check(three(), &["2", "enter", "\"8080", "enter"], &[]);
    // Back to the one before, and another answer.
    check(
        three(),
        &["2", "enter", "\"80", "enter", "h", "\"81", "enter", "enter"],
        &answered(&["chrono", "8081", "yes"]),
    );
}

#[test]
fn where_several_may_be_chosen_keys_mark_and_enter_confirms() {
    let several = || vec![Question { multiple: true, ..library() }];
    check(several(), &["space", "j", "j", "space", "enter"], &answered(&["jiff, time"]));
    check(several(), &["3", "1", "3", "enter"], &answered(&["jiff"]));
    check(several(), &["2", "tab", "\"std too", "enter"], &answered(&["chrono, std too"]));
    check(several(), &["j", "enter"], &answered(&["chrono"]));
}

#[test]
fn ctrl_c_ends_the_turn_that_waits_without_a_reply() {
    let call = Question { call: Some("c1".into()), ..library() };
    let expired = Question { expired: true, ..call.clone() };
    let stop = vec![Request::Stop("abcd2345".into())];
    for (asked, expected) in [(call, stop), (expired, vec![]), (library(), vec![])] {
        for keys in [&["a", "tab", "ctrl+c"][..], &["a", "ctrl+c"]] {
            let session = asking(vec![asked.clone()]);
            let (model, requests) = opened(model(WIDE, vec![session]), "abcd2345", keys);
            assert_eq!(requests, expected, "{asked:?} {keys:?}");
            assert!(!is_open(&model));
            assert_eq!(model.view, View::Session("abcd2345".into()));
        }
    }
}

#[test]
fn ctrl_c_on_questions_that_ended_the_turn_keeps_the_answers() {
    let session = asking(vec![library(), question("Port?", &["80"])]);
    let (mut model, requests) = opened(model(WIDE, vec![session]), "abcd2345", &["a", "2", "enter", "ctrl+c"]);
    assert_eq!((requests, is_open(&model)), (vec![Request::Save], false));
    assert_eq!(press(&mut model, &["a", "enter"]), answered(&["chrono", "80"]));
}

#[test]
fn q_goes_to_the_list_and_the_answers_so_far_survive() {
    let session = asking(vec![library(), question("Port?", &["80"])]);
    let (mut model, _) = opened(model(WIDE, vec![session.clone()]), "abcd2345", &["a", "2", "enter", "tab"]);
    write(&mut model, "q is a letter here");
    press(&mut model, &["esc"]);
    assert!(is_open(&model));
    press(&mut model, &["esc"]);
    assert!(!is_open(&model));
    // Another word of the daemon about the session changes nothing.
    came(&mut model, Session { updated_at: session.updated_at + 1, ..session });
    press(&mut model, &["a", "h"]);
    assert!(card(&mut model).contains("Question 1 of 2"));
    press(&mut model, &["q"]);
    assert_eq!((is_open(&model), &model.view), (false, &View::Sessions));

    let (mut model, requests) = opened(model, "abcd2345", &["a", "l", "tab", "enter"]);
    assert_eq!(requests, answered(&["chrono", "no answer"]));
    // Whoever asks for something else is asked from the beginning.
    let later = model.world.sessions["abcd2345"].updated_at + 1;
    came(&mut model, Session { updated_at: later, ..asking(vec![question("Sure?", &["yes", "no"])]) });
    assert_eq!(press(&mut model, &["a", "enter"]), answered(&["yes"]));
}

#[test]
fn help_lies_over_a_question_and_gives_it_back() {
    let session = asking(vec![library(), question("Sure?", &["yes", "no"])]);
    let face = || model(WIDE, vec![session.clone()]);
    let (mut model, _) = opened(face(), "abcd2345", &["a", "2", "enter", "?", "esc"]);
    assert_eq!(press(&mut model, &["enter"]), answered(&["chrono", "yes"]));
    let (mut model, _) = opened(face(), "abcd2345", &["a", "?"]);
    came(&mut model, Session { questions: vec![], ..session.clone() });
    press(&mut model, &["esc"]);
    assert!(!is_open(&model));
}

#[test]
fn what_was_sent_is_not_asked_again_unless_it_was_refused() {
    use crate::api::error::{Error, ErrorKind};
    let (mut model, requests) = opened(model(WIDE, vec![asking(vec![library()])]), "abcd2345", &["a", "3", "enter"]);
    assert_eq!(requests, answered(&["time"]));
    press(&mut model, &["a"]);
    assert!(!is_open(&model));
    let error = Error::new(ErrorKind::Unavailable, "the daemon drains");
    update(&mut model, Msg::Reply(Reply::Failed { doing: "answer".into(), error }));
    assert_eq!(press(&mut model, &["a", "enter"]), answered(&["time"]));
}

#[test]
fn the_same_words_of_another_turn_or_call_are_asked_anew() {
    let call = |name: &str| Question { call: Some(name.into()), ..library() };
    let turns = |turns, questions| Session { turns, ..asking(questions) };
    for (first, again, is_asked) in [
        (turns(1, vec![library()]), turns(1, vec![library()]), false),
        (turns(1, vec![library()]), turns(2, vec![library()]), true),
        (turns(1, vec![call("1")]), turns(1, vec![call("1")]), false),
        (turns(1, vec![call("1")]), turns(1, vec![call("2")]), true),
    ] {
        let (mut model, sent) = opened(model(WIDE, vec![first]), "abcd2345", &["a", "3", "enter"]);
        assert_eq!(sent, answered(&["time"]));
        let later = again.updated_at + 1;
        came(&mut model, Session { updated_at: later, ..again });
        press(&mut model, &["a"]);
        assert_eq!(is_open(&model), is_asked);
        if is_asked {
            assert_eq!(press(&mut model, &["enter"]), answered(&["jiff"]), "from the beginning");
        }
    }
}

#[test]
fn a_question_of_a_turn_in_progress_is_answered_before_those_that_ended_one() {
    let call = Question { call: Some("c1".into()), ..question("Overwrite?", &["yes", "no"]) };
    check(vec![call, library()], &["2", "enter"], &answered(&["no"]));
    let done = Question { answer: Some("jiff".into()), ..library() };
    check(vec![done, question("Port?", &[])], &["\"80", "enter"], &answered(&["80"]));
}

#[test]
fn a_childs_question_is_answered_at_the_child() {
    let asked = Question { session: Some("efgh3456".into()), ..library() };
    let parent =
        Session { questions: vec![asked], waiting_for: Some(WaitingFor::Children), ..sample::session(Status::Running) };
    let (_, requests) = opened(model(WIDE, vec![parent]), "abcd2345", &["a", "enter"]);
    assert_eq!(requests, [Request::Answer { session: "efgh3456".into(), answers: vec!["jiff".into()] }]);
}

#[test]
fn what_a_running_session_asked_long_ago_does_not_wait() {
    let running = Session { questions: vec![library()], ..sample::session(Status::Running) };
    let (model, _) = opened(model(WIDE, vec![running]), "abcd2345", &["a"]);
    assert!(!is_open(&model));
}

#[test]
fn a_question_shows_its_options_and_a_row_for_words() {
    let session = asking(vec![Question { expired: true, ..library() }, question("Port?", &[])]);
    let (mut model, _) = opened(model(WIDE, vec![session]), "abcd2345", &["a", "j"]);
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Question 1 of 2                                                                           demo · Fix the parser · 5s
    │  asked before the daemon restarted: your answer resumes the session
    │  I compared all three. Which one should I use?
    │
    │    1  jiff
    │  › 2  chrono
    │    3  time
    │    4  write an answer…
    ╰ enter next · tab writes an answer · q to the list, answers are kept
    ");
    model.size = NARROW;
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Question 1 of 2                                   demo · Fix the parser · 5s
    │  asked before the daemon restarted: your answer resumes the session
    │  I compared all three. Which one should I use?
    │
    │    1  jiff
    │  › 2  chrono
    │    3  time
    │    4  write an answer…
    ╰ enter next · tab writes an answer · q to the list, answers are kept
    ");
    press(&mut model, &["tab"]);
    write(&mut model, "the one of the standard library, because it is there already and the others are not");
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Question 1 of 2                                   demo · Fix the parser · 5s
    │  asked before the daemon restarted: your answer resumes the session
    │  I compared all three. Which one should I use?
    │
    │    1  jiff
    │    2  chrono
    │    3  time
    │  › 4  the one of the standard library, because it is there already and the
    │       others are not
    ╰ enter next · empty means `no answer` · ctrl+c later, answers are kept
    ");
    press(&mut model, &["tab"]);
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Question 1 of 2                                   demo · Fix the parser · 5s
    │  asked before the daemon restarted: your answer resumes the session
    │  I compared all three. Which one should I use?
    │
    │    1  jiff
    │  › 2  chrono
    │    3  time
    │    4  the one of the standard library, because it is there already and the
    │  others are not
    ╰ enter next · tab writes an answer · q to the list, answers are kept
    ");
}

#[test]
fn several_answers_have_marks() {
    let session = asking(vec![Question { multiple: true, ..library() }]);
    let (mut model, _) = opened(model(NARROW, vec![session]), "abcd2345", &["a", "2"]);
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Question                                          demo · Fix the parser · 5s
    │  I compared all three. Which one should I use?
    │
    │    1  [ ] jiff
    │  › 2  [x] chrono
    │    3  [ ] time
    │    4  write an answer…
    ╰ enter sends · space marks · tab writes an answer · q to the list, answers ar…
    ");
}

fn plan_mode() -> Session {
    let text =
        "# Add a limiter\n\n1. read the gateway\n2. write the bucket\n\nWhat should happen with the completed plan?";
    let options = ["[A] Approve and accept edits", "[L] Later: keep the plan and end the turn", "[K] Keep planning"];
    let plan =
        Question { call: Some("c1".into()), purpose: Some("planner_plan_decision".into()), ..question(text, &options) };
    asking(vec![plan])
}

#[test]
fn the_decision_about_a_plan_shows_the_plan_and_its_title() {
    let (mut model, requests) = opened(model(NARROW, vec![plan_mode()]), "abcd2345", &["a"]);
    assert_eq!(requests, [Request::Workflow("abcd2345".into())]);
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Plan: Add a limiter                               demo · Fix the parser · 5s
    │  Add a limiter
    │
    │  1. read the gateway
    │  2. write the bucket
    │
    │  What should happen with the completed plan?
    │
    │  › 1  [A] Approve and accept edits
    │    2  [L] Later: keep the plan and end the turn
    │    3  [K] Keep planning
    │    4  write an answer…
    ╰ A, L, K decide, enter does not · tab writes an answer · q to the list
    ");
    // Enter is pressed without reading, and an option may widen what the session may do.
    assert_eq!(press(&mut model, &["enter", "2", "enter"]), []);
    assert!(screen(&mut model).contains("only a letter decides about a plan: A, L, K"));
    assert!(!screen(&mut model).contains("⏎ answer"));
    assert_eq!(press(&mut model, &["K"]), answered(&["[K] Keep planning"]));
}

#[test]
fn the_letters_of_a_plan_decide_it_and_no_earlier_than_they_are_seen() {
    let options = [
        "[A] Approve and accept edits",
        "[M] Approve and keep asking",
        "[L] Later: keep the plan and end the turn",
        "[K] Keep planning",
        "[X] Stop: do not keep the plan",
    ];
    let plan = || Question { purpose: Some("planner_plan_decision".into()), ..question("What now?", &options) };
    for (key, expected) in [
        ("A", Some(0)),
        ("a", Some(0)),
        ("m", Some(1)),
        ("L", Some(2)),
        ("K", Some(3)),
        ("x", Some(4)),
        // They move.
        ("k", None),
        ("l", None),
        ("z", None),
    ] {
        let expected = expected.map(|option: usize| answered(&[options[option]])).unwrap_or_default();
        check(vec![plan()], &[key], &expected);
    }
    let (mut model, _) = opened(model(WIDE, vec![asking(vec![plan()])]), "abcd2345", &["a"]);
    assert!(
        card(&mut model).contains("╰ A, M, L, K, X decide, enter does not · tab writes an answer"),
        "{}",
        card(&mut model)
    );
    press(&mut model, &["esc"]);
    model.patience = 300;
    let requests = press(&mut model, &["a", "A", "enter"]);
    assert!(!requests.iter().any(|request| matches!(request, Request::Answer { .. })), "{requests:?}");
    assert!(card(&mut model).ends_with("╰ …"), "{}", card(&mut model));
    model.now += 300;
    assert_eq!(press(&mut model, &["A"]), answered(&[options[0]]));
    // Any other question only moves to the option.
    let lettered = question("Which one?", &["[A] one", "[B] two"]);
    check(vec![lettered], &["b"], &[]);
}

#[test]
fn ctrl_c_is_offered_where_it_ends_a_turn() {
    let held = Question { call: Some("c1".into()), ..library() };
    for (asked, is_offered, expected) in
        [(held, true, vec![Request::Stop("abcd2345".into())]), (library(), false, Vec::new())]
    {
        let (mut model, _) = opened(model(WIDE, vec![asking(vec![asked])]), "abcd2345", &["a"]);
        let shown = screen(&mut model);
        assert_eq!(shown.contains("⌃C end the turn"), is_offered, "{shown}");
        assert_eq!(press(&mut model, &["ctrl+c"]), expected);
    }
}

#[test]
fn a_planners_plan_comes_from_beside_the_question() {
    let decision = Question {
        purpose: Some("planner_plan_decision".into()),
        ..question("What should happen with the completed plan?", &["Save plan", "Apply plan", "Revise plan", "Stop"])
    };
    let (mut model, _) = opened(model(NARROW, vec![asking(vec![decision])]), "abcd2345", &["a"]);
    let plan = Plan {
        plan_id: "p_1".into(),
        title: "Add a limiter".into(),
        markdown: (1..=30).map(|step| format!("{step}. do it\n")).collect(),
        created_by: "abcd2345".into(),
        source: "1".into(),
        decision: None,
        saved_to: None,
    };
    let workflow = Box::new(Workflow { tasks: vec![], plan: Some(plan) });
    update(&mut model, Msg::Reply(Reply::Workflow { session: "abcd2345".into(), workflow }));
    press(&mut model, &["pagedown"]);
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Plan: Add a limiter                               demo · Fix the parser · 5s
    │  11. do it
    │  12. do it
    │  13. do it
    │  14. do it
    │  15. do it
    │  16. do it
    │  17. do it
    │  18. do it
    │  19. do it
    │  20. do it
    │  21. do it
    │  22. do it
    │  … 10 more lines, 10 above
    │  › 1  Save plan
    │    2  Apply plan
    │    3  Revise plan
    │    4  Stop
    │    5  write an answer…
    ╰ enter sends · tab writes an answer · q to the list
    ");
    check_plan_words(&mut model);
}

#[test]
fn a_card_is_laid_out_once_for_a_width() {
    let body = |model: &Model| match &model.overlay {
        Some(Overlay::Decide(state)) => body::of(model, state),
        other => panic!("{other:?}"),
    };
    let session = asking(vec![library(), question("Port?", &[])]);
    let (mut model, _) = opened(model(WIDE, vec![session]), "abcd2345", &["a"]);
    screen(&mut model);
    let first = body(&model);
    press(&mut model, &["j"]);
    screen(&mut model);
    assert!(Arc::ptr_eq(&first, &body(&model)));
    let other = |model: &mut Model, before: &Arc<Body>| {
        screen(model);
        let after = body(model);
        assert!(!Arc::ptr_eq(before, &after) && Arc::ptr_eq(&after, &body(model)));
        after
    };
    model.size = NARROW;
    let narrow = other(&mut model, &first);
    press(&mut model, &["enter"]);
    let second = other(&mut model, &narrow);
    let workflow = Box::new(Workflow { tasks: vec![], plan: None });
    update(&mut model, Msg::Reply(Reply::Workflow { session: "abcd2345".into(), workflow }));
    other(&mut model, &second);
}

/// Free words tell what to change.
fn check_plan_words(model: &mut Model) {
    press(model, &["tab"]);
    write(model, "less of it");
    assert_eq!(press(model, &["enter"]), answered(&["less of it"]));
}

#[test]
fn hostile_questions_do_not_leave_their_rows_and_no_size_is_too_small() {
    let hostile = "\u{1b}]0;x\u{7}\u{202e}\u{200b}wide 木\r\n\t".repeat(50);
    let options: Vec<&str> = vec![&hostile; 12];
    for purpose in [None, Some("planner_plan_decision".to_owned())] {
        let asked = Question { purpose, multiple: true, ..question(&hostile, &options) };
        let (mut model, _) = opened(model(WIDE, vec![asking(vec![asked])]), "abcd2345", &["a"]);
        let shown = screen(&mut model);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']), "{shown}");
        for (width, height) in [(20, 5), (1, 1), (0, 0), (30, 8), (200, 3), (5, 60)] {
            model.size = Size { width, height };
            screen(&mut model);
            press(&mut model, &["j", "pagedown", "tab"]);
            update(&mut model, Msg::Paste(hostile.clone()));
            screen(&mut model);
            press(&mut model, &["tab"]);
        }
    }
}

/// Letters that follow each other at once are a text on a card as everywhere: its first letter decides nothing.
#[test]
fn a_text_that_is_typed_on_a_card_is_its_words() {
    let plan = plan_mode;
    for (session, text) in [
        (waiting("abcd2345", sample::approval().approvals), "please use make clean"),
        (waiting("abcd2345", sample::approval().approvals), "stop it"),
        (waiting("abcd2345", sample::approval().approvals), "hold on"),
        (plan(), "make it better"),
        (plan(), "just approve later"),
        (asking(vec![library()]), "quite sure"),
        (asking(vec![library()]), "1 is wrong"),
    ] {
        let (mut model, _) = opened(model(WIDE, vec![session]), "abcd2345", &["a"]);
        screen(&mut model);
        model.moment = 200;
        let requests = write(&mut model, text);
        assert!(requests.iter().all(|request| *request == Request::Save), "{text}: {requests:?}");
        let shown = card(&mut model);
        assert!(is_open(&model) && shown.contains(text), "{text}: {shown}");
        let later = model.now + 1_000;
        assert_eq!(update(&mut model, Msg::Time(later)), [], "{text}");
    }
    // A letter that none follows is its key.
    let (mut model, _) = opened(model(WIDE, vec![plan()]), "abcd2345", &["a"]);
    screen(&mut model);
    model.moment = 200;
    assert_eq!(write(&mut model, "L"), []);
    let later = model.now + 200;
    let later_plan = "[L] Later: keep the plan and end the turn";
    assert_eq!(update(&mut model, Msg::Time(later)), answered(&[later_plan]));
}
