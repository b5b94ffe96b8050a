//! Where one looks, and what that costs.

use super::*;

/// A turn with so many short messages.
fn long(messages: u64) -> Vec<Payload> {
    (0..messages).map(|number| message(1, &format!("message {number}"))).collect()
}

fn seen(transcripts: &mut Transcripts, height: u16) -> String {
    let transcript = transcripts.get_mut(SESSION).unwrap();
    transcript.prepare(40, height);
    let text = |row: select::Row<'_>| match row.part {
        Part::Line(line) | Part::Folded(line) => line.text(),
        Part::Child(child) => child.label.to_string(),
    };
    transcript.shown().map(text).collect::<Vec<_>>().join("\n")
}

fn scroll(transcripts: &mut Transcripts, rows: i64) -> Vec<Request> {
    transcripts.get_mut(SESSION).unwrap().scroll(SESSION, rows, 3)
}

#[test]
fn the_end_is_followed_until_one_looks_elsewhere() {
    let mut transcripts = transcript(long(20));
    assert_eq!(seen(&mut transcripts, 3), "message 17\nmessage 18\nmessage 19");
    transcripts.fact(&event(300, message(1, "more")));
    assert_eq!(seen(&mut transcripts, 3), "message 18\nmessage 19\nmore");
    scroll(&mut transcripts, -5);
    let read = seen(&mut transcripts, 3);
    assert_eq!(read, "message 13\nmessage 14\nmessage 15");
    transcripts.fact(&event(310, message(1, "even more")));
    transcripts.live(&delta(1, "and\n\nmore"));
    assert_eq!(seen(&mut transcripts, 3), read);
    scroll(&mut transcripts, 100);
    assert_eq!(seen(&mut transcripts, 3), "and\n\nmore");
    transcripts.live(&delta(1, "\n\nlast"));
    assert_eq!(seen(&mut transcripts, 3), "more\n\nlast");
}

#[test]
fn whoever_selects_a_card_reads_it() {
    let mut transcripts = transcript(vec![message(1, "One."), call(1, "c", "ls"), called(1, "c", "ls", "a")]);
    let read = seen(&mut transcripts, 9);
    transcripts.get_mut(SESSION).unwrap().select(SESSION, Way::Up, 9);
    for number in 0..20 {
        transcripts.fact(&event(100 + number, message(1, "more")));
    }
    assert!(seen(&mut transcripts, 9).starts_with(&read));
}

#[test]
fn older_facts_are_asked_for_and_come_without_a_jump() {
    let mut transcripts = Transcripts::default();
    let end = vec![Request::Page { session: SESSION.into(), before: None }];
    assert_eq!(transcripts.need(SESSION), end);
    assert_eq!(transcripts.need(SESSION), []);
    transcripts.refused();
    assert_eq!(transcripts.need(SESSION), end);
    let mut story = facts(long(600));
    let ask = |before| vec![Request::Page { session: SESSION.into(), before: Some(before) }];
    assert_eq!(transcripts.page(SESSION, story.split_off(500), Reach::More), []);
    seen(&mut transcripts, 3);
    assert_eq!(scroll(&mut transcripts, -10), ask(5010));
    assert_eq!(scroll(&mut transcripts, -10), []);
    let read = seen(&mut transcripts, 3);
    assert_eq!(transcripts.page(SESSION, story.split_off(400), Reach::More), []);
    assert_eq!(seen(&mut transcripts, 3), read);
    let transcript = transcripts.get_mut(SESSION).unwrap();
    assert_eq!(transcript.rewind(SESSION), ask(4010));
    assert_eq!(transcripts.page(SESSION, story.split_off(200), Reach::More), ask(2010));
    assert_eq!(transcripts.page(SESSION, story, Reach::Start), []);
    assert_eq!(seen(&mut transcripts, 2), "message 0\nmessage 1");
}

#[test]
fn the_open_one_is_held_and_asked_for_again_when_it_is_shown() {
    let mut transcripts = Transcripts::default();
    transcripts.show(SESSION);
    let others: Vec<String> = (0..2 * HELD).map(|number| format!("other{number}")).collect();
    others.iter().for_each(|other| {
        transcripts.need(other);
    });
    let held = |transcripts: &Transcripts| others.iter().filter(|other| transcripts.get(other).is_some()).count();
    assert!(transcripts.get(SESSION).is_some());
    assert_eq!(held(&transcripts), HELD - 1);
    transcripts.refused();
    let end = vec![Request::Page { session: SESSION.into(), before: None }];
    assert_eq!([transcripts.show(SESSION), transcripts.show(SESSION)], [end, vec![]]);
    transcripts.show(&others[0]);
    others.iter().for_each(|other| {
        transcripts.need(other);
    });
    assert!(transcripts.get(SESSION).is_none() && transcripts.get(&others[0]).is_some());
    assert_eq!(held(&transcripts), HELD);
}

#[test]
fn what_was_missed_is_filled_in_or_begun_again() {
    let story = facts(long(400));
    let mut transcripts = Transcripts::default();
    transcripts.need(SESSION);
    transcripts.page(SESSION, story[..100].to_vec(), Reach::Start);
    let ask = |before| vec![Request::Page { session: SESSION.into(), before }];
    assert_eq!(transcripts.renew(), ask(None));
    assert_eq!(transcripts.page(SESSION, story[150..200].to_vec(), Reach::More), ask(Some(1510)));
    assert_eq!(transcripts.page(SESSION, story[90..150].to_vec(), Reach::More), []);
    assert_eq!(transcripts.get(SESSION).unwrap().entries.len(), 200);
    assert_eq!(transcripts.renew(), ask(None));
    for from in [390, 380, 370, 360] {
        let page = story[from..from + 10].to_vec();
        assert_eq!(transcripts.page(SESSION, page, Reach::More), ask(Some(10 * (from as u64 + 1))));
    }
    assert_eq!(transcripts.page(SESSION, story[350..360].to_vec(), Reach::More), ask(None));
    assert_eq!(transcripts.page(SESSION, story[300..400].to_vec(), Reach::More), []);
    let transcript = transcripts.get(SESSION).unwrap();
    assert_eq!(transcript.entries.len(), 100);
}

#[test]
fn only_the_transcripts_of_late_are_held() {
    let mut transcripts = Transcripts::default();
    for number in 0..12 {
        transcripts.need(&format!("session{number}"));
    }
    assert!(transcripts.get("session3").is_none());
    assert!((4..12).all(|number| transcripts.get(&format!("session{number}")).is_some()));
}

#[test]
fn a_frame_lays_out_what_it_shows_and_not_the_rest() {
    let text: String = (0..50).map(|line| format!("line {line} with some words in it\n")).collect();
    let payloads = (0..2000).map(|_| message(1, &text)).collect();
    let mut transcripts = transcript(payloads);
    let work = |transcripts: &Transcripts| transcripts.get(SESSION).unwrap().layout.work;
    seen(&mut transcripts, 50);
    assert!(work(&transcripts) <= 3, "{}", work(&transcripts));
    for _ in 0..100 {
        scroll(&mut transcripts, -3);
        seen(&mut transcripts, 50);
    }
    assert!(work(&transcripts) <= 12, "{}", work(&transcripts));
    let before = work(&transcripts);
    seen(&mut transcripts, 50);
    assert_eq!(work(&transcripts), before);
    transcripts.get_mut(SESSION).unwrap().rewind(SESSION);
    seen(&mut transcripts, 50);
    assert!(work(&transcripts) <= before + 3);
}

#[test]
fn more_of_a_streamed_text_costs_the_same_however_long_it_is() {
    let mut transcripts = transcript(vec![started(1)]);
    let mut before = 0;
    for paragraph in 0..2000 {
        transcripts.live(&delta(1, &format!("paragraph {paragraph}\n\n")));
        seen(&mut transcripts, 20);
        let work = transcripts.get(SESSION).unwrap().layout.work;
        assert!(work - before <= 3, "{} units for paragraph {paragraph}", work - before);
        before = work;
    }
}

#[test]
fn a_place_survives_another_width() {
    let text: String = (0..200).map(|word| format!("word{word} ")).collect();
    let mut transcripts = transcript(vec![message(1, &text), message(1, &text)]);
    seen(&mut transcripts, 3);
    scroll(&mut transcripts, -20);
    let first = seen(&mut transcripts, 1);
    let word = first.split(' ').next().unwrap().to_owned();
    let transcript = transcripts.get_mut(SESSION).unwrap();
    transcript.prepare(80, 3);
    let rows: Vec<String> = transcript.tail(80, 100).iter().map(Line::text).collect();
    assert!(rows.iter().any(|row| row.contains(&word)));
    assert_eq!(seen(&mut transcripts, 1), first);
}
