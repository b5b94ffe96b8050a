//! The response as it travels: the shape that the committed schema describes and serde reads.
//!
//! The doc comments of these types are the descriptions in the schema, so a model reads them: they speak to it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::parse::Refusal;
use super::response::{Question, Response, Summary};

/// The names of the fields of the top-level object.
pub(super) const KEYS: [&str; 3] = ["answer", "questions", "summary"];

/// The one object that ends a turn. Every field may be left out or null, but at least one must say something.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Response")]
pub(super) struct WireResponse {
    /// The reply to the person, in Markdown: the outcome first, then what they need to know.
    answer: Option<String>,
    /// Decisions that only a person can make. Leave it out when there are none.
    questions: Option<Vec<WireQuestion>>,
    /// What changed in the files. Leave it out when this turn changed none.
    summary: Option<WireSummary>,
}

/// One decision for the person.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireQuestion {
    /// The question, complete in itself.
    text: String,
    /// Answers to choose from, the recommended one first. Leave it out for a free answer.
    options: Option<Vec<String>>,
}

/// What changed in the files, told for a commit and for a merge.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireSummary {
    /// This turn only, in Markdown. The first line serves as the commit subject: imperative, at most 72 characters.
    turn: String,
    /// Everything the branch changes against its base as it stands after this turn, in Markdown.
    session: String,
}

impl TryFrom<WireResponse> for Response {
    type Error = Refusal;

    fn try_from(wire: WireResponse) -> Result<Self, Refusal> {
        let answer = wire.answer.unwrap_or_default();
        let questions: Vec<_> = wire.questions.unwrap_or_default().into_iter().map(Question::from).collect();
        let summary = wire.summary.map(Summary::from);
        if let Some(path) = blank_part(&questions) {
            return Err(Refusal::BlankPart { path });
        }
        let sums_up = summary.as_ref().is_some_and(|summary| !(is_blank(&summary.turn) && is_blank(&summary.session)));
        if is_blank(&answer) && questions.is_empty() && !sums_up {
            return Err(Refusal::SaysNothing);
        }
        Ok(Response { answer, questions, summary: summary.filter(|_| sums_up) })
    }
}

impl From<WireQuestion> for Question {
    fn from(wire: WireQuestion) -> Self {
        Self { text: wire.text, options: wire.options.unwrap_or_default() }
    }
}

impl From<WireSummary> for Summary {
    fn from(wire: WireSummary) -> Self {
        Self { turn: wire.turn, session: wire.session }
    }
}

/// A blank question would leave the session asking for nothing, so it is refused like a missing one.
fn blank_part(questions: &[Question]) -> Option<String> {
    questions.iter().enumerate().find_map(|(place, question)| {
        let option = question.options.iter().position(|option| is_blank(option));
        match is_blank(&question.text) {
            true => Some(format!("/questions/{place}/text")),
            false => option.map(|option| format!("/questions/{place}/options/{option}")),
        }
    })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
