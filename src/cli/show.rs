//! `coppice show`: everything about one session, and what can be done with it.

mod family;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::age::age;
use super::card::{self, Length};
use super::child;
use super::diff;
use super::line::{Line, Tone, one_line, table};
use super::posture;
use super::status::{self, count};
use super::{Context, Exit, Failure, Format};
use crate::api::handoff::Handoff;
use crate::api::request::ListTurns;
use crate::api::session::{Question, Session, Turn, TurnError, TurnState};
use crate::api::workflow::Workflow;
use crate::client::connection::Connection;
use crate::look::verdict;

/// Shows one session: where it stands, what it waits for and what you can do next.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice show k3f
  coppice show k3f --json | jq .summary
  coppice show k3f --raw")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// The agent's last message exactly as it came.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let session = client.session(&args.id.id).await?;
    let turns = match (args.raw, args.format.choice()) {
        (false, Format::Json) => {
            context.output.json(&session)?;
            return Ok(Exit::Done);
        }
        _ => client.turns(&session.id, &ListTurns { raw: args.raw }).await?.items,
    };
    match (args.raw, args.format.choice()) {
        (true, Format::Json) => context.output.json(&turns)?,
        (true, Format::Human) => {
            let raw = last_raw(&session, &turns)?;
            context.output.text(&format!("{}\n", raw.trim_end_matches('\n')))?;
        }
        (false, Format::Human | Format::Json) => {
            let kin = Kin::read(&client, &session).await?;
            context.output.lines(&lines(&session, &turns, &kin, context.now()))?;
        }
    }
    Ok(Exit::Done)
}

/// What is known of a session's family beside the session itself.
#[derive(Debug, Default)]
pub(super) struct Kin {
    /// What it delegated.
    handoffs: Vec<Handoff>,
    /// The delegation that made it.
    origin: Option<Handoff>,
    workflow: Workflow,
    /// Its worktree is not on the disk: the session has ended, or has not begun.
    is_without_worktree: bool,
}

impl Kin {
    pub(super) async fn read(client: &Connection, session: &Session) -> Result<Kin, Failure> {
        let handoffs = client.handoffs(&session.id).await?.items;
        let is_without_worktree = !Path::new(&session.worktree).exists();
        let Some(parent) = &session.parent else {
            let workflow = client.workflow(&session.id).await?;
            return Ok(Kin { handoffs, origin: None, workflow, is_without_worktree });
        };
        // A parent may be gone before its children.
        let beside = client.handoffs(parent).await.map(|page| page.items).unwrap_or_default();
        let origin = beside.into_iter().find(|handoff| handoff.child_session_id == session.id);
        Ok(Kin { handoffs, origin, workflow: Workflow::default(), is_without_worktree })
    }
}

fn last_raw<'a>(session: &Session, turns: &'a [Turn]) -> Result<&'a str, Failure> {
    turns.iter().rev().find_map(|turn| turn.raw.as_deref()).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("session `{}` has no message of its agent yet", session.id))
            .hint(format!("`coppice events {}` shows what happened so far", session.id))
    })
}

/// The whole view.
pub(super) fn lines(session: &Session, turns: &[Turn], kin: &Kin, now: i64) -> Vec<Line> {
    let mut lines = vec![Line::new().strong(&session.id).plain(format!("  {}", one_line(&session.title)))];
    lines.extend(table(&facts(session, kin, now)));
    lines.extend(section("questions", question_lines(&session.questions)));
    lines.extend(section(
        "approvals",
        session.approvals.iter().flat_map(|approval| card::lines(approval, Length::Whole, now)),
    ));
    lines.extend(section("conflicts", session.conflicts.iter().map(|file| Line::new().plain(one_line(file)))));
    lines.extend(section("submodules", diff::submodules(&session.submodules)));
    lines.extend(error(session));
    lines.extend(family::children(&kin.handoffs));
    lines.extend(family::workflow(&kin.workflow));
    if let Some(summary) = &session.summary {
        lines.extend(section("summary", block(&summary.session)));
    }
    lines.extend(section("turns", turns.iter().flat_map(|turn| turn_lines(session, turn, now))));
    lines
}

fn facts(session: &Session, kin: &Kin, now: i64) -> Vec<Vec<Line>> {
    let need = status::need(session);
    let standing = match need.as_str() {
        "" => status::word(status::shown(session)),
        need => status::word(status::shown(session)).plain(format!(", {need}")),
    };
    let turns = match session.queued {
        0 => session.turns.to_string(),
        queued => format!("{}, {} queued", session.turns, count(queued as usize, "prompt")),
    };
    let commit = session.base.commit.get(..10).unwrap_or(&session.base.commit);
    let changes = match session.changes.files {
        0 if session.uncommitted.is_some() => Line::toned(Tone::Bad, "not committed"),
        0 => Line::new().dim("none"),
        files => {
            let counted = Line::new()
                .plain(format!("{}  ", count(files as usize, "file")))
                .then(status::changes(session.changes));
            match session.uncommitted {
                Some(_) => counted.with(Tone::Bad, ", not committed"),
                None => counted,
            }
        }
    };
    let reasoning = session.reasoning.as_ref().map(|level| format!(", reasoning {level}")).unwrap_or_default();
    let mut facts = vec![("status", standing)];
    let names = std::iter::once("next").chain(std::iter::repeat(""));
    facts.extend(names.zip(status::next_commands(session).map(|command| Line::toned(Tone::Accent, command))));
    facts.extend([(
        "backend",
        Line::new().plain(status::engine(&session.backend, session.model.as_deref())).dim(reasoning),
    )]);
    facts.extend(agent(session).map(|agent| ("agent", agent)));
    if session.profile != "native" {
        facts.push(("profile", Line::new().plain(one_line(&session.profile))));
    }
    facts.push(("posture", verdict::standing(&session.posture, session.yolo)));
    facts.extend(session.sandbox.is_known().then(|| ("sandbox", posture::sandbox(&session.sandbox))));
    facts.push(("secrets", Line::new().plain("denied to tools and to commands that name them")));
    facts.extend(session.parent.as_ref().map(|parent| ("parent", Line::new().plain(parent))));
    if let Some(origin) = &kin.origin {
        facts.push(("task", Line::new().plain(one_line(&origin.label))));
        facts.extend(child::integration(origin).map(|files| ("result", files)));
    }
    let worktree = match kin.is_without_worktree {
        true => Line::new().dim("none"),
        false => Line::new().plain(&session.worktree),
    };
    facts.extend([
        ("base", Line::new().plain(format!("{} at {commit}", session.base.name))),
        ("branch", Line::new().plain(&session.branch)),
        ("worktree", worktree),
        ("changes", changes),
        ("turns", Line::new().plain(turns)),
    ]);
    match status::usage(&session.usage) {
        usage if usage.is_empty() => {}
        usage => facts.push(("usage", Line::new().plain(usage))),
    }
    let times = format!("{} ago, changed {} ago", age(now, session.created_at), age(now, session.updated_at));
    facts.push(("created", Line::new().plain(times)));
    facts.into_iter().map(|(name, value)| vec![Line::new().dim(name), value]).collect()
}

/// The agent, and a word of warning where nothing but its prompt keeps it to its tools.
fn agent(session: &Session) -> Option<Line> {
    let persona = session.persona.as_ref().map(|persona| format!(":{persona}")).unwrap_or_default();
    let access = if session.read_only { ", read-only" } else { "" };
    let agent = Line::new().plain(one_line(session.agent.as_ref()?) + &persona + access);
    Some(match session.surface.as_str() {
        "advisory" => agent.plain(", tools ").with(Tone::Warn, "advisory"),
        _ => agent,
    })
}

/// Questions with their numbered options, as `answer` takes them.
pub(super) fn question_lines(questions: &[Question]) -> Vec<Line> {
    let lines = questions.iter().enumerate().flat_map(|(place, question)| {
        let asker = question.session.as_ref().map(|child| format!("  ({child})")).unwrap_or_default();
        let mut lines = vec![Line::new().strong(format!("{}. {}", place + 1, one_line(&question.text))).dim(asker)];
        lines.extend(block(&question.text).into_iter().skip(1).map(|line| Line::new().plain("   ").then(line)));
        match &question.answer {
            Some(answer) => lines.push(Line::new().dim("   answered: ").plain(one_line(answer))),
            None => lines.extend(
                question
                    .options
                    .iter()
                    .enumerate()
                    .map(|(place, option)| Line::new().plain(format!("   {}) {}", place + 1, one_line(option)))),
            ),
        }
        lines
    });
    lines.collect()
}

fn error(session: &Session) -> Vec<Line> {
    let other = session.uncommitted.as_ref().filter(|error| session.last_error.as_ref() != Some(error));
    let errors = session.last_error.iter().chain(other);
    section("last error", errors.flat_map(error_lines))
}

fn error_lines(error: &TurnError) -> impl Iterator<Item = Line> {
    let message = Line::toned(Tone::Bad, format!("{}: ", error.kind))
        .then(block(&error.message).into_iter().next().unwrap_or_default());
    let rest = block(&error.message).into_iter().skip(1);
    std::iter::once(message).chain(rest).chain(error_hint(error))
}

/// What to do about a failure.
pub(super) fn error_hint(error: &TurnError) -> Option<Line> {
    let command = || error.command.as_ref().map(|command| format!("run `{}`", one_line(command)));
    let hint = error.hint.as_deref().map(one_line).or_else(command)?;
    Some(Line::toned(Tone::Accent, "hint: ").plain(hint))
}

fn turn_lines(session: &Session, turn: &Turn, now: i64) -> Vec<Line> {
    let (word, tone) = match turn.state {
        TurnState::Running => ("running", Tone::Accent),
        TurnState::Completed => ("completed", Tone::Good),
        TurnState::Failed => ("failed", Tone::Bad),
        TurnState::Interrupted => ("interrupted", Tone::Bad),
    };
    let undone = if turn.undone { ", undone" } else { "" };
    // Only where it says something: most sessions stay with one backend.
    let elsewhere = match turn.backend == session.backend || turn.backend.is_empty() {
        true => String::new(),
        false => format!(" on {}", status::engine(&turn.backend, turn.model.as_deref())),
    };
    let usage = match status::usage(&turn.usage) {
        usage if usage.is_empty() => usage,
        usage => format!(", {usage}"),
    };
    let head = Line::new()
        .strong(turn.number.to_string())
        .plain("  ")
        .with(tone, word)
        .dim(format!("{undone}{elsewhere}, {} ago{usage}", age(now, turn.started_at)))
        .plain(format!("  > {}", one_line(&turn.prompt)))
        .dim(status::with(&turn.images));
    let answer = turn.response.as_ref().map(|response| block(&response.answer)).unwrap_or_default();
    let error = turn
        .error
        .as_ref()
        .map(|error| Line::toned(Tone::Bad, format!("{}: ", error.kind)).plain(one_line(&error.message)));
    std::iter::once(head)
        .chain(answer.into_iter().chain(error).map(|line| Line::new().plain("   ").then(line)))
        .collect()
}

/// A title and its indented lines, or nothing when there are none.
fn section(title: &str, body: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let body: Vec<_> = body.into_iter().map(|line| Line::new().plain("  ").then(line)).collect();
    match body.as_slice() {
        [] => Vec::new(),
        _ => [Line::new(), Line::new().dim(title)].into_iter().chain(body).collect(),
    }
}

fn block(text: &str) -> Vec<Line> {
    text.trim().lines().map(|line| Line::new().plain(line)).collect()
}
