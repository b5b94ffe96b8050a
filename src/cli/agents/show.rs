//! `coppice agents show`: one agent, its tools on each backend, and its prompt.

use super::super::line::{Line, Tone, one_line, table};
use super::super::{Context, Exit, Failure, Format, FormatArg};
use crate::api::agent::{Agent, AgentOnBackend, ShowAgent};

/// Shows an agent: where it is defined, which tools it has on each installed backend, and its prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  coppice agents show reviewer\n  coppice agents show auditor:strict --model codex")]
pub(super) struct Args {
    #[arg(value_name = "AGENT[:PERSONA]")]
    agent: String,
    /// Only this backend, installed or not.
    #[arg(long, value_name = "BACKEND")]
    model: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let place = context.backends()?;
    let backend = args.model.as_deref().map(|model| model.split('/').next().unwrap_or(model).to_owned());
    let query = ShowAgent { cwd: place.cwd, path: place.path, backend };
    let agent = context.client().await?.agent(&args.agent, &query).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&agent)?,
        Format::Human => context.output.lines(&lines(&agent))?,
    }
    Ok(Exit::Done)
}

fn lines(agent: &Agent) -> Vec<Line> {
    let file = &agent.file;
    let name = agent.persona.as_ref().map_or(file.id.clone(), |persona| format!("{}:{persona}", file.id));
    let hidden = if file.hidden { ", hidden" } else { "" };
    let mode = format!("{}{hidden}", file.mode.as_deref().unwrap_or_default());
    let source = format!("{} ({} {})", one_line(&file.source.path), file.source.scope, file.source.format);
    let named: Vec<_> = file.personas.iter().map(|persona| persona.name.as_str()).collect();
    let facts = [
        ("mode", mode),
        ("file", source),
        ("sha256", file.source.sha256.clone()),
        ("model", agent.model.as_deref().map(one_line).unwrap_or_default()),
        ("reasoning", agent.reasoning_effort.clone().unwrap_or_default()),
        ("personas", named.join(", ")),
        ("steps", file.max_steps.map(|steps| steps.to_string()).unwrap_or_default()),
        // Each backend tells more exactly.
        ("tools", if agent.backends.is_empty() { listed(&agent.tools) } else { String::new() }),
    ];
    let fact = |(word, value): &(&str, String)| vec![Line::new().dim(*word), Line::new().plain(value.clone())];
    let facts: Vec<_> = facts.iter().filter(|(_, value)| !value.is_empty()).map(fact).collect();
    let warning = |said: &crate::api::agent::AgentDiagnostic| {
        Line::toned(Tone::Warn, format!("{}:", said.severity)).plain(format!(" {}", one_line(&said.message)))
    };
    let head = Line::new().strong(name).plain(format!("  {}", one_line(&file.description)));
    let mut lines = vec![head];
    lines.extend(table(&facts));
    lines.extend(file.diagnostics.iter().map(warning));
    for backend in &agent.backends {
        lines.push(Line::new());
        lines.extend(block(backend));
    }
    if !agent.prompt.is_empty() {
        lines.push(Line::new());
        lines.extend(agent.prompt.lines().map(|line| Line::new().plain(line)));
    }
    lines
}

fn block(on: &AgentOnBackend) -> Vec<Line> {
    let access = match on.access.as_str() {
        "read_only" => "changes no files",
        _ => "may change files",
    };
    let native = on.native.as_ref().map_or_else(|| "all".to_owned(), |native| listed(native));
    let fact = |word: &str, value: String| vec![Line::new().dim(format!("  {word}")), Line::new().plain(value)];
    let facts = [fact("its own", native), fact("served", listed(&on.served))];
    let mut lines = vec![Line::new().strong(&on.backend).dim(format!("  {access}"))];
    lines.extend(table(&facts));
    if let Some(problem) = &on.problem {
        lines.push(Line::toned(Tone::Bad, "  cannot be held:").plain(format!(" {}", one_line(problem))));
    }
    lines
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::agent::{AgentFile, AgentPersona, AgentSource};

    #[test]
    fn an_agent_shows_its_tools_before_its_prompt() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let source = AgentSource {
            scope: "project".into(),
            format: "template".into(),
            path: "/r/.codex/.agents/auditor.md".into(),
            sha256: "ab12".into(),
        };
        let agent = Agent {
            file: AgentFile {
                id: "auditor".into(),
                description: "Compliance checks.".into(),
                mode: Some("subagent".into()),
                personas: vec![AgentPersona { name: "strict".into(), ..AgentPersona::default() }],
                source,
                ..AgentFile::default()
            },
            persona: Some("strict".into()),
            prompt: "Prefer completeness.\n\nAlways.".into(),
            model: Some("gpt-5-codex".into()),
            reasoning_effort: Some("high".into()),
            tools: words("bash question"),
            backends: vec![
                AgentOnBackend { backend: "one".into(), served: words("question"), ..AgentOnBackend::default() },
                AgentOnBackend {
                    backend: "two".into(),
                    native: Some(Vec::new()),
                    access: "read_only".into(),
                    problem: Some("backend `two` has no way".into()),
                    ..AgentOnBackend::default()
                },
            ],
        };
        let text = lines(&agent).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        auditor:strict  Compliance checks.
        mode       subagent
        file       /r/.codex/.agents/auditor.md (project template)
        sha256     ab12
        model      gpt-5-codex
        reasoning  high
        personas   strict

        one  may change files
          its own  all
          served   question

        two  changes no files
          its own  none
          served   none
          cannot be held: backend `two` has no way

        Prefer completeness.

        Always.
        ");
    }
}
