//! How much work one text may make: each command that it may run is held against every rule, so a short text that stands
//! for many commands must not hold up a verdict.

use std::cell::Cell;

use super::SimpleCommand;

/// How many words all commands of a text may have together, those that it only may run included.
const MOST_WORK: usize = 100_000;

/// How long a text may be, in bytes; of one that is not understood no more is searched for commands.
pub(super) const LONGEST_TEXT: usize = 65_536;

/// How many words one command may have, and how many commands a text that is understood.
pub(super) const LONGEST_COMMAND: usize = 4_096;
pub(super) const MOST_COMMANDS: usize = 1_000;

/// How many values all variables of a text may have together: each word with a variable is held against all of its values.
pub(super) const MOST_VALUES: usize = 64;

/// How many bytes of a text count as one word, and how many words a redirection counts as.
pub(super) const BYTES_PER_WORD: usize = 4;
const WORDS_PER_REDIRECT: usize = 8;

/// What is left of the work that a text may make.
#[derive(Debug)]
pub(super) struct WorkBudget(Cell<usize>);

impl WorkBudget {
    pub(super) fn new() -> Self {
        Self(Cell::new(MOST_WORK))
    }

    /// Takes some of it; `false` when too little is left, and from then on.
    pub(super) fn spend(&self, work: usize) -> bool {
        let left = self.0.get().checked_sub(work);
        self.0.set(left.unwrap_or_default());
        left.is_some()
    }

    pub(super) fn spend_command(&self, command: &SimpleCommand) -> bool {
        self.spend(command.words.len() + WORDS_PER_REDIRECT * command.redirects.len() + 1)
    }

    #[cfg(test)]
    pub(super) fn spent(&self) -> usize {
        MOST_WORK - self.0.get()
    }

    /// Nothing is left from here on.
    pub(super) fn exhaust(&self) {
        self.0.set(0);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}
