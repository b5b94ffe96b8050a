//! How the list looks, whole screens at both sizes.

use ratatui::layout::Size;

use super::family;
use crate::api::session::{Approval, Changes, Question, Session, Status, Summary, TurnError, Usage};
use crate::look::sample::{self as look, NOW};
use crate::look::status::Signs;
use crate::tui::model::Model;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{model, press, screen, sessions, write};
use crate::tui::update::update;

/// As wide and as narrow as it gets, and no higher than it needs.
const BROAD: Size = Size { width: 120, height: 20 };
const SLIM: Size = Size { width: 80, height: 20 };

const MINUTE: i64 = 60_000;

/// A working day.
fn day() -> Vec<Session> {
    let engines = [("claude", "opus"), ("codex", "gpt-5"), ("gemini", "3.1-pro")];
    let dress = |(index, session): (usize, Session)| {
        let (backend, name) = engines[index % engines.len()];
        let created_at = NOW - MINUTE * i64::try_from(index).unwrap();
        Session {
            backend: backend.into(),
            model: Some(name.into()),
            reasoning: Some("high".into()),
            agent: session.agent.or(Some("engineer".into())),
            branch: format!("coppice/{}/work", session.id),
            created_at,
            updated_at: created_at,
            changes: if session.status == Status::Queued { Changes::default() } else { session.changes },
            usage: Usage { input_tokens: 40_000, output_tokens: 1_200, cost_usd: Some(0.42) },
            ..session
        }
    };
    sessions().into_iter().enumerate().map(dress).collect()
}

fn asking() -> Session {
    let options = vec!["jiff".into(), "chrono".into()];
    let text = "All three would work with the code in src/time.rs as it is. Which one should I use?".into();
    Session { questions: vec![Question { text, options, ..Question::default() }], ..look::asking() }
}

/// A root whose grandchild waits for an approval.
fn waiting_below() -> Vec<Session> {
    let mut all = family(Status::Approval);
    all[4].approvals = vec![Approval { rule: Some("git push *: ask".into()), ..look::push() }];
    all
}

#[test]
fn a_day_wide() {
    let mut model = model(BROAD, day());
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                        3 running · 4 need you · 412k tok · $4.20   ? help
     NEEDS YOU                                                  │ ◆ Pick a date library                  claude/opus · high
     ◆ Pick a date library     +12 −4 claude   2 questions    0s│   engineer · coppice/askaaaaa… · +12 −4 · 2 files · $0.42
     ◆ Fix flaky login test    +12 −4 codex    approval      12s│
     ✗ Port to edition 2024    +12 −4 claude   crashed        6m│   Which database?
     ⚑ Split the config room   +12 −4 codex    2 conflicts    7m│     1  sqlite
     RUNNING                                                    │     2  postgres
     ● Rate limiter            +12 −4 gemini   running        2m│     3  write an answer…
     │ └ ● tests for it        +12 −4 claude   running        3m│
     ◌ Upgrade sqlx  (engineer)       codex    1st in line    4m│   2 questions · a answers
     READY                                                      │
     ✓ Upgrade axum            +12 −4 gemini   merge?         5m│
     INTERRUPTED                                                │
     ‖ API docs                +12 −4 gemini   R resumes      8m│
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ decide  n new  a answer  d diff  s stop  f filter  Space next that needs you  t tree  z merged too  sandbox enforced
    ");
}

#[test]
fn a_day_narrow() {
    let mut model = model(SLIM, day());
    press(&mut model, &["j", "j"]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings   3 running · 4 need you   ? help
     NEEDS YOU
     ◆ Pick a date library           +12 −4 claude   2 questions          $0.42   0s
     ◆ Fix flaky login test          +12 −4 codex    approval             $0.42  12s
     ✗ Port to edition 2024          +12 −4 claude   crashed              $0.42   6m
       ▏ engineer · claude/opus · coppice/faiaaaaa/work · +12 −4 · 2 files · $0.42
       ▏ crashed
       ▏ the backend exited before it answered
       ▏ hint: `coppice resume abcd2345` goes on
       ▏ R goes on
     ⚑ Split the config room         +12 −4 codex    2 conflicts          $0.42   7m
     RUNNING
     ● Rate limiter  (engineer)      +12 −4 gemini   running              $0.42   2m
     │ └ ● tests for it  (worker)    +12 −4 claude   running              $0.42   3m
     ◌ Upgrade sqlx  (engineer)             codex    1st in line          $0.42   4m
     READY
     ✓ Upgrade axum  (engineer)      +12 −4 gemini   merge?               $0.42   5m
    ────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ open  n new  R resume  d diff  f filter                     sandbox enforced
    ");
}

#[test]
fn a_waiting_child_wide() {
    let mut model = model(BROAD, waiting_below());
    press(&mut model, &["space"]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                          3 running · 1 needs you   ? help
     NEEDS YOU                                                  │ ◆ Fix the parser                                     demo
     ● Fix the parser          +12 −4 demo     running        5s│   worker · coppice/abcd2345/fix-the-p… · +12 −4 · 2 files
     │ ├ ● Fix the parser      +12 −4 demo     running        5s│
     │ │ └ ◆ Fix the parser    +12 −4 demo     approval      12s│   bash   run `git push --force origin main`
     │ └ ✓ Fix the parser      +12 −4 demo     merge?         5s│   │ git push --force origin main
     RUNNING                                                    │   ⚠ DESTRUCTIVE FLAG(S): --force
     ● Fix the parser          +12 −4 demo     running        5s│   why: nothing decides about it · rule `git push *: ask`
                                                                │   (tool class) · 12s ago
                                                                │   y decides
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ decide  n new  y see the call  d diff  m merge  f filter  Space next that needs you  t tree         sandbox enforced
    ");
}

#[test]
fn a_waiting_child_narrow() {
    let mut model = model(SLIM, waiting_below());
    press(&mut model, &["space"]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings  3 running · 1 needs you   ? help
     NEEDS YOU
     ● Fix the parser                        +12 −4 demo     running              5s
     │ ├ ● Fix the parser  (worker)          +12 −4 demo     running              5s
     │ │ └ ◆ Fix the parser  (worker)        +12 −4 demo     approval            12s
       ▏ worker · demo · coppice/abcd2345/fix-the-parser · +12 −4 · 2 files
       ▏ bash   run `git push --force origin main`
       ▏ │ git push --force origin main
       ▏ ⚠ DESTRUCTIVE FLAG(S): --force
       ▏ why: nothing decides about it · rule `git push *: ask` (tool class) · 12s
       ▏ y decides
     │ └ ✓ Fix the parser  (worker)          +12 −4 demo     merge?               5s
     RUNNING
     ● Fix the parser                        +12 −4 demo     running              5s



    ────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ decide  n new  y see the call  d diff  m merge  f filter    sandbox enforced
    ");
}

#[test]
fn a_question_is_read_without_going_in() {
    let mut model = model(BROAD, vec![asking()]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                                      1 needs you   ? help
     NEEDS YOU                                                  │ ◆ Fix the parser                                     demo
     ◆ Fix the parser          +12 −4 demo     1 question     5s│   coppice/abcd2345/fix-the-parser · +12 −4 · 2 files
                                                                │
                                                                │   All three would work with the code in src/time.rs as it
                                                                │   is. Which one should I use?
                                                                │     1  jiff
                                                                │     2  chrono
                                                                │     3  write an answer…
                                                                │
                                                                │   1 question · a answers
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ decide  n new  a answer  d diff  s stop  f filter  Space next that needs you  t tree  z merged too  sandbox enforced
    ");
}

#[test]
fn a_failure_says_what_helps() {
    let error = TurnError {
        kind: "auth".into(),
        message: "codex is not logged in".into(),
        hint: Some("run `codex login`, then `coppice resume abcd2345`".into()),
        ..TurnError::default()
    };
    let mut model = model(BROAD, vec![Session { last_error: Some(error), ..look::failed() }]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                                      1 needs you   ? help
     NEEDS YOU                                                  │ ✗ Fix the parser                                     demo
     ✗ Fix the parser          +12 −4 demo     log in         5s│   coppice/abcd2345/fix-the-parser · +12 −4 · 2 files
                                                                │
                                                                │   log in
                                                                │   codex is not logged in
                                                                │   hint: run `codex login`, then `coppice resume abcd2345`
                                                                │   L logs in · R goes on
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ open  n new  L log in  R resume  d diff  f filter  Space next that needs you  i write  t tree       sandbox enforced
    ");
}

#[test]
fn a_limit_says_until_when_and_who_could_go_on() {
    let error = TurnError {
        kind: "rate_limit".into(),
        message: "You've hit your usage limit".into(),
        hint: Some("wait until the limit resets, then run `coppice resume`".into()),
        resets_at: Some(NOW + 120 * MINUTE),
        ..TurnError::default()
    };
    let session = Session { backend: "claude".into(), last_error: Some(error), ..look::failed() };
    let mut model = model(BROAD, vec![session]);
    let claude = crate::api::project::Backend { default: true, ..look::backend("claude") };
    model.world.backends = Some(vec![claude, look::backend("codex")]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                                      1 needs you   ? help
     NEEDS YOU                                                  │ ✗ Fix the parser                                   claude
     ✗ Fix the parser          +12 −4 claude   limit for 2h   5s│   coppice/abcd2345/fix-the-parser · +12 −4 · 2 files
                                                                │
                                                                │   rate limit
                                                                │   You've hit your usage limit
                                                                │   the limit ends in 2h
                                                                │   hint: wait until the limit resets, then run `coppice
                                                                │   resume`
                                                                │   B continues on codex · R goes on
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────── claude ──
     n  new task
     ⏎ open  n new  B continue on codex  R resume  d diff  f filter  Space next that needs you  i write    sandbox enforced
    ");
}

#[test]
fn a_conflict_says_where_it_is_and_how_it_ends() {
    let mut model = model(BROAD, vec![look::conflict()]);
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                                                      1 needs you   ? help
     NEEDS YOU                                                  │ ⚑ Fix the parser                                     demo
     ⚑ Fix the parser          +12 −4 demo     2 conflicts    5s│   coppice/abcd2345/fix-the-parser · +12 −4 · 2 files
                                                                │
                                                                │   Parses.
                                                                │
                                                                │   conflicts with main
                                                                │     a.rs
                                                                │     b.rs
                                                                │   main is merged into the worktree; conflicting text
                                                                │   files have marks; `/resolve` proposes a resolution
                                                                │   i writes to the agent · ! opens a shell · m merges
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ open  n new  d diff  m merge  f filter  Space next that needs you  t tree  z merged too  , settings sandbox enforced
    ");
}

#[test]
fn a_filter_wide() {
    let mut model = model(BROAD, day());
    press(&mut model, &["f"]);
    write(&mut model, "upgr");
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings                        3 running · 4 need you · 412k tok · $4.20   ? help
     filter upgr█   2 of 10 sessions                            │ ◌ Upgrade sqlx                         codex/gpt-5 · high
     RUNNING                                                    │   engineer · coppice/queaaaaa/work · $0.42
     ◌ Upgrade sqlx  (engineer)       codex    1st in line    4m│
     READY                                                      │
     ✓ Upgrade axum            +12 −4 gemini   merge?         5m│
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
                                                                │
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ keep  Esc clear                                                                                     sandbox enforced
    ");
}

#[test]
fn a_filter_that_finds_nothing_narrow() {
    let mut model = model(SLIM, day());
    press(&mut model, &["f"]);
    write(&mut model, "####");
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop  main ↑2  [Sessions]  Settings   3 running · 4 need you   ? help
     filter ####█   0 of 10 sessions
     nothing matches
     Esc clears the filter, and z finds what is merged or archived













    ────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ keep  Esc clear
    ");
}

#[test]
fn a_lost_daemon_wide_and_narrow() {
    let mut model = model(SLIM, day());
    update(&mut model, Msg::Lost("connection refused".into()));
    update(&mut model, Msg::Time(NOW + 12_000));
    insta::assert_snapshot!(screen(&mut model), @r"
     coppice  shop                    lost the daemon 12s ago, reconnecting  ? help
     NEEDS YOU
     ◆ Pick a date library           +12 −4 claude   2 questions          $0.42  12s
       ▏ engineer · claude/opus · coppice/askaaaaa/work · +12 −4 · 2 files · $0.42
       ▏ Which database?
       ▏   1  sqlite
       ▏   2  postgres
       ▏   3  write an answer…
       ▏ 2 questions · a answers
     ◆ Fix flaky login test          +12 −4 codex    approval             $0.42  24s
     ✗ Port to edition 2024          +12 −4 claude   crashed              $0.42   6m
     ⚑ Split the config room         +12 −4 codex    2 conflicts          $0.42   7m
     RUNNING
     ● Rate limiter  (engineer)      +12 −4 gemini   running              $0.42   2m
     │ └ ● tests for it  (worker)    +12 −4 claude   running              $0.42   3m
     ◌ Upgrade sqlx  (engineer)             codex    1st in line          $0.42   4m
     READY
    ────────────────────────────────────────────────────────────────────────────────
     n  new task
     ⏎ decide  n new  a answer  d diff  s stop  f filter           sandbox enforced
    ");
    update(&mut model, Msg::Resize(BROAD));
    let first = " coppice  shop  main ↑2  [Sessions]  Settings                             lost the daemon 12s ago, reconnecting  ? help";
    assert_eq!(screen(&mut model).lines().next(), Some(first));
}

#[test]
fn what_is_not_known_yet_is_not_empty() {
    let mut model = Model { size: SLIM, now: NOW, ..Model::default() };
    let second = |model: &mut Model| screen(model).lines().nth(1).unwrap_or_default().to_owned();
    assert_eq!(second(&mut model), " looking for the daemon…");
    update(&mut model, Msg::Connected);
    assert_eq!(second(&mut model), " reading the sessions…");
    update(&mut model, Msg::Reply(Reply::Sessions(vec![look::session(Status::Merged)])));
    assert_eq!(second(&mut model), " nothing is open");
}

#[test]
fn letters_are_enough() {
    let mut model = model(SLIM, waiting_below());
    model.signs = Signs::Ascii;
    let list: String = screen(&mut model)
        .lines()
        .skip(1)
        .take(7)
        .map(|row| format!("{}\n", row.chars().take(24).collect::<String>().trim_end()))
        .collect();
    insta::assert_snapshot!(list, @r"
    NEEDS YOU
    * Fix the parser
      | demo . coppice/abcd
    | | * Fix the parser  (
    | | ` ? Fix the parser
    | ` + Fix the parser  (
    RUNNING
    ");
}

#[test]
fn a_row_loses_columns_before_its_title() {
    let row = |width| {
        let mut model = model(Size { width, height: 8 }, day().split_off(5));
        screen(&mut model).lines().nth(2).unwrap_or_default().to_owned()
    };
    let rows: Vec<_> = [100, 80, 64, 52, 44, 32, 24].into_iter().map(row).collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    ✗ Port to edition 2024  (engineer)      +12 −4 claude/opus        crashed                $0.42   6m
    ✗ Port to edition 2024          +12 −4 claude   crashed              $0.42   6m
    ✗ Port to edition 2024        +12 −4 claude   crashed        6m
    ✗ Port to editi…  +12 −4 claude   crashed        6m
    ✗ Port to edition…  +12 −4 crashed       6m
    ✗ Port to edition…  crashed
    ✗ Port to edit…  +12 −4
    ");
}

#[test]
fn a_hostile_summary_stays_text() {
    let turn = "all\u{202e}good\u{1b}[2J\u{9b}31m\u{7}\r\nand done".to_owned();
    let session = Session { summary: Some(Summary { turn, session: String::new() }), ..look::session(Status::Ready) };
    for width in [80, 120] {
        let shown = screen(&mut model(Size { width, height: 24 }, vec![session.clone()]));
        assert!(shown.contains("good") && shown.contains("and done"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\r', '\u{7}']), "{shown}");
    }
}
