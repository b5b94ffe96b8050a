//! A backend's side of a conversation as a machine: what can happen to it, and what is to be done about it.

use std::time::Duration;

use crate::backend::event::{Command, Event};
use crate::backend::transport::spawn::Signal;

/// Decides, without IO, what one process of a backend is told and what its owner hears.
pub(crate) trait Machine: Send {
    /// Takes one input; effects are performed in their order.
    fn step(&mut self, input: Input) -> Vec<Effect>;
}

/// Everything that can happen to a conversation.
#[derive(Debug)]
pub(crate) enum Input {
    Command(Command),
    /// One line of the agent's output, whatever it holds.
    Line(String),
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

/// What the driver is to do, in order.
#[derive(Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it lives for one step")]
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
