//! What of Codex's login and configuration a process keeps for as long as it runs. Pure.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use toml_edit::DocumentMut;

/// What a renewal of the token changes in the file of the login.
const RENEWED: &[&str] = &["id_token", "access_token", "refresh_token"];

/// Tables that Codex's own interface writes while a person uses it; no shared process reads them at its start.
const NOTES: &[&str] = &["projects", "notice", "tui"];

/// The login and the configuration in words, with keys but without what a renewal changes.
pub(super) fn describe(auth: &str, config: &str) -> String {
    format!("{} {}", describe_auth(auth), describe_config(config))
}

/// Where a configuration breaks the grammar, as `LINE:COLUMN: why`.
pub(super) fn find_syntax_error(config: &str) -> Option<String> {
    let error = config.parse::<DocumentMut>().err()?;
    let before = config.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some(format!("{line}:{column}: {}", error.message()))
}

fn describe_auth(auth: &str) -> Value {
    let Ok(Value::Object(mut auth)) = serde_json::from_str(auth) else { return json!(auth) };
    auth.remove("last_refresh");
    if let Some(Value::Object(tokens)) = auth.get_mut("tokens") {
        let user = tokens.get("id_token").and_then(Value::as_str).and_then(read_subject);
        tokens.retain(|name, _| !RENEWED.contains(&name.as_str()));
        tokens.insert("user".to_owned(), json!(user));
    }
    Value::Object(auth)
}

/// Whose an identity token is; a renewed one is still theirs.
fn read_subject(token: &str) -> Option<Value> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    claims.get("sub").cloned()
}

fn describe_config(config: &str) -> String {
    let Ok(mut document) = config.parse::<DocumentMut>() else { return config.to_owned() };
    for &table in NOTES {
        document.remove(table);
    }
    document.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chatgpt(user: &str, access: &str) -> String {
        let claims = URL_SAFE_NO_PAD.encode(json!({"sub": user, "exp": access.len()}).to_string());
        let tokens = json!({"id_token": format!("h.{claims}.s"), "access_token": access, "refresh_token": access,
            "account_id": "team"});
        json!({"OPENAI_API_KEY": null, "tokens": tokens, "last_refresh": access}).to_string()
    }

    #[test]
    fn a_renewed_token_is_the_same_login() {
        assert_eq!(describe(&chatgpt("me", "one"), ""), describe(&chatgpt("me", "second"), ""));
        assert_ne!(describe(&chatgpt("me", "one"), ""), describe(&chatgpt("you", "one"), ""));
        let key = |key: &str| json!({"OPENAI_API_KEY": key}).to_string();
        assert_ne!(describe(&key("a"), ""), describe(&key("b"), ""));
        assert_ne!(describe("", ""), describe(&key("a"), ""));
    }

    #[test]
    fn what_a_person_clicks_away_is_no_other_configuration() {
        let plain = "model = \"a\"\n";
        assert_eq!(
            describe("", plain),
            describe("", &format!("{plain}[projects.\"/x\"]\ntrust_level = \"trusted\"\n"))
        );
        for other in ["model = \"b\"\n", "model = \"a\n", ""] {
            assert_ne!(describe("", plain), describe("", other), "{other}");
        }
    }

    #[test]
    fn a_broken_configuration_is_found_with_its_place() {
        assert_eq!(find_syntax_error("model = \"a\"\n"), None);
        let error = find_syntax_error("model = \"a\"\n[model_providers.x\nname = 1\n").unwrap();
        assert!(error.starts_with("2:"), "{error}");
    }
}
