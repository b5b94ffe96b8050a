//! Tables with the exact messages, the rules between the layers, and edits that keep a file's face.

mod edits;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::key::{KEYS, nearest};
use super::resolve::{Backend, CommitMessage, Limits, MergeStyle, Titles, Worktree, default_of};
use super::*;
use crate::permission::{Level, Profile};

fn origin(kind: LayerKind) -> Origin {
    let label = match kind {
        LayerKind::User => "/home/u/config.toml",
        LayerKind::Repository => "/repo/.coppice/config.toml",
        LayerKind::Project => "/data/project.toml",
        LayerKind::Flag => "flags",
    };
    Origin { label: label.into(), kind }
}

#[track_caller]
fn layer(kind: LayerKind, text: &str) -> Layer {
    parse(text, &origin(kind)).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(kind: LayerKind, text: &str, expected: &str) {
    assert_eq!(parse(text, &origin(kind)).unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn the_defaults_are_those_of_the_table() {
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let config = Config::default();
    let settings = config.settings.clone();
    let expected = Config {
        default_model: String::new(),
        default_reasoning: None,
        default_agent: "builder".into(),
        default_posture: None,
        sandbox: confine::Sandbox { level: Level::Workspace, hosts: vec![], caches: vec![], read: vec![] },
        env: project_env::ProjectEnv::default(),
        mcp_servers: BTreeMap::new(),
        delegation: family::Delegation {
            facade: family::Facade::Delegate,
            timeout: hours(4),
            max_block: None,
            max_depth: 1,
            nested_agents: vec!["orchestrator".into()],
            max_children: 8,
            integrate: family::Integrate::Auto,
            background_approvals: family::BackgroundApprovals::Deny,
            ignored: vec![],
            models: family::Models::Inherit,
        },
        workflow: family::Workflow {
            review_mode: family::ReviewMode::Manual,
            review_model: None,
            planner_approval: family::PlannerApproval::Person,
        },
        tools: family::Tools {
            surface: family::Surface::Enforced,
            profile: Profile::Native,
            git_mutations: family::GitMutations::Deny,
            web_search: family::WebSearch::Off,
        },
        limits: Limits {
            parallel_turns: 0,
            turn_timeout: hours(4),
            stall_timeout: minutes(10),
            backend_idle: minutes(5),
        },
        repair: 1,
        merge_style: MergeStyle::Squash,
        commit_message: CommitMessage::Summary,
        titles: Titles::Prompt,
        worktree: Worktree { copy: vec![], link: vec![], setup: None, teardown: None },
        github_api: "https://api.github.com".into(),
        keep_removed: hours(30 * 24),
        idle_exit: minutes(10),
        backends: BTreeMap::new(),
        settings,
        ignored: vec![],
    };
    assert_eq!(config, expected);
    for key in KEYS {
        assert_eq!(default_of(key.name).is_some(), !key.name.contains('*'), "{}", key.name);
    }
    let listed: Vec<_> = config.settings.iter().map(|setting| setting.key.as_str()).collect();
    let table: Vec<_> = KEYS.iter().map(|key| key.name).filter(|name| !name.contains('*')).collect();
    assert_eq!(listed, table);
}

#[test]
fn a_full_file_is_read() {
    let text = r#"
        default.model = "codex/gpt-5"
        default.reasoning = "high"
        limits = { parallel_turns = 3, turn_timeout = "90s" }
        [merge]
        style = "no-ff"
        [worktree]
        copy = [".env", "config/*.local"]
        setup = "npm ci"
        [backends.open-code]
        transport = "acp"
        command = ["opencode", "acp"]
        models = ["a/b"]
        [backends.open-code.env]
        "A.B" = "1"
        [store]
    "#;
    let config = resolve(&[layer(LayerKind::User, text)], Trust::Untrusted);
    assert_eq!(config.default_model, "codex/gpt-5");
    assert_eq!(config.default_reasoning.as_deref(), Some("high"));
    assert_eq!((config.limits.parallel_turns, config.limits.turn_timeout), (3, Duration::from_secs(90)));
    assert_eq!(config.merge_style, MergeStyle::NoFf);
    assert_eq!(config.worktree.copy, [".env", "config/*.local"]);
    assert_eq!(config.worktree.setup.as_deref(), Some("npm ci"));
    let backend = Backend {
        transport: Some("acp".into()),
        command: Some(vec!["opencode".into(), "acp".into()]),
        env: BTreeMap::from([("A.B".into(), "1".into())]),
        models: vec!["a/b".into()],
        paths: vec![],
    };
    assert_eq!(config.backends, BTreeMap::from([("open-code".into(), backend)]));
    assert_eq!(config.ignored, []);
}

#[test]
fn a_broken_file_names_file_line_and_key() {
    let table: &[(&str, &str)] = &[
        ("[limits]\nturn_timeout = 4h", "/home/u/config.toml:2:16: not valid TOML: "),
        ("a = 1\na = 2", "/home/u/config.toml:2:1: not valid TOML: duplicate key"),
        ("[limits", "/home/u/config.toml:1:8: not valid TOML: "),
    ];
    for (text, expected) in table {
        let error = parse(text, &origin(LayerKind::User)).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error}");
    }
    let user = |text, expected: &str| refused(LayerKind::User, text, &format!("/home/u/config.toml:{expected}"));
    user(
        "[limits]\n\nturn_timout = \"4h\"",
        "3: unknown key `limits.turn_timout`, the nearest known key is `limits.turn_timeout`",
    );
    user(
        "[limit]\nturn_timeout = \"4h\"",
        "2: unknown key `limit.turn_timeout`, the nearest known key is `limits.turn_timeout`",
    );
    user("setup = \"x\"", "1: unknown key `setup`, the nearest known key is `worktree.setup`");
    user(
        "\"limits.turn_timeout\" = \"4h\"",
        "1: unknown key `\"limits.turn_timeout\"`, the nearest known key is `limits.turn_timeout`",
    );
    user("foo.bar = 1", "1: unknown key `foo.bar`");
    user("[limit]", "1: unknown key `limit`, the nearest known key is `limits`");
    user("[[limits]]", "1: `limits` must be a table, not a value of type array of tables");
    user("\nlimits = 3", "2: `limits` must be a table, not a value of type integer");
    user(
        "[backends.x]\ncomand = []",
        "2: unknown key `backends.x.comand`, the nearest known key is `backends.x.command`",
    );
    user("[backends.\"X y\"]\n", "1: `X y` is not a backend name: expected a-z, 0-9, `-` and `_`");
    user(
        "limits.turn_timeout = 5",
        "1: `limits.turn_timeout` must be a duration such as `90s`, `10m`, `4h` or `30d`, not 5",
    );
    user(
        "limits.turn_timeout = \"5 min\"",
        "1: `limits.turn_timeout` must be a duration such as `90s`, `10m`, `4h` or `30d`, not `5 min`",
    );
    user("limits.parallel_turns = -1", "1: `limits.parallel_turns` must be a whole number from 0 to 1024, not -1");
    user(
        "response.repair = true",
        "1: `response.repair` must be a whole number from 0 to 3, not a value of type boolean",
    );
    user(
        "default.reasoning = \"max\"",
        "1: `default.reasoning` must be empty or one of `low`, `medium`, `high`, `xhigh`, not `max`",
    );
    user("merge.style = \"fast\"", "1: `merge.style` must be one of `squash`, `no-ff`, `rebase`, not `fast`");
    user("default.model = \"/x\"", "1: `default.model` must be `BACKEND` or `BACKEND/MODEL`, not `/x`");
    user(
        "worktree.copy = [1]",
        "1: `worktree.copy` must be a list of relative paths inside the repository, not this list",
    );
    user(
        "worktree.link = [\"a/../../b\"]",
        "1: `worktree.link` must be a list of relative paths inside the repository, not this list",
    );
    user("worktree.setup = {}", "1: `worktree.setup` must be a string, not this table");
    user(
        "[backends.x]\ncommand = []",
        "2: `backends.x.command` must be a list of strings that begins with a program, not this list",
    );
    user("[backends.x]\ntransport = \"http\"", "2: `backends.x.transport` must be `acp`, not `http`");
    user(
        "[backends.x.env]\nA = 1",
        "1: `backends.x.env` must be a table of environment variables with strings as values, not this table",
    );
}

#[test]
fn the_settings_of_the_faces_are_checked() {
    let user = |text, expected: &str| refused(LayerKind::User, text, &format!("/home/u/config.toml:{expected}"));
    user("theme = \"pink\"", "1: `theme` must be one of `auto`, `dark`, `light`, `plain`, `mono`, not `pink`");
    user("notify.bell = \"loud\"", "1: `notify.bell` must be `true` or `false`, not `loud`");
    user(
        "notify.command = [\"\"]",
        "1: `notify.command` must be a list of strings that begins with a program, or an empty one, not this list",
    );
    let key = "must be a key such as `g`, `ctrl+n`, `alt+enter` or `space`, or a list of keys";
    user("[keys]\nnew = \"ctrl+foo\"", &format!("2: `keys.new` {key}, not `ctrl+foo`"));
    user("[keys]\nnew = [\"n\", \"gg\"]", &format!("2: `keys.new` {key}, not `gg`"));
    user("[keys]\nnew = [1]", &format!("2: `keys.new` {key}, not this list"));
    user("[keys]\nnew = {}", &format!("2: `keys.new` {key}, not this table"));
    user("[keys]\n\"New one\" = \"n\"", "2: `New one` is not an action name: expected a-z, 0-9, `-` and `_`");
    user("[key]\nnew = \"n\"", "2: unknown key `key.new`, the nearest known key is `keys.new`");
}

#[test]
fn keys_are_listed_in_one_spelling_whatever_their_action() {
    let text = "[keys]\nnew = \"Ctrl+N\"\nno-such-action = [\"shift+g\", \"space\"]\nquit = []";
    let config = resolve(&[layer(LayerKind::User, text)], Trust::Untrusted);
    let keys: Vec<_> = config.settings.iter().filter(|setting| setting.key.starts_with("keys.")).collect();
    let shown: Vec<_> = keys.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect();
    assert_eq!(shown, ["keys.new = [\"ctrl+n\"]", "keys.no-such-action = [\"G\", \"space\"]", "keys.quit = []"]);
}

#[test]
fn a_repository_chooses_nothing_for_a_person() {
    for (text, key) in [
        ("theme = \"dark\"", "theme"),
        ("keys.quit = \"y\"", "keys.quit"),
        ("notify.bell = false", "notify.bell"),
        ("notify.command = [\"evil\"]", "notify.command"),
        // Whoever chooses it gets the token.
        ("github.api_url = \"https://evil.example\"", "github.api_url"),
        // The files there can change after consent, and some of them are commands.
        ("backends.claude.env = { CLAUDE_CONFIG_DIR = \"/repo/x\" }", "backends.claude.env.CLAUDE_CONFIG_DIR"),
        ("backends.codex.env = { CODEX_HOME = \"/repo/x\" }", "backends.codex.env.CODEX_HOME"),
    ] {
        let expected = format!(
            "/repo/.coppice/config.toml:1: `{key}` is for each person to choose and cannot be set by a repository"
        );
        refused(LayerKind::Repository, text, &expected);
        for kind in [LayerKind::User, LayerKind::Project] {
            layer(kind, text);
        }
    }
}

#[test]
fn a_machine_setting_has_one_owner() {
    refused(
        LayerKind::Repository,
        "[daemon]\nidle_exit = \"1s\"",
        "/repo/.coppice/config.toml:2: `daemon.idle_exit` holds for the whole machine and cannot be set by a repository",
    );
    refused(
        LayerKind::Project,
        "limits.parallel_turns = 9",
        "/data/project.toml:1: `limits.parallel_turns` holds for the whole machine and cannot be set for a project",
    );
}

#[test]
fn a_higher_layer_wins_and_is_named() {
    let user = layer(LayerKind::User, "default.model = \"codex\"\n[merge]\nstyle = \"rebase\"");
    let repository = layer(LayerKind::Repository, "default.model = \"gemini\"");
    let project = layer(LayerKind::Project, "\ndefault.model = \"demo\"");
    let flags = parse_flags([("--model", "default.model", "claude/opus")]).unwrap();
    let source = |layers: &[&Layer]| {
        let layers: Vec<_> = layers.iter().copied().cloned().collect();
        let config = resolve(&layers, Trust::Untrusted);
        let setting = config.get("default.model").unwrap().unwrap();
        format!("{} from {}", setting.value, setting.source)
    };
    assert_eq!(source(&[]), "\"\" from default");
    assert_eq!(source(&[&user]), "\"codex\" from /home/u/config.toml:1");
    assert_eq!(source(&[&repository, &user]), "\"gemini\" from /repo/.coppice/config.toml:1");
    assert_eq!(source(&[&project, &user, &repository]), "\"demo\" from /data/project.toml:2");
    assert_eq!(source(&[&flags, &project]), "\"claude/opus\" from --model");
}

#[test]
fn options_are_checked_like_files() {
    let error = |flag| parse_flags([flag]).unwrap_err().to_string();
    assert_eq!(
        error(("--model", "default.model", "a b")),
        "--model: `default.model` must be `BACKEND` or `BACKEND/MODEL`, not `a b`"
    );
    assert_eq!(
        error(("--x", "merge.stile", "squash")),
        "--x: unknown key `merge.stile`, the nearest known key is `merge.style`"
    );
    let unknown = Config::default().get("limits.nothing").unwrap_err().to_string();
    assert!(unknown.starts_with("configuration: unknown key `limits.nothing`"), "{unknown}");
}

#[test]
fn an_untrusted_repository_can_only_tighten() {
    let text = "[worktree]\nsetup = \"curl evil\"\n[backends.claude]\ncommand = [\"evil\"]\n\
        [limits]\nturn_timeout = \"1h\"\nstall_timeout = \"1h\"\n[merge]\nstyle = \"rebase\"\n";
    let repository = layer(LayerKind::Repository, text);
    let config = resolve(std::slice::from_ref(&repository), Trust::Untrusted);
    assert_eq!(config.worktree.setup, None);
    assert_eq!(config.backends, BTreeMap::new());
    assert_eq!(config.limits.turn_timeout, Duration::from_secs(3600));
    assert_eq!(config.limits.stall_timeout, Duration::from_secs(600));
    assert_eq!(config.merge_style, MergeStyle::Rebase);
    let ignored: Vec<_> = config.ignored.iter().map(ToString::to_string).collect();
    assert_eq!(
        ignored,
        [
            "/repo/.coppice/config.toml:2: `worktree.setup` is ignored: untrusted",
            "/repo/.coppice/config.toml:4: `backends.claude.command` is ignored: untrusted",
            "/repo/.coppice/config.toml:7: `limits.stall_timeout` is ignored: a repository can only lower it",
        ]
    );

    let config = resolve(&[repository], Trust::Trusted);
    assert_eq!(config.worktree.setup.as_deref(), Some("curl evil"));
    assert_eq!(config.backends["claude"].command.as_deref(), Some(&["evil".to_owned()][..]));
    assert_eq!(config.limits.stall_timeout, Duration::from_secs(600));
    assert_eq!(config.ignored.len(), 1);
}

#[test]
fn a_repository_only_tightens_whose_tools_agents_work_with() {
    let user = layer(LayerKind::User, "tools.profile = \"enforced\"");
    for (word, trust, expected) in [
        ("readonly", Trust::Untrusted, Profile::ReadOnly),
        ("native", Trust::Untrusted, Profile::Enforced),
        ("native", Trust::Trusted, Profile::Native),
    ] {
        let repository = layer(LayerKind::Repository, &format!("tools.profile = \"{word}\""));
        assert_eq!(resolve(&[user.clone(), repository], trust).tools.profile, expected, "{word}");
    }
    let repository = layer(LayerKind::Repository, "tools.git_mutations = \"allow\"");
    let mutations = |trust| resolve(std::slice::from_ref(&repository), trust).tools.git_mutations;
    assert_eq!(mutations(Trust::Untrusted), family::GitMutations::Deny);
    assert_eq!(mutations(Trust::Trusted), family::GitMutations::Allow);
}

#[test]
fn a_repository_spends_money_only_when_it_is_trusted() {
    let repository = layer(LayerKind::Repository, "titles = \"model\"\ncommit.message = \"model\"");
    let asked = |trust| {
        let config = resolve(std::slice::from_ref(&repository), trust);
        (config.titles, config.commit_message)
    };
    assert_eq!(asked(Trust::Untrusted), (Titles::Prompt, CommitMessage::Summary));
    assert_eq!(asked(Trust::Trusted), (Titles::Model, CommitMessage::Model));
    let text = grants(Some(&repository), None, &[]).unwrap();
    assert_eq!(text.as_str(), "commit.message = \"model\"\ntitles = \"model\"\n");
}

#[test]
fn the_user_may_grant_without_trust() {
    let text = "[worktree]\nsetup = \"npm ci\"";
    for kind in [LayerKind::User, LayerKind::Project] {
        let config = resolve(&[layer(kind, text)], Trust::Untrusted);
        assert_eq!(config.worktree.setup.as_deref(), Some("npm ci"));
    }
}

#[test]
fn grants_read_the_same_however_they_are_spelled() {
    let one = layer(
        LayerKind::Repository,
        "# why\n[worktree]\nsetup = 'npm ci'\ncopy = [\n  \"a\", # x\n]\n[merge]\nstyle = \"rebase\"\n[backends.x]\nenv = { B = \"2\", A = \"1\" }\n",
    );
    let other = layer(
        LayerKind::Repository,
        "backends.x.env.A = \"1\"\nbackends.x.env.B = \"2\"\nworktree = { copy = ['a'], setup = \"npm ci\" }",
    );
    let expected =
        "backends.x.env = { \"A\" = \"1\", \"B\" = \"2\" }\nworktree.copy = [\"a\"]\nworktree.setup = \"npm ci\"\n";
    assert_eq!(grants(Some(&one), None, &[]).unwrap().as_str(), expected);
    assert_eq!(grants(Some(&one), None, &[]), grants(Some(&other), Some("# only a comment\n\n"), &[]));
    assert_eq!(grants(Some(&layer(LayerKind::Repository, "merge.style = \"rebase\"")), None, &[]), None);
    assert_eq!(grants(None, None, &[]), None);
    assert_eq!(
        grants(None, Some("# x\n.env\n!/b\n"), &[]).unwrap().to_string(),
        ".worktreeinclude: \".env\"\n.worktreeinclude: \"!/b\"\n"
    );
}

#[test]
fn a_grant_cannot_be_forged_by_a_value() {
    let forged = layer(LayerKind::Repository, r#"worktree.setup = "x\nworktree.teardown = \"y\"""#);
    assert_eq!(
        grants(Some(&forged), Some("a\u{202e}b\u{1b}\n"), &[]).unwrap().as_str(),
        "worktree.setup = \"x\\nworktree.teardown = \\\"y\\\"\"\n.worktreeinclude: \"a\\u202Eb\\u001B\"\n"
    );
}

#[test]
fn durations_have_a_number_and_a_unit() {
    let table: &[(&str, Option<u64>, &str)] = &[
        ("1s", Some(1), "1s"),
        ("90s", Some(90), "90s"),
        ("60m", Some(3600), "1h"),
        ("4h", Some(14_400), "4h"),
        ("30d", Some(2_592_000), "30d"),
        ("0s", None, ""),
        ("s", None, ""),
        ("", None, ""),
        ("4", None, ""),
        ("+4h", None, ""),
        ("1h30m", None, ""),
        ("1.5h", None, ""),
        ("4H", None, ""),
        ("99999999999999999999d", None, ""),
        ("999999d", None, ""),
    ];
    for (text, seconds, again) in table {
        let parsed = value::parse_duration(text);
        assert_eq!(parsed, seconds.map(Duration::from_secs), "{text}");
        assert_eq!(parsed.map(value::format_duration).unwrap_or_default(), *again, "{text}");
    }
}

#[test]
fn the_nearest_key_is_the_one_meant() {
    for (typed, meant) in [
        ("limits.paralel_turns", "limits.parallel_turns"),
        ("timeout", "delegation.timeout"),
        ("worktree.cp", "worktree.copy"),
        ("default.modle", "default.model"),
        ("backend.mine.command", "backends.mine.command"),
        ("daemon.exit", "daemon.idle_exit"),
        ("kyes.new", "keys.new"),
        ("key", "keys"),
        ("themes", "theme"),
    ] {
        assert_eq!(nearest(typed).as_deref(), Some(meant));
    }
    assert_eq!(nearest("foo.bar"), None);
}

#[test]
fn the_committed_schema_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/config.schema.json");
    let fresh = format!("{}\n", serde_json::to_string_pretty(&schema::schema()).unwrap());
    if std::env::var_os("COPPICE_BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, fresh, "run `COPPICE_BLESS=1 cargo test --lib` and commit schemas/");
}

#[test]
fn the_schema_takes_what_the_parser_takes() {
    let schema = schema::schema();
    let good = serde_json::json!({
        "default": { "model": "codex/gpt-5" },
        "limits": { "turn_timeout": "10m", "parallel_turns": 2 },
        "theme": "plain",
        "keys": { "new": "ctrl+n", "quit": ["q", "ctrl+q"] },
        "notify": { "bell": false, "command": [] },
        "backends": { "x": { "transport": "acp", "command": ["x"], "env": { "A": "1" }, "models": [] } },
    });
    assert!(jsonschema::is_valid(&schema, &good));
    for bad in [
        serde_json::json!({ "limit": {} }),
        serde_json::json!({ "limits": { "turn_timeout": "0s" } }),
        serde_json::json!({ "merge": { "style": "fast" } }),
        serde_json::json!({ "keys": { "new": 1 } }),
        serde_json::json!({ "backends": { "X y": {} } }),
    ] {
        assert!(!jsonschema::is_valid(&schema, &bad), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        parse(&text, &origin(LayerKind::User)).ok();
    }

    #[test]
    fn no_nearly_right_text_makes_it_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "[", "]", "[[", "limits", "backends", ".", "x", "env", "turn_timeout", "worktree", "copy", " = ", "\"", "4h",
            "{", "}", "\n", ",", "0", "é", "default.model", "#",
        ]), 0..20),
    ) {
        parse(&pieces.concat(), &origin(LayerKind::Repository)).ok();
    }
}

#[test]
fn a_repository_is_stricter_by_itself_and_wider_only_when_it_is_trusted() {
    let user = |text: &str| layer(LayerKind::User, text);
    let repository = |text: &str| layer(LayerKind::Repository, text);
    for (below, above, untrusted, trusted) in [
        ("sandbox.level = \"workspace\"", "sandbox.level = \"restricted\"", "restricted", "restricted"),
        ("sandbox.level = \"workspace\"", "sandbox.level = \"off\"", "workspace", "off"),
        ("default.posture = \"attended\"", "default.posture = \"plan\"", "plan", "plan"),
        ("default.posture = \"attended\"", "default.posture = \"unattended\"", "attended", "unattended"),
        ("", "default.posture = \"edits\"", "edits", "edits"),
    ] {
        let key = above.split(" =").next().unwrap();
        for (trust, expected) in [(Trust::Untrusted, untrusted), (Trust::Trusted, trusted)] {
            let config = resolve(&[user(below), repository(above)], trust);
            assert_eq!(config.get(key).unwrap().unwrap().value, Value::Text(expected.into()), "{above} {trust:?}");
        }
    }
}

#[test]
fn what_can_only_tighten_needs_no_trust() {
    let grants_of =
        |text: &str| grants(Some(&layer(LayerKind::Repository, text)), None, &[]).map(|text| text.to_string());
    assert_eq!(grants_of("sandbox.level = \"restricted\"\ndefault.posture = \"plan\""), None);
    assert_eq!(grants_of("sandbox.level = \"off\"").as_deref(), Some("sandbox.level = \"off\"\n"));
    assert_eq!(grants_of("default.posture = \"edits\"").as_deref(), Some("default.posture = \"edits\"\n"));
    let rules = ["Bash(make *)".to_owned()];
    assert_eq!(grants(None, None, &rules).unwrap().as_str(), "allow: \"Bash(make *)\"\n");
}

#[test]
fn an_external_server_is_read_with_its_trust() {
    let text = "[mcp.servers.db]\ncommand = [\"db-mcp\", \"--ro\"]\nenv = { A = \"1\" }\ntrust = true";
    let config = resolve(&[layer(LayerKind::User, text)], Trust::Untrusted);
    let server = &config.mcp_servers["db"];
    assert_eq!((server.command.join(" "), server.hints), ("db-mcp --ro".into(), confine::Hints::Believed));
    let untrusted = resolve(&[layer(LayerKind::Repository, text)], Trust::Untrusted);
    assert!(untrusted.mcp_servers.is_empty());
}
