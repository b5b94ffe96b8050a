//! A terminal handed through to a program in a session's worktree, and what a person is told before and after.

use std::io::{self, IsTerminal};

use super::line::{Line, one_line};
use super::{Context, Exit, Failure, status};
use crate::api::attach::{Attached, Left, Program};
use crate::client::attach::{self, Cause, Tty, WAY_BACK};
use crate::client::start::Daemon;

/// Works in a session until the program ends or the person comes back.
pub(super) async fn run(id: &str, program: Program, context: &mut Context) -> Result<Exit, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let what = program.as_str();
        return Err(Failure::usage(format!("the {what} needs a terminal, and this is none"))
            .hint("`coppice send` gives the agent a prompt from a script"));
    }
    let tty = Tty::open().map_err(|error| Failure::because("failed to open the terminal", &error))?;
    let (daemon, env) = (Daemon::of_this_process()?, context.environment().await?);
    let (mut said, mut session) = (Ok(()), None);
    let entered = attach::run(&daemon, (id, program), env, &tty, |attached| {
        session = Some(attached.session.clone());
        said = context.output.say(&welcome(attached));
    });
    let (cause, left) = match (entered.await, &session) {
        (Ok(left), _) => left,
        (Err(error), None) => return Err(error.into()),
        (Err(error), Some(id)) => {
            let what = match program {
                Program::Agent => "attach",
                Program::Shell => "shell",
            };
            let hint = format!("what was changed is in the worktree; `coppice {what} {id}` opens it again");
            return Err(Failure::from(error).hint(hint));
        }
    };
    said?;
    context.output.say(&farewell(session.as_deref().unwrap_or(id), &left))?;
    Ok(match (cause, left.exit) {
        (Cause::Ended, 0) | (Cause::Key, _) => Exit::Done,
        (Cause::Ended, _) => Exit::Failed,
        (Cause::Signal, _) => Exit::Detached,
    })
}

fn welcome(attached: &Attached) -> Line {
    Line::new()
        .strong(&attached.session)
        .plain(format!(" {}; ", one_line(&attached.name)))
        .strong(WAY_BACK)
        .plain(" comes back. No turn begins meanwhile")
}

fn farewell(id: &str, left: &Left) -> Line {
    let line = Line::new().strong(id);
    match &left.commit {
        Some(commit) => {
            let short: String = commit.chars().take(10).collect();
            line.plain(format!(" committed as {short}, ")).then(status::changes(left.changes))
        }
        None => line.dim(" no file was changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Changes;

    #[test]
    fn a_person_is_told_the_way_back_and_what_became_of_the_files() {
        for (name, shown) in [("bash", "bash"), ("\x1b[2Jba\nsh\u{202e}", "\u{fffd}[2Jba")] {
            let (session, name) = ("abcd2345".to_owned(), name.to_owned());
            let attached = Attached { attach: "t".into(), program: Program::Shell, session, name };
            let expected = format!("abcd2345 {shown}; Ctrl+] comes back. No turn begins meanwhile");
            assert_eq!(welcome(&attached).text(), expected);
        }
        let changes = Changes { files: 1, insertions: 2, deletions: 0 };
        let left = Left { exit: 0, commit: Some("0123456789abcdef".into()), changes };
        assert_eq!(farewell("abcd", &left).text(), "abcd committed as 0123456789, +2 -0");
        assert_eq!(farewell("abcd", &Left { commit: None, ..left }).text(), "abcd no file was changed");
    }
}
