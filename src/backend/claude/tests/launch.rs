//! How the program is started, as tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::delegate;
use crate::backend::claude::argv::{Begin, argv, environment};
use crate::backend::claude::login::Keeper;
use crate::backend::claude::spec;
use crate::backend::claude::user_settings::UserSettings;
use crate::backend::failure::Failure;
use crate::backend::spec::Reasoning;
use crate::backend::transport::spawn::{Child, SpawnRequest, Spawner};
use crate::backend::{Access, Confines, Launch, Limits, Native, NativeTool, Purpose};
use crate::permission::Posture;

struct Nobody;

impl Spawner for Nobody {
    fn spawn(&self, _: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        Box::pin(std::future::pending())
    }
}

fn launch() -> Launch {
    Launch {
        spec: spec(),
        argv: vec!["/bin/claude".to_owned()],
        cwd: PathBuf::from("/tree"),
        ..Launch::bare(PathBuf::from("/state"), Arc::new(Nobody))
    }
}

fn fresh() -> Begin {
    Begin::Fresh("id".to_owned())
}

#[test]
fn a_session_is_launched_safely() {
    let launch = Launch {
        reasoning: Some(Reasoning::Medium),
        rules: Some("the rules".to_owned()),
        schema: Some(json!({"type": "object"})),
        tools: vec![delegate()],
        ..launch()
    };
    let lines = argv(&launch, &UserSettings::default(), &fresh()).join("\n");
    insta::assert_snapshot!(lines, @r#"
    /bin/claude
    -p
    --input-format
    stream-json
    --output-format
    stream-json
    --verbose
    --include-partial-messages
    --effort
    medium
    --permission-mode
    default
    --permission-prompt-tool
    stdio
    --setting-sources

    --settings
    {"disableAllHooks":true}
    --strict-mcp-config
    --add-dir
    /tree
    --disallowedTools
    Agent,AskUserQuestion,CronCreate,CronDelete,CronList,DesignSync,EnterPlanMode,EnterWorktree,ExitPlanMode,ExitWorktree,ReportFindings,ScheduleWakeup,SendMessage,Skill,Task,TaskOutput,TaskStop,Workflow
    --session-id
    id
    --mcp-config
    {"mcpServers":{"coppice":{"type":"sdk","name":"coppice"}}}
    --json-schema
    {"type":"object"}
    --append-system-prompt
    the rules
    "#);
}

#[test]
fn a_side_question_has_no_tools_and_leaves_nothing() {
    let launch = Launch { purpose: Purpose::Utility, model: Some("small".to_owned()), ..launch() };
    insta::assert_snapshot!(argv(&launch, &UserSettings::default(), &fresh()).join(" "), @r#"/bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --model small --permission-mode default --permission-prompt-tool stdio --setting-sources  --settings {"disableAllHooks":true} --strict-mcp-config --tools  --no-session-persistence"#);
    let survey = Launch { purpose: Purpose::Survey, model: Some("small".to_owned()), ..launch };
    assert!(argv(&survey, &UserSettings::default(), &fresh()).contains(&"--no-session-persistence".to_owned()));
}

#[track_caller]
fn follows(launch: &Launch, begin: &Begin, flag: &str, expected: Option<&str>) {
    let words = argv(launch, &UserSettings::default(), begin);
    let place = words.iter().position(|word| word == flag);
    assert_eq!(place.map(|place| words[place + 1].as_str()), expected, "{flag}");
}

#[test]
fn a_conversation_is_named_first_and_resumed_later() {
    follows(&launch(), &fresh(), "--session-id", Some("id"));
    follows(&launch(), &fresh(), "--resume", None);
    let resume = Begin::Resume("id".to_owned());
    follows(&launch(), &resume, "--resume", Some("id"));
    follows(&launch(), &resume, "--session-id", None);
}

#[test]
fn nothing_of_the_repository_or_the_user_is_configuration() {
    for begin in [fresh(), Begin::Resume("id".to_owned())] {
        follows(&launch(), &begin, "--setting-sources", Some(""));
        follows(&launch(), &begin, "--settings", Some(r#"{"disableAllHooks":true}"#));
        follows(&launch(), &begin, "--add-dir", Some("/tree"));
        follows(&launch(), &begin, "--permission-mode", Some("default"));
        follows(&launch(), &begin, "--mcp-config", None);
        let words = argv(&launch(), &UserSettings::default(), &begin);
        assert!(words.contains(&"--strict-mcp-config".to_owned()));
        for banned in ["--allowedTools", "--dangerously-skip-permissions", "bypassPermissions", "acceptEdits", "auto"] {
            assert!(!words.contains(&banned.to_owned()), "{banned}");
        }
    }
}

#[test]
fn a_surface_is_told_at_every_start() {
    let native = Native { tools: Some([NativeTool::Read, NativeTool::Bash].into()), access: Access::Write };
    let restricted = Launch { native, ..launch() };
    let reading = Launch { native: Native { tools: Some([].into()), access: Access::ReadOnly }, ..launch() };
    for begin in [fresh(), Begin::Resume("id".to_owned())] {
        follows(&launch(), &begin, "--tools", None);
        follows(&restricted, &begin, "--tools", Some("Bash,Read"));
        follows(&reading, &begin, "--tools", Some(""));
        for launch in [&launch(), &restricted, &reading] {
            let words = argv(launch, &UserSettings::default(), &begin);
            let never = words.iter().position(|word| word == "--disallowedTools").map(|place| &words[place + 1]);
            assert!(never.is_some_and(|names| names.contains("Task,") && names.contains("Agent,")), "{never:?}");
        }
    }
}

/// The agent never decides by itself, whatever the posture: no mode lets calls pass our callback.
#[test]
fn a_posture_has_the_mode_that_fits() {
    for (posture, mode) in [
        (Posture::Plan, "default"),
        (Posture::Attended, "default"),
        (Posture::Edits, "acceptEdits"),
        (Posture::Unattended, "default"),
    ] {
        for begin in [fresh(), Begin::Resume("id".to_owned())] {
            follows(&Launch { posture, ..launch() }, &begin, "--permission-mode", Some(mode));
        }
    }
}

#[test]
fn a_plan_is_made_by_reading_and_written_to_one_file() {
    let plan = |native: Native, plan_file: Option<&str>| Launch {
        posture: Posture::Plan,
        plan_file: plan_file.map(PathBuf::from),
        native,
        ..launch()
    };
    let reading = "Glob,Grep,Read,TaskCreate,TaskGet,TaskList,TaskUpdate,WebFetch,WebSearch";
    let writing = "Edit,Glob,Grep,NotebookEdit,Read,TaskCreate,TaskGet,TaskList,TaskUpdate,WebFetch,WebSearch,Write";
    let some = |tools: &[NativeTool]| Native { tools: Some(tools.iter().copied().collect()), access: Access::Write };
    let read_only = Native { tools: None, access: Access::ReadOnly };
    for (launch, tools) in [
        (plan(Native::default(), None), reading),
        (plan(Native::default(), Some("/plans/a.md")), writing),
        (plan(read_only, Some("/plans/a.md")), reading),
        (plan(some(&[NativeTool::Read, NativeTool::Bash, NativeTool::Write]), Some("/plans/a.md")), "Read,Write"),
        (plan(some(&[NativeTool::Bash]), Some("/plans/a.md")), ""),
    ] {
        follows(&launch, &fresh(), "--tools", Some(tools));
    }
}

#[test]
fn the_users_login_and_model_are_the_only_settings_besides_ours() {
    let passed = json!({"model": "opus", "awsCredentialExport": "creds"});
    let settings = UserSettings { passed: passed.as_object().unwrap().clone(), ..UserSettings::default() };
    let with_key = Launch { env: vec![("COPPICE_API_KEY".to_owned(), "key".to_owned())], ..launch() };
    let words = argv(&with_key, &settings, &fresh());
    let at = words.iter().position(|word| word == "--settings").unwrap();
    let given: serde_json::Value = serde_json::from_str(&words[at + 1]).unwrap();
    let helper = "printf '%s\\n' \"$COPPICE_API_KEY\"";
    assert_eq!(
        given,
        json!({"model": "opus", "awsCredentialExport": "creds", "disableAllHooks": true,
        "apiKeyHelper": helper})
    );
    assert_eq!(&words[at - 2..at], ["--setting-sources", ""]);
}

#[test]
fn the_users_instructions_come_after_the_rules_and_only_in_sessions() {
    let settings = UserSettings { instructions: Some("be kind".to_owned()), ..UserSettings::default() };
    let told = |launch: &Launch| {
        let words = argv(launch, &settings, &fresh());
        words.iter().position(|word| word == "--append-system-prompt").map(|at| words[at + 1].clone())
    };
    let rules = Some("the rules".to_owned());
    assert_eq!(told(&Launch { rules, ..launch() }).as_deref(), Some("the rules\n\nbe kind"));
    assert_eq!(told(&launch()).as_deref(), Some("be kind"));
    assert_eq!(told(&Launch { purpose: Purpose::Utility, ..launch() }), None);
}

#[test]
fn levels_have_the_names_that_the_agent_knows() {
    for (model, level, expected) in [
        ("claude-opus-4-7", Reasoning::Xhigh, "max"),
        ("claude-opus-4-6", Reasoning::Xhigh, "max"),
        ("claude-opus-4-7", Reasoning::High, "high"),
        ("claude-sonnet-4-6", Reasoning::Xhigh, "xhigh"),
        ("claude-sonnet-4-6", Reasoning::Low, "low"),
    ] {
        let launch = Launch { model: Some(model.to_owned()), reasoning: Some(level), ..launch() };
        follows(&launch, &fresh(), "--effort", Some(expected));
    }
    follows(&launch(), &fresh(), "--effort", None);
    let old = Launch { model: Some("claude-opus-4-6".to_owned()), ..launch() };
    follows(&old, &fresh(), "--model", Some("claude-opus-4-7"));
    // Without a name the user's own settings or the program choose.
    follows(&launch(), &fresh(), "--model", None);
}

#[test]
fn the_state_is_ours_and_the_login_the_users() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let given = [
        pair("PATH", "/bin"),
        pair("CLAUDECODE", "1"),
        pair("CLAUDE_CODE_ENTRYPOINT", "cli"),
        pair("ANTHROPIC_API_KEY", "k"),
    ];
    let launch = Launch { env: given.to_vec(), ..launch() };
    let lines = |launch: &Launch| {
        let env = environment(launch, Path::new("/state/claude"), None);
        env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    insta::assert_snapshot!(lines(&launch).join("\n"), @r"
    PATH=/bin
    ANTHROPIC_API_KEY=k
    GIT_OPTIONAL_LOCKS=0
    CLAUDE_CONFIG_DIR=/state/claude
    CLAUDE_SECURESTORAGE_CONFIG_DIR=
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
    DISABLE_AUTOUPDATER=1
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1
    CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR=1
    CLAUDE_CODE_DISABLE_AUTO_MEMORY=1
    CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1
    CLAUDE_CODE_MAX_RETRIES=10
    MAX_STRUCTURED_OUTPUT_RETRIES=1
    MCP_TOOL_TIMEOUT=86400000
    ");
    let login = |given: &[(&str, &str)]| {
        let env = given.iter().map(|(name, value)| pair(name, value)).collect();
        let env = environment(&Launch { env, ..self::launch() }, Path::new("/state/claude"), None);
        let count = |wanted: &str| env.iter().filter(|(name, _)| name == wanted).count();
        assert_eq!((count("CLAUDE_CONFIG_DIR"), count("CLAUDE_SECURESTORAGE_CONFIG_DIR")), (1, 1));
        env.into_iter().find(|(name, _)| name == "CLAUDE_SECURESTORAGE_CONFIG_DIR").unwrap().1
    };
    assert_eq!(login(&[]), "");
    assert_eq!(login(&[("CLAUDE_CONFIG_DIR", "/home/me/own")]), "/home/me/own");
    let both = [("CLAUDE_CONFIG_DIR", "/home/me/own"), ("CLAUDE_SECURESTORAGE_CONFIG_DIR", "")];
    assert_eq!(login(&both), "");
}

#[test]
fn a_confined_agent_has_its_own_temp_directory_and_the_login_of_all() {
    let confines = Confines { limits: Some(Limits::default()), temp: Some(PathBuf::from("/session/tmp")) };
    let launch = Launch { confines, ..launch() };
    let env = environment(&launch, Path::new("/state/claude"), Some(Path::new("/data/login/claude")));
    let value = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    for name in ["TMPDIR", "CLAUDE_CODE_TMPDIR"] {
        assert_eq!(value(name), Some("/session/tmp"));
    }
    assert_eq!(value("CLAUDE_SECURESTORAGE_CONFIG_DIR"), Some("/data/login/claude"));
    assert_eq!(value("CLAUDE_CONFIG_DIR"), Some("/state/claude"));
}

#[test]
fn a_confined_login_is_shared_by_those_who_have_the_same_and_by_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = |store: &str, limits: Option<Limits>| {
        let place = dir.path().join(store);
        std::fs::create_dir_all(&place).unwrap();
        let env = vec![("CLAUDE_CONFIG_DIR".to_owned(), place.to_str().unwrap().to_owned())];
        let confines = Confines { limits, temp: None };
        Keeper::of(&Launch { env, confines, login_dir: dir.path().join("login"), ..launch() })
    };
    for store in ["work", "home"] {
        assert_eq!(keeper(store, Some(Limits::default())), None, "nobody is logged in");
        std::fs::write(dir.path().join(store).join(".credentials.json"), r#"{"claudeAiOauth": {}}"#).unwrap();
        assert_eq!(keeper(store, None), None, "a free agent renews the user's own");
    }
    let place = |store: &str| keeper(store, Some(Limits::default())).unwrap().dir().to_owned();
    assert_eq!(place("work"), place("work"));
    assert_ne!(place("work"), place("home"));
    assert!(place("work").starts_with(dir.path().join("login")));
}

#[test]
fn a_side_question_does_not_wait_for_a_service_that_is_down() {
    let retries = |purpose| {
        let launch = Launch { purpose, ..launch() };
        let env = environment(&launch, Path::new("/home"), None);
        env.into_iter().find(|(name, _)| name == "CLAUDE_CODE_MAX_RETRIES").unwrap().1
    };
    assert_eq!((retries(Purpose::Session), retries(Purpose::Utility)), ("10".to_owned(), "2".to_owned()));
}
