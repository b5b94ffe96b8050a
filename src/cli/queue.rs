//! `coppice queue`: the prompts that wait behind a turn, and one that is not to be sent after all.

use super::age::age;
use super::line::{Line, cut, one_line, table};
use super::{Context, Exit, Failure, Format};
use crate::api::session::QueuedPrompt;

/// How much of a prompt tells it from the others.
const TEXT: usize = 80;

/// Shows the prompts that wait for their turn, or drops one of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice queue k3f
  coppice queue k3f --drop 3
  coppice queue k3f --json | jq -r '.[].text'")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// Drop the prompt with this number; it is never sent.
    #[arg(long, value_name = "N")]
    drop: Option<u32>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let format = args.format.choice();
    if let Some(number) = args.drop {
        let session = client.drop_prompt(&args.id.id, number).await?;
        if format == Format::Human {
            let said = format!(" prompt {number} is dropped; {} left", session.queued);
            context.output.say(&Line::new().strong(&session.id).plain(said))?;
            return Ok(Exit::Done);
        }
    }
    let prompts = client.queue(&args.id.id).await?.items;
    match format {
        Format::Json => context.output.json(&prompts)?,
        Format::Human if prompts.is_empty() => context.output.say(&Line::new().dim("no prompt waits"))?,
        Format::Human => context.output.rows(&rows(&prompts, context.now()))?,
    }
    Ok(Exit::Done)
}

fn rows(prompts: &[QueuedPrompt], now: i64) -> Vec<Line> {
    let row = |prompt: &QueuedPrompt| {
        let images = match prompt.images.len() {
            0 => String::new(),
            1 => "1 image".to_owned(),
            count => format!("{count} images"),
        };
        vec![
            Line::new().strong(prompt.number.to_string()),
            Line::new().dim(age(now, prompt.queued_at)),
            Line::new().dim(images),
            Line::new().plain(cut(&one_line(&prompt.text), TEXT)),
        ]
    };
    table(&prompts.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::image::Attached;
    use crate::look::sample::NOW;

    #[test]
    fn a_prompt_is_a_row_whatever_is_in_it() {
        let image = Attached { number: 1, name: None, media_type: "image/png".into(), bytes: 9 };
        let prompt =
            |number, text: &str, images| QueuedPrompt { number, text: text.into(), images, queued_at: NOW - 90_000 };
        let prompts = [
            prompt(2, "and the docs\nplease", vec![]),
            prompt(13, "like this: [Image #1]", vec![image.clone()]),
            prompt(14, &"long ".repeat(40), vec![image.clone(), image]),
        ];
        let shown: Vec<_> = rows(&prompts, NOW).iter().map(|line| line.text()).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        2   1m            and the docs
        13  1m  1 image   like this: [Image #1]
        14  1m  2 images  long long long long long long long long long long long long long long long long…
        ");
    }
}
