//! `coppice inbox`: everything that waits for a person, with the exact command that deals with it.

use super::age::age;
use super::line::{Line, Tone, one_line};
use super::show::{approval_lines, question_lines};
use crate::api::session::{InboxItem, Wants};

/// Shows everything that waits for you, over all sessions and repositories, oldest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice inbox
  coppice inbox --json | jq length")]
pub(super) struct Args {
    #[command(flatten)]
    format: super::FormatArg,
}

/// One entry: what it is, what is wanted, what to type.
fn item_lines(item: &InboxItem, now: i64) -> Vec<Line> {
    let id = &item.session;
    let (word, tone, body, commands) = match &item.wants {
        Wants::Approval { approval } => (
            "approval",
            Tone::Warn,
            approval_lines(approval, now),
            format!("coppice approve {id} {request}   or   coppice deny {id} {request}", request = approval.id),
        ),
        Wants::Answer { questions } => {
            let open = questions.iter().filter(|question| question.answer.is_none());
            let example: Vec<_> = open.map(|question| if question.options.is_empty() { "'…'" } else { "1" }).collect();
            ("question", Tone::Warn, question_lines(questions), format!("coppice answer {id} {}", example.join(" ")))
        }
        Wants::Resolution { files } => (
            "conflict",
            Tone::Bad,
            files.iter().map(|file| Line::new().plain(one_line(file))).collect(),
            format!("coppice rebase {id}   or   coppice send {id} 'resolve the conflict'"),
        ),
        Wants::Attention { error } => (
            "stopped",
            Tone::Bad,
            vec![Line::new().plain(format!("{}: {}", error.kind, one_line(&error.message)))],
            format!("coppice resume {id}   or   coppice show {id}"),
        ),
    };
    let head = Line::new()
        .strong(id)
        .plain("  ")
        .with(tone, word)
        .dim(format!("  {}  ", age(now, item.since)))
        .plain(one_line(&item.title));
    let indent = |line| Line::new().plain("    ").then(line);
    std::iter::once(head)
        .chain(body.into_iter().map(indent))
        .chain([indent(Line::toned(Tone::Accent, commands))])
        .collect()
}
