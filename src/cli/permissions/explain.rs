//! `coppice permissions explain`: the verdict about one call, the step and the rule that gave it, and the files behind it.

use super::file_lines;
use crate::api::permission::Explanation;
use crate::api::request::ExplainPermission;
use crate::cli::line::{Line, Tone, one_line, table};
use crate::cli::{Context, Exit, Failure, Format, FormatArg, card, posture};

/// Says whether a call would go ahead, be asked about or be denied, and why. Nothing is run.
///
/// A call is named as in a rule, such as `Bash`, `Edit` or `MCP`, or as an agent names its tool. A command of several
/// words is one argument.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice permissions explain Bash \"cargo test && git push\"
  coppice permissions explain Edit src/main.rs --posture plan
  coppice permissions explain mcp:github:create_issue --session k3f")]
pub(in crate::cli) struct Args {
    /// A tool in any spelling, `mcp:SERVER:TOOL`, or the word of a rule.
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Paths, a command or a URL.
    #[arg(value_name = "ARG")]
    arguments: Vec<String>,
    /// The session that makes the call; one that begins here when absent.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The agent that makes the call.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    posture: posture::PostureArg,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let Args { tool, arguments, session, agent, posture: posture::PostureArg { posture, yolo }, format } = args;
    let cwd = context.cwd()?;
    let call = ExplainPermission { cwd, session, agent, posture, yolo, tool, arguments };
    let explanation = context.client().await?.explain(&call).await?;
    match format.choice() {
        Format::Json => context.output.json(&explanation)?,
        Format::Human => context.output.lines(&lines(&explanation))?,
    }
    Ok(Exit::Done)
}

fn lines(explanation: &Explanation) -> Vec<Line> {
    let targets: Vec<_> = explanation.targets.iter().map(|target| one_line(target)).collect();
    let head = verdict(&explanation.verdict).strong(format!("  {}", one_line(&explanation.tool)));
    let mut lines = vec![head.plain(format!("  {}", targets.join("  ")))];
    lines.extend(explanation.warnings.iter().map(|warning| card::warning(warning)));
    lines.extend(table(&facts(explanation)));
    lines.extend([Line::new(), Line::new().dim("rules")]);
    lines.extend(file_lines(&explanation.files).into_iter().map(|line| Line::new().plain("  ").then(line)));
    lines
}

fn facts(explanation: &Explanation) -> Vec<Vec<Line>> {
    let held = match explanation.enforced {
        true => Line::new().plain("enforced"),
        false => Line::toned(Tone::Warn, "advisory").plain(": nothing but these rules holds a command"),
    };
    let always = match explanation.saves.as_slice() {
        [] => Line::new().dim("nothing: it can only be allowed once"),
        saves => Line::new().plain(card::rules(saves)),
    };
    let mut facts = vec![
        ("why", Line::new().plain(one_line(&explanation.reason))),
        ("step", Line::new().plain(format!("{} of 14, {}", explanation.step, one_line(&explanation.layer)))),
    ];
    facts.extend(explanation.rule.as_ref().map(|rule| ("rule", Line::new().plain(one_line(rule)))));
    // Only what is asked about is offered to be kept.
    if explanation.verdict == "ask" {
        facts.push(("always saves", always));
    }
    facts.push(("posture", posture::standing(&explanation.posture, explanation.yolo)));
    facts.extend(explanation.agent.as_ref().map(|agent| ("agent", Line::new().plain(one_line(agent)))));
    facts.push(("sandbox", held));
    facts.into_iter().map(|(name, value)| vec![Line::new().dim(name), value]).collect()
}

/// A word, not a colour, carries the verdict.
fn verdict(word: &str) -> Line {
    let tone = match word {
        "allow" => Tone::Good,
        "deny" => Tone::Bad,
        _ => Tone::Warn,
    };
    Line::toned(tone, one_line(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::permissions::tests::files;

    fn text(explanation: &Explanation) -> String {
        lines(explanation).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    fn push() -> Explanation {
        Explanation {
            tool: "bash".into(),
            targets: vec!["git push --force".into()],
            verdict: "ask".into(),
            step: 14,
            layer: "tool class".into(),
            rule: None,
            reason: "it changes something, and no rule allows it".into(),
            posture: "attended".into(),
            yolo: false,
            agent: Some("engineer".into()),
            saves: vec![],
            warnings: vec!["DESTRUCTIVE FLAG(S): --force".into()],
            enforced: false,
            files: files(),
        }
    }

    #[test]
    fn the_verdict_comes_first_and_then_why() {
        insta::assert_snapshot!(text(&push()), @r"
        ask  bash  git push --force
        ⚠ DESTRUCTIVE FLAG(S): --force
        why           it changes something, and no rule allows it
        step          14 of 14, tool class
        always saves  nothing: it can only be allowed once
        posture       attended
        agent         engineer
        sandbox       advisory: nothing but these rules holds a command

        rules
          12 rules  /src/app/.coppice/permissions.json  2 allow rules need `coppice trust`
          no file   /src/app/.coppice/permissions.local.json
        ");
        let denied = Explanation {
            tool: "edit".into(),
            targets: vec!["a.rs".into(), "b.rs".into()],
            verdict: "deny".into(),
            step: 5,
            layer: "deny rule".into(),
            rule: Some("Edit(**) in permissions.json".into()),
            reason: "Tool \"edit\" denied by policy for pattern: **".into(),
            yolo: true,
            agent: None,
            warnings: vec![],
            enforced: true,
            files: vec![],
            ..push()
        };
        insta::assert_snapshot!(text(&denied), @r#"
        deny  edit  a.rs  b.rs
        why      Tool "edit" denied by policy for pattern: **
        step     5 of 14, deny rule
        rule     Edit(**) in permissions.json
        posture  attended, YOLO
        sandbox  enforced

        rules
        "#);
    }
}
