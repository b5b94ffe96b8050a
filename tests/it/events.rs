//! Event streams: they resume where a client left off, and nothing comes twice.

use serde_json::Value;

use crate::env::TestEnv;
use crate::script::{say, write};

fn numbers(lines: &[String]) -> Vec<u64> {
    lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64()).collect()
}

#[test]
fn a_stream_goes_on_after_the_last_number_seen() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("one"));
    let all = numbers(&env.coppice(&["events", &id, "--json"]).stdout().lines().map(str::to_owned).collect::<Vec<_>>());
    let middle = all[all.len() / 2];

    let mut stream = env.start(&["events", &id, "--follow", "--json", "--since", &middle.to_string()]);
    env.coppice(&["send", &id, &say("two")]).succeeds();
    stream.line_where(|line| line.contains("\"turn_completed\"") && line.contains("two"));

    let seen = numbers(stream.seen());
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    let expected: Vec<_> = env.events(&id).iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(
        seen,
        expected.into_iter().filter(|&seq| seq > middle && seq <= *seen.last().unwrap()).collect::<Vec<_>>()
    );
}

#[test]
fn the_last_events_are_read_from_the_end_and_a_stream_goes_on_behind_them() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("one"));
    let all: Vec<String> = env.coppice(&["events", &id, "--json"]).stdout().lines().map(str::to_owned).collect();
    let last = env.coppice(&["events", &id, "--json", "--last", "3"]).stdout();
    assert_eq!(last.lines().collect::<Vec<_>>(), all[all.len() - 3..]);
    assert_eq!(env.coppice(&["events", &id, "--json", "--last", "5000"]).stdout().lines().count(), all.len());

    let mut stream = env.start(&["events", &id, "--follow", "--json", "--last", "2"]);
    stream.line_where(|line| line == all[all.len() - 1]);
    env.coppice(&["send", &id, &say("two")]).succeeds();
    stream.line_where(|line| line.contains("\"turn_completed\"") && line.contains("two"));
    let (seen, since) = (numbers(stream.seen()), numbers(&all)[all.len() - 2]);
    let expected: Vec<_> = env.events(&id).iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    let end = *seen.last().unwrap();
    assert_eq!(seen, expected.into_iter().filter(|seq| (since..=end).contains(seq)).collect::<Vec<_>>());
}

#[test]
fn a_page_back_tells_when_the_beginning_is_reached() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("one"));
    let all: Vec<_> = env.events(&id).iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    let (mut before, mut seen) = (u64::MAX, Vec::new());
    loop {
        let text = crate::http::get(&env, &format!("/v1/events?session={id}&before={before}&limit=4"), &[]);
        let page: Value = serde_json::from_str(&text).unwrap();
        let numbers = page["items"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap());
        seen.splice(..0, numbers);
        match page["next"].as_str() {
            Some(next) => before = next.parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(seen, all);

    let refused = crate::http::reply(&env, &format!("/v1/events/stream?session={id}&before=7"));
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(refused.contains("a stream goes forward: `before` is only for a page of events"), "{refused}");
}

#[test]
fn a_stream_of_all_sessions_holds_each_once() {
    let env = TestEnv::new();
    let mut stream = env.start(&["events", "--all", "--follow", "--json", "--since", "0"]);
    let ids = [env.create(&say("one")), env.create(&say("two"))];
    for _ in &ids {
        stream.line_where(|line| line.contains("\"turn_completed\""));
    }
    let seen = numbers(stream.seen());
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    for id in &ids {
        assert!(stream.seen().iter().any(|line| line.contains("session_created") && line.contains(id.as_str())));
    }
}

#[test]
fn streaming_text_never_shows_the_protocol() {
    let env = TestEnv::new();
    let mut run = env.start(&["run", "--json", "--model", "demo", &say("plain words only")]);
    run.line_where(|line| line.contains("\"turn_completed\""));
    let deltas: Vec<Value> = run
        .seen()
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["type"] == "delta" && record["block"] == "message")
        .collect();
    let text: String = deltas.iter().filter_map(|delta| delta["text"].as_str()).collect();
    assert!("plain words only".starts_with(&text), "{text}");
}

#[test]
fn other_programs_read_the_same_stream_over_the_socket() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "1"));
    let last = env.events(&id)[2]["seq"].as_u64().unwrap();
    let text = crate::http::get(&env, &format!("/v1/events?session={id}&since={last}"), &[]);
    let page: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(page["items"][0]["seq"], last + 1, "{page:#}");

    let stream =
        crate::http::stream(&env, &format!("/v1/events/stream?session={id}"), &[("last-event-id", &last.to_string())]);
    let first =
        stream.into_iter().find_map(|line| line.strip_prefix("id:").map(|id| id.trim().parse::<u64>().unwrap()));
    assert_eq!(first, Some(last + 1));
}
