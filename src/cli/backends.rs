//! `coppice backends`: which agents are known, adding one, and trying one in the sandbox.

use super::line::{Line, Tone, one_line, table};
use super::{Context, Exit, Failure, Format};
use crate::api::backend::{BackendCheck, BackendEntry, BackendOrigin, CheckBackend};
use crate::api::project::{ConfigScope, SetConfig};

/// Lists the agents that Coppice can run, adds one to your configuration, or tries one in the sandbox.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice backends list
  coppice backends add opencode
  coppice backends check opencode
  coppice backends check opencode --prompt \"say hello\"")]
pub(super) struct Args {
    #[command(subcommand)]
    command: BackendCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BackendCommand {
    /// Lists built-in, added and known agents, and where their programs are.
    List {
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Adds a known agent to your configuration, so that `--model` takes it.
    Add {
        /// One of the presets that `coppice backends list` shows
        name: String,
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Starts an agent in the sandbox, has it open a session, and says what was refused.
    Check {
        /// The backend to try; a preset need not be added for it
        name: String,
        /// Also send this prompt, and show the answer
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        #[command(flatten)]
        format: super::FormatArg,
    },
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.command {
        BackendCommand::List { format } => {
            let entries = list(context).await?;
            match format.choice() {
                Format::Json => context.output.json(&entries)?,
                Format::Human => context.output.lines(&table(&entries.iter().map(row).collect::<Vec<_>>()))?,
            }
            Ok(Exit::Done)
        }
        BackendCommand::Add { name, format } => add(name, format.choice(), context).await,
        BackendCommand::Check { name, prompt, format } => {
            let environment = context.environment().await?;
            let request = CheckBackend { name, cwd: context.backends()?.cwd, environment, prompt };
            let client = context.client().await?;
            context.output.passing(&[Line::new().dim("starting the agent…")])?;
            let check = client.check_backend(&request).await?;
            match format.choice() {
                Format::Json => context.output.json(&check)?,
                Format::Human => context.output.lines(&describe_check(&check))?,
            }
            Ok(if check.failure.is_some() { Exit::Failed } else { Exit::Done })
        }
    }
}

async fn list(context: &mut Context) -> Result<Vec<BackendEntry>, Failure> {
    let (client, query) = (context.client().await?, context.backends()?);
    // Some programs take seconds to tell their version.
    context.output.passing(&[Line::new().dim("looking for the programs…")])?;
    Ok(client.backends(&query).await?.items)
}

async fn add(name: String, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let entries = list(context).await?;
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let presets = entries.iter().filter(|entry| entry.origin == BackendOrigin::Preset);
        let presets: Vec<_> = presets.map(|entry| entry.name.as_str()).collect();
        return Err(Failure::usage(format!("no preset `{name}`; there are {}", presets.join(", ")))
            .hint("any other ACP agent is added by `[backends.NAME] command` in config.toml"));
    };
    let lines = match entry.origin {
        BackendOrigin::BuiltIn | BackendOrigin::AddedPreset | BackendOrigin::Configured => {
            vec![Line::new().plain(format!("{name} is already a backend"))]
        }
        BackendOrigin::Preset => {
            let key = format!("backends.{name}.transport");
            let set = SetConfig { key, value: Some("acp".to_owned()), scope: ConfigScope::User, cwd: None };
            context.client().await?.set_config(&set).await?;
            let path = context.paths()?.config;
            vec![Line::new().plain(format!("added {name} to {}", path.display()))]
        }
    };
    match format {
        Format::Json => context.output.json(entry)?,
        Format::Human => context.output.lines(&lines.into_iter().chain(next_steps(entry)).collect::<Vec<_>>())?,
    }
    Ok(Exit::Done)
}

/// What is left to do before an agent works.
fn next_steps(entry: &BackendEntry) -> Vec<Line> {
    let step = |what: &str, command: &str| Line::new().dim(format!("{what}: ")).plain(command);
    let install = entry.install.as_deref().filter(|_| entry.program.is_none()).map(|command| step("install", command));
    let login = entry.login.as_deref().map(|command| step("log in", command));
    install.into_iter().chain(login).chain([step("try", &format!("coppice backends check {}", entry.name))]).collect()
}

fn row(entry: &BackendEntry) -> Vec<Line> {
    let origin = match entry.origin {
        BackendOrigin::BuiltIn => "built-in",
        BackendOrigin::Preset => "preset",
        BackendOrigin::AddedPreset => "added",
        BackendOrigin::Configured => "configured",
    };
    let place = match (&entry.program, &entry.install) {
        (Some(program), _) => Line::new().plain(one_line(program)),
        (None, Some(install)) => Line::new().dim("not installed: ").plain(one_line(install)),
        (None, None) => Line::toned(Tone::Bad, "not installed"),
    };
    let version = entry.version.as_deref().map(one_line).unwrap_or_default();
    vec![Line::new().strong(&entry.name), Line::new().dim(origin), Line::new().plain(version), place]
}

fn describe_check(check: &BackendCheck) -> Vec<Line> {
    let mut lines = Vec::new();
    if check.agent.is_some() || check.failure.is_none() {
        let named = [check.agent.as_deref(), check.version.as_deref()].into_iter().flatten().map(one_line);
        let named: Vec<_> = named.collect();
        let line = Line::toned(Tone::Good, "good").strong(format!("  {}", check.name)).plain(format!(
            "  {} opened a session (sandbox {})",
            if named.is_empty() { "the agent".to_owned() } else { named.join(" ") },
            check.sandbox
        ));
        let models = match check.models {
            0 => Line::new(),
            1 => Line::new().dim(", 1 model"),
            count => Line::new().dim(format!(", {count} models")),
        };
        lines.push(line.then(models));
    }
    lines.extend(check.reply.iter().map(|reply| Line::new().dim("reply: ").plain(one_line(reply))));
    if let Some(failure) = &check.failure {
        let head = Line::toned(Tone::Bad, "bad ").strong(format!("  {}", check.name));
        lines.push(head.plain(format!("  {}: {}", failure.kind, one_line(&failure.message))));
        lines.push(Line::new().dim("hint: ").plain(one_line(&failure.hint)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::backend::BackendFailure;

    fn text(lines: &[Line]) -> String {
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_list_says_what_is_there_and_how_to_get_the_rest() {
        let entry = |name: &str, origin, program: Option<&str>, version: Option<&str>| BackendEntry {
            name: name.to_owned(),
            origin,
            program: program.map(str::to_owned),
            version: version.map(str::to_owned),
            install: Some(format!("npm install -g {name}")),
            login: None,
        };
        let entries = [
            entry("claude", BackendOrigin::BuiltIn, Some("/bin/claude"), Some("2.1.197")),
            entry("opencode", BackendOrigin::AddedPreset, Some("/bin/opencode"), None),
            entry("qwen", BackendOrigin::Preset, None, None),
            BackendEntry { install: None, ..entry("mine", BackendOrigin::Configured, None, None) },
        ];
        insta::assert_snapshot!(text(&table(&entries.iter().map(row).collect::<Vec<_>>())), @r"
        claude    built-in    2.1.197  /bin/claude
        opencode  added                /bin/opencode
        qwen      preset               not installed: npm install -g qwen
        mine      configured           not installed
        ");
    }

    #[test]
    fn a_check_says_how_far_the_agent_came() {
        let check = BackendCheck {
            name: "mine".to_owned(),
            sandbox: "workspace".to_owned(),
            agent: Some("Mine".to_owned()),
            version: Some("1.2.3".to_owned()),
            models: 2,
            reply: Some("hello".to_owned()),
            failure: None,
        };
        insta::assert_snapshot!(text(&describe_check(&check)), @r"
        good  mine  Mine 1.2.3 opened a session (sandbox workspace), 2 models
        reply: hello
        ");
        let failure = BackendFailure { kind: "sandbox".into(), message: "no\nmore".into(), hint: "open it".into() };
        let check =
            BackendCheck { agent: None, version: None, models: 0, reply: None, failure: Some(failure), ..check };
        insta::assert_snapshot!(text(&describe_check(&check)), @r"
        bad   mine  sandbox: no
        hint: open it
        ");
    }
}
