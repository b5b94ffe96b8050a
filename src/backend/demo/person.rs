//! The demo agent's own interface: a person types, it says what it is told. It thinks as little here as elsewhere.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;

use serde_json::Value;

use super::state::State;

/// Talks with a person about a conversation until they leave; files are written below `tree`.
pub(crate) fn talk(
    mut state: State,
    conversation: &str,
    tree: &Path,
    input: impl BufRead,
    mut screen: impl Write,
) -> io::Result<u8> {
    let Some(memory) = state.recall(conversation) else {
        writeln!(screen, "error: there is no conversation `{conversation}`")?;
        return Ok(1);
    };
    writeln!(screen, "the scripted agent, with a person; `write NAME TEXT` writes a file, `/exit` leaves")?;
    for turn in &memory.turns {
        // What is asked stands last in a prompt, after the rules.
        let asked = turn.prompt.trim_end().lines().next_back().unwrap_or_default();
        writeln!(screen, "you said: {asked}\nit said: {}", said(turn.answer.as_deref()))?;
    }
    write!(screen, "> ")?;
    screen.flush()?;
    for line in input.lines() {
        let line = line?;
        match line.trim() {
            "/exit" => break,
            line => match line.strip_prefix("write ").and_then(|rest| rest.split_once(' ')) {
                Some((name, text)) => match fs::write(tree.join(name), format!("{text}\n")) {
                    Ok(()) => writeln!(screen, "wrote {name}")?,
                    Err(error) => writeln!(screen, "failed to write {name}: {error}")?,
                },
                None => writeln!(screen, "you say: {line}")?,
            },
        }
        write!(screen, "> ")?;
        screen.flush()?;
    }
    Ok(0)
}

/// What a person reads of an answer, which is in the form that we ask for.
fn said(answer: Option<&str>) -> String {
    let answer = answer.unwrap_or("nothing");
    let response: Option<Value> = serde_json::from_str(answer).ok();
    let text = response.as_ref().and_then(|response| response["answer"].as_str());
    text.unwrap_or(answer).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::state::Past;
    use super::*;

    #[test]
    fn a_person_sees_the_conversation_and_works_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = State::open(Some(dir.path().join("state")));
        state.begin("demo-1").unwrap();
        let turn = Past { prompt: "rules\nfix it\n".to_owned(), answer: Some(r#"{"answer":"fixed"}"#.to_owned()) };
        state.recall("demo-1").unwrap().turns.push(turn);
        let typed = "hello\nwrite a.txt one two\nwrite no/where x\n/exit\nunread\n";
        let mut screen = Vec::new();
        assert_eq!(talk(state, "demo-1", dir.path(), typed.as_bytes(), &mut screen).unwrap(), 0);
        let screen = String::from_utf8(screen).unwrap();
        assert!(screen.contains("you said: fix it\nit said: fixed\n> you say: hello\n> wrote a.txt\n"), "{screen}");
        assert!(screen.contains("failed to write no/where") && !screen.contains("unread"), "{screen}");
        assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "one two\n");

        let mut screen = Vec::new();
        let nobody = State::open(None);
        assert_eq!(talk(nobody, "demo-2", dir.path(), &b""[..], &mut screen).unwrap(), 1);
        assert_eq!(String::from_utf8(screen).unwrap(), "error: there is no conversation `demo-2`\n");
    }
}
