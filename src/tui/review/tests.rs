//! The changes of a session as a person goes through them, comments on them, and sends what they said.

mod comments;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Size;

use super::super::model::{Model, View};
use super::super::msg::{Msg, Reply, Request, ReviewAct};
use super::super::sample::{self, NARROW, WIDE, press, screen, write};
use super::super::update::update;
use super::*;
use crate::api::review::{Comment, FileReview, Side};
use crate::api::session::{Changes, Session, Status};
use crate::look::sample::NOW;

const ID: &str = "reaaaaaa";

const PATCH: &str = "\
diff --git a/src/gateway/limit.rs b/src/gateway/limit.rs
index 1..2 100644
--- a/src/gateway/limit.rs
+++ b/src/gateway/limit.rs
@@ -10,4 +10,5 @@ impl Bucket {
     pub fn allow(&mut self, now: Instant) -> bool {
-        let cap = 10;
+        let cap = self.config.burst;
+        let cap = cap.max(1);
         self.refill(now);
         self.tokens > 0
@@ -40,2 +41,2 @@ mod tests {
-    fn old() {}
+    fn young() {}
 }
diff --git a/README.md b/docs/README.md
similarity index 100%
rename from README.md
rename to docs/README.md
diff --git a/tree.png b/tree.png
index 1..2
Binary files a/tree.png and b/tree.png differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye \u{1b}[2J
";

fn diff(patch: &str) -> Box<Diff> {
    Box::new(Diff { changes: Changes::default(), files: vec![], patch: patch.to_owned(), submodules: vec![] })
}

fn draft(id: u32, line: u32, text: &str) -> Comment {
    Comment {
        id,
        path: "src/gateway/limit.rs".into(),
        line,
        side: Side::New,
        text: text.into(),
        quote: String::new(),
        created_at: NOW,
        sent_at: None,
        suggested: false,
    }
}

fn came(model: &mut Model, review: Review) {
    update(model, Msg::Reply(Reply::Review { session: ID.into(), review }));
}

/// The changes of a session with three turns, on the screen.
fn model(size: Size) -> Model {
    let mut model = sample::model(size, sample::sessions());
    let session = Session { id: ID.into(), turns: 3, ..crate::look::sample::session(Status::Ready) };
    update(&mut model, Msg::Reply(Reply::Session(Box::new(session))));
    model.view = View::Session(ID.into());
    let asked = press(&mut model, &["d"]);
    assert_eq!(
        asked,
        [Request::Diff { session: ID.into(), turn: None }, Request::Review(ReviewAct::Read { session: ID.into() })]
    );
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: diff(PATCH) }));
    came(&mut model, Review::default());
    model
}

/// Only what this piece draws: the bars above and below belong to others.
fn shown(model: &mut Model) -> String {
    let screen = screen(model);
    let rows: Vec<&str> = screen.split('\n').collect();
    rows[1..rows.len() - 1].join("\n").trim_end().to_owned()
}

#[test]
fn q_and_esc_lead_back_to_the_session() {
    for key in ["q", "esc"] {
        let mut model = model(WIDE);
        press(&mut model, &[key]);
        assert!(matches!(&model.view, View::Session(id) if id == ID), "{key}");
    }
}

#[test]
fn the_changes_wide() {
    let mut model = model(Size { height: 20, ..WIDE });
    let sent = Comment { sent_at: Some(NOW), ..draft(2, 42, "is it young?") };
    came(
        &mut model,
        Review {
            comments: vec![draft(1, 11, "read it once in new(),\nnot per call"), sent],
            files: vec![],
            ..Review::default()
        },
    );
    insta::assert_snapshot!(shown(&mut model), @r"
     src/gateway/limit.rs  +3 −2   all 3 turns   unified ⇄ split   looked at 0/4 files   1 draft
    ▸  M src/gateway/limit.rs    +3 −2 [2] │  ⋯ impl Bucket {
       R docs/README.md                    │ 10       pub fn allow(&mut self, now: Instant) -> bool {
       M tree.png                   binary │ 11 -         let cap = 10;
       D gone.txt                    +0 −1 │ 11 +         let cap = self.config.burst;
                                           │    ▏ you: read it once in new(),
                                           │    ▏ not per call  (draft)
                                           │ 12 +         let cap = cap.max(1);
                                           │ 13           self.refill(now);
                                           │ 14           self.tokens > 0
                                           │  ⋯ mod tests {
                                           │ 40 -     fn old() {}
                                           │ 41 +     fn young() {}
                                           │ 42   }
                                           │    ▏ you: is it young?  (sent)
                                           │
                                           │
                                           │
    ");
    press(&mut model, &["w"]);
    insta::assert_snapshot!(shown(&mut model), @r"
     src/gateway/limit.rs  +3 −2   all 3 turns   unified ⇄ split   looked at 0/4 files   1 draft
    ▸  M src/gateway/limit.rs    +3 −2 [2] │  ⋯ impl Bucket {
       R docs/README.md                    │ 10       pub fn allow(&mut self, now: │  10       pub fn allow(&mut self, now:
       M tree.png                   binary │      Instant) -> bool {               │       Instant) -> bool {
       D gone.txt                    +0 −1 │ 11 -         let cap = 10;            │  11 +         let cap =
                                           │                                       │       self.config.burst;
                                           │    ▏ you: read it once in new(),
                                           │    ▏ not per call  (draft)
                                           │                                       │  12 +         let cap = cap.max(1);
                                           │ 12           self.refill(now);        │  13           self.refill(now);
                                           │ 13           self.tokens > 0          │  14           self.tokens > 0
                                           │  ⋯ mod tests {
                                           │ 40 -     fn old() {}                  │  41 +     fn young() {}
                                           │ 41   }                                │  42   }
                                           │    ▏ you: is it young?  (sent)
                                           │
                                           │
                                           │
    ");
}

#[test]
fn the_changes_narrow() {
    let mut model = model(NARROW);
    insta::assert_snapshot!(shown(&mut model), @r"
    src/gateway/limit.rs  +3 −2   all 3 turns   looked at 0/4 files
     ⋯ impl Bucket {
    10       pub fn allow(&mut self, now: Instant) -> bool {
    11 -         let cap = 10;
    11 +         let cap = self.config.burst;
    12 +         let cap = cap.max(1);
    13           self.refill(now);
    14           self.tokens > 0
     ⋯ mod tests {
    40 -     fn old() {}
    41 +     fn young() {}
    42   }
    ");
    press(&mut model, &["h", "j"]);
    insta::assert_snapshot!(shown(&mut model), @r"
     README.md → docs/README.md     all 3 turns   looked at 0/4 files
       M src/gateway/limit.rs                                                +3 −2
    ▸  R docs/README.md
       M tree.png                                                           binary
       D gone.txt                                                            +0 −1
    ");
    press(&mut model, &["l"]);
    insta::assert_snapshot!(shown(&mut model), @r"
     README.md → docs/README.md     all 3 turns   looked at 0/4 files
    similarity index 100%
    ");
    // A narrow screen has no room for two sides.
    press(&mut model, &["w", "["]);
    assert!(shown(&mut model).contains("11 -         let cap = 10;"));
}

#[test]
fn keys_move_through_changes_and_files() {
    for (keys, path, line) in [
        (&[][..], "src/gateway/limit.rs", "-        let cap = 10;"),
        (&["j"], "src/gateway/limit.rs", "+        let cap = self.config.burst;"),
        (&["k"], "src/gateway/limit.rs", "     pub fn allow(&mut self, now: Instant) -> bool {"),
        (&["n"], "src/gateway/limit.rs", "-    fn old() {}"),
        (&["n", "N"], "src/gateway/limit.rs", "-        let cap = 10;"),
        (&["n", "n"], "docs/README.md", ""),
        (&["n", "n", "N"], "src/gateway/limit.rs", "-    fn old() {}"),
        (&["G"], "src/gateway/limit.rs", " }"),
        (&["G", "pageup", "g"], "src/gateway/limit.rs", ""),
        (&["]", "]"], "tree.png", ""),
        (&["]", "]", "]", "]", "]"], "gone.txt", "-bye \u{1b}[2J"),
        (&["]", "["], "src/gateway/limit.rs", "-        let cap = 10;"),
        (&["h", "j", "j", "enter"], "tree.png", ""),
        (&["h", "G"], "gone.txt", "-bye \u{1b}[2J"),
    ] {
        for size in [WIDE, NARROW] {
            let mut model = model(size);
            screen(&mut model);
            press(&mut model, keys);
            let state = settled(&mut model);
            let file = state.file().unwrap();
            let at = state
                .item()
                .and_then(Item::line)
                .map(|(hunk, line)| file.hunks[hunk].written().lines().nth(line).unwrap().to_owned());
            assert_eq!((file.path.as_str(), at.unwrap_or_default().as_str()), (path, line), "{keys:?}");
        }
    }
}

#[test]
fn marks_stand_for_the_patch_that_was_looked_at() {
    let mut model = model(WIDE);
    let digest = model.review.files[0].digest.clone();
    let mark = |digest: Option<String>| {
        Request::Review(ReviewAct::Mark { session: ID.into(), path: "src/gateway/limit.rs".into(), digest })
    };
    assert_eq!(press(&mut model, &["space"]), [mark(Some(digest.clone()))]);
    assert_eq!(model.review.file().unwrap().path, "docs/README.md", "the next one that nobody looked at");
    assert!(shown(&mut model).contains("looked at 1/4 files"));
    assert_eq!(press(&mut model, &["[", "space"]), [mark(None)]);
    let seen = FileReview { path: "src/gateway/limit.rs".into(), digest };
    came(&mut model, Review { comments: vec![], files: vec![seen], ..Review::default() });
    assert!(shown(&mut model).contains("▸✓ M"));
    let other = PATCH.replace("cap.max(1)", "cap.max(2)");
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: diff(&other) }));
    assert!(shown(&mut model).contains("looked at 0/4 files"), "another patch was not looked at");
}

#[test]
fn turns_are_looked_at_one_by_one() {
    let mut model = model(NARROW);
    let turn = |turn| Request::Diff { session: ID.into(), turn };
    for (key, expected) in [
        ("<", vec![turn(Some(3))]),
        ("<", vec![turn(Some(2))]),
        ("<", vec![turn(Some(1))]),
        ("<", vec![]),
        (">", vec![turn(Some(2))]),
        (">", vec![turn(Some(3))]),
        (">", vec![turn(None)]),
        (">", vec![]),
    ] {
        assert_eq!(press(&mut model, &[key]), expected);
    }
    press(&mut model, &["<"]);
    // An answer to what was asked before is late.
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: Some(2), diff: diff("") }));
    assert_eq!(model.review.files.len(), 4);
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: Some(3), diff: diff("") }));
    insta::assert_snapshot!(shown(&mut model), @r"
       turn 3 of 3

    Turn 3 changed no file.
    < and > show the other turns, and all of them together.
    ");
    assert_eq!(press(&mut model, &["space"]), [], "marks are about all turns");
}

#[test]
fn nothing_changed_teaches() {
    let mut model = model(NARROW);
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: diff("") }));
    insta::assert_snapshot!(shown(&mut model), @r"
       all 3 turns

    Nothing is changed.
    Files that the agent edits show here, with a place to comment on every line.
    Esc goes back.
    ");
    for key in ["enter", "v", "c", "x", "space", "n", "N", "j", "G", "]", "w"] {
        assert_eq!(press(&mut model, &[key]), [], "{key}");
    }
}

#[test]
fn lines_are_opened_and_copied() {
    let edit = |path: &str, line| Request::Edit { session: ID.into(), path: path.into(), line };
    let copy = |text: &str| Request::Copy(text.into());
    let limit = "src/gateway/limit.rs";
    for (keys, expected) in [
        (&["v"][..], vec![edit(limit, Some(11))]),
        (&["j", "j", "v"], vec![edit(limit, Some(12))]),
        (&["]", "v"], vec![edit("docs/README.md", None)]),
        (&["]", "]", "]", "v"], vec![]),
        (&["c"], vec![copy("        let cap = 10;")]),
        (&["h", "c"], vec![copy(limit)]),
        (&["n", "k", "c"], vec![copy("-    fn old() {}\n+    fn young() {}\n }\n")]),
    ] {
        assert_eq!(press(&mut model(NARROW), keys), expected, "{keys:?}");
    }
}

#[test]
fn a_patch_of_many_lines_is_read_once_and_drawn_where_it_is_seen() {
    let mut model = model(WIDE);
    let lines: String = (0..50_000).map(|line| format!("+    let line_{line} = \"{line}\";\n")).collect();
    let patch = format!(
        "diff --git a/a.rs b/a.rs\nnew file mode 100644\n--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1,50000 @@\n{lines}"
    );
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: diff(&patch) }));
    for key in ["j", "G", "pageup", "g", "n"] {
        press(&mut model, &[key]);
        screen(&mut model);
    }
    assert!(model.review.paint.held() < 10, "only what was seen is read by the grammar");
    press(&mut model, &["G"]);
    let shown = shown(&mut model);
    assert!(shown.contains("50000 +     let line_49999"), "{shown}");
}

/// A patch that adds one line between two others.
fn long(line: &str) -> Box<Diff> {
    diff(&format!("diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n@@ -1,2 +1,3 @@ app\n first\n+{line}\n last\n"))
}

#[test]
fn a_line_that_never_ends_costs_no_more_than_what_is_seen_of_it() {
    for size in [WIDE, NARROW] {
        let mut model = model(size);
        let line = "var a=1;".repeat(10 * 1024 * 1024 / 8) + "end";
        update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: long(&line) }));
        let seen = shown(&mut model);
        assert!(seen.contains("⋯ 10484 kB more, e shows them"), "{seen}");
        assert!(seen.contains("last"), "what comes behind it is in sight: {seen}");
        assert!(model.review.rows.len() <= 36, "{}", model.review.rows.len());
        // The key shows the rest, which is reached to its end, piece by piece.
        press(&mut model, &["e"]);
        assert!(settled(&mut model).items.len() > 10_000);
        screen(&mut model);
        press(&mut model, &["G", "k"]);
        let seen = shown(&mut model);
        assert!(seen.contains("end"), "{seen}");
        let drawn: usize = model.review.rows.iter().map(|row| row.line.width()).sum();
        assert!(drawn < 120 * 36, "only what is seen is laid out: {drawn}");
        // A comment is about the line, and takes no more than its beginning along.
        press(&mut model, &["i"]);
        match &model.review.writing.as_ref().unwrap().target {
            Target::Line { line: 2, quote, .. } => assert!(quote.len() < 1000),
            other => panic!("{other:?}"),
        }
        press(&mut model, &["esc", "e"]);
        assert_eq!(settled(&mut model).items.len(), 5);
    }
}

#[test]
fn an_item_that_is_higher_than_the_screen_is_read_to_its_end() {
    let mut model = model(Size { width: 40, height: 10 });
    let words: Vec<String> = (0..100).map(|word| format!("word{word}")).collect();
    update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: long(&words.join(" ")) }));
    assert!(shown(&mut model).contains("word0 "));
    let mut steps = 0;
    while !shown(&mut model).contains("word99") {
        press(&mut model, &["j"]);
        steps += 1;
        assert!(steps < 40, "{}", shown(&mut model));
    }
    assert!(steps > 5 && model.review.cursor == 2, "one row at a time: {steps}");
    // Up goes the same way back, a page is a page, and behind the end comes the next line.
    press(&mut model, &["pageup"]);
    assert!(!shown(&mut model).contains("word99"));
    press(&mut model, &["pagedown", "pagedown", "j"]);
    shown(&mut model);
    assert_eq!(model.review.cursor, 3);
}

#[test]
fn the_layout_is_kept_for_the_next_session() {
    let mut model = model(WIDE);
    press(&mut model, &["w"]);
    assert_eq!(model.review.layout, Layout::Split);
    model.view = View::Session("askaaaaa".into());
    press(&mut model, &["d"]);
    assert_eq!((model.review.session.as_str(), model.review.layout), ("askaaaaa", Layout::Split));
}

#[test]
fn what_changes_the_work_tree_is_read_again() {
    let mut model = model(NARROW);
    let asked = model.review.asked();
    let checkpoint = Payload::Checkpoint { turn: 3, commit: "c".into(), changes: Changes::default() };
    for (session, payload, expected) in [
        (ID, checkpoint.clone(), asked.clone()),
        (
            ID,
            Payload::PromptQueued {
                number: 4,
                text: "t".into(),
                images: vec![],
                author: crate::api::event::PromptAuthor::Person,
            },
            asked.clone(),
        ),
        (ID, Payload::TurnInterrupted { turn: 3, reason: "stopped".into() }, asked.clone()),
        (ID, Payload::TitleChanged { title: "t".into() }, vec![]),
        ("other", checkpoint, vec![]),
    ] {
        let event = Event { seq: 1, session: session.into(), at: NOW, v: 1, payload };
        assert_eq!(of_fact(&mut model, &event), expected);
    }
    let again = update(&mut model, Msg::Reply(Reply::Back));
    assert!(again.ends_with(&asked), "an editor may have changed it: {again:?}");
}

#[test]
fn clicks_select_files_and_lines() {
    let mut model = model(WIDE);
    screen(&mut model);
    let mut click = |column, row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        update(&mut model, Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        let state = &model.review;
        let at = (state.file, state.pane, state.cursor, state.writing.is_some());
        screen(&mut model);
        at
    };
    // Above the rows are the first line of the screen and that of the file.
    assert_eq!(click(60, 5), (0, Pane::Lines, 3, false));
    assert_eq!(click(60, 30), (0, Pane::Lines, 3, false), "nothing is there");
    assert_eq!(click(5, 4), (2, Pane::Files, 0, false));
    assert_eq!(click(5, 2), (0, Pane::Files, 0, false));
    assert_eq!(click(60, 4), (0, Pane::Lines, 2, false));
    assert_eq!(click(60, 4), (0, Pane::Lines, 2, true), "again means a comment");
    assert_eq!(click(60, 6), (0, Pane::Lines, 2, true));
}

#[test]
fn no_screen_is_too_small() {
    for (width, height) in [(20, 5), (21, 6), (30, 3), (110, 4), (200, 60), (8, 2), (1, 1)] {
        let mut model = model(Size { width, height });
        came(&mut model, Review { comments: vec![draft(1, 11, "why?")], files: vec![], ..Review::default() });
        for key in ["w", "i", "a", "esc", "h", "l", "G", "n"] {
            press(&mut model, &[key]);
            screen(&mut model);
        }
    }
}
