//! `coppice new`: creates a session and lets it work; the terminal is free at once.

use super::image::ImageArg;
use super::line::Line;
use super::posture::PostureArg;
use super::prompt::{EngineArg, Task, TaskArg};
use super::{Context, Exit, Failure, Format, plan, status};
use crate::api::request::{CreateSession, Start};
use crate::api::session::Session;

/// From the widest to the tightest.
pub(super) const PROFILES: [&str; 3] = ["native", "enforced", "readonly"];

/// Creates a session in its own worktree, starts it and prints its id; one for each model that is named.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "coppice new [OPTIONS] <PROMPT|->",
    after_help = "\
Examples:
  coppice new \"fix the failing test in src/parser.rs\"
  coppice new --model gemini --base release-2 - < task.md
  coppice new --agent engineer \"plan and build the import\"
  coppice new --posture attended \"bring the database up to date\"
  coppice new --model claude --model codex \"make the parser faster\"
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
    /// Whose tools the agent works with: its own, those that Coppice serves in their place, or the served ones that only
    /// look. It counts where it is tighter than the configuration; `coppice tools` shows what an agent gets.
    #[arg(long, value_name = "PROFILE", value_parser = PROFILES)]
    profile: Option<String>,
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
    /// The requests to create a session for each model that was named, or one for the configured model.
    async fn requests(mut self, task: Task, start: Start, context: &Context) -> Result<Vec<CreateSession>, Failure> {
        let models = std::mem::take(&mut self.engine.models);
        if models.len() > 1 && task.plan.is_some() {
            return Err(Failure::usage("a plan is carried out once, and several models are named")
                .hint("name one --model, or give the task as PROMPT"));
        }
        let request = self.request(task, start, context).await?;
        if models.is_empty() {
            return Ok(vec![request]);
        }
        Ok(models.into_iter().map(|model| CreateSession { model: Some(model), ..request.clone() }).collect())
    }

    /// The request to create a session from where the person stands.
    pub(super) async fn request(self, task: Task, start: Start, context: &Context) -> Result<CreateSession, Failure> {
        let SessionOptions { engine, posture: PostureArg { posture, yolo }, profile, images, base, title } = self;
        let model = engine.model()?;
        let EngineArg { models: _, reasoning, agent } = engine;
        let images = images.read()?;
        let (cwd, env) = (context.cwd()?, context.environment().await?);
        let Task { prompt, plan } = task;
        let plan = match plan {
            Some(word) => Some(plan::find(&context.client().await?, &word, context).await?.id),
            None => None,
        };
        Ok(CreateSession {
            cwd,
            prompt,
            plan,
            images,
            start,
            model,
            reasoning,
            agent,
            posture,
            yolo,
            profile,
            base,
            title,
            env,
        })
    }
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let start = if args.draft { Start::AsDraft } else { Start::AtOnce };
    let requests = args.options.requests(args.task.read()?, start, context).await?;
    let format = args.format.choice();
    let [request] = requests.as_slice() else {
        return create_all(&requests, format, context).await;
    };
    create(request, format, context).await
}

/// Creates the session and says which one it is.
pub(super) async fn create(request: &CreateSession, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.create(request).await?;
    match format {
        Format::Json => context.output.json(&session)?,
        Format::Human => tell(&session, context)?,
    }
    Ok(Exit::Done)
}

/// Creates one session after the other, or none when one of them could not be created.
async fn create_all(requests: &[CreateSession], format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    for request in requests {
        client.check(request).await?;
    }
    let (mut sessions, mut outcome) = (Vec::new(), Ok(Exit::Done));
    for request in requests {
        match client.create(request).await {
            Ok(session) => sessions.push(session),
            Err(error) => {
                outcome = Err(error.into());
                break;
            }
        }
    }
    // What was created is told also where the next one failed.
    match format {
        Format::Json => context.output.json(&sessions)?,
        Format::Human => sessions.iter().try_for_each(|session| tell(session, context))?,
    }
    outcome
}

fn tell(session: &Session, context: &mut Context) -> Result<(), Failure> {
    context.output.lines([&Line::new().plain(&session.id)])?;
    context.output.warn(&session.warnings)?;
    let engine = status::engine(&session.backend, session.model.as_deref());
    let from = format!(" from {} on {engine}", session.base.name);
    context.output.say(&status::word(session.status).dim(from))
}
