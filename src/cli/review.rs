//! `coppice review`: the comments on a session's changes, and the prompt they become.

use super::age::age;
use super::line::{Line, Tone, file_name, one_line, visible};
use super::status::{self, count};
use super::{Context, Exit, Failure, Format};
use crate::api::request::DiffQuery;
use crate::api::review::{Comment, LookAt, PrepareReview, PreparedReview, Review, Side};
use crate::client::connection::Connection;
use crate::tui::patch_digests;

/// Shows what you said about a session's changes and which files you looked at; sends it as one prompt.
///
/// With `--focus`, a model reads the changes first: what it finds becomes drafts, marked as suggested. Edit them with
/// `coppice comment ID --edit N TEXT`, drop them with `--drop N`; nothing is sent before you do.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice comment k3f src/limit.rs:11 \"read it once in new(), not per call\"
  coppice review k3f
  coppice review k3f --focus
  coppice review k3f --focus \"what happens when the file is gone\"
  coppice review k3f --drop 2
  coppice review k3f --looked-at src/limit.rs src/main.rs
  coppice review k3f --not-looked-at src/main.rs
  coppice review k3f --send")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// Send all drafts to the agent as one prompt.
    #[arg(long, conflicts_with_all = ["drop", "looked_at", "not_looked_at"])]
    send: bool,
    /// Have a model prepare the review, with a look at this above all if you name something.
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = ["send", "drop", "looked_at", "not_looked_at"])]
    focus: Option<String>,
    /// Forget the comment with this number.
    #[arg(long, value_name = "N")]
    drop: Option<u32>,
    /// Mark changed files as looked at; a mark counts until the file changes again.
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "drop")]
    looked_at: Vec<String>,
    /// Take the mark from these files.
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "drop")]
    not_looked_at: Vec<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let id = &args.id.id;
    if args.send {
        let session = client.send_review(id).await?;
        match args.format.choice() {
            Format::Json => context.output.json(&session)?,
            Format::Human => {
                let sent = Line::new().strong(&session.id).plain(" sent, ").then(status::word(session.status));
                context.output.say(&sent)?;
            }
        }
        return Ok(Exit::Done);
    }
    if let Some(focus) = args.focus {
        return prepare(&client, id, focus, args.format.choice(), context).await;
    }
    mark(&client, id, &args.looked_at, &args.not_looked_at).await?;
    let review = match args.drop {
        Some(comment) => client.drop_comment(id, comment).await?,
        None => client.review(id).await?,
    };
    match (args.format.choice(), args.drop) {
        (Format::Json, _) => context.output.json(&review)?,
        (Format::Human, Some(dropped)) => {
            let drafts = review.comments.iter().filter(|comment| comment.sent_at.is_none()).count();
            let left = format!(" dropped; {} left", count(drafts, "draft"));
            context.output.say(&Line::new().strong(format!("comment {dropped}")).plain(left))?;
        }
        (Format::Human, None) => {
            context.output.lines(&lines(&review, context.now()))?;
            if review.comments.is_empty() {
                context.output.say(&Line::new().dim("no comments"))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Has a model prepare the review, and shows it.
async fn prepare(
    client: &Connection,
    id: &str,
    focus: String,
    format: Format,
    context: &mut Context,
) -> Result<Exit, Failure> {
    if let Format::Human = format {
        context.output.say(&Line::new().dim("a model reads the changes; this can take minutes, Ctrl+C gives it up"))?;
    }
    let review = client.prepare_review(id, &PrepareReview { focus: Some(focus) }).await?;
    match format {
        Format::Json => context.output.json(&review)?,
        Format::Human => {
            context.output.lines(&lines(&review, context.now()))?;
            let drafts = review.comments.iter().filter(|comment| comment.sent_at.is_none()).count();
            let next = match drafts {
                0 => "nothing to send".to_owned(),
                drafts => format!("`coppice review {id} --send` sends {}", count(drafts, "draft")),
            };
            context.output.say(&Line::new().dim(next))?;
        }
    }
    Ok(Exit::Done)
}

/// Keeps which files were looked at. A path that is not among the changes marks nothing at all.
async fn mark(client: &Connection, id: &str, looked: &[String], not_looked: &[String]) -> Result<(), Failure> {
    let mut marks: Vec<LookAt> = not_looked.iter().map(|path| LookAt { path: path.clone(), digest: None }).collect();
    if !looked.is_empty() {
        let changed = patch_digests(&client.diff(id, &DiffQuery::default()).await?.patch);
        for path in looked {
            let Some((_, digest)) = changed.iter().find(|(known, _)| known == path) else {
                let failure = Failure::new(Exit::NotFound, format!("`{path}` is not among the changed files"));
                return Err(failure.hint(format!("`coppice diff {id} --stat` lists them")));
            };
            marks.push(LookAt { path: path.clone(), digest: Some(digest.clone()) });
        }
    }
    for mark in marks {
        client.look_at(id, &mark).await?;
    }
    Ok(())
}

fn lines(review: &Review, now: i64) -> Vec<Line> {
    let comments = review.comments.iter().flat_map(|comment| comment_lines(comment, now));
    let files = review.files.iter().map(|file| Line::new().dim("looked at  ").plain(file_name(&file.path)));
    comments.chain(files).chain(review.prepared.iter().flat_map(prepared_lines)).collect()
}

/// What a model said besides its findings.
fn prepared_lines(prepared: &PreparedReview) -> Vec<Line> {
    let found = count(prepared.findings as usize, "finding");
    let about = prepared.focus.as_ref().map(|focus| format!(" about {}", one_line(focus))).unwrap_or_default();
    let head = Line::new().dim(format!("prepared: {found}{about}"));
    let text = prepared.text.lines().map(|line| Line::new().plain(format!("   {}", visible(line)).trim_end()));
    std::iter::once(head).chain(text).collect()
}

fn comment_lines(comment: &Comment, now: i64) -> Vec<Line> {
    let side = match comment.side {
        Side::Old => " (old)",
        Side::New => "",
    };
    let state = match comment.sent_at {
        None if comment.suggested => Line::toned(Tone::Warn, "suggested"),
        None => Line::toned(Tone::Warn, "draft"),
        Some(sent) => Line::new().dim(format!("sent {} ago", age(now, sent))),
    };
    let place = format!("{}:{}{side}", file_name(&comment.path), comment.line);
    let head = Line::new().strong(comment.id.to_string()).plain("  ").with(Tone::Accent, place).plain("  ").then(state);
    let quote =
        (!comment.quote.trim().is_empty()).then(|| Line::new().dim(format!("   > {}", one_line(&comment.quote))));
    let text = comment.text.lines().map(|line| Line::new().plain(format!("   {}", visible(line)).trim_end()));
    std::iter::once(head).chain(quote).chain(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::review::FileReview;

    #[test]
    fn a_review_lists_comments_and_what_was_looked_at() {
        let comment = Comment {
            id: 1,
            path: "src/limit.rs".into(),
            line: 11,
            side: Side::New,
            text: "read it once\n\nin new()\u{1b}[2J".into(),
            quote: "    let cap = self.config.burst;".into(),
            created_at: 0,
            sent_at: None,
            suggested: false,
        };
        let sent = Comment {
            id: 12,
            side: Side::Old,
            text: "keep it".into(),
            quote: String::new(),
            sent_at: Some(60_000),
            ..comment.clone()
        };
        let suggested = Comment { id: 13, text: "too late".into(), suggested: true, ..comment.clone() };
        let prepared = PreparedReview {
            focus: Some("the\nwording\u{7}".into()),
            findings: 1,
            text: "Good,\u{1b}[2J\n\nbut late.".into(),
            prepared_at: 60_000,
        };
        let looked = |path: &str| FileReview { path: path.into(), digest: "d".into() };
        let review = Review {
            comments: vec![comment, sent, suggested],
            files: vec![looked("a.rs"), looked("b\u{1b}.rs")],
            prepared: Some(prepared),
        };
        let text = lines(&review, 180_000).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        1  src/limit.rs:11  draft
           > let cap = self.config.burst;
           read it once

           in new()�[2J
        12  src/limit.rs:11 (old)  sent 2m ago
           keep it
        13  src/limit.rs:11  suggested
           > let cap = self.config.burst;
           too late
        looked at  a.rs
        looked at  b�.rs
        prepared: 1 finding about the
           Good,�[2J

           but late.
        ");
    }
}
