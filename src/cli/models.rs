//! `coppice models`: which backends work here, and with which models.

use super::line::{Line, Tone, one_line, table};
use super::{Context, Exit, Failure, Format};
use crate::api::project::{Backend, Detail, ListModels, ListedBy, Model};

/// Lists the backends and their models, as `--model` takes them, with the levels that `--reasoning` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice models
  coppice models --backend codex
  coppice new --model gemini \"fix the failing test\"")]
pub(super) struct Args {
    /// Only this backend
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let (cwd, environment) = (Some(context.cwd()?), context.environment().await?);
    let request = ListModels { cwd, environment, backend: args.backend, detail: Detail::Models };
    // Some agents take seconds to start.
    context.output.passing(&[Line::new().dim("asking the installed agents…")])?;
    let backends = client.list_models(&request).await?.items;
    match args.format.choice() {
        Format::Json => context.output.json(&backends)?,
        Format::Human => context.output.lines(&lines(&backends))?,
    }
    Ok(Exit::Done)
}

fn lines(backends: &[Backend]) -> Vec<Line> {
    let (listed, short): (Vec<_>, Vec<_>) = backends.iter().partition(|backend| is_listed(backend));
    let blocks = listed.into_iter().flat_map(|backend| block(backend).into_iter().chain([Line::new()]));
    let short = table(&short.into_iter().map(in_short).collect::<Vec<_>>());
    let mut lines: Vec<_> = blocks.chain(short).collect();
    if let Some(default) = backends.iter().find(|backend| backend.default) {
        if lines.last().is_some_and(|line| line.width() > 0) {
            lines.push(Line::new());
        }
        lines.push(Line::new().dim(format!("sessions that name no model run on {}", default.name)));
    }
    if lines.last().is_some_and(|line| line.width() == 0) {
        lines.pop();
    }
    lines
}

/// Whether a backend has more than one line to show.
fn is_listed(backend: &Backend) -> bool {
    backend.problem.is_none() && !backend.scripted
}

fn block(backend: &Backend) -> Vec<Line> {
    let state = backend.version.as_deref().or(backend.program.as_deref()).unwrap_or_default();
    let head = Line::new().strong(&backend.name).plain(format!("  {}", one_line(state)));
    let head = head.dim(match (backend.listed_by, &backend.note) {
        (_, Some(note)) => format!("  built-in list, the agent did not tell: {}", one_line(note)),
        (_, None) if backend.models.is_empty() => String::new(),
        (ListedBy::Agent, None) => "  its own list".to_owned(),
        (ListedBy::Table, None) => "  built-in list".to_owned(),
        (ListedBy::Configuration, None) => "  your list".to_owned(),
    });
    let warning = backend.warning.as_ref().map(|text| Line::toned(Tone::Warn, "  warning:").plain(format!(" {text}")));
    let rows: Vec<_> = backend.models.iter().map(|model| row(&backend.name, model)).collect();
    let rows = match rows.as_slice() {
        [] => vec![Line::new().dim("  it takes the model that its own settings name")],
        rows => table(rows),
    };
    [head].into_iter().chain(warning).chain(rows).collect()
}

fn row(backend: &str, model: &Model) -> Vec<Line> {
    let default = if model.default { Line::toned(Tone::Good, "default") } else { Line::new() };
    let default = if model.from_settings { default.dim(", from your settings") } else { default };
    vec![
        Line::new().plain(format!("  {backend}/{}", one_line(&model.id))),
        Line::new().plain(model.name.as_deref().map(one_line).unwrap_or_default()),
        Line::new().dim(one_line(&model.reasoning.join(" "))),
        default,
    ]
}

/// A backend that is scripted or cannot be used, on one line.
fn in_short(backend: &Backend) -> Vec<Line> {
    let state = match (&backend.problem, &backend.program, &backend.install) {
        (None, _, _) => Line::new().dim("scripted, asks no model"),
        (Some(_), None, Some(install)) => Line::new().dim("not installed: ").plain(one_line(install)),
        (Some(problem), None, None) => Line::toned(Tone::Bad, one_line(problem)),
        (Some(problem), Some(_), install) => {
            let remedy = install.as_ref().map(|install| format!("; {}", one_line(install))).unwrap_or_default();
            Line::toned(Tone::Bad, one_line(problem)).plain(remedy)
        }
    };
    vec![Line::new().strong(&backend.name), state]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample;

    fn text(backends: &[Backend]) -> String {
        lines(backends).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    fn model(id: &str, name: Option<&str>, reasoning: &[&str]) -> Model {
        Model {
            id: id.into(),
            name: name.map(str::to_owned),
            default: false,
            from_settings: false,
            reasoning: reasoning.iter().map(|&level| level.to_owned()).collect(),
        }
    }

    #[test]
    fn models_stand_below_their_backend() {
        let levels = ["low", "medium", "high", "xhigh"];
        let backends = [
            Backend {
                version: Some("2.1.197".into()),
                default: true,
                models: vec![
                    Model { default: true, ..model("opus", Some("Opus 4.7"), &levels) },
                    model("haiku", Some("Haiku"), &[]),
                ],
                ..sample::backend("claude")
            },
            Backend {
                version: Some("0.200.0".into()),
                warning: Some("version 0.200.0 is newer than 0.166.0, the newest tested".into()),
                listed_by: ListedBy::Table,
                note: Some("not logged in\nmore".into()),
                models: vec![Model { default: true, from_settings: true, ..model("gpt-5.4", None, &levels[..3]) }],
                ..sample::backend("codex")
            },
            Backend {
                problem: Some("there is no `gemini` on PATH".into()),
                program: None,
                install: Some("npm install -g @google/gemini-cli".into()),
                ..sample::backend("gemini")
            },
            Backend {
                listed_by: ListedBy::Configuration,
                models: vec![model("a", None, &[])],
                ..sample::backend("mine")
            },
            Backend { listed_by: ListedBy::Table, ..sample::backend("bare") },
            Backend {
                problem: Some("version 0.1.0 is too old: it takes 1.0.0 or newer".into()),
                install: Some("npm install -g old".into()),
                ..sample::backend("old")
            },
            Backend { problem: Some("there is no `other` on PATH".into()), program: None, ..sample::backend("other") },
            Backend { scripted: true, ..sample::backend("demo") },
        ];
        insta::assert_snapshot!(text(&backends), @r"
        claude  2.1.197  its own list
          claude/opus   Opus 4.7  low medium high xhigh  default
          claude/haiku  Haiku

        codex  0.200.0  built-in list, the agent did not tell: not logged in
          warning: version 0.200.0 is newer than 0.166.0, the newest tested
          codex/gpt-5.4  low medium high  default, from your settings

        mine  /bin/mine  your list
          mine/a

        bare  /bin/bare
          it takes the model that its own settings name

        gemini  not installed: npm install -g @google/gemini-cli
        old     version 0.1.0 is too old: it takes 1.0.0 or newer; npm install -g old
        other   there is no `other` on PATH
        demo    scripted, asks no model

        sessions that name no model run on claude
        ");
    }

    #[test]
    fn a_short_list_ends_without_a_blank_line() {
        assert_eq!(text(&[]), "");
        let one = [Backend { models: vec![model("a", None, &[])], ..sample::backend("mine") }];
        assert_eq!(text(&one), "mine  /bin/mine  its own list\n  mine/a");
        let demo = [Backend { scripted: true, default: true, ..sample::backend("demo") }];
        assert_eq!(text(&demo), "demo  scripted, asks no model\n\nsessions that name no model run on demo");
    }
}
