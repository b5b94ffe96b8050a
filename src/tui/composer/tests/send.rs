//! What is sent, what comes back, and what happens with the words of a command.

use super::*;
use crate::api::error::{Error, ErrorKind};
use crate::api::request::{CreateSession, MergeStyle, SendPrompt, When};
use crate::api::session::Status;
use crate::look::sample::session;
use crate::tui::world::Link;

fn create(ticket: Ticket, create: CreateSession) -> Request {
    Request::Create { ticket, create: Box::new(create) }
}

fn prompt(ticket: Ticket, prompt: SendPrompt) -> Request {
    Request::Prompt { ticket, session: "runaaaaa".into(), prompt: Box::new(prompt) }
}

fn refuse(model: &mut Model, ticket: Ticket) {
    let error = Error::new(ErrorKind::Invalid, "no");
    update(model, Msg::Reply(Reply::Refused { ticket, error }));
}

fn take(model: &mut Model, ticket: Ticket) {
    let session = Box::new(session(Status::Running));
    update(model, Msg::Reply(Reply::Taken { ticket, session }));
}

#[test]
fn a_task_is_sent_with_what_was_chosen_for_it() {
    let plain = CreateSession { prompt: "fix it".into(), ..CreateSession::default() };
    for (commands, expected) in [
        (&[][..], plain.clone()),
        (&["/model claude/opus"], CreateSession { model: Some("claude/opus".into()), ..plain.clone() }),
        (&["/model claude/unlisted"], CreateSession { model: Some("claude/unlisted".into()), ..plain.clone() }),
        (&["/reasoning low"], CreateSession { reasoning: Some("low".into()), ..plain.clone() }),
        (&["/agent reviewer"], CreateSession { agent: Some("reviewer".into()), ..plain.clone() }),
        (&["/posture edits"], CreateSession { posture: Some("edits".into()), ..plain.clone() }),
        (&["/plan"], CreateSession { posture: Some("plan".into()), ..plain.clone() }),
        (&["/plan", "/auto"], CreateSession { posture: Some("unattended".into()), ..plain }),
    ] {
        let mut model = equipped(WIDE);
        press(&mut model, &["n"]);
        for command in commands {
            write(&mut model, command);
            assert_eq!(beyond_saving(press(&mut model, &["enter"])), [], "{command}");
            assert_eq!((text(&mut model).as_str(), model.focus), ("", Focus::Composer), "{command}");
        }
        write(&mut model, "fix it");
        assert_eq!(beyond_saving(press(&mut model, &["enter"])), [create(1, expected)], "{commands:?}");
        assert_eq!(model.focus, Focus::Main);
        take(&mut model, 1);
        assert_eq!(super::super::saved(&model).task, Content::default());
    }
}

#[test]
fn several_models_get_a_session_each_and_a_refusal_concerns_only_its_own() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    choose_models(&mut model, vec!["claude/opus".into(), "codex".into(), "claude/sonnet".into()]);
    write(&mut model, "fix it");
    let on =
        |model: &str| CreateSession { prompt: "fix it".into(), model: Some(model.into()), ..CreateSession::default() };
    let sent = beyond_saving(press(&mut model, &["enter"]));
    assert_eq!(sent, [create(1, on("claude/opus")), create(2, on("codex")), create(3, on("claude/sonnet"))]);
    take(&mut model, 1);
    refuse(&mut model, 2);
    refuse(&mut model, 3);
    assert_eq!(text(&mut model), "fix it");
    assert_eq!(draft(&mut model).choices.models, ["codex", "claude/sonnet"]);
}

#[test]
fn a_prompt_waits_for_its_turn_or_interrupts() {
    for (key, when) in [("enter", When::InOrder), ("alt+enter", When::Now)] {
        let mut model = writing_to("runaaaaa");
        with_handoff(&mut model, "h_1".into());
        choose_models(&mut model, vec!["codex".into()]);
        write(&mut model, "and test it");
        let expected = SendPrompt {
            text: "and test it".into(),
            model: Some("codex".into()),
            with: vec!["h_1".into()],
            when,
            ..SendPrompt::default()
        };
        assert_eq!(beyond_saving(press(&mut model, &[key])), [prompt(1, expected)]);
        // Letters are shortcuts again, as after every prompt.
        assert_eq!((text(&mut model).as_str(), model.focus), ("", Focus::Main));
    }
}

#[test]
fn after_a_prompt_letters_are_shortcuts_and_the_screen_shows_it() {
    let mut model = writing_to("reaaaaaa");
    write(&mut model, "and test it");
    let writing = sample::screen(&mut model);
    assert!(writing.contains("── to Upgrade axum ──") && writing.contains(" › and test it"), "{writing}");
    press(&mut model, &["enter"]);
    let sent = sample::screen(&mut model);
    assert!(sent.contains("\n i  write to this session\n") && !sent.contains(" › "), "{sent}");
    assert!(!sent.contains("── to "), "{sent}");
    // Nothing of it becomes a prompt.
    let requests = press(&mut model, &["u", "x", "enter"]);
    assert!(!requests.iter().any(|request| matches!(request, Request::Prompt { .. })), "{requests:?}");
    // What is begun and left is seen, and is no text field either.
    press(&mut model, &["i"]);
    write(&mut model, "half a thought");
    press(&mut model, &["esc"]);
    assert!(sample::screen(&mut model).contains("\n i  write to this session · draft: half a thought\n"));
}

#[test]
fn a_chip_is_taken_out_at_the_start_of_the_text() {
    let mut model = writing_to("runaaaaa");
    with_handoff(&mut model, "h_1".into());
    with_handoff(&mut model, "h_1".into());
    write(&mut model, "x");
    press(&mut model, &["backspace"]);
    assert_eq!(draft(&mut model).with, ["h_1"]);
    press(&mut model, &["backspace"]);
    assert_eq!(draft(&mut model).with, Vec::<String>::new());
}

#[test]
fn what_is_pasted_is_sent_in_full() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "log: ");
    update(&mut model, Msg::Paste("line\n".repeat(30)));
    let image = Image { name: Some("a.gif".into()), data: "R0lGODlhAQABAAAA".into() };
    attach(&mut model, None, image.clone());
    let text = format!("log: {}[Image #1]", "line\n".repeat(30));
    let expected = SendPrompt { text, images: vec![image], ..SendPrompt::default() };
    assert_eq!(beyond_saving(press(&mut model, &["enter"])), [prompt(1, expected)]);
}

#[test]
fn a_refused_text_comes_back_in_front_of_what_was_written_since() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "first");
    press(&mut model, &["enter", "i"]);
    write(&mut model, "second");
    refuse(&mut model, 1);
    assert_eq!(text(&mut model), "first\nsecond");
    refuse(&mut model, 1);
    take(&mut model, 7);
    assert_eq!(text(&mut model), "first\nsecond");
}

#[test]
fn nothing_is_sent_that_says_nothing_or_that_nobody_would_get() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "  ");
    press(&mut model, &["ctrl+j"]);
    assert_eq!(press(&mut model, &["enter"]), []);
    write(&mut model, "words");
    update(&mut model, Msg::Lost("gone".into()));
    assert_eq!(beyond_saving(press(&mut model, &["enter"])), []);
    assert_eq!(text(&mut model), "  \nwords");
    update(&mut model, Msg::Connected);
    let expected = SendPrompt { text: "words".into(), ..SendPrompt::default() };
    assert_eq!(beyond_saving(press(&mut model, &["enter"])), [prompt(1, expected)]);
}

#[test]
fn a_task_that_is_refused_is_written_on_where_the_person_still_is() {
    for (meanwhile, expected) in
        [(&[][..], Focus::Composer), (&["j"], Focus::Composer), (&["?"], Focus::Main), (&[","], Focus::Main)]
    {
        let mut model = equipped(WIDE);
        press(&mut model, &["n"]);
        write(&mut model, "words");
        press(&mut model, &["enter"]);
        assert_eq!(model.focus, Focus::Main);
        press(&mut model, meanwhile);
        refuse(&mut model, 1);
        assert_eq!(model.focus, expected, "{meanwhile:?}");
    }
}

#[test]
fn what_is_not_sent_is_said_why() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "/modle");
    press(&mut model, &["enter"]);
    assert!(sample::screen(&mut model).contains("no command is called `/modle`"));
    press(&mut model, &["ctrl+u"]);
    write(&mut model, "words");
    press(&mut model, &["enter"]);
    refuse(&mut model, 1);
    assert!(sample::screen(&mut model).contains("send the prompt: no"));
    update(&mut model, Msg::Lost("gone".into()));
    press(&mut model, &["enter"]);
    assert!(sample::screen(&mut model).contains("the draft is kept"));
}

#[test]
fn commands_to_a_session_act_on_it() {
    let session = || "runaaaaa".to_owned();
    let posture = |word: &str| Request::SetPosture {
        session: session(),
        posture: SetPosture { posture: Some(word.into()), yolo: None },
    };
    for (command, expected, focus) in [
        (
            "/merge squash",
            Request::Merge {
                session: session(),
                style: Some(MergeStyle::Squash),
                hooks: Default::default(),
                unseen: Default::default(),
            },
            Focus::Main,
        ),
        ("/undo 0", Request::Undo { session: session(), to: Some(0), merge: None }, Focus::Main),
        ("/undo redo", Request::Redo(session()), Focus::Main),
        ("/posture attended", posture("attended"), Focus::Composer),
        ("/plan", posture("plan"), Focus::Composer),
        ("/auto", posture("unattended"), Focus::Composer),
        ("/stop", Request::Stop(session()), Focus::Main),
        ("/restore", Request::ListRemoved, Focus::Main),
        ("/editor", Request::EditText { text: String::new() }, Focus::Composer),
    ] {
        let mut model = writing_to("runaaaaa");
        write(&mut model, command);
        assert_eq!(beyond_saving(press(&mut model, &["enter"])), [expected], "{command}");
        assert_eq!((text(&mut model).as_str(), model.focus), ("", focus), "{command}");
    }
}

#[test]
fn a_text_that_begins_with_a_slash_is_a_prompt_behind_a_space() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "/usr/bin is full");
    assert_eq!(beyond_saving(press(&mut model, &["enter"])), []);
    assert_eq!(text(&mut model), "/usr/bin is full");
    press(&mut model, &["home"]);
    write(&mut model, " ");
    let expected = SendPrompt { text: "/usr/bin is full".into(), ..SendPrompt::default() };
    assert_eq!(beyond_saving(press(&mut model, &["enter"])), [prompt(1, expected)]);
}

#[test]
fn a_plan_takes_the_words_behind_it_as_the_draft() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    write(&mut model, "/plan split the config room");
    press(&mut model, &["enter"]);
    assert_eq!(text(&mut model), "split the config room");
    assert_eq!(in_force(&model, &Target::Task).posture.as_deref(), Some("plan"));
}

#[test]
fn one_choice_holds_for_the_tasks_after_it_and_several_hold_once() {
    let on = |model: &mut Model| {
        press(model, &["n"]);
        write(model, "go");
        let requests = press(model, &["enter"]);
        let models = requests.into_iter().filter_map(|request| match request {
            Request::Create { create, .. } => Some(create.model.unwrap_or_default()),
            _ => None,
        });
        models.collect::<Vec<_>>().join(" ")
    };
    let mut model = equipped(WIDE);
    model.world.link = Link::Connected;
    assert_eq!(on(&mut model), "");
    choose_models(&mut model, vec!["codex".into()]);
    assert_eq!(on(&mut model), "codex");
    assert_eq!(in_force(&model, &Target::Task).engines, ["codex"]);
    assert_eq!(on(&mut model), "codex");
    choose_models(&mut model, vec!["claude/opus".into(), "codex".into()]);
    assert_eq!(on(&mut model), "claude/opus codex");
    assert_eq!(on(&mut model), "codex");
}

#[test]
fn what_changes_elsewhere_is_read_before_a_task_is_written() {
    let again = [Request::Repository, Request::Config, Request::Backends, Request::Agents];
    let mut model = equipped(WIDE);
    model.world.link = Link::Connected;
    for requests in [update(&mut model, Msg::Focused), press(&mut model, &["n"])] {
        assert!(again.iter().all(|request| requests.contains(request)), "{requests:?}");
    }
    // Looking alone starts no daemon.
    update(&mut model, Msg::Lost("gone".into()));
    press(&mut model, &["esc"]);
    for requests in [update(&mut model, Msg::Focused), press(&mut model, &["n"])] {
        assert!(!again.iter().any(|request| requests.contains(request)), "{requests:?}");
    }
}
