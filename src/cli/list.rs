//! `coppice list`: one line per session, the ones that need a person first, children under their parents.

mod tree;

use std::path::Path;

use super::age::age;
use super::line::{Line, cut, one_line, table};
use super::{Context, Exit, Failure, Format, status};
use crate::api::error::ErrorKind;
use crate::api::project::Place;
use crate::api::request::ListSessions;
use crate::api::session::Session;
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::look::moved::{checkout, moved_away, moved_here};
use tree::{Branch, Fold, tree};

/// Longer titles are cut, so that the columns after them stay on the screen.
const TITLE: usize = 44;

/// Lists the sessions of this repository, or all of them outside of one.
///
/// Sessions that wait for you come first, then those that stopped, those that work, and those that are ready for review.
/// Children stand under their parents while they work or wait for you.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice list
  coppice list --all --json | jq -r '.[] | select(.status == \"ready\") | .id'
  coppice list --removed")]
pub(super) struct Args {
    /// The sessions of every repository.
    #[arg(long)]
    all: bool,
    /// All children, also those that ended.
    #[arg(long)]
    tree: bool,
    /// Removed sessions that `coppice restore` can bring back.
    #[arg(long)]
    removed: bool,
    /// At most so many sessions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let wanted = ListSessions { removed: args.removed, ..ListSessions::default() };
    let cwd = context.cwd()?;
    let (mut sessions, scope) = match args.all {
        true => (fetch(&client, wanted.clone()).await?, Scope::EveryRepository),
        false => here(&client, wanted.clone(), cwd.clone()).await?,
    };
    // After the sorting: those that need a person come first, however old they are.
    let limit = args.limit.map_or(usize::MAX, |limit| limit as usize);
    match args.format.choice() {
        Format::Json => {
            status::sort(&mut sessions);
            sessions.truncate(limit);
            context.output.json(&sessions)?;
        }
        Format::Human if sessions.is_empty() => {
            let others = match scope {
                Scope::OneRepository => fetch(&client, wanted).await?,
                Scope::EveryRepository => Vec::new(),
            };
            context.output.say(&nothing(args.removed, others.len()))?;
        }
        Format::Human => {
            let fold = if args.tree || args.removed { Fold::Nothing } else { Fold::Ended };
            let mut branches = tree(&sessions, fold);
            branches.truncate(limit);
            context.output.rows(&rows(&branches, context.now(), scope))?;
        }
    }
    if args.format.choice() == Format::Human {
        let moved = match scope {
            Scope::EveryRepository => moved_away(&sessions, |directory| Path::new(directory).exists()),
            Scope::OneRepository => moved_here(&client.moved_projects(&Place { cwd }).await?.items),
        };
        context.output.say_all(&moved)?;
    }
    Ok(Exit::Done)
}

/// The sessions of the repository around `cwd`, or all of them when there is none.
pub(super) async fn here(
    client: &Connection,
    wanted: ListSessions,
    cwd: String,
) -> Result<(Vec<Session>, Scope), Failure> {
    match fetch(client, ListSessions { cwd: Some(cwd), ..wanted.clone() }).await {
        Ok(sessions) => Ok((sessions, Scope::OneRepository)),
        // Whatever is wrong with the place, the sessions of other places can still be listed.
        Err(ClientError::Refused(refusal)) if matches!(refusal.kind, ErrorKind::Invalid | ErrorKind::NotFound) => {
            Ok((fetch(client, wanted).await?, Scope::EveryRepository))
        }
        Err(error) => Err(error.into()),
    }
}

/// Page after page until the limit, or the end.
pub(super) async fn fetch(client: &Connection, mut wanted: ListSessions) -> Result<Vec<Session>, ClientError> {
    let limit = wanted.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut sessions = Vec::new();
    loop {
        let page = client.sessions(&wanted).await?;
        sessions.extend(page.items);
        wanted.cursor = page.next;
        if wanted.cursor.is_none() || sessions.len() >= limit {
            sessions.truncate(limit);
            return Ok(sessions);
        }
    }
}

fn nothing(removed: bool, elsewhere: usize) -> Line {
    let line = match removed {
        true => Line::new().dim("no removed session can be restored"),
        false => Line::new().dim("no sessions; `coppice new \"…\"` creates one"),
    };
    match (elsewhere, removed) {
        (0, _) => line,
        (_, true) => line.dim("; `coppice list --removed --all` lists those of other repositories"),
        (_, false) => line.dim(", `coppice list --all` lists those of other repositories"),
    }
}

/// Which columns tell the sessions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    OneRepository,
    EveryRepository,
}

/// The sessions as aligned columns, without the children that ended.
pub(super) fn lines(sessions: &[Session], now: i64, scope: Scope) -> Vec<Line> {
    rows(&tree(sessions, Fold::Ended), now, scope)
}

fn rows(branches: &[Branch<'_>], now: i64, scope: Scope) -> Vec<Line> {
    table(&branches.iter().map(|branch| row(branch, now, scope)).collect::<Vec<_>>())
}

fn row(branch: &Branch<'_>, now: i64, scope: Scope) -> Vec<Line> {
    let Branch { session, depth, folded } = *branch;
    let project = match scope {
        Scope::OneRepository => Line::new(),
        Scope::EveryRepository => Line::new().dim(one_line(repository(&session.project))),
    };
    vec![
        Line::new().plain("  ".repeat(depth)).strong(&session.id),
        status::word(status::shown(session)),
        project,
        Line::new().plain(cut(&status::title(session), TITLE)),
        Line::new().dim(status::engine(&session.backend, session.model.as_deref())),
        status::marks(session),
        status::changes(session.changes),
        Line::new().dim(status::cost(&session.usage).unwrap_or_default()),
        Line::new().dim(age(now, session.removed_at.unwrap_or(session.updated_at))),
        match (status::need(session), folded) {
            (need, 0) => Line::new().plain(need),
            (need, folded) if need.is_empty() => Line::new().dim(ended(folded)),
            (need, folded) => Line::new().plain(need).dim(format!(", {}", ended(folded))),
        },
    ]
}

fn ended(children: usize) -> String {
    match children {
        1 => "1 child ended".to_owned(),
        several => format!("{several} children ended"),
    }
}

/// The name a person gives the repository: the directory that holds `.git`, or a bare repository's own.
pub(super) fn repository(common_dir: &str) -> &str {
    let directory = checkout(common_dir);
    directory.rsplit('/').next().unwrap_or(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::{Changes, Status, Usage, WaitingFor};
    use crate::look::sample::{self, NOW, session};

    fn text(sessions: &[Session], scope: Scope) -> String {
        lines(sessions, NOW, scope).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn columns_line_up_and_the_need_is_last() {
        let long = Session {
            title: "A title that goes on and on until nobody wants to read it".into(),
            model: Some("fast".into()),
            changes: Changes::default(),
            usage: Usage { cost_usd: Some(0.126), ..Usage::default() },
            ..session(Status::Running)
        };
        insta::assert_snapshot!(text(&[sample::approval(), sample::failed(), long, session(Status::Ready)], Scope::OneRepository), @r"
        abcd2345  approval  Fix the parser                                demo       +12 -4         5s  wants: run `cargo test`
        abcd2345  failed    Fix the parser                                demo       +12 -4         5s  the backend exited before it answered
        abcd2345  running   A title that goes on and on until nobody wa…  demo/fast          $0.13  5s
        abcd2345  ready     Fix the parser                                demo       +12 -4         5s
        ");
    }

    #[test]
    fn children_are_indented_and_say_who_they_are() {
        let parent = Session {
            id: "abcd2345".into(),
            waiting_for: Some(WaitingFor::Children),
            changes: Changes::default(),
            ..session(Status::Running)
        };
        let titled = Session { title: "Look around".into(), ..sample::child("ijkl4567", Status::Running) };
        let mut wanting = sample::child("efgh3456", Status::Approval);
        wanting.approvals = sample::approval().approvals;
        let ended = sample::child("mnop5672", Status::Ready);
        insta::assert_snapshot!(text(&[parent, wanting, titled, ended], Scope::OneRepository), @r"
        abcd2345    running   Fix the parser        demo  5s  waits for children, 1 child ended
          efgh3456  approval  @explore subagent     demo  5s  wants: run `cargo test`
          ijkl4567  running   @explore Look around  demo  5s
        ");
    }

    #[test]
    fn every_repository_has_its_name() {
        let bare = Session { project: "/srv/tools.git".into(), ..session(Status::Ready) };
        insta::assert_snapshot!(text(&[session(Status::Merged), bare], Scope::EveryRepository), @r"
        abcd2345  ready   tools.git  Fix the parser  demo  +12 -4  5s
        abcd2345  merged  app        Fix the parser  demo  +12 -4  5s
        ");
    }
}
