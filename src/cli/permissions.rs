//! `coppice permissions`: which rules count here, where consent is kept, why a call would go ahead or not, and the import of
//! rules.

mod explain;
mod import;

use serde::Serialize;

use super::line::{Line, one_line, table};
use super::{Context, Exit, Failure, Format, posture};
use crate::api::permission::{Explanation, RuleFileInfo};
use crate::api::request::ExplainPermission;
use crate::api::session::{Sandbox, Session};
use crate::client::connection::Connection;
use crate::look::verdict::{file_lines, standing};

/// The file of a person's own rules, which "always" and "never" write.
const OWN: &str = "/permissions.local.json";

/// The key that says how sessions are held.
const LEVEL: &str = "sandbox.level";

/// Shows the files of rules that count here and what a session may do that begins here, or explains one call.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  coppice permissions
  coppice permissions explain Bash \"git push --force\"
  coppice permissions explain Edit src/main.rs --session k3f
  coppice permissions explain Read .env --posture attended --json
  coppice permissions import"
)]
pub(super) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    format: super::FormatArg,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    Explain(explain::Args),
    Import(import::ImportArgs),
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.act {
        Some(Act::Explain(args)) => explain::run(args, context).await,
        Some(Act::Import(args)) => import::run(args, context).await,
        None => list(args.format.choice(), context).await,
    }
}

async fn list(format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let Explanation { posture, enforced, files, .. } = client.explain(&looking(context.cwd()?)).await?;
    let values = client.config(&context.place()?).await?.items;
    let level = values.iter().find(|value| value.key == LEVEL).and_then(|value| value.value.as_str());
    let sandbox = Sandbox { level: level.unwrap_or("off").to_owned(), enforced, note: None };
    let here = Here { posture, sandbox, always: own(&files).map(str::to_owned), files };
    match format {
        Format::Json => context.output.json(&here)?,
        Format::Human => context.output.lines(&here.lines())?,
    }
    Ok(Exit::Done)
}

/// What a session starts with that begins here.
#[derive(Debug, Serialize)]
struct Here {
    posture: String,
    sandbox: Sandbox,
    /// Where consent for good is written.
    always: Option<String>,
    files: Vec<RuleFileInfo>,
}

impl Here {
    fn lines(&self) -> Vec<Line> {
        let always = self.always.as_ref().map_or_else(
            || Line::new().dim("cannot be saved here"),
            |file| Line::new().dim("is saved in ").plain(one_line(file)),
        );
        let facts = [
            ("posture", standing(&self.posture, false)),
            ("sandbox", posture::sandbox(&self.sandbox)),
            ("always", always),
        ];
        let mut lines =
            table(&facts.into_iter().map(|(name, value)| vec![Line::new().dim(name), value]).collect::<Vec<_>>());
        lines.extend([Line::new(), Line::new().dim("rules")]);
        lines.extend(file_lines(&self.files).into_iter().map(|line| Line::new().plain("  ").then(line)));
        lines
    }
}

/// The file that keeps what a person allows or denies for good.
pub(super) async fn own_file(client: &Connection, session: &Session) -> Result<Option<String>, Failure> {
    let looking = ExplainPermission { session: Some(session.id.clone()), ..looking(session.worktree.clone()) };
    Ok(own(&client.explain(&looking).await?.files).map(str::to_owned))
}

/// The posture of a session that begins in a directory and asks for nothing.
pub(super) async fn usual_posture(client: &Connection, cwd: String) -> Result<String, Failure> {
    Ok(client.explain(&looking(cwd)).await?.posture)
}

/// The least of all calls, for what is true of all of them.
fn looking(cwd: String) -> ExplainPermission {
    ExplainPermission { cwd, tool: "Read".into(), arguments: vec![".".into()], ..ExplainPermission::default() }
}

fn own(files: &[RuleFileInfo]) -> Option<&str> {
    files.iter().map(|file| file.path.as_str()).find(|path| path.ends_with(OWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample::rule_files as files;

    #[test]
    fn a_place_says_what_counts_in_it() {
        let text = |here: &Here| here.lines().iter().map(Line::text).collect::<Vec<_>>().join("\n");
        let sandbox = Sandbox { level: "workspace".into(), enforced: true, note: None };
        let always = own(&files()).map(str::to_owned);
        let mut here = Here { posture: "unattended".into(), sandbox, always, files: files() };
        insta::assert_snapshot!(text(&here), @r"
        posture  unattended
        sandbox  workspace, enforced
        always   is saved in /src/app/.coppice/permissions.local.json

        rules
          12 rules  /src/app/.coppice/permissions.json  2 allow rules need `coppice trust`
          no file   /src/app/.coppice/permissions.local.json
        ");
        (here.always, here.sandbox.enforced) = (None, false);
        assert!(text(&here).contains("sandbox  workspace, advisory\nalways   cannot be saved here\n"));
    }
}
