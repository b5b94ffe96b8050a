//! `coppice models`: which backends work here, and with which models.

use super::line::{Line, Tone, one_line, table};
use super::{Context, Exit, Failure, Format};
use crate::api::project::Backend;

/// Lists the backends and their models, as `--model` takes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice models
  coppice new --model gemini \"fix the failing test\"")]
pub(super) struct Args {
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let backends = context.client().await?.models(&context.place()?).await?.items;
    match args.format.choice() {
        Format::Json => context.output.json(&backends)?,
        Format::Human => context.output.lines(&lines(&backends))?,
    }
    Ok(Exit::Done)
}

fn lines(backends: &[Backend]) -> Vec<Line> {
    table(&backends.iter().flat_map(rows).collect::<Vec<_>>())
}

fn rows(backend: &Backend) -> Vec<Vec<Line>> {
    let state = match (&backend.problem, backend.scripted, &backend.program) {
        (Some(problem), _, _) => Line::toned(Tone::Bad, one_line(problem)),
        (None, true, _) => Line::new().dim("scripted, asks no model"),
        (None, false, Some(program)) => Line::new().dim(program),
        (None, false, None) => Line::new(),
    };
    let models = backend.models.iter().map(|model| {
        let name = model.name.as_deref().map(one_line).unwrap_or_default();
        let default =
            if model.default { Line::new().plain(name).with(Tone::Good, "  default") } else { Line::new().plain(name) };
        vec![Line::new().plain(format!("  {}/{}", backend.name, model.id)), default]
    });
    std::iter::once(vec![Line::new().strong(&backend.name), state]).chain(models).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::project::Model;

    #[test]
    fn models_stand_below_their_backend() {
        let backend = |name: &str, problem: Option<&str>, scripted, models| Backend {
            name: name.into(),
            program: problem.is_none().then(|| format!("/bin/{name}")),
            problem: problem.map(str::to_owned),
            scripted,
            models,
        };
        let model = |id: &str, default| Model { id: id.into(), name: Some(format!("Model {id}")), default };
        let backends = [
            backend("gemini", None, false, vec![model("pro", true), model("flash", false)]),
            backend("other", Some("`other` is not on PATH"), false, vec![]),
            backend("demo", None, true, vec![]),
        ];
        let text = lines(&backends).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        gemini          /bin/gemini
          gemini/pro    Model pro  default
          gemini/flash  Model flash
        other           `other` is not on PATH
        demo            scripted, asks no model
        ");
    }
}
