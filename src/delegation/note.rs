//! The short lines beside an agent: its note, and what a parent's stream says when its status changes.

use std::time::Duration;

use super::status::Lifecycle;

const PREVIEW_CHARS: usize = 160;

/// The note of a child: what was asked for, or who it is. A blank wish is none at all.
pub fn note(wish: Option<&str>, agent: &str, persona: Option<&str>, description: &str) -> Option<String> {
    if let Some(wish) = wish {
        return said(&one_line(wish)).map(str::to_owned);
    }
    let parts =
        [("agent_type", said(agent)), ("agent_name", persona.and_then(said)), ("agent_description", said(description))];
    let told: Vec<_> =
        parts.into_iter().filter_map(|(key, value)| value.map(|value| format!("{key}={value}"))).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// A child whose status changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched<'a> {
    pub agent: &'a str,
    pub persona: Option<&'a str>,
    pub id: &'a str,
    pub state: Lifecycle,
    /// How long it worked, where it came to an end.
    pub lasted: Option<Duration>,
    /// The reply or the error, of which a preview is shown.
    pub text: &'a str,
}

/// What the parent's stream says about it.
pub fn watch_line(child: &Watched<'_>) -> String {
    let persona = child.persona.map(|persona| format!("/{persona}")).unwrap_or_default();
    let word = match child.state {
        Lifecycle::PendingInit => "initializing",
        Lifecycle::Running => "running",
        Lifecycle::Completed => "completed",
        Lifecycle::Errored => "errored",
        Lifecycle::Shutdown => "stopped",
        Lifecycle::NotFound => "not found",
    };
    let lasted = child.lasted.filter(|_| child.state.is_final());
    let lasted = lasted.map(|lasted| format!(" in {}", span(lasted))).unwrap_or_default();
    let preview = match preview(child.text) {
        preview if preview.is_empty() => preview,
        preview => format!(": {preview}"),
    };
    format!("agent {}{persona} ({}) {word}{lasted}{preview}", child.agent, child.id)
}

/// A text without ends of lines and other characters that control something, and without the space around it.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// One line of at most 160 characters.
pub fn preview(text: &str) -> String {
    let line = one_line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() <= PREVIEW_CHARS {
        true => line,
        false => line.chars().take(PREVIEW_CHARS - 1).chain(['…']).collect(),
    }
}

fn span(lasted: Duration) -> String {
    let seconds = lasted.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes) => format!("{hours}h {minutes:02}m {seconds:02}s"),
    }
}

fn said(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
