//! `coppice agents`: who can work here, what each of them has, and what is wrong with their files.

mod init;
mod show;

use std::fs;
use std::path::Path;

use super::line::{Line, Tone, one_line, table};
use super::status::count;
use super::{Context, Exit, Failure, Format, FormatArg};
use crate::api::agent::{AgentDiagnostic, AgentFile, AgentPlace, AgentQuery, AgentText, CheckAgents};

/// Lists the agents of this repository and of yours, shows one, checks their files, and makes files to begin with.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  coppice agents
  coppice agents show reviewer --model codex
  coppice agents check .claude/agents/scout.md
  coppice agents init --project release-notes
  coppice new --agent engineer \"plan and build the import\""
)]
pub(super) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Lists the agents; files that define none are marked.
    List(ListArgs),
    Show(show::Args),
    /// Says what is wrong with the files of agents and skills; exit code 1 when one of them defines nothing.
    Check(CheckArgs),
    Init(init::Args),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print what the tool `list_agents` tells a model, as JSON.
    #[arg(long)]
    tool: bool,
    /// With `--tool`: only this agent.
    #[arg(long, value_name = "AGENT", requires = "tool")]
    agent: Option<String>,
    /// With `--tool`: models and prompts too.
    #[arg(long, requires = "tool")]
    expanded: bool,
    #[command(flatten)]
    format: FormatArg,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Files to check; without any, all that count here. The directory of a file says how it is read.
    #[arg(value_name = "PATH")]
    paths: Vec<std::path::PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.act.unwrap_or(Act::List(args.list)) {
        Act::List(args) => list(args, context).await,
        Act::Show(args) => show::run(args, context).await,
        Act::Check(args) => check(args, context).await,
        Act::Init(args) => init::run(args, context).await,
    }
}

async fn list(args: ListArgs, context: &mut Context) -> Result<Exit, Failure> {
    let cwd = Some(context.cwd()?);
    let client = context.client().await?;
    if args.tool {
        let query = AgentQuery { cwd, agent: args.agent, expanded: args.expanded };
        context.output.json(&client.agents(&query).await?)?;
        return Ok(Exit::Done);
    }
    let files = client.agent_files(&AgentPlace { cwd: cwd.clone() }).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&files.agents)?,
        Format::Human => context.output.rows(&rows(&files.agents, cwd.as_deref().unwrap_or_default()))?,
    }
    Ok(Exit::Done)
}

/// The agents that count, by name.
fn rows(agents: &[AgentFile], cwd: &str) -> Vec<Line> {
    let mut agents: Vec<_> = agents.iter().filter(|agent| agent.shadowed_by.is_none()).collect();
    agents.sort_by(|a, b| (&a.id, a.broken).cmp(&(&b.id, b.broken)));
    table(&agents.into_iter().map(|agent| row(agent, cwd)).collect::<Vec<_>>())
}

fn row(agent: &AgentFile, cwd: &str) -> Vec<Line> {
    let source = match agent.source.scope.as_str() {
        "builtin" => "built-in".to_owned(),
        _ => shorter(&agent.source.path, cwd),
    };
    let (mode, about) = match (&agent.mode, agent.broken) {
        (Some(mode), false) => {
            let hidden = if agent.hidden { ", hidden" } else { "" };
            (Line::new().plain(format!("{mode}{hidden}")), Line::new().plain(one_line(&agent.description)))
        }
        (_, _) => {
            let reason = agent.diagnostics.iter().max_by_key(|said| rank(&said.severity));
            let reason = reason.map(|said| one_line(&said.message)).unwrap_or_default();
            (Line::toned(Tone::Bad, "broken"), Line::toned(Tone::Bad, reason))
        }
    };
    vec![
        Line::new().strong(if agent.id.is_empty() { "?".to_owned() } else { one_line(&agent.id) }),
        mode,
        Line::new().plain(agent.model.as_deref().map_or_else(|| "-".to_owned(), one_line)),
        Line::new().dim(one_line(&source)),
        about,
    ]
}

/// A path as seen from where the person stands.
fn shorter(path: &str, cwd: &str) -> String {
    let below = Path::new(path).strip_prefix(cwd).ok().and_then(Path::to_str);
    below.unwrap_or(path).to_owned()
}

async fn check(args: CheckArgs, context: &mut Context) -> Result<Exit, Failure> {
    let cwd = context.cwd()?;
    let (said, of) = match args.paths.as_slice() {
        [] => {
            let files = context.client().await?.agent_files(&AgentPlace { cwd: Some(cwd.clone()) }).await?;
            let of = format!(
                "{} and {}",
                count(files.agents.len(), "agent file"),
                count(files.skills.len() + files.diagnostics.len(), "skill")
            );
            let of_agents = files.agents.into_iter().flat_map(|agent| agent.diagnostics);
            (of_agents.chain(files.diagnostics).collect::<Vec<_>>(), of)
        }
        paths => {
            let files: Vec<_> = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
            let of = count(files.len(), "file");
            (context.client().await?.check_agents(&CheckAgents { files }).await?.items, of)
        }
    };
    match args.format.choice() {
        Format::Json => context.output.json(&said)?,
        Format::Human => {
            context.output.lines(&said.iter().map(|said| line(said, &cwd)).collect::<Vec<_>>())?;
            if said.is_empty() {
                context.output.say(&Line::new().dim(format!("nothing is wrong with {of}")))?;
            }
        }
    }
    let is_broken = said.iter().any(|said| said.severity == "error" || said.code == "skipped");
    Ok(if is_broken { Exit::Failed } else { Exit::Done })
}

fn read(path: &Path) -> Result<AgentText, Failure> {
    let bytes =
        fs::read(path).map_err(|error| Failure::because(format!("failed to read `{}`", path.display()), &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        Failure::because(format!("the file `{}` is not UTF-8", path.display()), &error.utf8_error())
    })?;
    Ok(AgentText { path: path.to_string_lossy().into_owned(), text })
}

/// As compilers say it, so that editors find the place.
fn line(said: &AgentDiagnostic, cwd: &str) -> Line {
    let tone = match rank(&said.severity) {
        2 => Tone::Bad,
        1 => Tone::Warn,
        _ => Tone::Dim,
    };
    let place = said.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = Line::new().plain(format!("{}{place}: ", shorter(&said.path, cwd)));
    place.with(tone, format!("{}:", said.severity)).plain(format!(" {}", said.message))
}

fn rank(severity: &str) -> u8 {
    match severity {
        "error" => 2,
        "warning" => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::agent::AgentSource;

    fn agent(id: &str, scope: &str, path: &str) -> AgentFile {
        AgentFile {
            id: id.into(),
            description: format!("Does {id}.\nmore"),
            mode: Some("all".into()),
            source: AgentSource { scope: scope.into(), path: path.into(), ..AgentSource::default() },
            ..AgentFile::default()
        }
    }

    #[test]
    fn the_list_shows_what_counts_and_what_is_broken() {
        let said = |severity: &str, message: &str, line| AgentDiagnostic {
            path: "/r/.coppice/agents/b.md".into(),
            severity: severity.into(),
            message: message.into(),
            line,
            ..AgentDiagnostic::default()
        };
        let broken = vec![said("info", "read", None), said("error", "decode front matter: no", Some(3))];
        let agents = [
            agent("zed", "builtin", "builtin:zed.md"),
            AgentFile { model: Some("haiku".into()), hidden: true, ..agent("a", "user", "/h/a.md") },
            AgentFile {
                mode: None,
                broken: true,
                diagnostics: broken.clone(),
                ..agent("b", "project", "/r/.coppice/agents/b.md")
            },
            AgentFile { shadowed_by: Some("/r/.coppice/agents/b.md".into()), ..agent("b", "builtin", "builtin:b.md") },
        ];
        let text = rows(&agents, "/r").iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        a    all, hidden  haiku  /h/a.md               Does a.
        b    broken       -      .coppice/agents/b.md  decode front matter: no
        zed  all          -      built-in              Does zed.
        ");
        let lines: Vec<_> = broken.iter().map(|said| line(said, "/r").text()).collect();
        assert_eq!(
            lines,
            [".coppice/agents/b.md: info: read", ".coppice/agents/b.md:3: error: decode front matter: no"]
        );
    }
}
