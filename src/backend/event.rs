//! What a conversation says and what it can be told, the same for every backend.
//!
//! A prompt is answered by exactly one `Final` or `Failed`; `Exited` is the last event of a conversation.

use std::path::PathBuf;

use serde_json::Value;

use crate::backend::failure::Failure;
use crate::mcp;
use crate::permission::Reach;

/// What the owner of a conversation asks of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Runs one turn. Turns run one at a time: a prompt that comes early waits for its predecessor.
    Prompt { blocks: Vec<Block> },
    /// Answers an open [`ApprovalRequest`]; ignored when that request is gone.
    Decide { request: String, decision: Decision },
    /// Answers an open [`ToolRequest`]; ignored when that request is gone.
    ToolResult { request: String, outcome: Result<ToolOutput, String> },
    /// Ends the running turn as `cancelled`; the conversation lives on if the agent cooperates.
    Interrupt,
    /// Ends the conversation and its process.
    Close,
}

/// One part of a prompt; the order of the parts is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Text(String),
    Image(Image),
}

/// One image, as bytes and as a file: backends take the one or the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub mime_type: String,
    /// In base64.
    pub data: String,
    pub path: PathBuf,
}

/// What a served tool answers: a text, and pictures for models that see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    pub images: Vec<mcp::Image>,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

impl ToolOutput {
    /// The same with one more picture, in base64.
    pub fn with_image(mut self, mime_type: String, data: String) -> Self {
        self.images.push(mcp::Image { mime_type, data });
        self
    }
}

impl From<ToolOutput> for mcp::Output {
    fn from(output: ToolOutput) -> Self {
        Self { text: output.text, images: output.images, structured: None }
    }
}

/// What a person decided about one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allows this one call.
    Once,
    Deny {
        message: Option<String>,
    },
}

/// One normalised fact from a backend.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The conversation is open and takes prompts.
    Started(Started),
    Text {
        delta: String,
    },
    Thought {
        delta: String,
    },
    ToolStarted(ToolCall),
    /// Further output of a running call, to be appended to what came before.
    ToolOutput {
        call: String,
        text: String,
    },
    /// `output` is the whole output of the call, bounded; it stands for itself even if some was streamed before.
    ToolFinished {
        call: String,
        status: ToolStatus,
        output: String,
    },
    Approval(ApprovalRequest),
    /// The request cannot be answered any more: its turn ended, or the agent withdrew it.
    ApprovalGone {
        request: String,
    },
    /// The model calls a tool that Coppice serves.
    ToolRequested(ToolRequest),
    /// The call cannot be answered any more.
    ToolRequestGone {
        request: String,
    },
    Plan(Vec<PlanEntry>),
    /// What was spent since the last such event.
    Usage(Usage),
    /// The backend tries a failed model call again by itself.
    Retry {
        message: String,
    },
    /// The turn ended with a message; `text` is the last message of the turn, the one to parse.
    Final {
        text: String,
        stop: Stop,
    },
    /// The turn, or the start of the conversation, ended without a usable message.
    Failed(Failure),
    /// The process is gone.
    Exited {
        status: Option<String>,
        stderr_tail: String,
    },
}

/// How a conversation began.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// The backend's own id of the conversation, to be handed back as `resume`.
    pub conversation: String,
    /// Whether the asked-for conversation was really restored; if not, the history has to be replayed.
    pub restored: bool,
    pub exec_at_ms: i64,
    pub models: Vec<Model>,
    pub model: Option<String>,
    pub modes: Vec<Choice>,
    pub mode: Option<String>,
    pub info: AgentInfo,
}

/// A model that the backend offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub id: String,
    pub name: String,
    /// The levels it can think at, in the backend's own words.
    pub reasoning: Vec<String>,
    pub is_default: bool,
}

/// A mode that the backend offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub id: String,
    pub name: String,
}

/// What the agent says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentInfo {
    pub name: String,
    pub version: String,
}

/// A tool call as it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub call: String,
    pub title: String,
    pub kind: ToolKind,
    pub input: Option<Value>,
}

/// What a tool does, as far as the backend tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

impl ToolKind {
    /// The tool that a call of this kind is taken for, where the backend names none.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete_file",
            Self::Move => "move_file",
            Self::Search => "search",
            Self::Execute => "bash",
            Self::Fetch => "web_fetch",
            Self::Think | Self::Other => "unknown",
        }
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    Completed,
    Failed,
    /// The turn ended before the call did.
    Unfinished,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// Names the request within its conversation.
    pub request: String,
    pub call: String,
    /// The tool by a name that `permission` knows, or the agent's own.
    pub tool: String,
    pub title: String,
    pub kind: ToolKind,
    pub input: Option<Value>,
    /// What the call would do, as text: a diff, a command, an explanation. Bounded.
    pub preview: String,
    pub reach: Reach,
}

/// A call of a served tool that waits for its result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// Names the request within its conversation.
    pub request: String,
    pub tool: String,
    pub arguments: Value,
}

/// One line of the agent's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    pub text: String,
    pub status: PlanStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

/// What was spent, as far as the backend tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub context: Option<ContextUse>,
}

/// How full the model's context is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUse {
    pub used: u64,
    pub size: u64,
}

/// Why the agent stopped talking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    MaxTokens,
    MaxTurns,
    Refusal,
    Other(String),
}
