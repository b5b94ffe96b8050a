//! Programs of the person's that get the terminal for a while: the editor, a login, the tour.
//!
//! They run in a thread of their own, so that what was asked for before goes out meanwhile.

use std::io;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::{Dirty, Shell, outside};
use crate::tui::msg::{Msg, Reply};

/// What the terminal is lent for.
pub(super) enum Errand {
    /// A file of a worktree, in the editor.
    File {
        worktree: String,
        path: String,
        line: Option<u32>,
    },
    /// A text, in the editor.
    Text(String),
    Command(String),
    Demo,
}

impl Errand {
    /// For the sentence that tells that it failed.
    fn doing(&self) -> &'static str {
        match self {
            Errand::File { .. } | Errand::Text(_) => "open the editor",
            Errand::Command(_) => "run the command",
            Errand::Demo => "start the tour",
        }
    }

    fn run(self) -> io::Result<Reply> {
        match self {
            Errand::File { worktree, path, line } => {
                outside::edit(&outside::editor(), worktree.as_ref(), &path, line).map(|()| Reply::Back)
            }
            Errand::Text(text) => outside::edit_text(&text).map(Reply::Edited),
            Errand::Command(command) => outside::run(&command).map(|()| Reply::Back),
            Errand::Demo => outside::demo().map(|()| Reply::Back),
        }
    }
}

impl Shell {
    /// Gives the terminal to another program and takes it back.
    pub(super) async fn run_errand(&mut self, errand: Errand) -> io::Result<()> {
        let doing = errand.doing();
        self.keys.pause().await;
        self.screen.suspend();
        let outcome = spawn_blocking(|| errand.run()).await.map_err(io::Error::other).flatten();
        self.returned = Some(Instant::now());
        self.screen.resume()?;
        self.dirty = Dirty::Keys;
        let failed = |error| Reply::Failed { doing: doing.to_owned(), error: outside::because("it failed", &error) };
        self.take(Msg::Reply(outcome.unwrap_or_else(failed)))
    }
}
