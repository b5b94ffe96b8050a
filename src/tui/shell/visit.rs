//! The terminal lent to the agent's own interface, or to a shell, in a session's worktree.

use std::io;

use super::{Dirty, Shell, daemon};
use crate::api::attach::{Attach, Left, Program, Resize};
use crate::client::attach::{Return, Tty, Visit, WAY_BACK};
use crate::look::line::one_line;
use crate::tui::msg::{Msg, Reply};

impl Shell {
    /// Hands the terminal through to a program in a session's worktree until the person comes back.
    pub(super) async fn attach(&mut self, id: &str, program: Program) -> io::Result<()> {
        let tty = Tty::open()?;
        let Resize { columns, rows } = tty.size();
        let attach = Attach { program, columns, rows, env: Some(self.desk.env.clone()) };
        let reply = match Visit::open(&self.desk.daemon, id, &attach).await {
            Ok(visit) => {
                self.keys.pause();
                self.screen.suspend();
                let welcome = format!(
                    "{} {}; {WAY_BACK} comes back. No turn begins meanwhile\r\n",
                    id,
                    one_line(&visit.attached.name)
                );
                self.screen.send(welcome.as_bytes())?;
                let returned = visit.pass(&tty).await;
                self.screen.resume()?;
                self.dirty = Dirty::Keys;
                returned.map(|Return { left, typed, .. }| {
                    self.keys.put_ahead(&typed);
                    Reply::Done { said: farewell(&left), session: None }
                })
            }
            Err(error) => Err(error),
        };
        let failed = |error| Reply::Failed { doing: "attach".to_owned(), error: daemon::told(error) };
        self.take(Msg::Reply(reply.unwrap_or_else(failed)))
    }
}

fn farewell(left: &Left) -> String {
    match &left.commit {
        Some(commit) => format!("what you changed is committed as {}", commit.get(..10).unwrap_or(commit)),
        None => "no file was changed".to_owned(),
    }
}
