//! `coppice answer`: answers to the questions that ended a turn.

use std::path::Path;

use super::ask;
use super::line::{Line, Tone, one_line};
use super::show::question_lines;
use super::status::{self, count};
use super::{Context, Exit, Failure, Format};
use crate::api::request::Answer;
use crate::api::session::{Question, Session, WaitingFor};
use crate::client::connection::Connection;

/// The purpose of a question about a plan.
const PLAN_DECISION: &str = "planner_plan_decision";

/// Answers the questions of a session; when all are answered, it goes on.
///
/// A number picks the option in that place, `1,3` several where that is allowed; anything else is taken as it is.
/// Without an ANSWER each question is asked here, or, when this is no terminal, shown. What the children of a session
/// ask can be answered here too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice answer k3f
  coppice answer k3f 2
  coppice answer k3f 1 \"use port 8080\"")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// One for each open question, in their order.
    #[arg(value_name = "ANSWER")]
    answers: Vec<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let session = client.session(&args.id.id).await?;
    let open: Vec<_> = session.questions.iter().filter(|question| question.answer.is_none()).collect();
    if open.is_empty() {
        let message = format!("session `{}` asks nothing: it is {}", session.id, session.status.as_str());
        return Err(Failure::new(Exit::Failed, message).hint("`coppice inbox` shows what waits for you"));
    }
    let answers = match (args.answers.as_slice(), ask::is_possible()) {
        ([], ask::Possible::No) => return show(&session, args.format.choice(), context),
        ([], ask::Possible::Yes) => {
            let mut answers = Vec::new();
            for question in &open {
                context.output.say_all(&question_lines(&[Question::clone(question)]))?;
                let Some(answer) = answer_one(question, context).await? else { break };
                answers.push(answer);
            }
            answers
        }
        (given, _) => choose(&open, given)?,
    };
    let decides = open.iter().any(|question| question.purpose.as_deref() == Some(PLAN_DECISION));
    let before = if decides { saved_plan(&client, &session.id).await? } else { None };
    let after = client.answer(&session.id, &Answer { answers }).await?;
    // One that goes on has heard everything it asked.
    let waits = after.waiting_for == Some(WaitingFor::Answer);
    let left = after.questions.iter().filter(|question| waits && question.answer.is_none()).count();
    match args.format.choice() {
        Format::Json => context.output.json(&after)?,
        Format::Human if left > 0 => {
            context.output.lines(&recorded_lines(&open, &after.questions))?;
            context.output.say(&Line::toned(Tone::Warn, format!("{} still open:", count(left, "question"))))?;
            let still_open = after.questions.iter().filter(|question| question.answer.is_none()).cloned();
            context.output.lines(&question_lines(&still_open.collect::<Vec<_>>()))?;
        }
        Format::Human => {
            context.output.say(&Line::new().strong(&after.id).plain(" ").then(status::word(after.status)))?;
            let saved = if decides { saved_plan(&client, &session.id).await? } else { None };
            if let Some((_, path)) = saved.filter(|saved| before.as_ref() != Some(saved)) {
                let path = Path::new(&session.worktree).join(path);
                context.output.say(&Line::new().plain(format!("saved the plan to `{}`", path.display())))?;
            }
        }
    }
    Ok(if left > 0 { Exit::WaitsForAnswer } else { Exit::Done })
}

/// What was recorded for each question that was open, and whether it is one of the options.
fn recorded_lines(open: &[&Question], after: &[Question]) -> Vec<Line> {
    let recorded = after.iter().filter(|question| open.iter().any(|known| known.text == question.text));
    let line = |question: &Question| {
        let answer = question.answer.as_deref()?;
        let is_own = !question.options.is_empty() && !question.options.iter().any(|option| option == answer);
        let line = Line::new().dim(format!("{}  ", one_line(&question.text))).strong(one_line(answer));
        Some(if is_own { line.dim("  (your own words, none of the options)") } else { line })
    };
    recorded.filter_map(line).collect()
}

/// The plan of the session's family that was saved last, by its id, and where it is in the work tree.
async fn saved_plan(client: &Connection, session: &str) -> Result<Option<(String, String)>, Failure> {
    let plan = client.workflow(session).await?.plan;
    Ok(plan.and_then(|plan| Some((plan.plan_id, plan.saved_to?))))
}

/// Asks until the answer is words or one of the options.
async fn answer_one(question: &Question, context: &mut Context) -> Result<Option<String>, Failure> {
    loop {
        let Some(answer) = ask::line(context, Line::new().dim("answer: ")).await? else { return Ok(None) };
        match picked(question, &answer) {
            Some(answer) => return Ok(Some(answer)),
            None => context.output.say(&Line::new().dim(format!("1 to {}, or words", question.options.len())))?,
        }
    }
}

fn show(session: &Session, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    match format {
        Format::Json => context.output.json(&session.questions)?,
        Format::Human => context.output.lines(&question_lines(&session.questions))?,
    }
    Ok(Exit::WaitsForAnswer)
}

/// The answers in words, one for each of the first open questions.
pub(super) fn choose(open: &[&Question], given: &[String]) -> Result<Vec<String>, Failure> {
    if given.len() > open.len() {
        let (given, open) = (count(given.len(), "answer"), count(open.len(), "open question"));
        return Err(
            Failure::usage(format!("got {given} for {open}")).hint("put an answer of several words into quotes")
        );
    }
    if given.iter().any(|answer| answer.trim().is_empty()) {
        return Err(Failure::usage("an answer is empty").hint("say something, or pick an option by its number"));
    }
    let pick = |(question, answer): (&&Question, &String)| {
        picked(question, answer).ok_or_else(|| {
            let message = format!("`{}` is not one of the {} options", answer.trim(), question.options.len());
            Failure::usage(message).hint(format!("the question is: {}", super::line::one_line(&question.text)))
        })
    };
    open.iter().zip(given).map(pick).collect()
}

/// The option that a number stands for, or the answer itself; `None` for a number beyond the options. Where several may
/// be chosen, commas stand between them.
pub(super) fn picked(question: &Question, answer: &str) -> Option<String> {
    let answer = answer.trim();
    // An option that is itself a number is meant literally.
    if question.options.is_empty() || question.options.iter().any(|option| option == answer) {
        return Some(answer.to_owned());
    }
    let numbers = answer.split(',').map(|number| number.trim().parse::<usize>());
    match numbers.collect::<Result<Vec<_>, _>>() {
        Ok(numbers) if numbers.len() == 1 || question.multiple => {
            let option = |number: &usize| question.options.get(number.checked_sub(1)?).map(String::as_str);
            Some(numbers.iter().map(option).collect::<Option<Vec<_>>>()?.join(", "))
        }
        Ok(_) | Err(_) => Some(answer.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_picks_an_option_and_words_stand_for_themselves() {
        let question = |options: &[&str]| Question {
            text: "?".into(),
            options: options.iter().map(|option| option.to_string()).collect(),
            ..Question::default()
        };
        for (options, answer, expected) in [
            (&["sqlite", "postgres"][..], "2", Some("postgres")),
            (&["sqlite", "postgres"], " 1\n", Some("sqlite")),
            (&["sqlite", "postgres"], "mysql", Some("mysql")),
            (&["sqlite", "postgres"], "3", None),
            (&["sqlite", "postgres"], "0", None),
            (&["2", "1"], "2", Some("2")),
            (&[], "8080", Some("8080")),
            (&["sqlite", "postgres"], "1,2", Some("1,2")),
        ] {
            assert_eq!(picked(&question(options), answer).as_deref(), expected, "{options:?} {answer}");
        }
        let several = Question { multiple: true, ..question(&["sqlite", "postgres", "mysql"]) };
        for (answer, expected) in
            [("1, 3", Some("sqlite, mysql")), ("2", Some("postgres")), ("1,4", None), ("all", Some("all"))]
        {
            assert_eq!(picked(&several, answer).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn there_are_never_more_answers_than_questions() {
        let question = Question { text: "?".into(), ..Question::default() };
        let message = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|answer| answer.to_string()).collect();
            match choose(&[&question], &given) {
                Ok(answers) => answers.join(","),
                Err(Failure::Told(report)) => report.message,
                Err(Failure::PipeClosed) => String::new(),
            }
        };
        assert_eq!(message(&["yes"]), "yes");
        assert_eq!(message(&["yes", "sir"]), "got 2 answers for 1 open question");
        assert_eq!(message(&[" "]), "an answer is empty");
    }
}
