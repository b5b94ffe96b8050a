//! `coppice new`: creates a session and lets it work; the terminal is free at once.

use super::image::ImageArg;
use super::line::Line;
use super::posture::PostureArg;
use super::prompt::{EngineArg, Task, TaskArg};
use super::{Context, Exit, Failure, Format, plan, status};
use crate::api::request::{CreateSession, Start};

/// Creates a session in its own worktree, starts it and prints its id.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "coppice new [OPTIONS] <PROMPT|->",
    after_help = "\
Examples:
  coppice new \"fix the failing test in src/parser.rs\"
  coppice new --model gemini --base release-2 - < task.md
  coppice new --agent engineer \"plan and build the import\"
  coppice new --posture attended \"bring the database up to date\"
  coppice new --model claude --reasoning xhigh \"find the race in the scheduler\"
  id=$(coppice new \"add a changelog\") && coppice wait $id && coppice diff $id"
)]
pub(super) struct Args {
    #[command(flatten)]
    task: TaskArg,
    #[command(flatten)]
    options: SessionOptions,
    /// Create it without starting it; `coppice resume` starts it.
    #[arg(long)]
    draft: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

/// What `new` and `run` let choose.
#[derive(Debug, clap::Args)]
pub(super) struct SessionOptions {
    #[command(flatten)]
    engine: EngineArg,
    #[command(flatten)]
    posture: PostureArg,
    #[command(flatten)]
    images: ImageArg,
    /// The branch, tag or commit to start from; the current branch when absent.
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// A title instead of one made from the prompt.
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
}

impl SessionOptions {
    /// The request to create a session from where the person stands.
    pub(super) async fn request(self, task: Task, start: Start, context: &Context) -> Result<CreateSession, Failure> {
        let SessionOptions { engine, posture: PostureArg { posture, yolo }, images, base, title } = self;
        let EngineArg { model, reasoning, agent } = engine;
        let images = images.read()?;
        let (cwd, env) = (context.cwd()?, context.environment());
        let Task { prompt, plan } = task;
        let plan = match plan {
            Some(word) => Some(plan::find(&context.client().await?, &word, context).await?.id),
            None => None,
        };
        Ok(CreateSession { cwd, prompt, plan, images, start, model, reasoning, agent, posture, yolo, base, title, env })
    }
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let start = if args.draft { Start::AsDraft } else { Start::AtOnce };
    let request = args.options.request(args.task.read()?, start, context).await?;
    create(&request, args.format.choice(), context).await
}

/// Creates the session and says which one it is.
pub(super) async fn create(request: &CreateSession, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.create(request).await?;
    match format {
        Format::Json => context.output.json(&session)?,
        Format::Human => {
            context.output.lines([&Line::new().plain(&session.id)])?;
            let from = format!(
                " from {} on {}",
                session.base.name,
                status::engine(&session.backend, session.model.as_deref())
            );
            context.output.say(&status::word(session.status).dim(from))?;
        }
    }
    Ok(Exit::Done)
}
