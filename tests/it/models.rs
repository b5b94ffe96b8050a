//! Which agents there are: `coppice models`, `coppice doctor`, and what happens where none is installed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::call;

/// A program that speaks the protocol of agents.
const AGENT: &str = env!("CARGO_BIN_EXE_coppice");

/// A world whose `PATH` has git and nothing else: agents of the machine must not count.
fn world() -> TestEnv {
    let mut env = TestEnv::new();
    let bin = env.path("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|directory| directory.join("git")).find(|git| git.is_file()).unwrap();
    symlink(git, bin.join("git")).unwrap();
    env.set("PATH", bin.to_str().unwrap());
    env
}

/// Puts a shell script on the `PATH`.
fn install(env: &TestEnv, name: &str, script: &str) {
    let program = env.path("bin").join(name);
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The user's `config.toml`, and nothing else in it.
fn configure(env: &TestEnv, text: &str) {
    let text = text.replace("COPPICE", AGENT);
    fs::write(env.path("coppice/config.toml"), text).unwrap();
}

fn backend<'a>(backends: &'a Value, name: &str) -> &'a Value {
    let found = backends.as_array().unwrap().iter().find(|backend| backend["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {backends:#}"))
}

#[test]
fn an_agent_lists_its_own_models_and_is_asked_once() {
    let env = world();
    let runs = env.path("runs");
    install(&env, "mine", &format!("echo run >> {}; exec {AGENT} demo-agent", runs.display()));
    configure(&env, "[backends.mine]\ncommand = [\"mine\"]\n");
    let mine = env.json(&["models", "--backend", "mine"])[0].clone();
    assert_eq!((&mine["listed_by"], &mine["note"], &mine["problem"]), (&json!("agent"), &Value::Null, &Value::Null));
    assert_eq!((&mine["default"], &mine["program"]), (&json!(true), &json!(env.path("bin/mine"))));
    assert_eq!(mine["models"][0]["id"], "scripted");
    assert_eq!(backend(&env.json(&["models"]), "mine"), &mine);
    assert_eq!(fs::read_to_string(runs).unwrap(), "run\n");
}

#[test]
fn a_configured_list_is_not_asked_for() {
    let env = world();
    configure(&env, "[backends.mine]\ncommand = [\"COPPICE\", \"demo-agent\"]\nmodels = [\"one\", \"two\"]\n");
    let listed = "mine  coppice  your list\n  mine/one  default\n  mine/two\n\nsessions that name no model run on mine";
    let output = env.coppice(&["models", "--backend", "mine"]);
    assert_eq!(output.transcript(), format!("exit: 0\n-- stdout\n{listed}\n"));
    assert_snapshot!(env.coppice(&["new", "--model", "mine/three", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: backend `mine` has no model `three`; it has one, two

    hint: `coppice models` shows what can be used
    ");
}

#[test]
fn an_agent_that_does_not_answer_leaves_the_others_alone() {
    let env = world();
    install(&env, "rude", "echo 'not today' >&2; exit 3");
    configure(
        &env,
        "[backends.rude]\ncommand = [\"rude\"]\n[backends.mine]\ncommand = [\"COPPICE\", \"demo-agent\"]\n",
    );
    let backends = env.json(&["models"]);
    assert_eq!(backend(&backends, "mine")["listed_by"], "agent");
    let rude = backend(&backends, "rude");
    assert_eq!((&rude["listed_by"], &rude["problem"]), (&json!("table"), &Value::Null));
    assert!(rude["note"].is_string(), "{rude:#}");
}

#[test]
fn an_unknown_backend_is_refused() {
    let env = world();
    let refusal = env.coppice(&["models", "--backend", "nobody"]).exits(2).stderr;
    assert!(refusal.contains("no backend is called `nobody`"), "{refusal}");
}

/// Speaks as much of Codex as a list of models takes. Its configuration is good if its first line names a model, or is
/// `# none`.
const CODEX: &str = r#"
case $1 in --version) echo codex-cli 0.166.0; exit;; esac
read -r config < "$HOME/.codex/config.toml"
model=${config#*\"}
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    answer() { echo "{\"id\":$id,$1}"; }
    refuse() { answer "\"error\":{\"code\":-32600,\"message\":\"$1\"}"; }
    case "$line/$config" in
    *'"method":"initialize"'*) answer '"result":{}';;
    *'"method":"config/read"'*'/model = '*) answer "\"result\":{\"config\":{\"model\":\"${model%?}\"}}";;
    *'"method":"config/read"'*'/# none') answer '"result":{"config":{}}';;
    *'"method":"config/read"'*) refuse 'invalid configuration';;
    *'"method":"model/list"'*) answer '"result":{"data":[{"id":"listed"}]}';;
    *'"method":"thread/start"'*) refuse 'failed to load configuration: Model provider `teem` not found';;
    esac
done
"#;

fn configure_codex(env: &TestEnv, text: &str) {
    let directory = env.path("home/.codex");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), text).unwrap();
}

#[test]
fn a_model_of_the_users_settings_is_marked_and_follows_the_settings() {
    let env = world();
    configure(&env, "");
    install(&env, "codex", CODEX);
    for (model, expected) in [
        ("mine", "  codex/mine    default, from your settings\n  codex/listed\n"),
        ("yours", "  codex/yours   default, from your settings\n  codex/listed\n"),
        ("listed", "  codex/listed  default, from your settings\n"),
    ] {
        configure_codex(&env, &format!("model = \"{model}\"\n"));
        let listed = env.coppice(&["models", "--backend", "codex"]).exits(0).stdout;
        assert!(listed.contains(expected), "{model}: {listed}");
    }
}

/// The daemon may have been started with other settings.
#[test]
fn settings_are_those_of_whoever_asks() {
    let mut env = world();
    configure(&env, "");
    install(&env, "codex", &CODEX.replace("$HOME/.codex", "${CODEX_HOME:-$HOME/.codex}"));
    configure_codex(&env, "model = \"mine\"\n");
    let list = |env: &TestEnv| env.coppice(&["models", "--backend", "codex"]).exits(0).stdout;
    assert!(list(&env).contains("  codex/mine    default, from your settings\n"), "{}", list(&env));
    let other = env.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("config.toml"), "model = \"yours\"\n").unwrap();
    env.set("CODEX_HOME", other.to_str().unwrap());
    assert!(list(&env).contains("  codex/yours   default, from your settings\n"), "{}", list(&env));
}

#[test]
fn a_model_that_its_agent_does_not_list_is_refused_when_it_is_named() {
    let mut env = world();
    configure(&env, "[delegation]\nfacade = \"spawn_agent\"\n");
    install(&env, "codex", CODEX);
    configure_codex(&env, "# none\n");
    let refused = env.coppice(&["new", "--draft", "--model", "codex/listd", "hi"]).exits(2).stderr;
    assert!(refused.starts_with("error: backend `codex` has no model `listd`; it has listed, gpt-"), "{refused}");
    assert!(refused.contains("hint: did you mean `--model codex/listed`? `coppice models` shows"), "{refused}");
    let draft = |env: &TestEnv, model: &str| env.json(&["new", "--draft", "--model", model, "hi"])["model"].clone();
    assert_eq!(draft(&env, "codex/listed"), "listed");
    let spawn = json!({ "message": "x", "agent_type": "general", "model": "codex/listd" });
    let id = env.create_with(&["--model", "demo", "--agent", "engineer"], &call("spawn_agent", &spawn));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let expected = "error: unknown model \"codex/listd\" for spawn_agent. Available models: listed, gpt-";
    assert!(answer.starts_with(expected), "{answer}");
    let refused = env.coppice(&["send", &id, "--model", "codex/listd", "go on"]).exits(2).stderr;
    assert!(refused.contains("has no model `listd`"), "{refused}");
    // A list is not whole where the user's settings lead elsewhere.
    configure_codex(&env, "model = \"mine\"\n");
    assert_eq!(draft(&env, "codex/unlisted"), "unlisted");
    configure_codex(&env, "# none\n");
    env.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    assert_eq!(draft(&env, "codex/unlisted"), "unlisted");
}

#[test]
fn doctor_tells_of_a_configuration_that_codex_refuses() {
    let env = world();
    configure(&env, "");
    install(&env, "codex", CODEX);
    configure_codex(&env, "model_provider = \"teem\"\n");
    let doctor = env.coppice(&["doctor"]).exits(1).stdout;
    let file = env.path("home/.codex/config.toml").display().to_string();
    let expected = "bad   backend codex  failed to load configuration: Model provider `teem` not found\n      hint: correct \
                    `[CONFIG]`, then run `coppice resume`\n";
    assert!(doctor.replace(&file, "[CONFIG]").contains(expected), "{doctor}");
    configure_codex(&env, "model = \"listed\"\n");
    let doctor = env.coppice(&["doctor"]).stdout;
    assert!(doctor.contains("good  backend codex  0.166.0, "), "{doctor}");
}

/// A link to what has no end, a pipe that nobody writes, a directory.
#[test]
fn settings_that_are_no_file_hang_nothing() {
    let env = world();
    configure(&env, "[backends.mine]\ncommand = [\"COPPICE\", \"demo-agent\"]\n");
    install(&env, "codex", CODEX);
    let config = env.path("home/.codex/config.toml");
    let others = [".claude.json", ".claude/settings.json", ".gemini/.env", ".gemini/settings.json"];
    for make in ["ln -s /dev/zero", "mkfifo", "mkdir"] {
        for file in others.map(|name| env.path("home").join(name)).iter().chain([&config]) {
            let script = format!("mkdir -p \"${{1%/*}}\" && rm -rf \"$1\" && {make} \"$1\"");
            assert!(Command::new("sh").args(["-c", &script, "sh"]).arg(file).status().unwrap().success());
        }
        let mine = env.create_with(&["--model", "mine"], "hello");
        env.wait_for(&mine, "ready");
        let id = env.create_with(&["--model", "codex"], "hello");
        env.wait_for(&id, "failed");
        let error = env.session(&id)["last_error"].clone();
        let told = format!("{}: {} | {}", error["kind"], error["message"], error["hint"]).replace('"', "");
        let file = config.display();
        let expected =
            format!("setup: {file}: it is not a regular file | correct `{file}`, then run `coppice resume {id}`");
        assert_eq!(told, expected, "{make}");
        let doctor = env.coppice(&["doctor"]).exits(1).stdout;
        assert!(doctor.contains(&format!("bad   backend codex  {file}: it is not a regular file")), "{doctor}");
        env.coppice(&["mcp", "import"]).succeeds();
    }
}

#[test]
fn a_home_that_codex_cannot_write_is_named_before_it_starts() {
    let mut env = world();
    configure(&env, "");
    install(&env, "codex", CODEX);
    env.set("CODEX_HOME", "/proc");
    let id = env.create_with(&["--model", "codex"], "hello");
    env.wait_for(&id, "failed");
    let error = env.session(&id)["last_error"].clone();
    assert_eq!(error["kind"], "setup");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("codex cannot write in its home `/proc`: "), "{message}");
    let doctor = env.coppice(&["doctor"]).exits(1).stdout;
    assert!(doctor.contains("bad   backend codex  codex cannot write in its home `/proc`: "), "{doctor}");
}

#[test]
fn a_turn_says_how_to_get_a_program_that_is_too_old_or_gone() {
    let env = world();
    configure(&env, "");
    install(&env, "claude", "echo '1.0.0 (Claude Code)'");
    let id = env.create_with(&["--model", "claude"], "hello");
    let program = env.path("bin/claude");
    let told = |part: &str| {
        let is_told =
            |session: &Value| session["last_error"]["message"].as_str().is_some_and(|text| text.contains(part));
        let error = env.wait_for_session(&id, is_told)["last_error"].clone();
        let told = format!("{}: {} | {}", error["kind"], error["message"], error["hint"]).replace('"', "");
        told.replace(program.to_str().unwrap(), "[CLAUDE]").replace(&id, "[ID]")
    };
    let old = told("too old");
    assert!(old.starts_with("setup: `[CLAUDE]` 1.0.0 is too old: "), "{old}");
    assert!(old.ends_with(" | run `[CLAUDE] update`, then `coppice resume [ID]`"), "{old}");
    fs::remove_file(&program).unwrap();
    env.coppice(&["resume", &id]).succeeds();
    let gone = "setup: backend `claude`: command `claude` not found on PATH | run `npm install -g @anthropic-ai/claude-code`, \
                then `coppice resume [ID]`";
    assert_eq!(told("not found"), gone);
}

/// The daemon may have been started by somebody else, with another `PATH`.
#[test]
fn programs_are_those_of_whoever_asks() {
    let mut env = world();
    configure(&env, "[backends.mine]\ncommand = [\"mine\"]\n");
    let problem = |env: &TestEnv| env.json(&["models", "--backend", "mine"])[0]["problem"].clone();
    assert_eq!(problem(&env), "there is no `mine` on PATH");
    let bin = env.path("bin");
    let other = env.path("other");
    fs::create_dir(&other).unwrap();
    install(&env, "mine", &format!("exec {AGENT} demo-agent"));
    fs::rename(bin.join("mine"), other.join("mine")).unwrap();
    assert_eq!(problem(&env), "there is no `mine` on PATH");
    env.set("PATH", &format!("{}:{}", bin.display(), other.display()));
    assert_eq!(problem(&env), Value::Null);
    let id = env.create_with(&["--model", "mine"], "hello");
    env.wait_for(&id, "ready");
}

#[test]
fn a_default_that_is_not_installed_gives_way() {
    let env = world();
    let text = "default.model = \"gone/large\"\n[backends.gone]\ncommand = [\"no-such-agent\"]\n\
                [backends.mine]\ncommand = [\"COPPICE\", \"demo-agent\"]\n";
    configure(&env, text);
    assert_eq!(env.json(&["new", "--draft", "hi"])["backend"], "mine");
    let output = env.coppice(&["new", "--model", "gone", "hi"]);
    assert_snapshot!(output.transcript(), @r"
    exit: 1
    -- stderr
    error: backend `gone` is not installed: there is no `no-such-agent` on PATH

    hint: install it, or correct its `command` in the configuration
    ");
    install(&env, "no-such-agent", &format!("exec {AGENT} demo-agent"));
    let id = env.create_with(&["--model", "gone"], "hi");
    env.wait_for(&id, "ready");
}

#[test]
fn a_model_of_two_backends_is_named_as_the_hint_says() {
    let env = world();
    let row =
        |name: &str| format!("[backends.{name}]\ncommand = [\"COPPICE\", \"demo-agent\"]\nmodels = [\"scripted\"]\n");
    configure(&env, &[row("mine"), row("yours")].concat());
    let refused = env.coppice(&["new", "--model", "scripted", "hi"]).exits(2).stderr;
    let hint = refused.split('`').find(|text| text.starts_with("--model ")).unwrap_or_else(|| panic!("{refused}"));
    let options: Vec<_> = hint.split(' ').collect();
    let id = env.create_with(&options, "hi");
    env.wait_for(&id, "ready");
}

#[test]
fn doctor_looks_at_each_backend() {
    let env = world();
    install(&env, "mine", "exit 0");
    configure(&env, "[backends.gone]\ncommand = [\"no-such-agent\"]\n[backends.mine]\ncommand = [\"mine\"]\n");
    let output = env.coppice(&["doctor"]).exits(1);
    let lines = |name: &str| output.stdout.lines().filter(|line| line.contains(name)).collect::<Vec<_>>().join("\n");
    assert_eq!(lines("backend gone"), "bad   backend gone  there is no `no-such-agent` on PATH");
    let mine = env.path("bin/mine").display().to_string();
    let untried = format!("warn  backend mine  {mine}: it is there, and has opened no session so far");
    assert_eq!(lines("backend mine"), untried);
    assert!(output.stdout.contains("      hint: `coppice backends check mine` tries it in the sandbox\n"));
    assert!(!env.coppice(&["backends", "check", "mine"]).transcript().starts_with("exit: 0"));
    let said = |env: &TestEnv| env.coppice(&["doctor"]).stdout;
    assert!(said(&env).contains(&untried), "a check in vain shows nothing");
    configure(&env, "[backends.mine]\ncommand = [\"COPPICE\", \"demo-agent\"]\n");
    env.coppice(&["backends", "check", "mine"]).succeeds();
    let good = format!("good  backend mine  {AGENT}\n");
    assert!(said(&env).contains(&good), "{}", said(&env));
    env.end_daemon(&[]);
    assert!(!said(&env).contains(&good), "{}", said(&env));
    let id = env.create_with(&["--model", "mine"], "hello");
    env.wait_for(&id, "ready");
    assert!(said(&env).contains(&good), "{}", said(&env));
}

#[test]
fn doctor_says_why_hidden_processes_make_the_sandbox_advisory() {
    let env = TestEnv::new();
    let doctor = env.to_start(&["doctor"]);
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", script]);
        command.env_clear().envs(doctor.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(env.repo()).output().unwrap()
    };
    // The limit counts for the namespace of the test alone.
    let hide = "mount -t proc -o hidepid=2 proc /proc && echo 0 > /proc/sys/user/max_user_namespaces";
    if support().hold() == Hold::Advisory || !inside(hide).status.success() {
        return;
    }
    let told = String::from_utf8(inside(&format!("{hide} && exec '{AGENT}' doctor")).stdout).unwrap();
    assert!(told.contains("sandbox  advisory, the kernel does not hold agents to it"), "{told}");
    assert!(told.contains("or show all with `mount -o remount,hidepid=0 /proc`"), "{told}");
}

#[test]
fn without_any_agent_everybody_is_told_the_three() {
    let env = world();
    configure(&env, "");
    let told = "error: none of `claude`, `codex`, `gemini` is installed\n\n\
                hint: install one: `npm install -g @anthropic-ai/claude-code`, `npm install -g @openai/codex`, \
                `npm install -g @google/gemini-cli`; or try `coppice demo`, or the model `demo`: they need none\n";
    for arguments in [&["new", "hi"][..], &["run", "hi"], &["new", "--model", "claude", "hi"], &[]] {
        assert_eq!(env.coppice(arguments).exits(1).stderr, told, "{arguments:?}");
    }
    assert_snapshot!(env.coppice(&["models"]).stdout(), @r"
    claude  not installed: npm install -g @anthropic-ai/claude-code
    codex   not installed: npm install -g @openai/codex
    gemini  not installed: npm install -g @google/gemini-cli
    demo    scripted, asks no model
    ");
    let logins: Vec<_> = env.json(&["models"]).as_array().unwrap().iter().map(|one| one["login"].clone()).collect();
    assert_eq!(logins, ["claude auth login".into(), "codex login".into(), "gemini".into(), Value::Null]);
    let doctor = env.coppice(&["doctor"]).exits(1).stdout;
    assert!(doctor.contains("none  backend codex  not installed\n"), "{doctor}");
    assert!(doctor.contains("bad   backends  none of `claude`, `codex`, `gemini` is installed\n"), "{doctor}");
    env.create_ready("hello");
    assert!(env.coppice(&[]).exits(0).stderr.contains("warning: none of `claude`"));
}

#[test]
fn versions_that_do_not_fit_are_told() {
    let env = world();
    configure(&env, "");
    install(&env, "claude", "echo '1.0.0 (Claude Code)'");
    install(&env, "codex", "echo 'cannot find module' >&2; exit 7");
    install(&env, "gemini", "case $1 in --version) echo 999.0.0;; *) exit 1;; esac");
    let doctor = env.coppice(&["doctor"]).exits(1).stdout;
    let lines: Vec<_> = doctor.lines().skip_while(|line| !line.contains("backend claude")).collect();
    let bin = env.path("bin").display().to_string();
    let text = lines.join("\n").replace(&bin, "[BIN]");
    let expected = "bad   backend claude  [BIN]/claude: version 1.0.0 is too old: it takes ";
    assert!(text.starts_with(expected), "{text}");
    for part in [
        "\n      hint: run `[BIN]/claude update`\n",
        "\nbad   backend codex  [BIN]/codex: `codex --version` does not work: exit status 7: cannot find module\n",
        "\nwarn  backend gemini  [BIN]/gemini: version 999.0.0 is newer than ",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let backends = env.json(&["models"]);
    let claude = backend(&backends, "claude");
    assert_eq!((&claude["version"], &claude["listed_by"]), (&json!("1.0.0"), &json!("table")));
    assert_eq!(claude["models"][0]["id"], "claude-opus-4-7");
    let gemini = backend(&backends, "gemini");
    assert_eq!((&gemini["version"], &gemini["problem"]), (&json!("999.0.0"), &Value::Null));
    assert!(gemini["warning"].is_string() && gemini["note"].is_string(), "{gemini:#}");
}

#[test]
fn a_single_field_of_a_built_in_backend_can_be_changed() {
    let env = world();
    let elsewhere = env.path("elsewhere");
    install(&env, "claude", "echo '1.0.0 (Claude Code)'");
    fs::rename(env.path("bin/claude"), &elsewhere).unwrap();
    configure(&env, &format!("[backends.claude]\ncommand = [\"{}\"]\n", elsewhere.display()));
    let claude = env.json(&["models", "--backend", "claude"])[0].clone();
    assert_eq!((&claude["program"], &claude["version"]), (&json!(elsewhere), &json!("1.0.0")));
    assert_eq!(claude["models"][0]["id"], "claude-opus-4-7");
}

#[test]
fn an_old_name_of_a_model_is_read_as_its_successor() {
    let env = world();
    install(&env, "claude", "exit 1");
    configure(&env, "default.model = \"claude/claude-opus-4-6\"\n");
    for arguments in [&["new", "--draft", "hi"][..], &["new", "--draft", "--model", "anthropic/claude-opus-4-6", "hi"]]
    {
        let session = env.json(arguments);
        assert_eq!((&session["backend"], &session["model"]), (&json!("claude"), &json!("claude-opus-4-7")));
    }
}
