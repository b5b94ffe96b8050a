//! Homes of people whose models a cloud serves: the login is in files of that cloud, and reaches the program and nothing else.

use std::fs;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::model::call::Call;
use crate::model::script::{Step, answer, shell};
use crate::oauth::OAuth;
use crate::stage::Stage;

const CREDENTIALS: &str = "[default]\naws_access_key_id = AKIADEFAULT000000001\naws_secret_access_key = secret-of-the-file\n\
    [work]\naws_access_key_id = AKIAWORK000000000002\naws_secret_access_key = secret-of-work\n";
const REGIONS: &str = "[default]\nregion = eu-central-1\n[profile work]\nregion = us-west-2\n";

/// A stage whose user has a login of AWS and none of Anthropic.
fn with_aws() -> Stage {
    let mut stage = Stage::new();
    stage.unset("ANTHROPIC_API_KEY");
    stage.unset("ANTHROPIC_BASE_URL");
    stage.settle(".claude/settings.json", "{}");
    stage.settle(".aws/credentials", CREDENTIALS);
    stage.settle(".aws/config", REGIONS);
    stage
}

fn bedrock_url(stage: &Stage) -> String {
    stage.model(Agent::Claude).url()
}

/// The signature of a call, as far as it says whose key signs for which region.
fn signer(call: &Call) -> String {
    let headers = &call.request.headers;
    let (_, value) = headers.iter().find(|(name, _)| name == "authorization").expect("a signature");
    let parts: Vec<_> = value.split(['/', ',']).collect();
    format!("{} {}", parts[0], parts[2])
}

#[test]
fn bedrock_is_asked_with_the_key_and_the_region_of_the_files() {
    let mut stage = with_aws();
    stage.set("CLAUDE_CODE_USE_BEDROCK", "1");
    stage.set("ANTHROPIC_BEDROCK_BASE_URL", &bedrock_url(&stage));
    stage.run_and_resume(stage.model(Agent::Claude), &["--model", "claude"]);
    for call in stage.model(Agent::Claude).calls() {
        assert_eq!(signer(&call), "AWS4-HMAC-SHA256 Credential=AKIADEFAULT000000001 eu-central-1");
        assert!(call.request.path.ends_with("/invoke-with-response-stream"), "{}", call.request.path);
    }
    stage.assert_only_the_asked_ran();
}

#[test]
fn a_profile_and_a_model_of_bedrock_in_the_settings_file_are_used() {
    let mut stage = with_aws();
    let model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    let env = json!({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_PROFILE": "work", "ANTHROPIC_BEDROCK_BASE_URL": bedrock_url(&stage)});
    stage.settle(".claude/settings.json", &json!({"env": env, "model": model}).to_string());
    stage.run_and_resume(stage.model(Agent::Claude), &["--model", "claude"]);
    for call in stage.model(Agent::Claude).calls() {
        assert_eq!(
            (signer(&call).as_str(), call.model().as_str()),
            ("AWS4-HMAC-SHA256 Credential=AKIAWORK000000000002 us-west-2", model)
        );
    }
    stage.assert_only_the_asked_ran();
}

#[test]
fn the_files_of_a_cloud_are_closed_while_its_switch_is_off() {
    let mut stage = with_aws();
    stage.set("ANTHROPIC_API_KEY", Agent::Claude.key().1);
    stage.set("ANTHROPIC_BASE_URL", &bedrock_url(&stage));
    let google = ".config/gcloud/application_default_credentials.json";
    stage.settle(google, "secret-of-google");
    let look = format!("cat ~/.aws/credentials ~/.aws/config ~/{google}; echo looked");
    for agent in Agent::ALL {
        stage.model(agent).plays([shell(&look), answer("done")]);
        let id = stage.begin(agent, "look");
        stage.rests(&id, "ready");
        let calls = stage.model(agent).calls();
        assert!(calls[1].mentions("looked"), "{}", calls[1].request.body);
        for text in ["secret-of", "eu-central-1"] {
            assert!(!calls[1].mentions(text), "{}: {}", agent.name(), calls[1].request.body);
        }
    }
}

/// Whose account a program asks a token for, in the stand-in of Google's service.
fn renewed_with(oauth: &OAuth, what: &str) -> bool {
    let renewals = oauth.renewals();
    !renewals.is_empty() && renewals.iter().all(|line| line.contains(what))
}

/// The file that `gcloud auth application-default login` writes.
fn google_login(refresh_token: &str) -> String {
    json!({"type": "authorized_user", "client_id": "me.apps.googleusercontent.com", "client_secret": "not-secret",
        "refresh_token": refresh_token})
    .to_string()
}

/// Leads a program to Vertex by variables of the shell alone.
fn use_vertex(stage: &mut Stage, agent: Agent) {
    let variables: &[(&str, &str)] = match agent {
        Agent::Claude => &[
            ("CLAUDE_CODE_USE_VERTEX", "1"),
            ("ANTHROPIC_VERTEX_PROJECT_ID", "heron-1"),
            ("CLOUD_ML_REGION", "europe-west1"),
            // Without it the program looks for a project on the machine's own network, because no login here names one.
            ("GOOGLE_CLOUD_PROJECT", "heron-1"),
        ],
        Agent::Gemini => &[
            ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
            ("GOOGLE_CLOUD_PROJECT", "heron-1"),
            ("GOOGLE_CLOUD_LOCATION", "europe-west1"),
        ],
        Agent::Codex => unreachable!("it knows no Vertex"),
    };
    let (url, name) = match agent {
        Agent::Claude | Agent::Codex => (stage.model(agent).url(), "ANTHROPIC_VERTEX_BASE_URL"),
        Agent::Gemini => (stage.model(agent).url(), "GOOGLE_VERTEX_BASE_URL"),
    };
    stage.set(name, &url);
    stage.unset(agent.key().0);
    stage.unset(agent.base_url().unwrap_or_default());
    stage.settle(".claude/settings.json", "{}");
    for (name, value) in variables {
        stage.set(name, value);
    }
}

#[test]
fn vertex_is_asked_with_the_login_of_gcloud() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.settle(".config/gcloud/application_default_credentials.json", &google_login("refresh-of-gcloud"));
    use_vertex(&mut stage, Agent::Claude);
    stage.run_and_resume(stage.model(Agent::Claude), &["--model", "claude"]);
    for call in stage.model(Agent::Claude).calls() {
        assert!(call.request.path.starts_with("/projects/heron-1/locations/europe-west1/"), "{}", call.request.path);
        assert!(call.request.mentions("Bearer access-"));
    }
    assert!(renewed_with(&oauth, "refresh_token=refresh-of-gcloud"), "{:?}", oauth.renewals());
    stage.assert_only_the_asked_ran();
}

#[test]
fn vertex_is_asked_with_a_service_account_elsewhere_in_the_home() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.unset("ANTHROPIC_API_KEY");
    stage.unset("ANTHROPIC_BASE_URL");
    stage.settle(".config/gcloud/application_default_credentials.json", &google_login("refresh-of-gcloud"));
    let account = json!({"type": "service_account", "project_id": "heron-2", "private_key_id": "k",
        "private_key": fs::read_to_string(oauth.key()).unwrap(), "client_email": "heron@heron-2.iam.gserviceaccount.com"});
    stage.settle("keys/heron.json", &account.to_string());
    let env = json!({"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "heron-2", "CLOUD_ML_REGION": "global",
        "GOOGLE_APPLICATION_CREDENTIALS": stage.path("home/keys/heron.json"),
        "ANTHROPIC_VERTEX_BASE_URL": stage.model(Agent::Claude).url()});
    stage.settle(".claude/settings.json", &json!({"env": env}).to_string());
    stage.run_and_resume(stage.model(Agent::Claude), &["--model", "claude"]);
    for call in stage.model(Agent::Claude).calls() {
        assert!(call.request.path.starts_with("/projects/heron-2/locations/global/"), "{}", call.request.path);
    }
    assert!(renewed_with(&oauth, "jwt-bearer"), "{:?}", oauth.renewals());
    stage.assert_only_the_asked_ran();
}

#[test]
fn gemini_asks_vertex_with_the_login_of_gcloud() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.settle(".config/gcloud/application_default_credentials.json", &google_login("refresh-of-gcloud"));
    use_vertex(&mut stage, Agent::Gemini);
    stage.run_and_resume(stage.model(Agent::Gemini), &["--model", "gemini"]);
    for call in stage.model(Agent::Gemini).calls() {
        assert!(call.request.path.contains("/projects/heron-1/locations/europe-west1/"), "{}", call.request.path);
        assert!(call.request.mentions("Bearer access-"));
    }
    assert!(renewed_with(&oauth, "refresh_token=refresh-of-gcloud"), "{:?}", oauth.renewals());
    stage.assert_only_the_asked_ran();
}

/// What is wrong with the session's login; the hint must name what helps, and the id to go on with.
#[track_caller]
fn refused_login(stage: &Stage, id: &str, hint: &str, command: &Value) -> String {
    stage.rests(id, "failed");
    let error = stage.session(id)["last_error"].clone();
    assert_eq!((&error["kind"], &error["command"]), (&"auth".into(), command), "{error:#}");
    let told = error["hint"].as_str().unwrap();
    assert!(told.contains(hint) && told.ends_with(&format!("then run `coppice resume {id}`")), "{error:#}");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_login_to_aws_is_corrected_as_its_hint_says() {
    let mut stage = with_aws();
    stage.set("CLAUDE_CODE_USE_BEDROCK", "1");
    stage.set("ANTHROPIC_BEDROCK_BASE_URL", &bedrock_url(&stage));
    stage.settle(".aws/credentials", "");
    let id = stage.create_with(&["--model", "claude"], "greet");
    let message = refused_login(&stage, &id, "correct `~/.aws/credentials`", &Value::Null);
    assert!(message.contains("Could not load credentials"), "{message}");

    stage.settle(".aws/credentials", CREDENTIALS);
    let model = stage.model(Agent::Claude);
    model.plays([answer("one"), shell("touch made")]).always(Step::Status(403));
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    stage.coppice(&["send", &id, "work"]).succeeds();
    refused_login(&stage, &id, "run `aws sso login`", &Value::Null);

    stage.settle(".aws/credentials", &CREDENTIALS.replace("AKIADEFAULT000000001", "AKIARENEWED000000003"));
    let model = stage.model(Agent::Claude);
    model.clear().plays([answer("two")]);
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "two");
    assert!(signer(model.calls().last().unwrap()).contains("AKIARENEWED000000003"));
}

#[test]
fn a_login_to_google_is_renewed_as_its_hint_says() {
    for agent in [Agent::Claude, Agent::Gemini] {
        let mut stage = Stage::new();
        let oauth = OAuth::start(&stage);
        oauth.lead(&mut stage);
        use_vertex(&mut stage, agent);
        let login = ".config/gcloud/application_default_credentials.json";
        let command = "gcloud auth application-default login";
        let id = stage.create_with(&["--model", agent.name()], "greet");
        let message = refused_login(&stage, &id, &format!("run `{command}`"), &command.into());
        assert!(message.contains("Could not load the default credentials"), "{message}");

        stage.settle(login, &google_login("revoked"));
        stage.coppice(&["resume", &id]).succeeds();
        let message = refused_login(&stage, &id, &format!("run `{command}`"), &command.into());
        assert!(message.contains("invalid_grant"), "{message}");

        stage.settle(login, &google_login("refresh-of-gcloud"));
        stage.model(agent).plays([answer("one")]);
        stage.coppice(&["resume", &id]).succeeds();
        stage.rests(&id, "ready");
        assert_eq!(stage.last_answer(&id), "one");
    }
}

#[test]
fn gemini_uses_vertex_that_its_own_settings_choose() {
    let mut stage = Stage::new();
    let oauth = OAuth::start(&stage);
    oauth.lead(&mut stage);
    stage.unset("GEMINI_API_KEY");
    stage.unset("GOOGLE_GEMINI_BASE_URL");
    stage.settle(".gemini/settings.json", r#"{"security":{"auth":{"selectedType":"vertex-ai"}}}"#);
    stage.settle("keys/heron.json", &google_login("refresh-of-the-key"));
    let variables = format!(
        "GOOGLE_CLOUD_PROJECT=heron-3\nGOOGLE_CLOUD_LOCATION=us-east5\nGOOGLE_APPLICATION_CREDENTIALS={}\n\
         GOOGLE_VERTEX_BASE_URL={}\n",
        stage.path("home/keys/heron.json").display(),
        stage.model(Agent::Gemini).url()
    );
    stage.settle(".gemini/.env", &variables);
    stage.run_and_resume(stage.model(Agent::Gemini), &["--model", "gemini"]);
    let calls = stage.model(Agent::Gemini).calls();
    assert!(calls.iter().all(|call| call.request.path.contains("/projects/heron-3/locations/us-east5/")));
    assert!(renewed_with(&oauth, "refresh_token=refresh-of-the-key"), "{:?}", oauth.renewals());
    stage.assert_only_the_asked_ran();
}
