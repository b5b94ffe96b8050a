//! A login that has run out: the program renews it in its cage, and the user's own store has the token afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use coppice::permission::Posture;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::edge::{self, allow};
use crate::model::script::{Step, answer, say, shell};
use crate::oauth::OAuth;
use crate::stage::Stage;

#[test]
fn a_token_that_claude_renews_reaches_the_user_and_the_next_session() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.unset("ANTHROPIC_API_KEY");
    let file = stage.path("home/.claude/.credentials.json");
    let token = json!({"accessToken": "access-0", "refreshToken": "refresh-0", "expiresAt": 1000,
        "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"});
    fs::write(&file, json!({"claudeAiOauth": token, "mcpOAuth": {"server": "kept"}}).to_string()).unwrap();

    let model = stage.model(Agent::Claude);
    model.plays([say("one"), say("two")]);
    let first = edge::turn(edge::launch(&stage, Agent::Claude, Posture::Attended), allow);
    assert_eq!(first.end.as_deref(), Ok("one"));
    let stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(stored["claudeAiOauth"]["accessToken"], "access-1");
    assert_eq!(stored["claudeAiOauth"]["refreshToken"], "refresh-1");
    assert_eq!(
        (&stored["claudeAiOauth"]["subscriptionType"], &stored["mcpOAuth"]["server"]),
        (&json!("max"), &json!("kept"))
    );
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().filter(is_new).count(), 0);

    let second = edge::turn(edge::launch(&stage, Agent::Claude, Posture::Attended), allow);
    assert_eq!(second.end.as_deref(), Ok("two"));
    assert_eq!(oauth.renewals().len(), 1, "{:?}", oauth.renewals());
    let keys: Vec<_> = model.calls().iter().map(|call| call.request.mentions("Bearer access-1")).collect();
    assert_eq!(keys, [true, true]);
}

#[test]
fn another_account_of_claude_counts_with_the_next_prompt_and_after_a_refusal() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.unset("ANTHROPIC_API_KEY");
    let agent = Agent::Claude;
    let write_login = |account: &str| {
        let token = json!({"accessToken": format!("access-of-{account}"), "refreshToken": format!("revoked-{account}"),
            "expiresAt": 4_000_000_000_000_u64, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"});
        let file = stage.path("home/.claude/.credentials.json");
        fs::write(&file, json!({"claudeAiOauth": token}).to_string()).unwrap();
    };
    let last_account = || {
        let calls = stage.model(agent).calls();
        let header = calls.last().unwrap().request.headers.iter().find(|(name, _)| name == "authorization").cloned();
        header.unwrap().1
    };
    write_login("one");
    stage.model(agent).plays([answer("1"), answer("2"), shell("touch made")]).always(Step::Status(401));
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "ready");
    assert_eq!(last_account(), "Bearer access-of-one");
    write_login("two");
    stage.send(&id, "again", "ready");
    assert_eq!(last_account(), "Bearer access-of-two");

    // The second login is withdrawn, and its token cannot be renewed.
    stage.send(&id, "work", "failed");
    let error = stage.session(&id)["last_error"].clone();
    assert_eq!((&error["kind"], &error["command"]), (&json!("auth"), &json!("claude auth login")), "{error:#}");
    assert!(error["hint"].as_str().unwrap().contains("run `claude auth login`"), "{error:#}");
    // What that command does.
    write_login("three");
    stage.model(agent).clear().plays([answer("3")]);
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!((stage.last_answer(&id), last_account()), ("3".to_owned(), "Bearer access-of-three".to_owned()));
}

#[test]
fn a_token_that_gemini_renews_reaches_the_user() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.unset("GEMINI_API_KEY");
    stage.unset("GOOGLE_GEMINI_BASE_URL");
    let dir = stage.path("home/.gemini");
    let settings = r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#;
    stage.settle(".gemini/settings.json", settings);
    let file = dir.join("oauth_creds.json");
    let token = json!({"access_token": "access-0", "refresh_token": "refresh-0", "expiry_date": 1000,
        "token_type": "Bearer", "scope": "openid"});
    fs::write(&file, token.to_string()).unwrap();
    fs::write(dir.join("google_accounts.json"), r#"{"active":"me@example.com","old":[]}"#).unwrap();

    // What comes after the login is a service that nobody plays here.
    let turn = edge::turn(edge::launch(&stage, Agent::Gemini, Posture::Attended), allow);
    assert!(turn.end.is_err());
    let stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(stored["access_token"], "access-1", "{:?}", oauth.renewals());
    assert_eq!(oauth.renewals().len(), 1, "{:?}", oauth.renewals());
}

/// Something that is not of the user's own.
fn is_new(entry: &std::io::Result<fs::DirEntry>) -> bool {
    let name = entry.as_ref().unwrap().file_name();
    ![".credentials.json", "settings.json", "CLAUDE.md"].iter().any(|known| name == *known)
}
