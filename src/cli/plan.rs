//! `coppice plan`: the plans that were left for later, their text, and a session that carries one of them out.

use std::fs;

use serde::Serialize;

use super::age::age;
use super::line::{Line, one_line, table};
use super::new::{self, SessionOptions};
use super::prompt::RemarkArg;
use super::{Context, Exit, Failure, Format, FormatArg};
use crate::api::permission::{ListPlans, SavedPlan};
use crate::api::request::Start;
use crate::client::connection::Connection;

/// Lists the plans of this repository that wait, shows one, and lets a session carry it out.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  coppice plan list
  coppice plan show import-k3fgapbq
  coppice plan resume import-k3fgapbq \"leave the tests to me\"
  coppice run --plan-resume import-k3fgapbq --posture edits"
)]
pub(super) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    format: FormatArg,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Lists the plans that wait, the last one first.
    List {
        #[command(flatten)]
        format: FormatArg,
    },
    /// Prints the text of a plan.
    Show {
        #[command(flatten)]
        plan: PlanArg,
        #[command(flatten)]
        format: FormatArg,
    },
    Resume(Box<ResumeArgs>),
}

#[derive(Debug, clap::Args)]
struct PlanArg {
    /// The plan's id, or the beginning of it.
    #[arg(value_name = "PLAN")]
    plan: String,
}

/// Creates a session that carries a plan out, starts it and prints its id.
#[derive(Debug, clap::Args)]
#[command(override_usage = "coppice plan resume [OPTIONS] <PLAN> [PROMPT|-]")]
struct ResumeArgs {
    #[command(flatten)]
    plan: PlanArg,
    #[command(flatten)]
    remark: RemarkArg,
    #[command(flatten)]
    options: SessionOptions,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.act.unwrap_or(Act::List { format: args.format }) {
        Act::List { format } => list(format.choice(), context).await,
        Act::Show { plan, format } => show(&plan.plan, format.choice(), context).await,
        Act::Resume(args) => {
            let ResumeArgs { plan, remark, options, format } = *args;
            let request = options.request(remark.read(plan.plan)?, Start::AtOnce, context).await?;
            new::create(&request, format.choice(), context).await
        }
    }
}

async fn list(format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let plans = waiting(&context.client().await?, context).await?;
    match format {
        Format::Json => context.output.json(&plans)?,
        Format::Human if plans.is_empty() => context.output.say(&Line::new().dim("no plan waits here"))?,
        Format::Human => context.output.rows(&rows(&plans, context.now()))?,
    }
    Ok(Exit::Done)
}

async fn show(plan: &str, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let plan = find(&context.client().await?, plan, context).await?;
    let text = fs::read_to_string(&plan.path)
        .map_err(|error| Failure::because(format!("failed to read the plan `{}`", plan.path), &error))?;
    match format {
        Format::Json => context.output.json(&Shown { plan: &plan, text: &text })?,
        Format::Human => context.output.text(&format!("{}\n", text.trim_end()))?,
    }
    Ok(Exit::Done)
}

/// A plan with its text.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    plan: &'a SavedPlan,
    text: &'a str,
}

async fn waiting(client: &Connection, context: &Context) -> Result<Vec<SavedPlan>, Failure> {
    Ok(client.plans(&ListPlans { cwd: context.cwd()? }).await?.items)
}

/// The plan that a person means.
pub(super) async fn find(client: &Connection, word: &str, context: &Context) -> Result<SavedPlan, Failure> {
    let plans = waiting(client, context).await?;
    named(&plans, word).cloned()
}

/// By its id, or by a beginning that no other has.
fn named<'a>(plans: &'a [SavedPlan], word: &str) -> Result<&'a SavedPlan, Failure> {
    let exact = plans.iter().find(|plan| plan.id == word);
    let begun: Vec<_> = plans.iter().filter(|plan| !word.is_empty() && plan.id.starts_with(word)).collect();
    let ids = |plans: &[&SavedPlan]| plans.iter().map(|plan| format!("`{}`", plan.id)).collect::<Vec<_>>().join(", ");
    match (exact, begun.as_slice()) {
        (Some(plan), _) => Ok(plan),
        (None, [plan]) => Ok(*plan),
        (None, []) if plans.is_empty() => {
            Err(Failure::new(Exit::NotFound, format!("no plan `{word}`: none waits in this repository")))
        }
        (None, []) => {
            let known = ids(&plans.iter().collect::<Vec<_>>());
            Err(Failure::new(Exit::NotFound, format!("no plan `{word}` waits in this repository: waiting are {known}")))
        }
        (None, several) => Err(Failure::usage(format!("`{word}` begins several plans: {}", ids(several)))),
    }
}

fn rows(plans: &[SavedPlan], now: i64) -> Vec<Line> {
    let row = |plan: &SavedPlan| {
        vec![
            Line::new().strong(one_line(&plan.id)),
            Line::new().dim(age(now, plan.saved_at)),
            Line::new().dim(plan.session.as_deref().unwrap_or_default()),
            Line::new().plain(one_line(&plan.title)),
        ]
    };
    table(&plans.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample::NOW;

    fn plans() -> Vec<SavedPlan> {
        let plan = |id: &str, title: &str, session: Option<&str>| SavedPlan {
            id: id.into(),
            title: title.into(),
            path: format!("/data/plans/{id}.md"),
            session: session.map(str::to_owned),
            saved_at: NOW - 90_000,
        };
        vec![
            plan("import", "Import the old data", None),
            plan("import-abcd2345", "Import it all", Some("abcd2345")),
            plan("parser-plan", "Parse faster", None),
        ]
    }

    #[test]
    fn what_waits_is_listed_with_the_session_that_left_it() {
        let text = rows(&plans(), NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        import           1m            Import the old data
        import-abcd2345  1m  abcd2345  Import it all
        parser-plan      1m            Parse faster
        ");
    }

    #[test]
    fn a_plan_is_named_by_its_id_or_a_beginning() {
        let said = |plans: &[SavedPlan], word: &str| match named(plans, word) {
            Ok(plan) => plan.id.clone(),
            Err(Failure::Told(report)) => report.message,
            Err(Failure::PipeClosed) => "(quiet)".into(),
        };
        for (word, expected) in [
            ("import", "import"),
            ("import-", "import-abcd2345"),
            ("par", "parser-plan"),
            ("imp", "`imp` begins several plans: `import`, `import-abcd2345`"),
            ("x", "no plan `x` waits in this repository: waiting are `import`, `import-abcd2345`, `parser-plan`"),
        ] {
            assert_eq!(said(&plans(), word), expected);
        }
        assert_eq!(said(&[], "x"), "no plan `x`: none waits in this repository");
    }
}
