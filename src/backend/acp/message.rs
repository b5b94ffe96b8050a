//! The handshake of ACP: what the client asks, what the agent offers, in the older and the newer form.

use serde_json::{Value, json};

use crate::backend::door::Entrance;
use crate::backend::event::{AgentInfo, Block, Choice, Image, Model};
use crate::mcp;

/// The protocol version this client speaks.
pub(crate) const VERSION: u64 = 1;

/// The code of "authentication required".
pub(crate) const AUTH_REQUIRED: i64 = -32000;

/// What an agent says about itself in `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Agent {
    pub(crate) version: u64,
    pub(crate) info: AgentInfo,
    pub(crate) can_load: bool,
    pub(crate) can_resume: bool,
    pub(crate) takes_images: bool,
    pub(crate) serves: Serves,
    pub(crate) auth: Vec<AuthMethod>,
}

/// Which servers of tools an agent can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Serves {
    /// Those that it starts itself; every agent can.
    #[default]
    Stdio,
    Http,
}

/// One way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthMethod {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    /// The variables it reads, when that is all it needs; `None` when it needs a person.
    pub(crate) variables: Option<Vec<String>>,
}

/// The models or modes of a session and how to choose one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Selector {
    pub(crate) setter: Option<Setter>,
    pub(crate) current: Option<String>,
    pub(crate) choices: Vec<Choice>,
}

impl Selector {
    /// The choices as models; ACP has no word for how hard they think.
    pub(crate) fn models(&self) -> Vec<Model> {
        let current = self.current.as_deref().unwrap_or_default();
        let is_listed = self.choices.iter().any(|choice| choice.id == current);
        // Gemini lists a model under the id of a variant and reports it under the id it was started with.
        let id = |choice: &Choice| if !is_listed && choice.name == current { current } else { &choice.id }.to_owned();
        let model = |choice: &Choice| Model {
            id: id(choice),
            name: choice.name.clone(),
            reasoning: Vec::new(),
            is_default: id(choice) == current,
        };
        self.choices.iter().map(model).collect()
    }
}

/// Which request changes a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Setter {
    SetModel,
    SetMode,
    /// The newer form: one request for everything, by the id of the option.
    ConfigOption(String),
}

/// What `session/new`, `session/load` and `session/resume` answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Opened {
    pub(crate) session: Option<String>,
    pub(crate) models: Selector,
    pub(crate) modes: Selector,
}

pub(crate) fn initialize() -> Value {
    json!({
        "protocolVersion": VERSION,
        // Agents touch files and run commands themselves: a proxy would neither confine them nor work with all of them.
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": "coppice", "title": "Coppice", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// The servers of a session: ours, in the best form that the agent understands.
pub(crate) fn servers(entrance: Option<&Entrance>, serves: Serves) -> Vec<Value> {
    let pair = |name: &str, value: &str| json!({"name": name, "value": value});
    let server = |Entrance { url, token, bridge }: &Entrance| match (serves, bridge.split_first()) {
        (Serves::Stdio, Some((command, args))) => json!({
            "name": mcp::SERVER,
            "command": command,
            "args": args,
            "env": [pair(mcp::URL_ENV, url), pair(mcp::TOKEN_ENV, token)],
        }),
        (Serves::Http, _) | (Serves::Stdio, None) => json!({
            "type": "http",
            "name": mcp::SERVER,
            "url": url,
            "headers": [pair("Authorization", &format!("Bearer {token}"))],
        }),
    };
    entrance.map(server).into_iter().collect()
}

pub(crate) fn prompt(session: &str, blocks: &[Block]) -> Value {
    let shield = is_command(blocks).then(|| json!({"type": "text", "text": "The prompt:\n"}));
    let blocks: Vec<Value> = shield.into_iter().chain(blocks.iter().map(block)).collect();
    json!({"sessionId": session, "prompt": blocks})
}

/// Whether an agent would take the prompt for one of its own commands and never show it to the model.
fn is_command(blocks: &[Block]) -> bool {
    let mut texts = blocks.iter().map_while(|block| match block {
        Block::Text(text) => Some(text.trim_start()),
        Block::Image(_) => None,
    });
    texts.find(|text| !text.is_empty()).is_some_and(|text| text.starts_with(['/', '$']))
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Image(Image { mime_type, data, .. }) => json!({"type": "image", "mimeType": mime_type, "data": data}),
    }
}

/// The request that selects `value`.
pub(crate) fn select(session: &str, setter: &Setter, value: &str) -> (&'static str, Value) {
    match setter {
        Setter::SetModel => ("session/set_model", json!({"sessionId": session, "modelId": value})),
        Setter::SetMode => ("session/set_mode", json!({"sessionId": session, "modeId": value})),
        Setter::ConfigOption(id) => {
            ("session/set_config_option", json!({"sessionId": session, "configId": id, "value": value}))
        }
    }
}

pub(crate) fn read_agent(result: &Value) -> Agent {
    let capabilities = &result["agentCapabilities"];
    let session = &capabilities["sessionCapabilities"];
    Agent {
        version: result["protocolVersion"].as_u64().unwrap_or_default(),
        info: AgentInfo { name: text(&result["agentInfo"]["name"]), version: text(&result["agentInfo"]["version"]) },
        can_load: is_offered(&capabilities["loadSession"]) || is_offered(&session["load"]),
        can_resume: is_offered(&session["resume"]),
        takes_images: is_offered(&capabilities["promptCapabilities"]["image"]),
        serves: if is_offered(&capabilities["mcpCapabilities"]["http"]) { Serves::Http } else { Serves::Stdio },
        auth: items(&result["authMethods"]).map(read_auth_method).collect(),
    }
}

pub(crate) fn read_opened(result: &Value) -> Opened {
    let options = &result["configOptions"];
    Opened {
        session: result["sessionId"].as_str().map(str::to_owned),
        models: read_option(options, "model").unwrap_or_else(|| {
            let models = &result["models"];
            read_selector(models, Setter::SetModel, "availableModels", "modelId", "currentModelId")
        }),
        modes: read_option(options, "mode").unwrap_or_else(|| {
            let modes = &result["modes"];
            read_selector(modes, Setter::SetMode, "availableModes", "id", "currentModeId")
        }),
    }
}

/// A capability is a flag in the older form and an object in the newer one.
fn is_offered(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn read_auth_method(method: &Value) -> AuthMethod {
    let is_env = method["type"].as_str() == Some("env_var");
    let needed = items(&method["vars"]).filter(|var| !is_offered(&var["optional"])).map(|var| text(&var["name"]));
    AuthMethod {
        id: text(&method["id"]),
        name: text(&method["name"]),
        description: text(&method["description"]),
        variables: is_env.then(|| needed.collect()),
    }
}

fn read_selector(value: &Value, setter: Setter, list: &str, id: &str, current: &str) -> Selector {
    if value.is_null() {
        return Selector::default();
    }
    let choices = items(&value[list]).map(|item| choice(&item[id], &item["name"]));
    Selector {
        setter: Some(setter),
        current: value[current].as_str().map(str::to_owned),
        choices: choices.filter(|choice| !choice.id.is_empty()).collect(),
    }
}

/// Finds the option by its category, or by its id when the agent gives no category.
fn read_option(options: &Value, category: &str) -> Option<Selector> {
    let option = items(options)
        .find(|option| option["category"].as_str() == Some(category))
        .or_else(|| items(options).find(|option| option["id"].as_str() == Some(category)))?;
    // Choices come flat or in named groups.
    let flat = items(&option["options"]).flat_map(|item| match &item["options"] {
        Value::Array(group) => group.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => vec![item],
    });
    Some(Selector {
        setter: Some(Setter::ConfigOption(option["id"].as_str()?.to_owned())),
        current: option["currentValue"].as_str().map(str::to_owned),
        choices: flat
            .map(|item| choice(&item["value"], &item["name"]))
            .filter(|choice| !choice.id.is_empty())
            .collect(),
    })
}

fn choice(id: &Value, name: &Value) -> Choice {
    let id = text(id);
    let name = name.as_str().map_or_else(|| id.clone(), str::to_owned);
    Choice { id, name }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_prompt_is_never_a_command_of_the_agent() {
        let text = |text: &str| Block::Text(text.to_owned());
        let image =
            Block::Image(Image { mime_type: "image/png".to_owned(), data: String::new(), path: PathBuf::new() });
        for (blocks, is_shielded) in [
            (vec![text("/about")], true),
            (vec![text(" \n"), text("$skill")], true),
            (vec![text("see /about")], false),
            (vec![image.clone(), text("/about")], false),
            (vec![text(""), image, text("/about")], false),
            (vec![], false),
        ] {
            let sent = prompt("s", &blocks);
            let expected = blocks.len() + usize::from(is_shielded);
            assert_eq!(sent["prompt"].as_array().unwrap().len(), expected, "{blocks:?}");
            assert_eq!(sent["prompt"][0]["text"] == "The prompt:\n", is_shielded, "{blocks:?}");
        }
    }

    #[test]
    fn our_server_is_named_in_the_form_that_the_agent_understands() {
        let entrance = |bridge: &[&str]| Entrance {
            url: "http://127.0.0.1:9/mcp".to_owned(),
            token: "secret".to_owned(),
            bridge: bridge.iter().map(|&word| word.to_owned()).collect(),
        };
        let agent = |capabilities: Value| read_agent(&json!({"agentCapabilities": {"mcpCapabilities": capabilities}}));
        let http = json!([{"type": "http", "name": "coppice", "url": "http://127.0.0.1:9/mcp",
            "headers": [{"name": "Authorization", "value": "Bearer secret"}]}]);
        let stdio = json!([{"name": "coppice", "command": "/bin/coppice", "args": ["mcp", "--bridge"],
            "env": [{"name": "COPPICE_MCP_URL", "value": "http://127.0.0.1:9/mcp"},
                    {"name": "COPPICE_MCP_TOKEN", "value": "secret"}]}]);
        let ours = entrance(&["/bin/coppice", "mcp", "--bridge"]);
        for (capabilities, entrance, expected) in [
            (json!({"http": true, "sse": true}), Some(&ours), http),
            (json!({"http": false}), Some(&ours), stdio.clone()),
            (Value::Null, Some(&ours), stdio),
            (json!({"http": true}), None, json!([])),
        ] {
            assert_eq!(json!(servers(entrance, agent(capabilities).serves)), expected);
        }
    }

    #[test]
    fn the_current_model_is_known_by_the_id_it_runs_under() {
        let opened = read_opened(&json!({"models": {"currentModelId": "pro", "availableModels": [
            {"modelId": "auto", "name": "Auto"}, {"modelId": "pro-tools", "name": "pro"}]}}));
        let models = opened.models.models();
        let ids: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.is_default)).collect();
        assert_eq!(ids, [("auto", false), ("pro", true)]);
    }
}
