//! `coppice send`: the next prompt of a session.

use super::image::ImageArg;
use super::line::Line;
use super::posture::PostureArg;
use super::prompt::{EngineArg, PromptArg};
use super::status::{self, count};
use super::{Context, Exit, Failure, Format};
use crate::api::request::{SendPrompt, When};

/// Sends another prompt to a session; while a turn runs it waits in line.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "coppice send [OPTIONS] <ID> <PROMPT|->",
    after_help = "\
Examples:
  coppice send k3f \"also cover the empty input\"
  coppice send k3f --now \"stop, use the other parser\"
  coppice send k3f --model codex --reasoning high \"review what was done so far\"
  coppice send k3f --agent reviewer \"look at what was done\"
  coppice send k3f --image wrong.png \"the header looks like [Image #1]\"
  git diff main | coppice send k3f -"
)]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    #[command(flatten)]
    prompt: PromptArg,
    #[command(flatten)]
    engine: EngineArg,
    #[command(flatten)]
    posture: PostureArg,
    #[command(flatten)]
    images: ImageArg,
    /// Interrupt the turn in progress, then send.
    #[arg(long)]
    now: bool,
    /// A handoff whose result goes with the prompt; may be given several times.
    #[arg(long, value_name = "HANDOFF")]
    with: Vec<String>,
    /// Let the session see this shell's environment from here on.
    #[arg(long)]
    env: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let env = match args.env {
        true => Some(context.environment().await?),
        false => None,
    };
    let request = SendPrompt {
        text: args.prompt.read()?,
        images: args.images.read()?,
        model: args.engine.model()?,
        reasoning: args.engine.reasoning,
        agent: args.engine.agent,
        posture: args.posture.posture,
        yolo: args.posture.yolo.then_some(true),
        with: args.with,
        when: if args.now { When::Now } else { When::InOrder },
        env,
    };
    let session = context.client().await?.prompt(&args.id.id, &request).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&session)?,
        Format::Human => {
            let place = match session.queued {
                0 | 1 => String::new(),
                queued => format!(", {} in line", count(queued as usize, "prompt")),
            };
            context
                .output
                .say(&Line::new().strong(&session.id).plain(" ").then(status::word(session.status)).dim(place))?;
        }
    }
    Ok(Exit::Done)
}
