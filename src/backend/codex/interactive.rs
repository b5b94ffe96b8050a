//! The agent's own interface on a thread, in a process of its own with the profile of the session's turns.
//!
//! Codex confines its commands by itself, here as there, so the settings of a thread travel as arguments.

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, InlineTable};

use crate::backend::Launch;
use crate::backend::codex::layer::Layer;
use crate::backend::codex::{self, environment, fault};
use crate::backend::failure::Failure;
use crate::backend::interactive::Interactive;
use crate::backend::transport::spawn::{Needs, SpawnRequest};
use crate::backend::user_file::read_text;

/// What a program on a terminal is told about it and about its reader.
const TERMINAL: &[&str] = &["TERM", "COLORTERM", "LANG", "LANGUAGE", "TZ"];

/// Prepares the interface for a person. The thread is known to nobody else by then.
pub(crate) async fn prepare(launch: Launch) -> Result<Interactive, Failure> {
    let (wishes, key) = codex::prepare(&launch).await?;
    let env = launch.environment();
    let home = environment::home(&env).path().cloned().ok_or_else(fault::no_home)?;
    let config = read_text(&home.join("config.toml")).unwrap_or_default();
    let layer = Layer::lay(&home, launch.resume.as_deref().unwrap_or_default()).await;
    let layer = layer.map_err(|error| fault::no_layer(&home, &error))?;
    let mut argv = codex::program(&launch.argv);
    argv.extend(launch.opening());
    argv.extend(layer.arguments());
    // A server that the user has running knows nothing of these settings.
    argv.push("--no-daemon".to_owned());
    argv.extend(["-C".to_owned(), launch.cwd.to_string_lossy().into_owned()]);
    argv.extend(launch.model.iter().flat_map(|model| ["-m".to_owned(), model.clone()]));
    let mut settings = wishes.interactive(&users(&config));
    settings.extend(launch.reasoning.map(|level| ("model_reasoning_effort".to_owned(), json!(level.as_str()))));
    argv.extend(settings.iter().flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={}", toml(value))]));
    let is_terminal = |name: &str| TERMINAL.contains(&name) || name.starts_with("LC_");
    let mut process = key.env;
    // It is there for logs that a person reads later.
    process.retain(|(name, _)| name != "NO_COLOR" && !is_terminal(name));
    process.extend(env.into_iter().filter(|(name, _)| is_terminal(name)));
    let request = SpawnRequest { argv, env: process, cwd: launch.cwd, needs: Needs::default() };
    Ok(Interactive { request, beside: None, after: Some(async move { drop(layer) }.boxed()) })
}

/// What of the user's own configuration the settings of a thread look at: the servers that it names, to switch them off.
fn users(config: &str) -> Value {
    let document = config.parse::<DocumentMut>().unwrap_or_default();
    let servers = document.get("mcp_servers").and_then(|servers| servers.as_table_like());
    let names: Map<String, Value> =
        servers.into_iter().flat_map(|servers| servers.iter()).map(|(name, _)| (name.to_owned(), json!({}))).collect();
    json!({"mcp_servers": names})
}

/// A value as it stands in an argument.
fn toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => InlineTable::new().into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(values) => values.iter().map(toml).collect::<Array>().into(),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            members.map(|(name, value)| (name.as_str(), toml(value))).collect::<InlineTable>().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_spelled_for_an_argument() {
        for (value, expected) in [
            (json!("a\"b"), r#"'a"b'"#),
            (json!([1, true, "x"]), r#"[1, true, "x"]"#),
            (
                json!({"/a.b": {"trust_level": "untrusted"}, "none": null}),
                r#"{ "/a.b" = { trust_level = "untrusted" } }"#,
            ),
        ] {
            assert_eq!(toml(&value).to_string(), expected);
        }
    }

    #[test]
    fn servers_of_the_user_are_known_by_name() {
        let config = "[mcp_servers.one]\ncommand = \"x\"\n[mcp_servers.\"two.three\"]\ncommand = \"y\"\n";
        assert_eq!(users(config), json!({"mcp_servers": {"one": {}, "two.three": {}}}));
        assert_eq!(users("not toml ["), json!({"mcp_servers": {}}));
    }
}
