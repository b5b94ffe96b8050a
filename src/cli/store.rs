//! `coppice store`: looks after the database of sessions. It works without a daemon, for the day on which none can start.

use std::path::PathBuf;

use super::line::{Line, Tone, one_line};
use super::status::count;
use super::{Context, Exit, Failure, Format, FormatArg, LocalEntries};
use crate::api::store::{RebuildRequest, RecoveredSession, StoreRebuild, StoreVerification, WhenHealthy};

/// Checks, backs up and rebuilds the database of sessions.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Branches, worktrees and checkpoints are in git and do not depend on the database.

Examples:
  coppice store verify
  coppice store backup ~/coppice-backup.db
  coppice store rebuild ~/src/project"
)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    /// Compare the database with itself, the repositories and the worktrees; ends with 1 when something differs.
    Verify {
        #[command(flatten)]
        format: FormatArg,
    },
    /// Copy the database to a new file, also while sessions work.
    Backup {
        /// The file to create; one with the date in the data directory when absent.
        file: Option<PathBuf>,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Recover the sessions of a lost or damaged database from git. The old database is kept.
    Rebuild {
        /// Repositories to look at, besides the current one and those that have worktrees.
        repositories: Vec<PathBuf>,
        /// Rebuild a database that is not damaged, too.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        format: FormatArg,
    },
}

pub(super) fn run(args: StoreArgs, context: &mut Context, local: LocalEntries) -> Result<Exit, Failure> {
    match args.command {
        StoreCommand::Verify { format } => {
            let found = (local.verify)()?;
            match format.choice() {
                Format::Json => context.output.json(&found)?,
                Format::Human => context.output.lines(&verification_lines(&found))?,
            }
            Ok(if found.differences.is_empty() { Exit::Done } else { Exit::Failed })
        }
        StoreCommand::Backup { file, format } => {
            let made = (local.back_up)(file)?;
            match format.choice() {
                Format::Json => context.output.json(&made)?,
                Format::Human => context.output.lines(&[Line::new().plain(made.file)])?,
            }
            Ok(Exit::Done)
        }
        StoreCommand::Rebuild { repositories, force, format } => {
            let here = context.cwd().ok().filter(|_| repositories.is_empty());
            let named = repositories.iter().map(|path| path.to_string_lossy().into_owned());
            let when_healthy = if force { WhenHealthy::Rebuild } else { WhenHealthy::Refuse };
            let request = RebuildRequest { repositories: named.collect(), here, when_healthy };
            let done = (local.rebuild)(request)?;
            match format.choice() {
                Format::Json => context.output.json(&done)?,
                Format::Human => context.output.lines(&rebuild_lines(&done))?,
            }
            Ok(Exit::Done)
        }
    }
}

fn verification_lines(found: &StoreVerification) -> Vec<Line> {
    let mut lines: Vec<_> = found
        .differences
        .iter()
        .map(|text| Line::toned(Tone::Warn, "differs").plain(format!("  {}", one_line(text))))
        .collect();
    let sessions = count(found.sessions, "session");
    let verdict = match found.differences.len() {
        0 => format!("{}: sound, {sessions}", found.database),
        differences => format!("{}: {sessions}, {}", found.database, count(differences, "difference")),
    };
    lines.push(Line::new().plain(verdict));
    lines
}

fn rebuild_lines(done: &StoreRebuild) -> Vec<Line> {
    let mut lines: Vec<_> = done.recovered.iter().flat_map(session_lines).collect();
    lines.extend(
        done.skipped.iter().map(|text| Line::toned(Tone::Warn, "skipped").plain(format!("  {}", one_line(text)))),
    );
    let carried = match done.carried_over {
        0 => String::new(),
        kept => format!(", {} kept from the old database", count(kept, "session")),
    };
    let recovered = count(done.recovered.len(), "session");
    lines.push(Line::new().plain(format!("{}: {recovered} recovered from git{carried}", done.database)));
    if let Some(kept) = &done.kept {
        lines.push(Line::new().dim(format!("the old database is `{kept}`")));
    }
    lines
}

fn session_lines(session: &RecoveredSession) -> Vec<Line> {
    let RecoveredSession { id, title, branch, base, state, turns, uncertain } = session;
    let turns = count(*turns as usize, "turn");
    let head = Line::new().strong(id.clone()).plain(format!("  {state}  {}", one_line(title)));
    let mut facts = format!("          {branch} from {base}, {turns}");
    if !uncertain.is_empty() {
        facts.push_str(&format!("; assumed: {}", uncertain.join(", ")));
    }
    vec![head, Line::new().dim(facts)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[Line]) -> String {
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_verification_says_what_differs() {
        let sound = StoreVerification { database: "/d/coppice.db".to_owned(), sessions: 2, differences: Vec::new() };
        insta::assert_snapshot!(text(&verification_lines(&sound)), @"/d/coppice.db: sound, 2 sessions");
        let differences = vec!["session `abcdefgh`: its branch `coppice/abcdefgh/x` is missing".to_owned()];
        let odd = StoreVerification { sessions: 1, differences, ..sound };
        insta::assert_snapshot!(text(&verification_lines(&odd)), @r"
        differs  session `abcdefgh`: its branch `coppice/abcdefgh/x` is missing
        /d/coppice.db: 1 session, 1 difference
        ");
    }

    #[test]
    fn a_rebuild_says_what_it_recovered_and_what_it_assumed() {
        let session = RecoveredSession {
            id: "abcdefgh".to_owned(),
            title: "fix it".to_owned(),
            branch: "coppice/abcdefgh/fix-it".to_owned(),
            base: "main".to_owned(),
            state: "ready".to_owned(),
            turns: 1,
            uncertain: vec!["title".to_owned(), "state".to_owned()],
        };
        let done = StoreRebuild {
            database: "/d/coppice.db".to_owned(),
            kept: Some("/d/coppice.db.old-1".to_owned()),
            repositories: Vec::new(),
            carried_over: 2,
            recovered: vec![session],
            skipped: vec!["`/gone`: not a repository".to_owned()],
        };
        insta::assert_snapshot!(text(&rebuild_lines(&done)), @r"
        abcdefgh  ready  fix it
                  coppice/abcdefgh/fix-it from main, 1 turn; assumed: title, state
        skipped  `/gone`: not a repository
        /d/coppice.db: 1 session recovered from git, 2 sessions kept from the old database
        the old database is `/d/coppice.db.old-1`
        ");
    }
}
