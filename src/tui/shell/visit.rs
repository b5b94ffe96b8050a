//! The terminal lent to the agent's own interface, or to a shell, in a session's worktree.
//!
//! The program is opened beside everything else, so a daemon that takes its time holds up neither frames nor keys.

use std::io;

use tokio_util::task::AbortOnDropHandle;

use super::{Dirty, Shell, daemon, outside};
use crate::api::attach::{Attach, Left, Program, Resize};
use crate::api::error::{Error, ErrorKind};
use crate::client::attach::{Return, Tty, Visit, WAY_BACK, wait_for_way_back};
use crate::look::line::one_line;
use crate::tui::msg::{Msg, Reply};

/// What is told when the daemon is not there any more.
const CUT_OFF: &str = "the daemon ended, and the program with it; what was changed is in the worktree";

/// A program that is being opened. Whoever drops it does not want it any more: the daemon ends what nobody reads.
pub(super) struct Opening {
    tty: Tty,
    task: AbortOnDropHandle<Result<Visit, Error>>,
}

/// A program that waits for the terminal, or why there is none.
pub(super) struct Opened {
    tty: Tty,
    visit: Result<Visit, Error>,
}

/// What came of the opening, which is over then; waits for ever where nothing is opened.
pub(super) async fn opened(opening: &mut Option<Opening>) -> Option<Opened> {
    let visit = match opening {
        Some(Opening { task, .. }) => task.await,
        None => std::future::pending().await,
    };
    let visit = visit.unwrap_or_else(|error| Err(outside::because("it failed", &error)));
    opening.take().map(|Opening { tty, .. }| Opened { tty, visit })
}

impl Shell {
    /// Begins to open a program in a session's worktree; one that was asked for before is not wanted any more.
    pub(super) fn open(&mut self, session: String, program: Program) -> io::Result<()> {
        let tty = match Tty::open() {
            Ok(tty) => tty,
            Err(error) => {
                let error = outside::because("failed to open the terminal", &error);
                return self.take(Msg::Reply(Reply::Opened(Err(error))));
            }
        };
        let Resize { columns, rows } = tty.size();
        let (desk, lane) = (self.desk.clone(), self.desk.lane(&session));
        let task = tokio::spawn(async move {
            let attach = Attach { program, columns, rows, env: Some(desk.environment()) };
            // The visit before it may still be on its way out.
            let _turn = lane.lock().await;
            Visit::open(&desk.daemon, &session, &attach).await.map_err(daemon::told)
        });
        self.opening = Some(Opening { tty, task: AbortOnDropHandle::new(task) });
        Ok(())
    }

    /// Hands the terminal through to what was opened until the person comes back.
    pub(super) async fn attach(&mut self, opened: Opened) -> io::Result<()> {
        let Opened { tty, visit } = opened;
        let mut visit = match visit {
            Ok(visit) => visit,
            Err(error) => return self.take(Msg::Reply(Reply::Opened(Err(error)))),
        };
        self.keys.pause().await;
        self.screen.suspend();
        let welcome = format!(
            "{} {}; {WAY_BACK} comes back. No turn begins meanwhile\r\n",
            visit.attached.session,
            one_line(&visit.attached.name)
        );
        self.screen.send(welcome.as_bytes())?;
        let returned = visit.pass(&tty).await;
        if returned.is_err() {
            // Whoever types on does not mean the keys of the interface.
            self.screen.send(format!("\r\n{CUT_OFF}\r\n{WAY_BACK} comes back\r\n").as_bytes())?;
            wait_for_way_back(&tty).await;
        }
        self.screen.resume()?;
        self.dirty = Dirty::Keys;
        self.take(Msg::Reply(Reply::Opened(Ok(()))))?;
        if let Ok(Return { typed, .. }) = &returned {
            self.keys.put_ahead(typed);
        }
        let (session, name) = (visit.attached.session.clone(), one_line(&visit.attached.name));
        self.desk.act(&session, async move {
            let left = visit.leave().await;
            match (returned, left) {
                (Ok(_), Ok(left)) => Reply::Done { said: farewell(&left), session: None },
                (Ok(_), Err(error)) => Reply::Failed { doing: name, error: daemon::told(error) },
                (Err(error), _) => {
                    let error = Error::new(ErrorKind::Unavailable, CUT_OFF).with_causes_of(&error);
                    Reply::Failed { doing: name, error }
                }
            }
        });
        Ok(())
    }
}

fn farewell(left: &Left) -> String {
    match &left.commit {
        Some(commit) => format!("what you changed is committed as {}", commit.get(..10).unwrap_or(commit)),
        None => "no file was changed".to_owned(),
    }
}
