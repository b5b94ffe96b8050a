//! `coppice permissions import`: takes over what Claude Code may do without a question.

use crate::api::import::{ImportRules, ImportState, ImportableRule, ListRules, RuleImport};
use crate::cli::importable::{ImportRow, describe_command, describe_rows, describe_state};
use crate::cli::line::{Line, Tone, one_line};
use crate::cli::{Context, Exit, Failure, Format, FormatArg};
use crate::client::environment::capture_environment;

/// Lists the `allow` rules of your own Claude Code settings, or adds some of them to your rules for all repositories.
///
/// Its `deny` and `ask` rules count without being imported. A rule that allows every command is added only if you name it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice permissions import
  coppice permissions import \"Bash(npm run test:*)\" \"WebFetch(domain:docs.rs)\"
  coppice permissions import --all")]
pub(in crate::cli) struct ImportArgs {
    /// The rules to add, as the list spells them.
    #[arg(value_name = "RULE")]
    rules: Vec<String>,
    /// Add all that are ready.
    #[arg(long, conflicts_with = "rules")]
    all: bool,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: ImportArgs, context: &mut Context) -> Result<Exit, Failure> {
    let ImportArgs { rules, all, format } = args;
    let client = context.client().await?;
    let (is_list, environment) = (rules.is_empty() && !all, capture_environment(&[]));
    let found = match is_list {
        true => client.importable_rules(&ListRules { environment }).await?,
        false => client.import_rules(&ImportRules { environment, rules }).await?,
    };
    match format.choice() {
        Format::Json => context.output.json(&found)?,
        Format::Human => {
            context.output.lines(&describe(&found))?;
            let broken = found.broken.iter().map(|why| Line::toned(Tone::Warn, "warning:").plain(format!(" {why}")));
            context.output.say_all(&broken.collect::<Vec<_>>())?;
        }
    }
    Ok(Exit::Done)
}

fn describe(found: &RuleImport) -> Vec<Line> {
    if found.rules.is_empty() {
        let none = || Line::new().dim(format!("{} has no `allow` rules", one_line(&found.source)));
        return found.broken.is_none().then(none).into_iter().collect();
    }
    let states = || found.rules.iter().map(|rule| rule.state);
    let mut lines = describe_rows(found.rules.iter().map(row).collect());
    if states().any(|state| state == ImportState::Imported) {
        let added =
            format!("added to {}; they count in all repositories from the next turn on", one_line(&found.target));
        lines.extend([Line::new(), Line::new().dim(added)]);
    } else {
        lines.extend(describe_command(states(), "coppice permissions import RULE…", &found.target));
    }
    lines
}

fn row(rule: &ImportableRule) -> ImportRow<'_> {
    // Most mean the same in the same words.
    let means = Some(rule.means.join(" ")).filter(|means| *means != rule.rule && !means.is_empty());
    let means = means.map(|means| Line::new().dim("as ").plain(one_line(&means))).unwrap_or_default();
    let name = Line::new().strong(one_line(&rule.rule));
    ImportRow { cells: vec![describe_state(rule.state), name, means], note: rule.note.as_deref() }
}
