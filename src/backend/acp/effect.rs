//! What can happen to a conversation and what can be done about it: the two closed enums around the client.

use std::time::Duration;

use crate::backend::event::{Command, Event};
use crate::backend::transport::jsonrpc::Message;
use crate::backend::transport::spawn::Signal;

/// Everything that can happen to a conversation.
#[derive(Debug)]
pub(crate) enum Input {
    Command(Command),
    Message(Message),
    /// The agent ended its output; its exit usually follows.
    OutputClosed,
    /// The agent does not read what it is sent.
    Stuck,
    /// The armed timer ran out.
    Elapsed,
    /// The process is gone and all it said has been read.
    Gone {
        status: Option<String>,
        stderr_tail: String,
    },
}

/// What the actor is to do, in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Send(String),
    Emit(Event),
    /// Replaces the timer.
    Arm(Duration),
    Disarm,
    CloseInput,
    Signal(Signal),
    /// Nothing follows.
    Finish,
}
