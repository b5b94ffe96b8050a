//! The providers as one: which request asks the model, and how a reply looks on the wire.

use axum::body::Bytes;
use serde_json::Value;

use super::call::Request;
use super::script::Step;
use super::{anthropic, chat, google, openai};

/// The words of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    OpenAi,
    /// OpenAI Chat Completions.
    Chat,
    /// Gemini `generateContent`.
    Google,
}

/// What a request is for.
pub(super) enum Role {
    /// It asks the model and takes a step of the script.
    Call,
    /// It asks the model beside the conversation, for a title perhaps, and is content with any word.
    Chatter,
    /// It is beside the conversation and gets this reply, or is told that there is no such thing.
    Aside(Option<Value>),
}

/// One part of a reply.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(String),
    Tool {
        name: String,
        input: Value,
    },
    /// A tool whose input is text of its own kind.
    Freeform {
        name: &'static str,
        input: String,
    },
}

/// The type of a stream of server-sent events.
pub(super) const EVENTS: &str = "text/event-stream";

/// What every reply that never ends has said.
pub(super) const BEGUN: &str = "I begin to ";

impl Dialect {
    /// The name under which the program offers a served tool to its model.
    pub(crate) fn served(self, tool: &str) -> String {
        match self {
            Self::Anthropic => format!("mcp__coppice__{tool}"),
            Self::OpenAi => tool.to_owned(),
            Self::Chat => unreachable!("no case of these agents needs it"),
            Self::Google => format!("discovered_tool_{tool}"),
        }
    }

    /// The parts of a reply that calls served tools.
    pub(super) fn serve(self, calls: &[(String, Value)]) -> Vec<Part> {
        let part = |(tool, input): &(String, Value)| Part::Tool { name: self.served(tool), input: input.clone() };
        calls.iter().map(part).collect()
    }

    pub(super) fn role(self, request: &Request) -> Role {
        match self {
            Self::Anthropic => anthropic::role(request),
            Self::OpenAi => openai::role(request),
            Self::Chat => chat::role(request),
            Self::Google => google::role(request),
        }
    }

    /// The parts of a reply; errors and held replies have none.
    pub(super) fn parts(self, step: &Step, request: &Request) -> Vec<Part> {
        if let Step::Before { prose, step } = step {
            return std::iter::once(Part::Text(prose.clone())).chain(self.parts(step, request)).collect();
        }
        match self {
            Self::Anthropic => anthropic::parts(step, request),
            Self::OpenAi => openai::parts(step, request),
            Self::Chat => chat::parts(step, request),
            Self::Google => google::parts(step),
        }
    }

    /// Whether the reply is a stream of events.
    pub(super) fn streams(self, request: &Request) -> bool {
        match self {
            Self::Anthropic => anthropic::streams(request),
            Self::OpenAi | Self::Chat => request.body["stream"] == true,
            Self::Google => request.path.contains("streamGenerateContent"),
        }
    }

    /// The type of such a stream.
    pub(super) fn stream_type(self, request: &Request) -> &'static str {
        match self {
            Self::Anthropic => anthropic::stream_type(request),
            Self::OpenAi | Self::Chat | Self::Google => EVENTS,
        }
    }

    /// The events of a whole reply.
    pub(super) fn frames(self, parts: &[Part], request: &Request) -> Vec<Bytes> {
        match self {
            Self::Anthropic => anthropic::frames(parts, request),
            Self::OpenAi => openai::frames(parts, request),
            Self::Chat => chat::frames(parts, request),
            Self::Google => google::frames(parts),
        }
    }

    /// The events of a reply that stops in the middle of its first block.
    pub(super) fn beginning(self, request: &Request) -> Vec<Bytes> {
        let mut frames = self.frames(&[Part::Text(BEGUN.to_owned())], request);
        frames.truncate(match self {
            Self::Anthropic | Self::OpenAi | Self::Chat => 3,
            Self::Google => 1,
        });
        frames
    }

    /// A reply in one piece.
    pub(super) fn whole(self, parts: &[Part], request: &Request) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(parts, request),
            Self::OpenAi => openai::whole(parts, request),
            Self::Chat => chat::whole(parts, request),
            Self::Google => google::whole(parts),
        }
    }

    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, message),
            Self::OpenAi => openai::error(status, message),
            Self::Chat => chat::error(status, message),
            Self::Google => google::error(status, message),
        }
    }

    /// Headers that tell an agent how long an error lasts, so that it does not try for minutes.
    pub(super) fn error_headers(self, status: u16) -> Vec<(&'static str, &'static str)> {
        match (self, status) {
            (Self::Anthropic, 429) => vec![("retry-after", "600")],
            (Self::Anthropic | Self::OpenAi | Self::Chat | Self::Google, _) => Vec::new(),
        }
    }
}

/// One server-sent event; `None` for providers that name none.
pub(super) fn event(name: Option<&str>, data: &Value) -> Bytes {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n").into(),
        None => format!("data: {data}\r\n\r\n").into(),
    }
}

/// The pieces in which a text is streamed: two, so that nobody relies on one.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (front, back) = text.split_at(middle);
    [front, back].into_iter().filter(|piece| !piece.is_empty()).collect()
}
