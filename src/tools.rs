//! The tools that Coppice serves to agents: what they are called, what they take, and a call as a request.
//!
//! One registry for all carriers. Whoever performs a request brings the permission to do so.

use serde_json::Value;

use crate::delegation::{Input, ListActive, Order, Wait};
use crate::workflow::Todo;

/// One served tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}

/// A call that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Delegate(Order),
    Wait(Wait),
    SendInput(Input),
    CloseAgent { id: String },
    ListActiveAgents(ListActive),
    SetThreadNote { id: String, note: Option<String> },
    ResumeAgent { id: String },
    ListAgents { agent: Option<String>, detail: Detail },
    TaskWorkflow(Value),
    TaskReview(Value),
    TodoWrite(Vec<Todo>),
    Question(Question),
    Skill { name: String },
    SearchSkills { query: String },
}

/// How much of each agent a list tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Brief,
    Expanded,
}

/// One question in the middle of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
    pub choice: Choice,
    /// What the question is for, where the engine takes part.
    pub purpose: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    One,
    Several,
}
