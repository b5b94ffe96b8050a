//! An agent that answers a prompt with as many deltas as the pipe takes, all made before the first one is written.
//!
//! It is this same program, started again: a daemon under test needs an agent that costs next to nothing.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The first argument that makes the program this agent.
pub(crate) const ROLE: &str = "flood-agent";

/// How many deltas one prompt brings.
pub(crate) const DELTAS: usize = 12_500;

/// A prompt that holds this word is answered with the flood, any other in one piece.
pub(crate) const WORD: &str = "flood";

/// A prompt that holds this word is answered as a model does, a few words at a time.
pub(crate) const SLOW_WORD: &str = "drizzle";

/// So many pieces a slow answer has, and so long apart.
const PIECES: usize = 1_500;
const APART: Duration = Duration::from_millis(10);

const SESSION: &str = "flood";

/// The answer that the deltas make together.
pub(crate) fn answer() -> String {
    (0..DELTAS - 2).map(word).collect()
}

/// Pieces as a model makes them: a word, sometimes the end of a line.
fn word(place: usize) -> String {
    const WORDS: [&str; 8] = ["The", " state", " of", " a", " session", " changes", " with", " events"];
    match place % 40 {
        39 => ".\n".to_owned(),
        _ => WORDS[place * 7919 % 8].to_owned(),
    }
}

/// Serves one client on stdin and stdout.
pub(crate) fn serve() {
    let flood = flood();
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}),
            "session/new" => json!({"sessionId": SESSION}),
            "session/prompt" => {
                let prompt = message["params"]["prompt"].to_string();
                match () {
                    () if prompt.contains(SLOW_WORD) => drizzle(&mut output),
                    () if prompt.contains(WORD) => output.write_all(flood.as_bytes()).unwrap(),
                    () => output.write_all(chunk(r#"{"answer":"ready"}"#).as_bytes()).unwrap(),
                }
                json!({"stopReason": "end_turn"})
            }
            _ => continue,
        };
        writeln!(output, "{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).unwrap();
    }
}

/// An answer at the pace of a model.
fn drizzle(output: &mut impl Write) {
    for line in flood().lines().take(PIECES) {
        writeln!(output, "{line}").unwrap();
        output.flush().unwrap();
        thread::sleep(APART);
    }
    output.write_all(chunk(r#""}"#).as_bytes()).unwrap();
}

/// The lines of one answer.
fn flood() -> String {
    let escaped = |place| {
        let quoted = json!(word(place)).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let middle = (0..DELTAS - 2).map(|place| chunk(&escaped(place)));
    [chunk(r#"{"answer":""#)].into_iter().chain(middle).chain([chunk(r#""}"#)]).collect()
}

fn chunk(text: &str) -> String {
    let content = json!({"type": "text", "text": text});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": SESSION, "update": update});
    format!("{}\n", json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
}
