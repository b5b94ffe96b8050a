//! Who works, as a model is told: the agent's own words, the note on its thread, the skills there are and those that the
//! prompt loads.
//!
//! In a prompt none of these may hold the line that begins the task; beside the conversation they stand as they are.

use std::borrow::Cow;

use askama::Template;

use super::text;

/// An agent at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role<'a> {
    /// The name, with the persona if one was chosen.
    pub agent: &'a str,
    pub prompt: &'a str,
    /// What the delegating agent noted about the thread.
    pub note: Option<&'a str>,
    /// One line for each skill that can be loaded; empty where none can.
    pub skills: &'a str,
    pub tools: Tools,
}

/// Whose tools the agent works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    Own,
    /// Its program's own are off, and others are served in their place.
    Served,
}

/// Whom the conversation has heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// This role, or none.
    Same,
    /// Another role, or other words of this one.
    Other,
}

/// A skill that the prompt names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

#[derive(Template)]
#[template(path = "prompt/role.md")]
struct Block<'a> {
    hearing: Hearing,
    agent: &'a str,
    prompt: &'a str,
    note: Option<String>,
    skills: &'a str,
    tools: Tools,
}

/// The role as it stands beside a conversation.
pub(super) fn block(role: &Role<'_>, hearing: Hearing) -> String {
    let Role { agent, prompt, note, skills, tools } = *role;
    let note = note.map(|note| note.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|note| !note.is_empty());
    text(&Block { hearing, agent, prompt: prompt.trim(), note, skills: skills.trim_end(), tools })
}

/// What a prompt says where the role itself stands beside the conversation.
pub(super) fn switched(role: &Role<'_>) -> String {
    let agent = role.agent;
    format!("From here on you work as the agent `{agent}`; the instructions beside this conversation are its own.")
}

/// The text of a skill.
pub(super) fn loaded(skill: &Loaded<'_>) -> String {
    format!("## The skill `{}`\nThe person asks you to work by it.\n\n{}", skill.name, skill.text.trim())
}

/// The same text without a line that a reader would take for the beginning of the task. In Markdown four dashes mean
/// what three do.
pub(super) fn undivided(text: &str) -> Cow<'_, str> {
    match text.lines().any(is_divider) {
        false => Cow::Borrowed(text),
        true => {
            let line = |line| if is_divider(line) { "----" } else { line };
            Cow::Owned(text.lines().map(line).collect::<Vec<_>>().join("\n"))
        }
    }
}

fn is_divider(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests {
    use super::super::{
        Delivery, Note, PastTurn, Place, Profile, Request, Transcript, Turn, TurnEnd, before, beside, preamble,
    };
    use super::*;

    const ROLE: Role<'_> = Role {
        agent: "reviewer:strict",
        prompt: "Look closely.\n---\nSay what is wrong.\n",
        note: None,
        skills: "",
        tools: Tools::Own,
    };

    const TURN: Turn<'_> = Turn {
        request: Request::SessionResume,
        place: Place::InPrompt,
        delivery: Delivery::DeltaOnly,
        role: ROLE,
        hearing: Hearing::Same,
        loaded: &[],
        notes: &[],
        context: None,
    };

    #[track_caller]
    fn check(turn: Turn<'_>, expected: &str) {
        let text = before(&turn);
        assert!(text.ends_with("\n\n---\n\n") || turn.context.is_some(), "{text}");
        assert_eq!(text.lines().filter(|line| *line == "---").count(), 1, "{text}");
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_bootstrap_tells_the_role_after_the_rules() {
        let text = "\n\n## Your role\nYou work as the agent `reviewer:strict`. Its instructions:\n\n\
            Look closely.\n----\nSay what is wrong.";
        check(Turn { delivery: Delivery::BootstrapFull, ..TURN }, &format!("{}{text}\n\n---", rules()));
        let past = PastTurn { number: 1, prompt: "p".into(), images: 0, answer: "a".into(), end: TurnEnd::Completed };
        let transcript = Transcript { summary: None, turns: vec![past] };
        let delivery = Delivery::BootstrapWithReplay { transcript: &transcript, limit: 1000 };
        check(Turn { delivery, ..TURN }, &format!("{}{text}\n\n## The conversation so far", rules()));
    }

    #[test]
    fn a_delta_tells_a_role_that_the_conversation_has_not_heard() {
        assert!(!before(&TURN).contains("reviewer"));
        let other = Turn { hearing: Hearing::Other, ..TURN };
        check(other, "From here on you work as the agent `reviewer:strict`. What an earlier role of this conversation");
        check(other, "Look closely.\n----\nSay what is wrong.\n\n---");
        let aside = Turn { place: Place::Beside, ..other };
        check(aside, "From here on you work as the agent `reviewer:strict`; the instructions beside");
        assert!(!before(&aside).contains("Look closely"));
        assert!(
            !before(&Turn { place: Place::Beside, delivery: Delivery::BootstrapFull, ..TURN }).contains("reviewer")
        );
    }

    #[test]
    fn beside_a_conversation_the_words_of_an_agent_stand_as_they_are() {
        let role = Role { note: Some(" owns\nsrc/a "), skills: "- $pdf: Makes PDFs (p)\n", ..ROLE };
        let text = beside(&role);
        let expected = "\n\nLook closely.\n---\nSay what is wrong.\n\nNote on this thread: owns src/a\n\n\
            ## Skills\nEach is a set of instructions for one kind of work. Load one with the tool `skill` when it fits what \
            you do:\n- $pdf: Makes PDFs (p)";
        assert!(text.starts_with(&rules()) && text.ends_with(expected), "{text}");
        let silent = beside(&Role { prompt: " \n", note: Some(" "), ..ROLE });
        assert!(silent.ends_with("\n\n## Your role\nYou work as the agent `reviewer:strict`."), "{silent}");
        let served = beside(&Role { tools: Tools::Served, prompt: "", ..ROLE });
        let expected = "agent `reviewer:strict`.\n\nYour program's own tools for files, searches and commands are off: use the \
            ones that are served to you instead.";
        assert!(served.starts_with(&rules()) && served.ends_with(expected), "{served}");
    }

    #[test]
    fn a_skill_that_the_task_names_comes_with_every_delivery() {
        let loaded = [Loaded { name: "pdf", text: "Use it.\n---\n" }];
        let notes = [Note::Interrupted { turn: 2 }];
        let text = "\n\n## The skill `pdf`\nThe person asks you to work by it.\n\nUse it.\n----\n\nNote: turn 2";
        for delivery in [Delivery::BootstrapFull, Delivery::DeltaOnly] {
            check(Turn { delivery, loaded: &loaded, notes: &notes, ..TURN }, text);
        }
    }

    #[test]
    fn what_others_said_is_quoted_between_the_line_and_the_task() {
        let text = before(&Turn { context: Some("It broke.\n---\n@run\n"), ..TURN });
        let expected = "\n\n---\n\nWhat you should know beside the task, as quoted lines:\n> It broke.\n> ---\n> @run\n\n\
            The task:\n\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(before(&Turn { context: Some(" "), ..TURN }).ends_with("\n---\n\n"));
    }

    fn rules() -> String {
        preamble(Profile::SessionTurn)
    }
}
