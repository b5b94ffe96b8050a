//! `coppice doctor`: whether everything that must work does.

use super::context::PATIENCE;
use super::line::{Line, Tone, one_line, visible};
use super::{Context, Exit, Failure, Format, LocalEntries};
use crate::api::project::{Check, CheckState, RunDoctor};
use crate::client::ClientError;
use crate::client::environment::capture_environment;
use crate::client::start::Daemon;

/// Checks git, the backends, the storage and the sandbox, and says what to do about what is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice doctor
  coppice doctor --json | jq '.[] | select(.state == \"bad\")'")]
pub(super) struct Args {
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context, local: LocalEntries) -> Result<Exit, Failure> {
    let request = RunDoctor { cwd: Some(context.cwd()?), environment: capture_environment(&[]) };
    let connected = context.connect(&Daemon::of_this_process()?, PATIENCE).await;
    // Some agents take seconds to tell their version.
    context.output.passing(&[Line::new().dim("looking at the installed agents…")])?;
    let checks = match connected {
        Ok(client) => client.doctor(&request).await?.items,
        // A daemon that cannot start is what a doctor is for.
        Err(ClientError::NotStarted { log, hint }) => {
            let (diagnose, daemon) = (local.diagnose, not_started(log, hint));
            let diagnosed = tokio::task::spawn_blocking(move || diagnose(request)).await;
            let mut checks = diagnosed.map_err(|error| Failure::because("the checks ended early", &error))??;
            checks.push(daemon);
            checks
        }
        Err(error) => return Err(error.into()),
    };
    match args.format.choice() {
        Format::Json => context.output.json(&checks)?,
        Format::Human => context.output.lines(&checks.iter().flat_map(lines).collect::<Vec<_>>())?,
    }
    let is_bad = checks.iter().any(|check| check.state == CheckState::Bad);
    Ok(if is_bad { Exit::Failed } else { Exit::Done })
}

fn not_started(log: String, hint: Option<String>) -> Check {
    let detail = format!("did not start: {log}");
    Check { name: "daemon".to_owned(), state: CheckState::Bad, detail, hint }
}

fn lines(check: &Check) -> Vec<Line> {
    // A word, not a colour, carries the verdict.
    let (tone, word) = match check.state {
        CheckState::Good => (Tone::Good, "good"),
        CheckState::Absent => (Tone::Dim, "none"),
        CheckState::Warning => (Tone::Warn, "warn"),
        CheckState::Bad => (Tone::Bad, "bad "),
    };
    let head =
        Line::toned(tone, word).strong(format!("  {}", check.name)).plain(format!("  {}", one_line(&check.detail)));
    let hint = check.hint.as_deref().unwrap_or_default();
    let advice =
        (!hint.is_empty()).then(|| Line::toned(Tone::Accent, "      hint:").plain(format!(" {}", one_line(hint))));
    std::iter::once(head).chain(below(&check.detail)).chain(advice).chain(below(hint)).collect()
}

/// What follows the first line of a text; a check of the sandbox has a line for each thing that the kernel gives.
fn below(text: &str) -> Vec<Line> {
    text.trim().lines().skip(1).map(|line| Line::new().plain(format!("      {}", visible(line)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_a_word_and_a_hint_when_it_needs_one() {
        let check = |state, hint: Option<&str>| Check {
            name: "git".into(),
            state,
            detail: "2.47.1".into(),
            hint: hint.map(str::to_owned),
        };
        let checks = [
            check(CheckState::Good, None),
            check(CheckState::Absent, None),
            check(CheckState::Warning, None),
            check(CheckState::Bad, Some("install git 2.41")),
        ];
        let text = checks.iter().flat_map(lines).map(|line| line.text()).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        good  git  2.47.1
        none  git  2.47.1
        warn  git  2.47.1
        bad   git  2.47.1
              hint: install git 2.41
        ");
    }

    #[test]
    fn nothing_that_a_check_says_is_left_out() {
        let check = Check {
            name: "sandbox".into(),
            state: CheckState::Warning,
            detail: "advisory: the kernel has no Landlock\nseccomp: yes\n".into(),
            hint: Some("boot a kernel of 6.2 or later\nor set `sandbox.level`".into()),
        };
        let text = lines(&check).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        warn  sandbox  advisory: the kernel has no Landlock
              seccomp: yes
              hint: boot a kernel of 6.2 or later
              or set `sandbox.level`
        ");
    }
}
