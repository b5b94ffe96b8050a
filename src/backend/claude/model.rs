//! What the agent says about itself when it starts: which models it offers, and whether anybody is logged in. Pure.

use serde_json::Value;

use crate::backend::event::Model;

/// How the agent comes to its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Login {
    Missing,
    /// A key that is right or wrong for good.
    Key,
    /// A token that the agent may renew by itself.
    Token,
}

/// Reads who is logged in from the answer to `initialize`. That a credential exists says nothing of its worth.
pub(crate) fn login(ready: &Value) -> Login {
    let account = &ready["account"];
    // Other providers bring credentials of their own, which the agent does not look at before a call.
    let is_elsewhere = account["apiProvider"].as_str().is_some_and(|provider| provider != "firstParty");
    let has_key = account["apiKeySource"].as_str().is_some_and(|source| source != "none");
    match account["tokenSource"].as_str() {
        _ if has_key || is_elsewhere => Login::Key,
        Some("none") => Login::Missing,
        // A subscription is told by its name and not as a source.
        Some(_) | None => Login::Token,
    }
}

/// The models by the names they are stored under; the short names that the agent lists move with its versions.
pub(crate) fn models(ready: &Value) -> Vec<Model> {
    let mut models: Vec<Model> = Vec::new();
    for offered in ready["models"].as_array().into_iter().flatten() {
        let Some(value) = offered["value"].as_str() else { continue };
        let id = offered["resolvedModel"].as_str().unwrap_or(value);
        let is_default = value == "default";
        match models.iter_mut().find(|known| known.id == id) {
            // The default is listed first and then once more under the name of its model.
            Some(known) => known.name = name(offered, id),
            None => models.push(Model {
                id: id.to_owned(),
                name: name(offered, id),
                reasoning: levels(&offered["supportedEffortLevels"]),
                is_default,
            }),
        }
    }
    models
}

/// The model of a conversation: the one that is named, by its full name, or the one that the program takes otherwise.
pub(crate) fn choose(ready: &Value, named: Option<&str>) -> Option<String> {
    let wanted = named.unwrap_or("default");
    let offered = ready["models"].as_array().into_iter().flatten().find(|model| model["value"] == wanted);
    let full = offered.and_then(|model| model["resolvedModel"].as_str());
    full.or(named).map(str::to_owned)
}

fn name(offered: &Value, id: &str) -> String {
    offered["displayName"].as_str().unwrap_or(id).to_owned()
}

fn levels(levels: &Value) -> Vec<String> {
    levels.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_is_found_before_any_model_call() {
        let check = |account: Value, expected: Login| assert_eq!(login(&json!({"account": account})), expected);
        check(json!({"tokenSource": "none", "apiProvider": "firstParty"}), Login::Missing);
        check(json!({"subscriptionType": "Claude Max", "apiProvider": "firstParty"}), Login::Token);
        check(json!({"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"}), Login::Key);
        check(json!({"tokenSource": "none", "apiKeySource": "none", "apiProvider": "bedrock"}), Login::Key);
        check(json!({"tokenSource": "CLAUDE_CODE_OAUTH_TOKEN", "apiProvider": "firstParty"}), Login::Token);
    }

    #[test]
    fn a_conversation_has_the_named_model_or_the_default() {
        let ready = json!({"models": [{"value": "default", "resolvedModel": "opus-9"},
            {"value": "haiku", "resolvedModel": "haiku-9"}, {"value": "odd"}]});
        for (named, expected) in [
            (None, Some("opus-9")),
            (Some("haiku"), Some("haiku-9")),
            (Some("odd"), Some("odd")),
            (Some("x"), Some("x")),
        ] {
            assert_eq!(choose(&ready, named).as_deref(), expected, "{named:?}");
        }
        assert_eq!(choose(&json!({}), None), None);
    }

    #[test]
    fn models_have_the_names_they_are_stored_under() {
        let ready = json!({"models": [
            {"value": "default", "resolvedModel": "opus-9", "displayName": "Default", "supportedEffortLevels": ["low", "max"]},
            {"value": "opus", "resolvedModel": "opus-9", "displayName": "Opus", "supportedEffortLevels": ["low", "max"]},
            {"value": "haiku", "resolvedModel": "haiku-9", "displayName": "Haiku"},
            {"value": "odd"}, {"_trimmed": true}]});
        let model = |id: &str, name: &str, reasoning: &[&str], is_default| Model {
            id: id.to_owned(),
            name: name.to_owned(),
            reasoning: reasoning.iter().map(|&level| level.to_owned()).collect(),
            is_default,
        };
        assert_eq!(
            models(&ready),
            [
                model("opus-9", "Opus", &["low", "max"], true),
                model("haiku-9", "Haiku", &[], false),
                model("odd", "odd", &[], false)
            ]
        );
    }
}
