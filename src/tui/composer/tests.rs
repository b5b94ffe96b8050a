//! Keys in, requests and text out.

mod complete;
mod look;
mod send;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;

use super::*;
use crate::api::agent::{AgentFile, SkillFile};
use crate::api::error::{Error, ErrorKind};
use crate::api::project::{Backend, ConfigValue, Model as Listed};
use crate::api::request::SetPosture;
use crate::look::sample::backend;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{self, NARROW, WIDE, press, write};
use crate::tui::update::update;

/// A face with agents, backends, skills and settings to choose from.
pub(in crate::tui) fn equipped(size: ratatui::layout::Size) -> Model {
    let mut model = sample::model(size, sample::sessions());
    let agent = |id: &str, mode: &str, hidden| AgentFile {
        id: id.into(),
        description: format!("what {id} is for"),
        mode: Some(mode.into()),
        hidden,
        ..AgentFile::default()
    };
    model.world.agents = vec![
        agent("builder", "primary", false),
        agent("explore", "subagent", false),
        agent("ghost", "primary", true),
        agent("planner", "all", false),
        AgentFile { broken: true, ..agent("broken", "primary", false) },
        agent("reviewer", "primary", false),
    ];
    let skill =
        |name: &str, about: &str| SkillFile { name: name.into(), description: about.into(), path: String::new() };
    model.world.skills = vec![skill("release", "cut a release"), skill("review", "look twice")];
    let listed = |id: &str, default| Listed {
        id: id.into(),
        name: None,
        default,
        from_settings: false,
        reasoning: ["low", "high"].map(ToOwned::to_owned).to_vec(),
    };
    model.world.backends = Some(vec![
        Backend {
            default: true,
            version: Some("2.1.0".into()),
            models: vec![listed("opus", true), listed("sonnet", false)],
            ..backend("claude")
        },
        Backend { models: vec![], note: Some("codex is not logged in".into()), ..backend("codex") },
        Backend { problem: Some("`gemini` is not installed".into()), ..backend("gemini") },
    ]);
    let value = |key: &str, value: &str| ConfigValue {
        key: key.into(),
        value: value.into(),
        origin: "default".into(),
        about: String::new(),
        ignored: None,
    };
    model.world.config = vec![
        value("default.agent", "builder"),
        value("default.reasoning", "high"),
        value("default.posture", "unattended"),
        value("default.model", ""),
    ];
    model
}

/// The same with the keys in the composer, writing to this session.
pub(in crate::tui) fn writing_to(id: &str) -> Model {
    let mut model = equipped(WIDE);
    model.open_session(id);
    press(&mut model, &["i"]);
    model
}

fn past(text: &str) -> Content {
    Content { text: text.into(), ..Content::default() }
}

fn text(model: &mut Model) -> String {
    draft(model).text()
}

/// What is asked for besides keeping the draft, and looking what changed elsewhere.
fn beyond_saving(requests: Vec<Request>) -> Vec<Request> {
    let is_usual = |request: &Request| {
        matches!(
            request,
            Request::Save
                | Request::Recall
                | Request::Repository
                | Request::Config
                | Request::Backends
                | Request::Agents
        )
    };
    requests.into_iter().filter(|request| !is_usual(request)).collect()
}

fn read_image(target: Target, path: &str) -> Request {
    Request::ReadImage { target, path: path.into(), spelled: path.into() }
}

/// Brings an image for the draft in hand.
fn attach(model: &mut Model, spelled: Option<&str>, image: Image) {
    let (target, spelled) = (target(model), spelled.map(str::to_owned));
    update(model, Msg::Reply(Reply::Image { target, spelled, image }));
}

#[test]
fn tab_turns_through_the_agents_that_can_be_chosen() {
    for (keys, expected) in [
        (&["tab"][..], "planner"),
        (&["tab", "tab"], "reviewer"),
        (&["tab", "tab", "tab"], "builder"),
        (&["shift+tab"], "reviewer"),
        (&["shift+tab", "shift+tab"], "planner"),
        (&["shift+tab", "tab"], "builder"),
    ] {
        let mut model = equipped(WIDE);
        press(&mut model, &["n"]);
        press(&mut model, keys);
        assert_eq!(in_force(&model, &Target::Task).agent.as_deref(), Some(expected), "{keys:?}");
    }
}

#[test]
fn without_agents_tab_changes_nothing() {
    let mut model = sample::model(WIDE, vec![]);
    assert_eq!(beyond_saving(press(&mut model, &["n", "tab", "shift+tab"])), []);
    assert_eq!(draft(&mut model).choices, Choices::default());
}

#[test]
fn each_target_has_a_draft_of_its_own_that_leaving_keeps() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    write(&mut model, "a task");
    press(&mut model, &["esc"]);
    assert_eq!(model.focus, Focus::Main);
    model.open_session("runaaaaa");
    press(&mut model, &["i"]);
    write(&mut model, "to you");
    press(&mut model, &["ctrl+j"]);
    write(&mut model, "more");
    press(&mut model, &["esc", "ctrl+n"]);
    assert_eq!(text(&mut model), "a task");
    press(&mut model, &["esc", "i"]);
    assert_eq!(text(&mut model), "to you\nmore");
}

#[test]
fn what_is_kept_comes_back_after_a_restart() {
    let mut model = writing_to("runaaaaa");
    update(&mut model, Msg::Paste("line\n".repeat(30)));
    let image = Image { name: Some("a.gif".into()), data: "R0lGODlhAQABAAAA".into() };
    attach(&mut model, None, image);
    with_handoff(&mut model, "h_1".into());
    press(&mut model, &["tab", "esc", "ctrl+n"]);
    write(&mut model, "first");
    press(&mut model, &["enter", "ctrl+n"]);
    write(&mut model, "second");
    let saved = crate::tui::state::Saved::parse(&serde_json::to_string(&super::saved(&model)).unwrap());
    assert_eq!(saved, super::saved(&model));
    // The first task is on its way, and nobody said that it arrived.
    assert_eq!(saved.task.text, "first\nsecond");
    assert_eq!(saved.sessions["runaaaaa"].text, "[Pasted #1: 30 lines][Image #1]");
    let mut again = equipped(NARROW);
    restore(&mut again, saved.clone());
    assert_eq!(super::saved(&again), saved);
    again.open_session("runaaaaa");
    press(&mut again, &["i"]);
    assert_eq!(draft(&mut again).choices.agent.as_deref(), Some("builder"));
    assert_eq!(draft(&mut again).content(), saved.sessions["runaaaaa"]);
}

#[test]
fn up_and_down_move_first_and_then_go_through_earlier_prompts() {
    let mut model = equipped(WIDE);
    model.composer.history = ["one", "two\nlines"].map(past).to_vec();
    press(&mut model, &["n"]);
    for (key, expected) in [
        ("up", "two\nlines"),
        ("up", "two\nlines"),
        ("up", "one"),
        ("down", "two\nlines"),
        ("down", ""),
        ("ctrl+up", "two\nlines"),
        ("alt+up", "one"),
        ("ctrl+down", "two\nlines"),
        ("alt+down", ""),
    ] {
        press(&mut model, &[key]);
        assert_eq!(text(&mut model), expected, "{key}");
    }
    write(&mut model, "on");
    press(&mut model, &["up"]);
    assert_eq!(text(&mut model), "one");
    write(&mut model, "!");
    press(&mut model, &["down"]);
    assert_eq!(text(&mut model), "one!");
}

#[test]
fn the_editor_gets_the_text_and_gives_it_back() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    write(&mut model, "rough");
    assert_eq!(press(&mut model, &["ctrl+g"]), [Request::EditText { text: "rough".into() }]);
    update(&mut model, Msg::Reply(Reply::Edited("fine\nand long\n".into())));
    assert_eq!(text(&mut model), "fine\nand long");
}

#[test]
fn a_draft_that_is_put_aside_can_be_brought_back() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "never mind");
    press(&mut model, &["ctrl+c"]);
    assert_eq!(text(&mut model), "");
    press(&mut model, &["up"]);
    assert_eq!(text(&mut model), "never mind");
    press(&mut model, &["down"]);
    assert_eq!(press(&mut model, &["ctrl+c"]), [Request::Stop("runaaaaa".into())]);
}

#[test]
fn a_draft_that_is_put_aside_comes_back_whole_by_the_key_that_is_told() {
    let own = std::collections::BTreeMap::from([("history-back".to_owned(), vec!["alt+h".to_owned()])]);
    let mut model = writing_to("runaaaaa");
    model.keymap = crate::tui::keymap::Keymap::with(&own);
    update(&mut model, Msg::Paste("line\n".repeat(9_000)));
    attach(&mut model, None, Image { name: Some("a.gif".into()), data: "R0lGODlhAQABAAAA".into() });
    with_handoff(&mut model, "h_1".into());
    let content = draft(&mut model).content();
    press(&mut model, &["ctrl+c"]);
    assert!(draft(&mut model).content().is_empty());
    assert!(sample::screen(&mut model).contains("put aside: Alt+h brings it back where nothing is written"));
    press(&mut model, &["alt+h"]);
    assert_eq!(draft(&mut model).content(), content);
}

#[test]
fn a_clipboard_that_is_slow_pastes_where_it_was_meant() {
    let mut model = writing_to("runaaaaa");
    assert_eq!(press(&mut model, &["ctrl+v"]), [Request::TakeImage { target: Target::Session("runaaaaa".into()) }]);
    press(&mut model, &["esc", "ctrl+n"]);
    write(&mut model, "a task");
    let target = Target::Session("runaaaaa".into());
    update(&mut model, Msg::Reply(Reply::Text { target, text: "from the clipboard".into() }));
    assert_eq!(text(&mut model), "a task");
    model.open_session("runaaaaa");
    press(&mut model, &["i"]);
    assert_eq!(text(&mut model), "from the clipboard");
}

#[test]
fn pastes_become_text_placeholders_or_images() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    update(&mut model, Msg::Paste("short\r\ntext ".into()));
    update(&mut model, Msg::Paste("x\n".repeat(120)));
    assert_eq!(text(&mut model), "short\ntext [Pasted #1: 120 lines]");
    press(&mut model, &["backspace"]);
    assert_eq!(text(&mut model), "short\ntext ");
    let asked = update(&mut model, Msg::Paste("/tmp/a.gif".into()));
    assert_eq!(beyond_saving(asked), [read_image(Target::Task, "/tmp/a.gif")]);
    assert_eq!(text(&mut model), "short\ntext /tmp/a.gif");
    let image = Image { name: Some("a.gif".into()), data: "R0lGODlhAQABAAAA".into() };
    attach(&mut model, Some("/tmp/a.gif"), image.clone());
    assert_eq!(text(&mut model), "short\ntext [Image #1]");
    let take = || Request::TakeImage { target: Target::Task };
    assert_eq!(press(&mut model, &["ctrl+v", "alt+v"]), [take(), take()]);
    attach(&mut model, None, image);
    assert_eq!(text(&mut model), "short\ntext [Image #1][Image #2]");
    attach(&mut model, None, Image { name: None, data: "PHN2Zz4=".into() });
    assert_eq!(draft(&mut model).content().images.len(), 2);
}

#[test]
fn an_image_lands_in_the_draft_and_in_the_place_that_it_was_meant_for() {
    let image = |name: &str| Image { name: Some(name.into()), data: "R0lGODlhAQABAAAA".into() };
    let session = || Target::Session("runaaaaa".into());
    let came = |target, spelled: Option<&str>, name: &str| Reply::Image {
        target,
        spelled: spelled.map(str::to_owned),
        image: image(name),
    };
    let failed = || {
        let error = Error::new(ErrorKind::NotFound, "no such file");
        Reply::Failed { doing: "take the image".into(), error }
    };
    for (replies, to_session, task) in [
        (vec![came(session(), Some("/b.gif"), "b")], "/a.gif[Image #1]", ""),
        (vec![came(session(), Some("/b.gif"), "b"), came(session(), Some("/a.gif"), "a")], "[Image #2][Image #1]", ""),
        // What could not be read stays as it was written, and nothing else takes its place.
        (vec![failed(), came(session(), None, "c")], "/a.gif/b.gif[Image #1]", ""),
        (vec![failed(), came(Target::Task, None, "c")], "/a.gif/b.gif", "[Image #1]"),
        // What is not written there any more is not attached.
        (vec![came(Target::Task, Some("/a.gif"), "a")], "/a.gif/b.gif", ""),
    ] {
        let mut model = writing_to("runaaaaa");
        for path in ["/a.gif", "/b.gif"] {
            let asked = update(&mut model, Msg::Paste(path.into()));
            assert_eq!(beyond_saving(asked), [read_image(session(), path)]);
        }
        press(&mut model, &["esc", "ctrl+n"]);
        for reply in replies {
            update(&mut model, Msg::Reply(reply));
        }
        assert_eq!(text(&mut model), task);
        model.open_session("runaaaaa");
        press(&mut model, &["i"]);
        assert_eq!(text(&mut model), to_session);
    }
}

#[test]
fn an_example_is_offered_only_where_nothing_is_written() {
    let mut model = equipped(WIDE);
    propose(&mut model, "Fix the flaky test");
    assert_eq!((model.focus, text(&mut model).as_str()), (Focus::Composer, "Fix the flaky test"));
    propose(&mut model, "Write the docs");
    assert_eq!(text(&mut model), "Fix the flaky test");
}

#[test]
fn a_slash_begins_a_command_or_opens_the_palette() {
    let mut model = equipped(WIDE);
    press(&mut model, &["/"]);
    assert_eq!((model.focus, text(&mut model).as_str()), (Focus::Composer, "/"));
    press(&mut model, &["esc", "backspace", "x", "esc", "/"]);
    assert!(matches!(model.overlay, Some(crate::tui::model::Overlay::Picker(_))));
    assert_eq!(text(&mut model), "x");
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        8 => prop::sample::select(vec!['a', '/', '@', '$', ' ', 'm', '[', 'ü', '木', '\u{301}', '\u{202e}'])
            .prop_map(KeyCode::Char),
        4 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Tab, KeyCode::BackTab, KeyCode::Esc, KeyCode::Up, KeyCode::Down, KeyCode::Left,
            KeyCode::Right, KeyCode::Backspace, KeyCode::Delete, KeyCode::Home, KeyCode::End,
        ]),
    ];
    let held = prop::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ]);
    (code, held).prop_map(|(code, held)| KeyEvent::new(code, held))
}

#[test]
fn where_no_earlier_prompt_fits_it_is_said() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n", "ctrl+up"]);
    assert!(sample::screen(&mut model).contains("there is no earlier prompt"));
    model.composer.history.push(past("fix the parser"));
    write(&mut model, "add");
    press(&mut model, &["ctrl+up"]);
    assert_eq!(text(&mut model), "add");
    assert!(sample::screen(&mut model).contains("no earlier prompt begins like this"));
    press(&mut model, &["ctrl+u", "ctrl+up"]);
    assert_eq!(text(&mut model), "fix the parser");
    assert!(!sample::screen(&mut model).contains("no earlier prompt"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_keys_at_any_size_do_no_harm_and_what_is_written_survives_leaving(
        keys in prop::collection::vec(any_key(), 0..40),
        width in 20u16..130,
        height in 5u16..40,
    ) {
        let mut model = equipped(ratatui::layout::Size { width, height });
        press(&mut model, &["n"]);
        for key in keys {
            update(&mut model, Msg::Key(key));
            if let Some(requests) = beyond_saving(update(&mut model, Msg::Paste("p".into()))).first() {
                prop_assert!(matches!(requests, Request::Files { .. } | Request::Page { .. }), "{requests:?}");
            }
            sample::screen(&mut model);
        }
        model.overlay = None;
        model.view = View::Sessions;
        new_task(&mut model);
        let written = draft(&mut model).content();
        press(&mut model, &["esc", "esc"]);
        model.open_session("runaaaaa");
        new_task(&mut model);
        prop_assert_eq!(draft(&mut model).content(), written);
    }
}
