//! `coppice posture`: how much a session may do by itself; also the words and options of the commands that start one.

use super::line::{Line, Tone, one_line, table};
use super::{Context, Exit, Failure, Format};
use crate::api::request::SetPosture;
use crate::api::session::{Sandbox, Session};
use crate::look::verdict::standing;

/// From the tightest to the widest.
pub(super) const WORDS: [&str; 4] = ["plan", "attended", "edits", "unattended"];

/// How much the agent may do by itself, for `new`, `run` and `send`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PostureArg {
    /// How much the agent may do by itself; `coppice posture --help` says what the words mean.
    #[arg(long, value_name = "POSTURE", value_parser = WORDS)]
    pub(super) posture: Option<String>,
    /// Let everything go ahead that no rule forbids or asks about.
    #[arg(long)]
    pub(super) yolo: bool,
}

/// Shows how much a session may do by itself, or changes it, in the middle of a turn too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Postures, from the tightest to the widest:
  plan        reads, and writes nothing but the plan
  attended    asks you about what the rules do not decide
  edits       edits in the worktree go ahead, asks you about the rest
  unattended  all that stays in the worktree goes ahead

Rules that deny, secrets and commands that would wreck the machine stay refused in all of them, and with
--yolo too. Calls that wait already are decided again when the posture changes.

Examples:
  coppice posture k3f
  coppice posture k3f edits
  coppice posture k3f unattended --yolo
  coppice posture k3f attended --no-yolo")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// The posture from here on; without one, nothing changes.
    #[arg(value_name = "POSTURE", value_parser = WORDS)]
    posture: Option<String>,
    /// Let everything go ahead that no rule forbids or asks about.
    #[arg(long, conflicts_with = "no_yolo")]
    yolo: bool,
    /// Take that back.
    #[arg(long)]
    no_yolo: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let yolo = match (args.yolo, args.no_yolo) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let client = context.client().await?;
    let session = match (&args.posture, yolo) {
        (None, None) => client.session(&args.id.id).await?,
        (_, _) => client.set_posture(&args.id.id, &SetPosture { posture: args.posture, yolo }).await?,
    };
    match args.format.choice() {
        Format::Json => context.output.json(&session)?,
        Format::Human => {
            context.output.lines(&lines(&session))?;
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(Exit::Done)
}

fn lines(session: &Session) -> Vec<Line> {
    let means = match session.yolo {
        true => "all goes ahead that no rule forbids or asks about",
        false => meaning(&session.posture),
    };
    let mut rows = vec![
        vec![Line::new().dim("posture"), standing(&session.posture, session.yolo)],
        vec![Line::new().dim("means"), Line::new().plain(means)],
    ];
    rows.extend(session.sandbox.is_known().then(|| vec![Line::new().dim("sandbox"), sandbox(&session.sandbox)]));
    table(&rows)
}

/// The level, and whether the kernel holds the session to it.
pub(super) fn sandbox(sandbox: &Sandbox) -> Line {
    let level = Line::new().plain(one_line(&sandbox.level)).plain(", ");
    match (sandbox.enforced, &sandbox.note) {
        (true, _) => level.plain("enforced"),
        (false, None) => level.with(Tone::Warn, "advisory"),
        (false, Some(note)) => level.with(Tone::Warn, "advisory: ").plain(one_line(note)),
    }
}

/// A posture of a later version has no meaning here.
fn meaning(posture: &str) -> &'static str {
    match posture {
        "plan" => "reads, and writes nothing but the plan",
        "attended" => "asks you about what the rules do not decide",
        "edits" => "edits in the worktree go ahead, asks you about the rest",
        "unattended" => "all that stays in the worktree goes ahead",
        _ => "this program does not know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Status;
    use crate::look::sample;
    use crate::permission::Posture;

    #[test]
    fn the_words_are_those_of_the_permissions() {
        assert_eq!(WORDS, Posture::ALL.map(Posture::as_str));
        assert_eq!(WORDS.map(meaning).iter().filter(|meaning| meaning.contains("does not know")).count(), 0);
    }

    #[test]
    fn what_lies_over_a_posture_is_loud_and_so_is_what_nothing_holds() {
        let text = |session: &Session| lines(session).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        let mut session = sample::session(Status::Running);
        insta::assert_snapshot!(text(&session), @r"
        posture  unattended
        means    all that stays in the worktree goes ahead
        sandbox  workspace, enforced
        ");
        session.yolo = true;
        let note = Some("the kernel has no Landlock".to_owned());
        session.sandbox = Sandbox { level: "workspace".into(), enforced: false, note };
        insta::assert_snapshot!(text(&session), @r"
        posture  unattended, YOLO
        means    all goes ahead that no rule forbids or asks about
        sandbox  workspace, advisory: the kernel has no Landlock
        ");
        assert!(standing("edits", true).spans().any(|span| span == (Tone::Bad, "YOLO")));
    }
}
