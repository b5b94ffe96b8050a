//! Comments: written, kept until the daemon holds them, changed, dropped and sent.

use super::*;
use crate::api::review::PreparedReview;
use crate::tui::composer;
use crate::tui::state::Saved;

#[test]
fn a_comment_is_written_under_its_line() {
    let mut model = model(NARROW);
    press(&mut model, &["j", "enter"]);
    assert_eq!(model.context(), Context::Comment);
    write(&mut model, "once?");
    press(&mut model, &["shift+enter"]);
    write(&mut model, "q");
    update(&mut model, Msg::Paste("\u{1b}uick".into()));
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





    ▏ comment on src/gateway/limit.rs:11
    once?
    q�uick
    ");
    let comment = ReviewAct::Comment {
        session: ID.into(),
        path: "src/gateway/limit.rs".into(),
        line: 11,
        side: Side::New,
        quote: "        let cap = self.config.burst;".into(),
        text: "once?\nq\u{fffd}uick".into(),
    };
    assert_eq!(press(&mut model, &["enter"]), [Request::Review(comment)]);
    assert_eq!(model.context(), Context::Diff);
}

#[test]
fn words_that_are_not_kept_are_there_after_a_restart() {
    for leave in [&[][..], &["esc"], &["enter"]] {
        let mut before = model(NARROW);
        press(&mut before, &["i"]);
        assert_eq!(write(&mut before, "y"), [Request::Save]);
        press(&mut before, leave);
        let saved = Saved::parse(&serde_json::to_string(&composer::saved(&before)).unwrap());
        let mut after = model(NARROW);
        composer::restore(&mut after, saved.clone());
        assert_eq!(composer::saved(&after), saved, "{leave:?}");
        press(&mut after, &["i"]);
        assert_eq!(after.review.writing.as_ref().map(Writing::text).as_deref(), Some("y"), "{leave:?}");
        // Another face took them back.
        let ours = composer::saved(&after);
        press(&mut after, &["esc"]);
        composer::adopt(&mut after, &ours, &Saved::default());
        assert!(composer::saved(&after).comments.is_empty(), "{leave:?}");
    }
}

#[test]
fn words_are_not_lost_until_they_are_kept() {
    let mut model = model(NARROW);
    press(&mut model, &["i"]);
    write(&mut model, "why");
    for leave in ["esc", "enter"] {
        press(&mut model, &[leave, "i"]);
        assert_eq!(model.review.writing.as_ref().map(Writing::text).as_deref(), Some("why"), "{leave}");
    }
    press(&mut model, &["enter"]);
    came(
        &mut model,
        Review {
            comments: vec![Comment { side: Side::Old, ..draft(1, 11, "why") }],
            files: vec![],
            ..Review::default()
        },
    );
    press(&mut model, &["i"]);
    assert_eq!(model.review.writing.as_ref().map(Writing::text).as_deref(), Some(""));
    // An empty box asks for nothing.
    assert_eq!(press(&mut model, &["enter"]), []);
}

#[test]
fn words_are_kept_for_each_line_of_each_session() {
    let nit = |line: u32, side| Comment { side, ..draft(line, line, "nit") };
    let at = |line: u32, side| vec![nit(line, side)];
    // The first three lines of the change are the old 11, and 11 and 12 of the file as it is.
    for (left, comments, expected) in [
        ("esc", vec![], ["nit", "nit", "nit"]),
        ("enter", vec![], ["nit", "nit", "nit"]),
        ("enter", at(11, Side::Old), ["", "nit", "nit"]),
        ("enter", at(11, Side::New), ["nit", "", "nit"]),
        ("enter", at(12, Side::New), ["nit", "nit", ""]),
        ("enter", vec![Comment { text: "not it".into(), ..nit(12, Side::New) }], ["nit", "nit", "nit"]),
        ("enter", vec![Comment { path: "other.rs".into(), ..nit(12, Side::New) }], ["nit", "nit", "nit"]),
    ] {
        let mut model = model(NARROW);
        for _ in 0..3 {
            press(&mut model, &["i"]);
            write(&mut model, "nit");
            press(&mut model, &[left, "j"]);
        }
        // Another session has its own words for the same lines.
        model.view = View::Session("runaaaaa".into());
        press(&mut model, &["d"]);
        update(&mut model, Msg::Reply(Reply::Diff { session: "runaaaaa".into(), turn: None, diff: diff(PATCH) }));
        press(&mut model, &["i"]);
        assert_eq!(model.review.writing.as_ref().map(Writing::text).as_deref(), Some(""), "{left}");
        press(&mut model, &["esc"]);
        came(&mut model, Review { comments: comments.clone(), files: vec![], ..Review::default() });
        model.view = View::Session(ID.into());
        press(&mut model, &["d"]);
        update(&mut model, Msg::Reply(Reply::Diff { session: ID.into(), turn: None, diff: diff(PATCH) }));
        let found = expected.map(|_| {
            press(&mut model, &["i"]);
            let text = model.review.writing.as_ref().map(Writing::text).unwrap_or_default();
            press(&mut model, &["esc", "j"]);
            text
        });
        assert_eq!(found, expected, "{left} {comments:?}");
    }
}

#[test]
fn drafts_are_changed_dropped_and_sent_as_one() {
    let mut model = model(NARROW);
    let act = |act: ReviewAct| vec![Request::Review(act)];
    assert_eq!(press(&mut model, &["S"]), [], "nothing to send");
    came(&mut model, Review { comments: vec![draft(7, 11, "why?")], files: vec![], ..Review::default() });
    let drop = act(ReviewAct::Drop { session: ID.into(), comment: 7 });
    assert_eq!(press(&mut model, &["j", "x"]), drop, "from the line above it");
    press(&mut model, &["j", "i"]);
    write(&mut model, "!");
    let reword = ReviewAct::Reword { session: ID.into(), comment: 7, text: "why?!".into() };
    assert_eq!(press(&mut model, &["enter"]), act(reword));
    press(&mut model, &["i"]);
    press(&mut model, &["backspace"; 5]);
    assert_eq!(press(&mut model, &["enter"]), drop, "without words it goes");
    assert_eq!(press(&mut model, &["S"]), act(ReviewAct::Send { session: ID.into() }));
    let sent = Comment { sent_at: Some(NOW), ..draft(7, 11, "why?") };
    came(&mut model, Review { comments: vec![sent], files: vec![], ..Review::default() });
    assert_eq!(press(&mut model, &["i"]), []);
    assert_eq!(model.context(), Context::Diff, "what was sent stays as it is");
}

#[test]
fn what_a_model_suggests_is_told_and_marked() {
    let mut model = model(NARROW);
    let prepared = |findings, text: &str| PreparedReview { focus: None, findings, text: text.into(), prepared_at: NOW };
    let suggested = Comment { suggested: true, ..draft(7, 11, "read it once") };
    let review = |findings, text: &str| Review {
        comments: vec![suggested.clone()],
        prepared: Some(prepared(findings, text)),
        ..Review::default()
    };
    let came = |model: &mut _, review| update(model, Msg::Reply(Reply::Prepared { session: ID.into(), review }));
    came(&mut model, review(1, ""));
    let seen = shown(&mut model);
    assert!(seen.contains("▏ suggested: read it once  (draft)"), "{seen}");
    assert!(seen.contains(&format!("the review of {ID} is prepared: 1 suggested comment")), "{seen}");
    came(&mut model, review(2, "Good."));
    let seen = shown(&mut model);
    assert!(seen.contains("2 suggested comments; `/prepared` shows"), "{seen}");
}
