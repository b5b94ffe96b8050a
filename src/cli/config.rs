//! `coppice config`: each effective value and where it came from.

use serde_json::Value;

use super::line::{Line, Tone, one_line, table};
use super::{Context, Exit, Failure, Format};
use crate::api::project::{ConfigScope, ConfigValue, SetConfig};
use crate::api::request::CreateSession;
use crate::client::ClientError;
use crate::client::connection::Connection;

/// Shows the configuration, or reads or writes one key of it.
///
/// What you set with `--project` holds in this repository only, and stands above your own file and the repository's.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice config
  coppice config get limits.parallel_turns
  coppice config set default.model gemini
  coppice config set --project default.model codex
  coppice config set keys.new ctrl+n
  coppice config unset --project default.model")]
pub(super) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    format: super::FormatArg,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Print the value of one key.
    Get {
        /// The key with its table, such as `merge.style`.
        key: String,
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Write one key of your own file, or of what you say about this project.
    Set {
        /// The key with its table, such as `merge.style`.
        key: String,
        /// The value as it would stand in the file, or a bare word.
        value: String,
        #[command(flatten)]
        scope: ScopeArg,
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Take one key out again: what stands below it counts.
    Unset {
        /// The key with its table, such as `merge.style`.
        key: String,
        #[command(flatten)]
        scope: ScopeArg,
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Print where your own file is.
    Path,
}

#[derive(Debug, Clone, Copy, clap::Args)]
struct ScopeArg {
    /// Only for this project; nobody else who works on it sees it.
    #[arg(long)]
    project: bool,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.act {
        None => {
            let values = effective(context).await?;
            match args.format.choice() {
                Format::Json => context.output.json(&values)?,
                Format::Human => context.output.lines(&lines(&values))?,
            }
        }
        Some(Act::Get { key, format }) => {
            let values = effective(context).await?;
            let value = find(&values, &key)?;
            match format.choice() {
                Format::Json => context.output.json(value)?,
                Format::Human => context.output.lines([&Line::new().plain(plain(&value.value))])?,
            }
        }
        Some(Act::Set { key, value, scope, format }) => {
            change(key, Some(value), scope, format.choice(), context).await?;
        }
        Some(Act::Unset { key, scope, format }) => change(key, None, scope, format.choice(), context).await?,
        Some(Act::Path) => {
            let path = context.paths()?.config;
            context.output.bytes(path.as_os_str().as_encoded_bytes())?;
            context.output.bytes(b"\n")?;
        }
    }
    Ok(Exit::Done)
}

async fn change(
    key: String,
    value: Option<String>,
    scope: ScopeArg,
    format: Format,
    context: &mut Context,
) -> Result<(), Failure> {
    let (scope, cwd) = match scope.project {
        true => (ConfigScope::Project, context.place()?.cwd),
        false => (ConfigScope::User, None),
    };
    let client = context.client().await?;
    let value = client.set_config(&SetConfig { key, value, scope, cwd }).await?;
    if value.key == "default.model"
        && let Value::String(model) = &value.value
        && !model.is_empty()
        && let Some(warning) = unknown_model(model, context, &client).await?
    {
        context.output.say(&warning)?;
    }
    match format {
        Format::Json => context.output.json(&value)?,
        Format::Human => {
            context.output.say(&said(&value))?;
            // Outside of a repository nothing else can count.
            if let (ConfigScope::User, Ok(here)) = (scope, effective(context).await) {
                let other = here.iter().find(|here| here.key == value.key && here.value != value.value);
                if let Some(warning) = other.map(overruled) {
                    context.output.say(&warning)?;
                }
            }
        }
    }
    Ok(())
}

/// What is said about a value that does not count here, because a nearer file has another one.
fn overruled(here: &ConfigValue) -> Line {
    let text = format!(" in this repository `{}` stays `{}`: {} sets it", here.key, plain(&here.value), here.origin);
    Line::toned(Tone::Warn, "warning:").plain(text)
}

/// What is said about a model that no session could run on; such a setting falls back to the first backend in silence.
async fn unknown_model(model: &str, context: &Context, client: &Connection) -> Result<Option<Line>, Failure> {
    let asked = CreateSession {
        cwd: context.cwd()?,
        prompt: "which model".to_owned(),
        model: Some(model.to_owned()),
        env: context.environment().await?,
        ..CreateSession::default()
    };
    Ok(match client.check(&asked).await {
        // Other refusals are about this directory, not about the value.
        Err(ClientError::Refused(refusal)) if refusal.message.contains(&format!("`{}`", head(model))) => {
            Some(Line::toned(Tone::Warn, "warning:").plain(format!(" {}", one_line(&refusal.message))))
        }
        Ok(_) | Err(_) => None,
    })
}

/// The part of a model's name that can be a backend's.
fn head(model: &str) -> &str {
    model.split_once('/').map_or(model, |(head, _)| head)
}

async fn effective(context: &Context) -> Result<Vec<ConfigValue>, Failure> {
    Ok(context.client().await?.config(&context.place()?).await?.items)
}

fn find<'a>(values: &'a [ConfigValue], key: &str) -> Result<&'a ConfigValue, Failure> {
    values.iter().find(|value| value.key == key).ok_or_else(|| {
        let failure = Failure::new(Exit::NotFound, format!("there is no configuration key `{key}`"));
        let nearest = values.iter().max_by(|a, b| likeness(&a.key, key).total_cmp(&likeness(&b.key, key)));
        match nearest {
            Some(nearest) if likeness(&nearest.key, key) > 0.7 => {
                failure.hint(format!("did you mean `{}`?", nearest.key))
            }
            _ => failure.hint("`coppice config` lists the keys"),
        }
    })
}

fn likeness(known: &str, wanted: &str) -> f64 {
    strsim::jaro_winkler(known, wanted)
}

fn lines(values: &[ConfigValue]) -> Vec<Line> {
    let rows = values.iter().flat_map(|value| {
        let origin = match value.origin.as_str() {
            "default" => Line::new().dim("default"),
            origin => Line::toned(Tone::Accent, one_line(origin)),
        };
        let ignored = value
            .ignored
            .as_ref()
            .map(|reason| vec![Line::new(), Line::toned(Tone::Warn, format!("ignored: {}", one_line(reason)))]);
        let shown = Line::new().plain(one_line(&value.value.to_string()));
        std::iter::once(vec![Line::new().strong(&value.key), shown, origin]).chain(ignored)
    });
    table(&rows.collect::<Vec<_>>())
}

fn said(value: &ConfigValue) -> Line {
    if value.value.is_null() {
        return Line::new().strong(&value.key).plain(" is not set");
    }
    Line::new().strong(&value.key).plain(format!(" = {}", value.value)).dim(format!("  {}", value.origin))
}

/// A value as a script wants it: text without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values() -> Vec<ConfigValue> {
        let value = |key: &str, value, origin: &str, ignored: Option<&str>| ConfigValue {
            key: key.into(),
            value,
            origin: origin.into(),
            about: String::new(),
            ignored: ignored.map(str::to_owned),
        };
        vec![
            value("merge.style", json!("squash"), "default", None),
            value("limits.parallel_turns", json!(8), "/home/u/.config/coppice/config.toml", None),
            value("worktree.copy", json!([]), "default", Some("the repository is not trusted")),
        ]
    }

    #[test]
    fn every_value_says_where_it_came_from() {
        let text = lines(&values()).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r#"
        merge.style            "squash"                                default
        limits.parallel_turns  8                                       /home/u/.config/coppice/config.toml
        worktree.copy          []                                      default
                               ignored: the repository is not trusted
        "#);
    }

    #[test]
    fn a_misspelt_key_gets_the_nearest_one() {
        for (key, expected) in [
            ("merge.style", "squash"),
            ("limits.parallel_turns", "8"),
            ("merge.stile", "there is no configuration key `merge.stile`: did you mean `merge.style`?"),
            ("zzz", "there is no configuration key `zzz`: `coppice config` lists the keys"),
        ] {
            let seen = match find(&values(), key) {
                Ok(value) => plain(&value.value),
                Err(Failure::Told(report)) => format!("{}: {}", report.message, report.hint.unwrap_or_default()),
                Err(Failure::PipeClosed) => String::new(),
            };
            assert_eq!(seen, expected);
        }
    }
}
