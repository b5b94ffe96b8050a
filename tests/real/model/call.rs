//! What reached a model, read in the same words for every provider.

use serde_json::Value;

use super::anthropic;
use super::dialect::Dialect;

/// One HTTP request, whole.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

/// A request that asked the model.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) dialect: Dialect,
    pub(crate) request: Request,
}

/// One part of what the user, or the agent in the user's name, said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Text(String),
    /// `data` is base64.
    Image {
        data: String,
    },
}

impl Request {
    /// Whether a text stands anywhere in the body or the headers.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        let quoted = Value::from(text).to_string();
        let escaped = &quoted[1..quoted.len() - 1];
        self.body.to_string().contains(escaped) || self.headers.iter().any(|(_, value)| value.contains(text))
    }
}

impl Call {
    /// The model that was asked.
    pub(crate) fn model(&self) -> String {
        match self.dialect {
            Dialect::Anthropic => anthropic::model(&self.request).to_owned(),
            Dialect::OpenAi | Dialect::Chat => self.body()["model"].as_str().unwrap_or_default().to_owned(),
            Dialect::Google => {
                let name = self.request.path.split("/models/").nth(1).and_then(|rest| rest.split(':').next());
                name.unwrap_or_default().to_owned()
            }
        }
    }

    /// The reasoning level, where the provider has one.
    pub(crate) fn effort(&self) -> Option<&str> {
        match self.dialect {
            Dialect::Anthropic => self.body()["output_config"]["effort"].as_str(),
            Dialect::OpenAi => self.body()["reasoning"]["effort"].as_str(),
            Dialect::Chat | Dialect::Google => None,
        }
    }

    /// The schema that holds the model to the structured response, where the provider has one.
    pub(crate) fn schema(&self) -> Option<&Value> {
        match self.dialect {
            Dialect::Anthropic => {
                let tools = self.body()["tools"].as_array()?;
                tools.iter().find(|tool| tool["name"] == "StructuredOutput").map(|tool| &tool["input_schema"])
            }
            Dialect::OpenAi => self.body()["text"]["format"].get("schema"),
            Dialect::Chat | Dialect::Google => None,
        }
    }

    /// The names of the tools that the model may call.
    pub(crate) fn offered(&self) -> Vec<String> {
        let listed = match self.dialect {
            Dialect::Anthropic | Dialect::Chat => &self.body()["tools"],
            // Models that write code are told of their tools in the conversation.
            Dialect::OpenAi if self.body()["tools"].is_null() => &self.body()["input"],
            Dialect::OpenAi | Dialect::Google => &self.body()["tools"],
        };
        let mut names = Vec::new();
        collect_names(listed, &mut names);
        names.sort();
        names
    }

    /// Everything in the user's name, in order; results of tools are left out.
    pub(crate) fn said(&self) -> Vec<Said> {
        let (turns, parts) = match self.dialect {
            Dialect::Anthropic | Dialect::Chat => ("messages", "content"),
            Dialect::OpenAi => ("input", "content"),
            Dialect::Google => ("contents", "parts"),
        };
        let turns = self.body()[turns].as_array().into_iter().flatten().filter(|turn| turn["role"] == "user");
        turns.flat_map(|turn| part_list(&turn[parts])).collect()
    }

    /// The texts of [`Call::said`].
    pub(crate) fn texts(&self) -> Vec<String> {
        let texts = self.said().into_iter().filter_map(|said| match said {
            Said::Text(text) => Some(text),
            Said::Image { .. } => None,
        });
        texts.collect()
    }

    /// The images of [`Call::said`], as base64.
    pub(crate) fn images(&self) -> Vec<String> {
        let images = self.said().into_iter().filter_map(|said| match said {
            Said::Image { data } => Some(data),
            Said::Text(_) => None,
        });
        images.collect()
    }

    /// Whether a text stands anywhere in what the model was told.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.request.mentions(text)
    }

    fn body(&self) -> &Value {
        &self.request.body
    }
}

/// The names in a list of tools, and in the lists inside of it. A tool of the provider's own has only a type.
fn collect_names(tools: &Value, names: &mut Vec<String>) {
    for tool in tools.as_array().into_iter().flatten() {
        let inner = ["tools", "functionDeclarations"].map(|member| &tool[member]);
        if inner.iter().any(|list| list.is_array()) {
            inner.into_iter().for_each(|list| collect_names(list, names));
        } else if let Some(name) = tool["name"]
            .as_str()
            .or(tool["function"]["name"].as_str())
            .or(tool["type"].as_str().filter(|kind| *kind != "message"))
        {
            names.push(name.to_owned());
        }
    }
}

fn part_list(parts: &Value) -> Vec<Said> {
    match parts {
        Value::String(text) => vec![Said::Text(text.clone())],
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn part(part: &Value) -> Option<Said> {
    let image = |data: &str| Some(Said::Image { data: data.to_owned() });
    if let Some(text) = part["text"].as_str() {
        return Some(Said::Text(text.to_owned()));
    }
    if let Some(data) = part["source"]["data"].as_str().or(part["inlineData"]["data"].as_str()) {
        return image(data);
    }
    part["image_url"].as_str()?.split_once(";base64,").and_then(|(_, data)| image(data))
}
