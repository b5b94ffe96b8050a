//! `coppice inbox`: everything that waits for a person, with the exact commands that deal with it.

use std::collections::BTreeMap;

use super::age::age;
use super::card::{self, Length};
use super::line::{Line, Tone, one_line};
use super::list::repository;
use super::show::{error_hint, question_lines};
use super::{Context, Exit, Failure, Format};
use crate::api::session::{InboxItem, Status, Wants};

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

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let items = context.client().await?.inbox().await?.items;
    match args.format.choice() {
        Format::Json => context.output.json(&items)?,
        Format::Human if items.is_empty() => context.output.say(&Line::new().dim("nothing waits for you"))?,
        Format::Human => context.output.lines(&lines(&items, context.now()))?,
    }
    Ok(Exit::Done)
}

/// All entries with a blank line between them.
fn lines(items: &[InboxItem], now: i64) -> Vec<Line> {
    let entries =
        items.iter().map(|item| item_lines(item, now)).chain(count_by_repository(items).map(|line| vec![line]));
    entries.collect::<Vec<_>>().join(&Line::new())
}

/// How many entries each repository has: the terminal interface counts those of one.
fn count_by_repository(items: &[InboxItem]) -> Option<Line> {
    let mut counts = BTreeMap::new();
    items.iter().for_each(|item| *counts.entry(repository(&item.project)).or_insert(0) += 1);
    let several = Some(&counts).filter(|counts| counts.len() > 1)?;
    let counts: Vec<_> = several.iter().map(|(name, count)| format!("{count} in {}", one_line(name))).collect();
    Some(Line::new().dim(counts.join(", ")))
}

/// One entry: what it is, what is wanted, what to type.
fn item_lines(item: &InboxItem, now: i64) -> Vec<Line> {
    let id = &item.session;
    let next = |commands: &[&str]| -> Vec<Line> {
        commands.iter().map(|command| Line::toned(Tone::Accent, format!("coppice {command}"))).collect()
    };
    let (word, tone, body, commands) = match &item.wants {
        Wants::Approval { approval } => (
            "approval",
            Tone::Warn,
            card::lines(approval, Length::Short, now),
            card::commands(id, Some(&approval.id), approval),
        ),
        Wants::Answer { questions } => {
            ("question", Tone::Warn, question_lines(questions), next(&[&format!("answer {id}")]))
        }
        Wants::Resolution { files } => (
            "conflict",
            Tone::Bad,
            files.iter().map(|file| Line::new().plain(one_line(file))).collect(),
            match &item.parent {
                Some(_) => next(&[
                    &format!("send {id} 'resolve the conflict'"),
                    &format!("shell {id}"),
                    &format!("integrate {id}"),
                ]),
                None => next(&[
                    &format!("resolve {id}"),
                    &format!("send {id} 'resolve the conflict'"),
                    &format!("shell {id}"),
                    &format!("merge {id}"),
                ]),
            },
        ),
        Wants::Attention { error } => (
            Status::Failed.as_str(),
            Tone::Bad,
            std::iter::once(Line::new().plain(format!("{}: {}", error.kind, one_line(&error.message))))
                .chain(error_hint(error))
                .collect(),
            next(&[&format!("resume {id}"), &format!("show {id}")]),
        ),
    };
    let head = Line::new()
        .strong(id)
        .plain("  ")
        .with(tone, word)
        .dim(format!("  {}  {}  ", age(now, item.since), one_line(repository(&item.project))))
        .plain(title(item));
    let indent = |line| Line::new().plain("    ").then(line);
    std::iter::once(head).chain(body.into_iter().chain(commands).map(indent)).collect()
}

/// A child says whose it is: its own title is hardly more than its agent.
fn title(item: &InboxItem) -> String {
    match (&item.agent, &item.parent) {
        (Some(agent), Some(parent)) => {
            format!("[subagent:{}] {}, child of {parent}", one_line(agent), one_line(&item.title))
        }
        _ => one_line(&item.title),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample::{self, NOW};

    #[test]
    fn every_entry_ends_with_what_to_type() {
        let item = |wants| InboxItem {
            session: "abcd2345".into(),
            project: "/src/app/.git".into(),
            title: "Fix the parser".into(),
            since: NOW - 90_000,
            parent: None,
            agent: None,
            wants,
        };
        let items = [
            item(Wants::Approval { approval: sample::approval().approvals.remove(0) }),
            item(Wants::Answer { questions: sample::asking().questions }),
            item(Wants::Resolution { files: sample::conflict().conflicts }),
            item(Wants::Attention { error: sample::failed().last_error.unwrap() }),
        ];
        let text = lines(&items, NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        abcd2345  approval  1m  app  Fix the parser
            r1  Bash(cargo test)  (12s ago)
              | cargo test
              | --quiet
            coppice approve abcd2345 r1
            coppice deny abcd2345 r1

        abcd2345  question  1m  app  Fix the parser
            1. Which database?
               1) sqlite
               2) postgres
            2. Which port?
            coppice answer abcd2345

        abcd2345  conflict  1m  app  Fix the parser
            a.rs
            b.rs
            coppice resolve abcd2345
            coppice send abcd2345 'resolve the conflict'
            coppice shell abcd2345
            coppice merge abcd2345

        abcd2345  failed  1m  app  Fix the parser
            crashed: the backend exited before it answered
            hint: `coppice resume abcd2345` goes on
            coppice resume abcd2345
            coppice show abcd2345
        ");
    }

    #[test]
    fn a_child_names_its_agent_and_its_parent() {
        let item = InboxItem {
            session: "efgh3456".into(),
            project: "/src/app/.git".into(),
            title: "find the parser".into(),
            since: NOW - 90_000,
            parent: Some("abcd2345".into()),
            agent: Some("explore".into()),
            wants: Wants::Answer { questions: sample::asking().questions[1..].to_vec() },
        };
        let text = lines(&[item], NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        efgh3456  question  1m  app  [subagent:explore] find the parser, child of abcd2345
            1. Which port?
            coppice answer efgh3456
        ");
    }
}
