//! The command line: one file per subcommand, each parses, asks the daemon and shows.
//!
//! It is an ordinary client: it knows the socket's types and nothing behind them. stdout is data, stderr is talk, and the
//! exit codes are a contract.

use std::ffi::OsString;
use std::future;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::api::error::Error;
use crate::api::project::{Check, RunDoctor};
use crate::api::store::{RebuildRequest, StoreBackup, StoreRebuild, StoreVerification};
use crate::look::{age, line, status};
use context::Context;
use exit::Exit;
use line::{Line, Tone};
use report::Failure;

mod act;
mod agents;
mod answer;
mod ask;
mod attach;
mod backends;
mod card;
mod child;
mod comment;
mod config;
mod context;
mod daemon;
mod decide;
mod demo;
mod diff;
mod doctor;
mod events;
mod exit;
mod follow;
mod image;
mod importable;
mod inbox;
mod integrate;
mod list;
mod manual;
mod mcp;
mod merge;
mod models;
mod new;
mod open;
mod output;
mod overview;
mod passthrough;
mod permissions;
mod plan;
mod posture;
mod pr;
mod project;
mod prompt;
mod push;
mod queue;
mod report;
mod resolve;
mod review;
mod run;
mod send;
mod shell;
mod show;
mod store;
#[cfg(test)]
mod tests;
mod tools;
mod transcript;
mod trust;
mod undo;
mod wait;

/// Runs many coding agents at once on one git repository, each in its own worktree.
#[derive(Debug, Parser)]
#[command(
    name = "coppice",
    version,
    max_term_width = 100,
    subcommand_value_name = "COMMAND",
    after_help = "\
Without a command: the terminal interface for the repository. Where there is no terminal, what needs you
and what works.

Examples:
  coppice demo                          the whole tour with scripted agents, no account needed
  coppice new \"fix the failing test\"    a session that works in the background
  coppice inbox                         everything that waits for you

Exit codes: 0 done, 1 failed, 2 usage, 3 waits for an answer, 4 waits for an approval, 5 not found,
6 daemon unreachable, 70 internal bug, 124 timed out, 130 detached."
)]
struct Cli {
    /// The directory to work in, inside a repository; the current one when absent.
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Session(Box<SessionCommand>),
    Daemon(daemon::Args),
    Store(store::StoreArgs),
    #[command(flatten)]
    Manual(ManualCommand),
}

/// What needs the program alone.
#[derive(Debug, Subcommand)]
enum ManualCommand {
    Completions(manual::CompletionsArgs),
    #[command(hide = true)]
    Man(manual::ManArgs),
}

/// What asks the daemon.
#[derive(Debug, Subcommand)]
enum SessionCommand {
    New(new::Args),
    Run(run::Args),
    #[command(visible_aliases = ["ls", "ps", "status"])]
    List(list::Args),
    Show(show::Args),
    #[command(visible_alias = "log")]
    Events(events::Args),
    Wait(wait::Args),
    Inbox(inbox::Args),
    Send(send::Args),
    Queue(queue::Args),
    Answer(answer::Args),
    /// Interrupts a session's turn; what it changed so far is kept.
    #[command(visible_alias = "kill", after_help = "Examples:\n  coppice stop k3f")]
    Stop(act::Args),
    /// Goes on with a session that failed, was interrupted or is a draft.
    #[command(after_help = "Examples:\n  coppice resume k3f && coppice wait k3f")]
    Resume(act::ResumeArgs),
    Approve(decide::ApproveArgs),
    Deny(decide::DenyArgs),
    Posture(posture::Args),
    Attach(attach::Args),
    Shell(shell::Args),
    Diff(diff::Args),
    Comment(comment::Args),
    Review(review::Args),
    Undo(undo::Args),
    Merge(merge::MergeArgs),
    Rebase(merge::RebaseArgs),
    Resolve(resolve::ResolveArgs),
    Integrate(integrate::Args),
    Push(push::Args),
    Pr(pr::Args),
    /// Puts sessions away: their worktrees go, their branches and transcripts stay.
    ///
    /// All of them are tried, and the exit code is that of the first failure.
    #[command(after_help = "Examples:\n  coppice archive k3f\n  coppice archive k3f m2p x7a")]
    Archive(act::SeveralArgs),
    /// Removes sessions. Nothing is lost: what was not merged is kept, and `restore` brings it back.
    ///
    /// All of them are tried, and the exit code is that of the first failure.
    #[command(after_help = "Examples:\n  coppice rm k3f\n  coppice rm k3f m2p x7a\n  coppice list --removed")]
    Rm(act::SeveralArgs),
    /// Brings a removed or archived session back, uncommitted work included.
    #[command(after_help = "Examples:\n  coppice list --removed\n  coppice restore k3f")]
    Restore(act::Args),
    Agents(agents::Args),
    Tools(tools::Args),
    Backends(backends::Args),
    Models(models::Args),
    Permissions(permissions::Args),
    Plan(plan::Args),
    Doctor(doctor::Args),
    Config(config::Args),
    Trust(trust::Args),
    Project(project::Args),
    Demo(demo::Args),
    Mcp(mcp::Args),
}

/// Names one session on the command line.
#[derive(Debug, Clone, clap::Args)]
struct IdArg {
    /// The session's id, or the beginning of it.
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
}

/// Chooses the form of the data.
#[derive(Debug, Clone, Copy, clap::Args)]
struct FormatArg {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// The form of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Human,
    Json,
}

impl FormatArg {
    fn choice(self) -> Format {
        if self.json { Format::Json } else { Format::Human }
    }
}

/// What is no client's work and lives elsewhere: the daemon, and what can be done without one.
#[derive(Debug, Clone, Copy)]
pub struct LocalEntries {
    /// `coppice daemon run`.
    pub daemon: fn() -> ExitCode,
    pub diagnose: fn(RunDoctor) -> Result<Vec<Check>, Error>,
    pub verify: fn() -> Result<StoreVerification, Error>,
    pub back_up: fn(Option<PathBuf>) -> Result<StoreBackup, Error>,
    pub rebuild: fn(RebuildRequest) -> Result<StoreRebuild, Error>,
}

/// Runs one command.
pub fn run(arguments: impl IntoIterator<Item = OsString>, local: LocalEntries) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(refusal) => {
            if let (ErrorKind::UnknownArgument, Some(Failure::Told(report))) =
                (refusal.kind(), open::explain_unknown_command(&arguments))
            {
                Context::new().output.say_all(&report.lines()).ok();
                return report.exit.into();
            }
            // Help and version are printed this way as well. Nobody is left to tell when even that cannot be written.
            refusal.print().ok();
            return if refusal.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let mut context = Context::new();
    // A bug ends with a code of its own; the panic itself tells what it is.
    let result = panic::catch_unwind(AssertUnwindSafe(|| dispatch(cli, &mut context, local)));
    result.unwrap_or(Exit::Internal.into())
}

fn dispatch(cli: Cli, context: &mut Context, local: LocalEntries) -> ExitCode {
    let command = match cli.path.as_deref().map(open::enter).transpose() {
        Ok(_) => cli.command,
        Err(failure) => return end(Err(failure), context),
    };
    let result = match command {
        Some(Command::Daemon(daemon::Args { act: daemon::Act::Run { .. } })) => return (local.daemon)(),
        Some(Command::Daemon(daemon::Args { act: daemon::Act::Look(look) })) => wait_for(daemon::run(look, context)),
        Some(Command::Store(args)) => store::run(args, context, local),
        Some(Command::Session(command)) => wait_for(perform(*command, context, local)),
        Some(Command::Manual(ManualCommand::Completions(args))) => manual::completions(&args, &mut context.output),
        Some(Command::Manual(ManualCommand::Man(args))) => manual::man(&args, &mut context.output),
        None => wait_for(open::run(context)),
    };
    end(result, context)
}

/// Tells what went wrong, and how it ended.
fn end(result: Result<Exit, Failure>, context: &mut Context) -> ExitCode {
    let exit = match result {
        Ok(exit) => exit,
        Err(Failure::PipeClosed) => Exit::Done,
        Err(Failure::Told(report)) => {
            // The exit code still says it when stderr is closed.
            context.output.say_all(&report.lines()).ok();
            report.exit
        }
    };
    exit.into()
}

/// One thread is enough for a client, and it starts fastest.
fn wait_for(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("failed to start", &error))?;
    let result = runtime.block_on(command);
    // A thread may still wait for a line from the terminal.
    runtime.shutdown_background();
    result
}

async fn perform(command: SessionCommand, context: &mut Context, local: LocalEntries) -> Result<Exit, Failure> {
    match command {
        SessionCommand::New(args) => new::run(args, context).await,
        SessionCommand::Run(args) => run::run(args, context).await,
        SessionCommand::List(args) => list::run(args, context).await,
        SessionCommand::Show(args) => show::run(args, context).await,
        SessionCommand::Events(args) => events::run(args, context).await,
        SessionCommand::Wait(args) => wait::run(args, context).await,
        SessionCommand::Inbox(args) => inbox::run(args, context).await,
        SessionCommand::Send(args) => send::run(args, context).await,
        SessionCommand::Queue(args) => queue::run(args, context).await,
        SessionCommand::Answer(args) => answer::run(args, context).await,
        SessionCommand::Stop(args) => act::stop(args, context).await,
        SessionCommand::Resume(args) => act::resume(args, context).await,
        SessionCommand::Approve(args) => decide::approve(args, context).await,
        SessionCommand::Deny(args) => decide::deny(args, context).await,
        SessionCommand::Posture(args) => posture::run(args, context).await,
        SessionCommand::Attach(args) => attach::run(args, context).await,
        SessionCommand::Shell(args) => shell::run(args, context).await,
        SessionCommand::Diff(args) => diff::run(args, context).await,
        SessionCommand::Comment(args) => comment::run(args, context).await,
        SessionCommand::Review(args) => review::run(args, context).await,
        SessionCommand::Undo(args) => undo::run(args, context).await,
        SessionCommand::Merge(args) => merge::merge(args, context).await,
        SessionCommand::Rebase(args) => merge::rebase(args, context).await,
        SessionCommand::Resolve(args) => resolve::run(args, context).await,
        SessionCommand::Integrate(args) => integrate::run(args, context).await,
        SessionCommand::Push(args) => push::run(args, context).await,
        SessionCommand::Pr(args) => pr::run(args, context).await,
        SessionCommand::Archive(args) => act::archive(args, context).await,
        SessionCommand::Rm(args) => act::rm(args, context).await,
        SessionCommand::Restore(args) => act::restore(args, context).await,
        SessionCommand::Agents(args) => agents::run(args, context).await,
        SessionCommand::Tools(args) => tools::run(args, context).await,
        SessionCommand::Backends(args) => backends::run(args, context).await,
        SessionCommand::Models(args) => models::run(args, context).await,
        SessionCommand::Permissions(args) => permissions::run(args, context).await,
        SessionCommand::Plan(args) => plan::run(args, context).await,
        SessionCommand::Doctor(args) => doctor::run(args, context, local).await,
        SessionCommand::Config(args) => config::run(args, context).await,
        SessionCommand::Trust(args) => trust::run(args, context).await,
        SessionCommand::Project(args) => project::run(args, context).await,
        SessionCommand::Demo(args) => demo::run(args, context).await,
        SessionCommand::Mcp(args) => mcp::run(args, context).await,
    }
}

/// Ends when the person presses Ctrl-C.
async fn interrupted() {
    match tokio::signal::ctrl_c().await {
        Ok(()) => {}
        // Without a handler the signal ends the process as usual.
        Err(_) => future::pending().await,
    }
}

/// Leaves a session that goes on without us.
fn detach(id: &str, context: &mut Context) -> Result<Exit, Failure> {
    let hint =
        Line::new().plain("detached; it goes on. ").with(Tone::Accent, format!("coppice stop {id}")).plain(" stops it");
    context.output.say(&hint)?;
    Ok(Exit::Detached)
}
