//! Asking the person at the terminal.

use std::io::{self, BufRead, IsTerminal};

use super::line::Line;
use super::{Context, Failure};

/// Whether somebody is there to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Possible {
    Yes,
    No,
}

pub(super) fn is_possible() -> Possible {
    if io::stdin().is_terminal() && io::stderr().is_terminal() { Possible::Yes } else { Possible::No }
}

/// One line from the person; `None` when they end the input instead.
pub(super) async fn line(context: &mut Context, question: Line) -> Result<Option<String>, Failure> {
    context.output.ask(&question)?;
    // Reading blocks, and Ctrl-C must still be heard: it happens on a thread of its own.
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|count| (count > 0).then_some(line))
    });
    match read.await {
        Ok(Ok(line)) => Ok(line.map(|line| line.trim().to_owned())),
        Ok(Err(error)) => Err(Failure::because("failed to read from the terminal", &error)),
        Err(error) => Err(Failure::because("failed to read from the terminal", &error)),
    }
}
