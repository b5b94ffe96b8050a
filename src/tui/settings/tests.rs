//! Settings: what can be changed, how, for whom, and what follows from it.

use ratatui::layout::Size;
use serde_json::{Value, json};

use super::*;
use crate::api::error::{Error, ErrorKind};
use crate::api::project::CheckState;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{NARROW, WIDE, model, part, press, screen, sessions, write as type_text};
use crate::tui::update::update;
use crate::tui::view::parts;

fn value(key: &str, value: Value) -> ConfigValue {
    let about = crate::config::key::find(key).map(|key| key.doc).unwrap_or_default().to_owned();
    ConfigValue { key: key.into(), value, origin: "default".into(), about, ignored: None }
}

fn config() -> Vec<ConfigValue> {
    let own = "/home/u/.config/coppice/config.toml:3";
    vec![
        value("default.model", json!("")),
        ConfigValue { origin: own.into(), ..value("default.reasoning", json!("high")) },
        value("limits.turn_timeout", json!("4h")),
        value("delegation.strict_models", json!(false)),
        value("merge.style", json!("squash")),
        ConfigValue {
            ignored: Some(
                "`worktree.copy` in .coppice/config.toml does not count: the repository is not trusted".into(),
            ),
            ..value("worktree.copy", json!([".env"]))
        },
        value("theme", json!("auto")),
        value("notify.bell", json!(true)),
    ]
}

fn facing(size: Size, config: Vec<ConfigValue>) -> Model {
    let mut model = model(size, sessions());
    update(&mut model, Msg::Reply(Reply::Config(config)));
    press(&mut model, &[","]);
    model
}

/// Puts the cursor on a key.
fn on(model: &mut Model, key: &str) {
    let is_it = |item: &Item<'_>| matches!(item, Item::Setting(entry) if entry.key == key);
    let items = items(model);
    let cursor = Cursor::at(&items, items.iter().position(is_it).unwrap());
    model.settings.cursor = cursor;
}

fn set(key: &str, value: Option<&str>, scope: Scope) -> Vec<Request> {
    vec![Request::SetConfig { key: key.into(), value: value.map(str::to_owned), scope }]
}

fn main(model: &mut Model) -> String {
    let area = parts(model).main;
    part(model, area)
}

#[test]
fn settings_are_written_for_the_project_or_for_the_person() {
    use Scope::{Project, User};
    for (key, keys, expected) in [
        ("default.reasoning", &["enter", "down", "enter"][..], set("default.reasoning", Some("xhigh"), Project)),
        ("default.reasoning", &["p", "enter", "1", "enter"], set("default.reasoning", Some(""), User)),
        ("default.reasoning", &["enter", "k", "esc"], vec![]),
        ("notify.bell", &["enter"], set("notify.bell", Some("false"), Project)),
        ("limits.turn_timeout", &["enter", "backspace", "m", "enter"], set("limits.turn_timeout", Some("4m"), Project)),
        ("merge.style", &["x"], set("merge.style", None, Project)),
        ("merge.style", &["p", "x"], set("merge.style", None, User)),
        ("merge.style", &["p", "p", "x"], set("merge.style", None, Project)),
        ("keys.merge", &["enter", "ctrl+a", "ctrl+k", "f", "9", "enter"], set("keys.merge", Some("f9"), Project)),
        ("keys.merge", &["enter", "ctrl+a", "ctrl+k", "enter"], set("keys.merge", Some("[]"), Project)),
        // What the machine has one value for is nobody's own.
        ("limits.parallel_turns", &["x"], set("limits.parallel_turns", None, User)),
        ("limits.parallel_turns", &["p", "x"], set("limits.parallel_turns", None, User)),
    ] {
        let mut model = facing(WIDE, [config(), vec![value("limits.parallel_turns", json!(4))]].concat());
        on(&mut model, key);
        assert_eq!(press(&mut model, keys), expected, "{key} {keys:?}");
        assert_eq!(model.context(), Context::Settings);
    }
}

#[test]
fn the_settings_open_for_the_project_and_say_for_whom_a_change_holds() {
    let mut model = facing(WIDE, [config(), vec![value("limits.parallel_turns", json!(4))]].concat());
    for (keys, expected) in [
        (&[][..], "changes hold for you, in this project  p for you, in all projects"),
        (&["p"], "changes hold for you, in all projects  p for you, in this project"),
        (&["esc", ","], "changes hold for you, in this project  p for you, in all projects"),
    ] {
        press(&mut model, keys);
        let shown = main(&mut model);
        assert_eq!(shown.lines().next().unwrap().trim(), format!("Settings  {expected}"), "{keys:?}");
    }
    on(&mut model, "limits.parallel_turns");
    assert!(main(&mut model).starts_with(" Settings  changes hold for the whole machine\n"));
}

#[test]
fn the_cursor_stays_on_its_key_when_rows_move() {
    let chosen = || value("keys.merge", json!(["f9"]));
    let without = |key: &str| config().into_iter().filter(|value| value.key != key).collect::<Vec<_>>();
    for (before, key, after, then) in [
        (config(), "keys.merge", [config(), vec![chosen()]].concat(), "keys.merge"),
        ([config(), vec![chosen()]].concat(), "keys.merge", config(), "keys.merge"),
        (config(), "merge.style", without("default.model"), "merge.style"),
        // A row that is gone leaves its place to the one behind it.
        (config(), "merge.style", without("merge.style"), "limits.turn_timeout"),
    ] {
        let mut model = facing(WIDE, before);
        on(&mut model, key);
        update(&mut model, Msg::Reply(Reply::Config(after)));
        assert_eq!(press(&mut model, &["x"]), set(then, None, Scope::Project), "{key}");
        assert!(main(&mut model).contains(&format!("{then} · from")), "{key}");
    }
}

#[test]
fn a_written_setting_is_read_again_and_a_refused_one_is_told() {
    let mut model = facing(WIDE, config());
    let done = Reply::Done { said: "`merge.style` is set".into(), session: None };
    assert_eq!(update(&mut model, Msg::Reply(done)), [Request::Config, Request::Backends]);
    let error = Error::new(ErrorKind::Invalid, "`limits.turn_timeout` must be a duration, not `soon`");
    let refused = Reply::Unset { key: "limits.turn_timeout".into(), value: "soon".into(), error };
    update(&mut model, Msg::Reply(refused.clone()));
    assert!(screen(&mut model).contains("must be a duration, not `soon`"));
    assert!(model.settings.editing.is_none(), "the person is elsewhere");

    // What was typed is there to be mended.
    on(&mut model, "limits.turn_timeout");
    press(&mut model, &["enter", "ctrl+u"]);
    type_text(&mut model, "soon");
    assert_eq!(press(&mut model, &["enter"]), set("limits.turn_timeout", Some("soon"), Scope::Project));
    update(&mut model, Msg::Reply(refused));
    let mended = set("limits.turn_timeout", Some("soo5m"), Scope::Project);
    assert_eq!(press(&mut model, &["backspace", "5", "m", "enter"]), mended);
}

#[test]
fn the_default_model_is_one_of_the_installed_ones() {
    let mut model = facing(WIDE, config());
    model.world.backends = Some(vec![
        crate::look::sample::backend("claude"),
        crate::api::project::Backend { problem: Some("not installed".into()), ..crate::look::sample::backend("codex") },
    ]);
    on(&mut model, "default.model");
    assert_eq!(press(&mut model, &["enter", "G", "enter"]), set("default.model", Some("claude"), Scope::Project));
}

#[test]
fn tab_leaves_the_settings_and_opening_them_examines_the_machine() {
    let mut model = model(WIDE, sessions());
    assert_eq!(press(&mut model, &[","]), [Request::Config, Request::Doctor]);
    press(&mut model, &["tab"]);
    assert_eq!(model.view, View::Sessions);
    press(&mut model, &["tab"]);
    assert_eq!(model.view, View::Settings);
}

#[test]
fn the_settings_in_force_change_theme_and_keys() {
    let mut model = facing(WIDE, config());
    assert_eq!(model.theme, Theme::Plain);
    let mut changed = config();
    changed.extend([value("keys.merge", json!("f9")), value("keys.nwe", json!(["x"]))]);
    changed.retain(|value| value.key != "theme");
    changed.push(value("theme", json!("mono")));
    update(&mut model, Msg::Reply(Reply::Config(changed.clone())));
    assert_eq!(model.theme, Theme::Mono);
    assert_eq!(model.keymap.key(Context::Sessions, crate::tui::keymap::Action::Merge), Some("f9"));
    assert!(screen(&mut model).contains("`keys.nwe`: there is no such action; the nearest is `new`"));
    // It is told once.
    press(&mut model, &["j"]);
    update(&mut model, Msg::Reply(Reply::Config(changed)));
    assert!(!notice::is_shown(&model));
}

#[test]
fn the_environment_tells_what_the_terminal_can_show() {
    for (name, locale, signs) in [
        ("xterm", Some("de_DE.UTF-8"), Signs::Unicode),
        ("xterm", None, Signs::Unicode),
        ("xterm", Some("C"), Signs::Ascii),
        ("linux", Some("C.UTF-8"), Signs::Ascii),
    ] {
        let mut model = Model::default();
        look_around(&mut model, |wanted| match wanted {
            "TERM" => Some(name.to_owned()),
            "COLORTERM" => Some("truecolor".to_owned()),
            "LANG" => locale.map(str::to_owned),
            _ => None,
        });
        assert_eq!((model.signs, model.theme), (signs, Theme::Dark), "{name} {locale:?}");
    }
}

#[test]
fn every_key_stands_with_its_value_and_where_that_comes_from() {
    let mut model = facing(Size { height: 24, ..WIDE }, config());
    press(&mut model, &["j"]);
    insta::assert_snapshot!(main(&mut model), @r"
     Settings  changes hold for you, in this project  p for you, in all projects
      DEFAULT
      Default Model                    -                             default
    › Default Reasoning Level          high                          /home/u/.config/coppice/config.toml:3
      THEME
      Theme                            auto                          default
      NOTIFY
      Bell                             true                          default
      MERGE
      Merge Style                      squash                        default
      LIMITS
      limits.turn_timeout              4h                            default
      DELEGATION
      delegation.strict_models         false                         default
      WORKTREE
      worktree.copy                    .env                          a value does not count
      KEYS
      keys.up                          k, up                         default
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     How hard the model of a session thinks that does not say it; empty leaves it to the backend
     default.reasoning · from /home/u/.config/coppice/config.toml:3 · enter changes · x resets
    ");
    model.size = NARROW;
    on(&mut model, "worktree.copy");
    insta::assert_snapshot!(main(&mut model), @r"
     Settings  changes hold for you, in this project  p for you, in all projects
      Bell                             true                          default
      MERGE
      Merge Style                      squash                        default
      LIMITS
      limits.turn_timeout              4h                            default
      DELEGATION
      delegation.strict_models         false                         default
      WORKTREE
    › worktree.copy                    .env                          a value does n…
      KEYS
      keys.up                          k, up                         default
      keys.down                        j, down                       default
      keys.up-in-picker                up, ctrl+p                    default
      keys.down-in-picker              down, ctrl+n                  default
      keys.left                        h, left                       default
      keys.right                       l, right                      default
      keys.question-before             h, left                       default
    ────────────────────────────────────────────────────────────────────────────────
     Files of the checkout that each worktree gets a copy of
     `worktree.copy` in .coppice/config.toml does not count: the repository is not
     worktree.copy · from default · enter changes · x resets
    ");
}

#[test]
fn a_row_names_the_file_of_its_value_as_far_as_it_fits() {
    let project = "/home/u/.local/share/coppice/projects/0073e862fffb69e0/config.toml:1";
    let own = "/home/u/.config/coppice/config.toml:3";
    let set = |origin: &str, key: &str| ConfigValue { origin: origin.into(), ..value(key, json!("squash")) };
    let mut model = facing(WIDE, vec![set(own, "merge.style"), set(project, "theme")]);
    let shown = main(&mut model);
    for expected in [own, "…/share/coppice/projects/0073e862fffb69e0/config.toml:1"] {
        assert!(shown.lines().any(|row| row.trim_end().ends_with(&format!("  {expected}"))), "{expected}: {shown}");
    }
}

#[test]
fn a_change_is_made_below_the_list() {
    let mut model = facing(NARROW, config());
    press(&mut model, &["j", "enter"]);
    insta::assert_snapshot!(main(&mut model), @r"
     Settings  changes hold for you, in this project  p for you, in all projects
      DEFAULT
      Default Model                    -                             default
    › Default Reasoning Level          high                          …/config.toml:3
      THEME
      Theme                            auto                          default
      NOTIFY
      Bell                             true                          default
      MERGE
      Merge Style                      squash                        default
      LIMITS
      limits.turn_timeout              4h                            default
      DELEGATION
      delegation.strict_models         false                         default
      WORKTREE
    ────────────────────────────────────────────────────────────────────────────────
     default.reasoning  enter sets, esc leaves it
       - (left open)
       low
       medium
     › high
       xhigh
    ");
    press(&mut model, &["esc"]);
    on(&mut model, "limits.turn_timeout");
    press(&mut model, &["enter"]);
    type_text(&mut model, "30m");
    let shown = main(&mut model);
    let tail: Vec<_> = shown.lines().rev().take(3).collect();
    insta::assert_snapshot!(tail.into_iter().rev().collect::<Vec<_>>().join("\n"), @r"
    ────────────────────────────────────────────────────────────────────────────────
     limits.turn_timeout  enter sets, esc leaves it
     › 4h30m
    ");
}

#[test]
fn the_machine_is_shown_below_the_settings() {
    let mut model = facing(NARROW, config());
    let check = |name: &str, state, detail: &str, hint: Option<&str>| Check {
        name: name.into(),
        state,
        detail: detail.into(),
        hint: hint.map(str::to_owned),
    };
    let checks = vec![
        check("git", CheckState::Good, "2.47.1", None),
        check("sandbox", CheckState::Bad, "no Landlock\nseccomp: yes", Some("boot a later kernel")),
    ];
    update(&mut model, Msg::Reply(Reply::Doctor(checks)));
    press(&mut model, &["G"]);
    let shown = main(&mut model);
    let tail: Vec<_> = shown.lines().rev().take(8).collect();
    insta::assert_snapshot!(tail.into_iter().rev().collect::<Vec<_>>().join("\n"), @r"
      keys.demo                        T                             default
      THIS MACHINE
      git                              good  2.47.1
    › sandbox                          bad   no Landlock
    ────────────────────────────────────────────────────────────────────────────────
     no Landlock
     seccomp: yes
     hint: boot a later kernel
    ");

    // What takes more rows gets them, up to a half; its last line is always seen.
    let long = |lines: usize| (1..=lines).map(|line| format!("fact {line}")).collect::<Vec<_>>().join("\n");
    for (lines, first_hidden) in [(7, 8), (40, 10)] {
        let told = check("sandbox", CheckState::Bad, &long(lines), Some("boot a later kernel"));
        update(&mut model, Msg::Reply(Reply::Doctor(vec![told])));
        let shown = main(&mut model);
        assert!(shown.contains("hint: boot a later kernel") && shown.contains("› sandbox"), "{shown}");
        let is_seen = |line: usize| shown.lines().any(|row| row.trim() == format!("fact {line}"));
        assert!((2..first_hidden).all(is_seen) && !is_seen(first_hidden), "{shown}");
    }
    assert_eq!(press(&mut model, &["enter", "x"]), []);
}

#[test]
fn no_size_is_too_small_and_nothing_drives_the_terminal() {
    let hostile = "\u{1b}[2J\u{202e}x\n".repeat(9);
    let mut values = config();
    values.push(ConfigValue {
        origin: hostile.clone(),
        about: hostile.clone(),
        ignored: Some(hostile.clone()),
        ..value("worktree.setup", json!(hostile))
    });
    let mut model = facing(WIDE, values);
    on(&mut model, "worktree.setup");
    for keys in [&[][..], &["enter"]] {
        press(&mut model, keys);
        for (width, height) in [(20, 5), (1, 1), (0, 0), (200, 3), (4, 60), (120, 36)] {
            model.size = Size { width, height };
            let shown = screen(&mut model);
            assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        }
    }
}
