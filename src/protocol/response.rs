//! What an agent says at the end of a turn, as the rest of the program thinks of it.
//!
//! `wire` holds the twin that travels; a value of this type has already passed every check.

/// One validated response: at least one of its parts says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Markdown for the person; empty when the response only asks or only sums up.
    pub answer: String,
    /// What the agent cannot decide by itself; not empty means the session asks.
    pub questions: Vec<Question>,
    pub summary: Option<Summary>,
}

/// One question with the answers the agent proposes; without options the answer is free text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
}

/// What changed, told twice: for the checkpoint and for the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Covers this turn only.
    pub turn: String,
    /// Covers the whole branch against its base, as it stands after this turn.
    pub session: String,
}
