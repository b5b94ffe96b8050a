//! What a person finds who begins.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Size;

use super::*;
use crate::api::agent::{AgentFile, AgentFiles, AgentSource};
use crate::api::project::ConfigValue;
use crate::look::sample as look;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{model, press, screen, write};
use crate::tui::update::update;

const BROAD: Size = Size { width: 120, height: 20 };
const SLIM: Size = Size { width: 80, height: 20 };

fn absent(name: &str, package: &str) -> Backend {
    Backend {
        program: None,
        problem: Some(format!("`{name}` is not installed")),
        install: Some(format!("npm install -g {package}")),
        ..look::backend(name)
    }
}

fn empty(size: Size, backends: Vec<Backend>) -> Model {
    let mut model = model(size, vec![]);
    update(&mut model, Msg::Reply(Reply::Backends(backends)));
    model
}

fn some() -> Vec<Backend> {
    vec![
        Backend { version: Some("2.1.0".into()), default: true, ..look::backend("claude") },
        Backend {
            version: Some("0.200.0".into()),
            note: Some("codex is not logged in.".into()),
            login: Some("codex login".into()),
            ..look::backend("codex")
        },
        absent("gemini", "@google/gemini-cli"),
        Backend { scripted: true, ..look::backend("demo") },
    ]
}

#[test]
fn with_some_agents_wide() {
    let mut model = empty(BROAD, some());
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                                                    ? help

     No session yet. Describe a task below, or begin with one of these: Esc, then its number.

       1  Write down how this repository is built and tested
       2  Find the riskiest code without tests, and write its tests
       3  Find a bug that nobody has noticed, prove it with a test, and fix it

     Who can work
       ✓  claude  2.1.0    installed
       ◆  codex   0.200.0  codex is not logged in: codex login logs in
       ✗  gemini           not installed: npm install -g @google/gemini-cli

     /demo plays a tour with scripted agents: no account, no cost



    ── new task ────────────────────────────────────────────────────────────────────────────────────────────────── claude ──
     › Describe the next task, or / for commands
     ⏎ send  Shift+⏎ new line  Tab agent  ⌃V image  ⌃G editor  Esc leave, keeps the draft
    ");
}

#[test]
fn with_some_agents_narrow_and_a_wish_of_the_repository() {
    let mut model = empty(SLIM, some());
    press(&mut model, &["esc"]);
    let value = ConfigValue {
        key: "worktree.setup".into(),
        value: serde_json::Value::Null,
        origin: "default".into(),
        about: String::new(),
        ignored: Some(".coppice/config.toml:2: `worktree.setup` is ignored: untrusted".into()),
    };
    update(&mut model, Msg::Reply(Reply::Config(vec![value])));
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                            ? help

     No session yet. Begin with one of these tasks; n describes one of your own.

       1  Write down how this repository is built and tested
       2  Find the riskiest code without tests, and write its tests
       3  Find a bug that nobody has noticed, prove it with a test, and fix it

     Who can work
       ✓  claude  2.1.0    installed
       ◆  codex   0.200.0  codex is not logged in: codex login logs in
       ✗  gemini           not installed: npm install -g @google/gemini-cli

     This repository asks for more than it gets: /trust shows what, and agrees
     T plays a tour with scripted agents: no account, no cost


    ────────────────────────────────────────────────────────────────────── claude ──
     n  new task
     ⏎ take this task  n new  L log in  T tour  , settings  q quit
    ");
}

#[test]
fn servers_of_the_agents_are_offered_where_there_are_some() {
    let mut model = empty(BROAD, some());
    let asked = update(&mut model, Msg::Reply(Reply::Sessions(Vec::new())));
    assert!(asked.contains(&Request::ImportableServers), "{asked:?}");
    update(&mut model, Msg::Reply(Reply::ImportableServers(0)));
    assert!(!screen(&mut model).contains("MCP"));
    update(&mut model, Msg::Reply(Reply::ImportableServers(2)));
    let shown = screen(&mut model);
    assert!(
        shown.contains("Your agents have 2 MCP servers: coppice mcp import lists what sessions can use"),
        "{shown}"
    );
    let asked = update(&mut model, Msg::Reply(Reply::Sessions(Vec::new())));
    assert!(!asked.contains(&Request::ImportableServers), "{asked:?}");
}

#[test]
fn copies_of_the_built_in_agents_are_offered_to_somebody_who_has_none() {
    let agent = |scope: &str| AgentFile {
        source: AgentSource { scope: scope.to_owned(), ..AgentSource::default() },
        ..AgentFile::default()
    };
    let mut model = empty(BROAD, some());
    for (scopes, is_offered) in
        [(&["builtin"][..], true), (&["builtin", "project"], true), (&["builtin", "user"], false)]
    {
        let agents = scopes.iter().map(|scope| agent(scope)).collect();
        update(&mut model, Msg::Reply(Reply::Agents(AgentFiles { agents, ..AgentFiles::default() })));
        let offer = "You have no agents of your own: coppice agents init copies the built-in ones, to change them";
        assert_eq!(screen(&mut model).contains(offer), is_offered, "{scopes:?}");
    }
}

#[test]
fn without_any_agent_wide_and_narrow() {
    let none = || vec![absent("claude", "@anthropic-ai/claude-code"), absent("codex", "@openai/codex")];
    let mut model = empty(BROAD, none());
    press(&mut model, &["esc"]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                                                    ? help

     No agent is installed here yet. One of these is enough:

       ✗  claude  not installed: npm install -g @anthropic-ai/claude-code
       ✗  codex   not installed: npm install -g @openai/codex

     T plays a tour with scripted agents: no account, no cost









    ────────────────────────────────────────────────────────────────────────────────────── no agent installed · M chooses ──
     n  new task
     n new  T tour  , settings  q quit
    ");
    update(&mut model, Msg::Resize(SLIM));
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                            ? help

     No agent is installed here yet. One of these is enough:

       ✗  claude  not installed: npm install -g @anthropic-ai/claude-code
       ✗  codex   not installed: npm install -g @openai/codex

     T plays a tour with scripted agents: no account, no cost









    ────────────────────────────────────────────── no agent installed · M chooses ──
     n  new task
     n new  T tour  , settings  q quit
    ");
}

#[test]
fn who_does_not_answer_says_what_helps() {
    for (note, login, expected) in [
        (
            "the agent is not logged in",
            Some("claude auth login"),
            "the agent is not logged in: claude auth login logs in",
        ),
        (
            "Gemini API key is missing or not configured.",
            Some("gemini"),
            "Gemini API key is missing or not configured: gemini logs in",
        ),
        ("not logged in: run `codex login`", Some("codex login"), "not logged in: run `codex login`"),
        ("not logged in", None, "not logged in"),
        ("it did not answer within 10s", Some("codex login"), "it did not answer within 10s"),
    ] {
        assert_eq!(noted(note, login).text(), expected);
    }
}

#[test]
fn on_the_empty_screen_the_composer_has_the_keys() {
    let mut model = empty(SLIM, some());
    // Nothing of it is a shortcut.
    write(&mut model, "mend the parser");
    let shown = screen(&mut model);
    assert!(shown.contains("── new task ──") && shown.contains(" › mend the parser"), "{shown}");
    let requests = press(&mut model, &["enter"]);
    assert!(matches!(requests.first(), Some(Request::Create { create, .. }) if create.prompt == "mend the parser"));
    // The last session that goes leaves the empty screen.
    let session = look::session(crate::api::session::Status::Ready);
    let mut model = crate::tui::sample::model(SLIM, vec![session.clone()]);
    assert_eq!(model.focus, Focus::Main);
    update(&mut model, Msg::Reply(Reply::Gone(session.id)));
    assert_eq!(model.focus, Focus::Composer);
    // Whoever went back stays there.
    press(&mut model, &["esc"]);
    update(&mut model, Msg::Reply(Reply::Sessions(vec![])));
    assert_eq!(model.focus, Focus::Main);
}

#[test]
fn keys_choose_an_example() {
    for (keys, expected) in [
        (&["j", "enter"][..], 1),
        (&["j", "j", "j", "enter"], 2),
        (&["G", "k", "enter"], 1),
        (&["2"], 1),
        (&["3", "0", "9"], 2),
        (&["f", "space", "h", "l"], 0),
    ] {
        let mut model = empty(SLIM, some());
        press(&mut model, &["esc"]);
        press(&mut model, keys);
        assert_eq!(model.sessions.welcome.example, expected, "{keys:?}");
    }
}

#[test]
fn the_tour_starts_by_a_key() {
    let mut model = empty(SLIM, vec![]);
    press(&mut model, &["esc"]);
    assert_eq!(press(&mut model, &["T"]), [Request::Demo]);
    let mut model = empty(SLIM, vec![]);
    write(&mut model, "/demo");
    assert!(press(&mut model, &["enter"]).contains(&Request::Demo));
}

#[test]
fn a_click_chooses_an_example() {
    let click = |row| {
        Msg::Mouse(MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column: 8,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    let mut model = empty(SLIM, some());
    screen(&mut model);
    update(&mut model, click(6));
    assert_eq!(model.sessions.welcome.example, 2);
    update(&mut model, click(9));
    assert_eq!(model.sessions.welcome.example, 2);
}
