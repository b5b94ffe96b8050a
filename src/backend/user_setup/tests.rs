//! What is found in the files of each program.

use serde_json::json;

use super::*;
use crate::backend::registry;

/// A home with these files.
fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    home
}

fn read(home: &Path, backend: &str, directories: &[&str]) -> UserSetup {
    let registry = registry::Registry::new(Path::new("/coppice"), Vec::new());
    let env = [("HOME".to_owned(), home.to_str().unwrap().to_owned())];
    let directories: Vec<_> = directories.iter().map(|&directory| directory.to_owned()).collect();
    read_user_setup(registry.get(backend).unwrap(), &env, &directories)
}

fn names(setup: &UserSetup) -> Vec<(&str, ServerConnection)> {
    setup.servers.iter().map(|server| (server.name.as_str(), server.connection.clone())).collect()
}

fn stdio(command: &[&str], env: &[(&str, &str)]) -> ServerConnection {
    ServerConnection::Stdio {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        env: env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        unresolved: Vec::new(),
        reference: None,
        directory: None,
    }
}

#[test]
fn servers_of_the_repository_hide_those_for_all_and_others_are_not_seen() {
    let main = json!({"numStartups": 7,
        "mcpServers": {
            "db": {"type": "stdio", "command": "db-mcp", "args": ["--all"], "env": {"PORT": 1}},
            "docs": {"type": "http", "url": "https://docs.example.org/mcp"}},
        "projects": {
            "/src/shop": {"mcpServers": {"db": {"command": "db-mcp", "args": ["--shop"]}}},
            "/src/other": {"mcpServers": {"hidden": {"command": "x"}}}}});
    let home = home(&[(".claude.json", &main.to_string())]);
    let docs = || ServerConnection::Remote { url: "https://docs.example.org/mcp".to_owned() };
    let all = read(home.path(), "claude", &[]);
    assert_eq!(names(&all), [("db", stdio(&["db-mcp", "--all"], &[("PORT", "1")])), ("docs", docs())]);
    let shop = read(home.path(), "claude", &["/src/shop/sub", "/src/shop"]);
    assert_eq!(names(&shop), [("db", stdio(&["db-mcp", "--shop"], &[])), ("docs", docs())]);
    assert_eq!(shop.servers[0].file, home.path().join(".claude.json"));
}

#[test]
fn servers_of_each_program_are_read_in_its_own_spelling() {
    let codex = "model = \"x\"\n[mcp_servers.db]\ncommand = \"db-mcp\"\nargs = [\"-v\"]\nenv_vars = [\"TOKEN\"]\n\
                 env = { A = \"$B\" }\nenabled = false\n[mcp_servers.docs]\nurl = \"https://h\"\n";
    let gemini = "{ // mine\n\"mcpServers\": {\"docs\": {\"httpUrl\": \"https://h\"}, \"odd\": {}, \
                  \"db\": {\"command\": \"db\", \"args\": [\"$ROOT/x\"], \"env\": {\"T\": \"$T\"}, \"cwd\": \"/srv\"}}}";
    let home = home(&[(".codex/config.toml", codex), (".gemini/settings.json", gemini)]);
    let remote = || ServerConnection::Remote { url: "https://h".to_owned() };
    let pair = |name: &str, reference: &str| (name.to_owned(), reference.to_owned());
    let found = read(home.path(), "codex", &[]);
    let ServerConnection::Stdio { command, env, unresolved, .. } = &found.servers[0].connection else { panic!() };
    assert_eq!((command.join(" ").as_str(), unresolved), ("db-mcp -v", &vec![pair("TOKEN", "${TOKEN}")]));
    assert_eq!(env.get("A").map(String::as_str), Some("$B"), "it replaces nothing");
    assert_eq!(
        found.servers.iter().map(|server| server.switch).collect::<Vec<_>>(),
        [ServerSwitch::Off, ServerSwitch::On]
    );
    let found = read(home.path(), "gemini", &[]);
    assert_eq!(names(&found)[..2], [("docs", remote()), ("odd", ServerConnection::Missing)]);
    let expected = ServerConnection::Stdio {
        command: vec!["db".to_owned(), "$ROOT/x".to_owned()],
        env: BTreeMap::new(),
        unresolved: vec![pair("T", "${T}")],
        reference: Some("${ROOT}".to_owned()),
        directory: Some("/srv".to_owned()),
    };
    assert_eq!(found.servers[2].connection, expected);
}

#[test]
fn references_are_found_as_each_program_writes_them() {
    use ReferenceSyntax::{Bare, Braces, None as Nothing};
    for (text, syntax, expected) in [
        ("${TOKEN}", Braces, Some("${TOKEN}")),
        ("Bearer ${TOKEN:-s3cret}", Braces, Some("${TOKEN}")),
        ("$TOKEN", Braces, None),
        ("a $TOKEN/b", Bare, Some("${TOKEN}")),
        ("${TOKEN}", Bare, Some("${TOKEN}")),
        ("${TOKEN}", Nothing, None),
        ("costs $5, ${} and $", Bare, None),
        ("pa$$word ${", Braces, None),
    ] {
        assert_eq!(find_reference(text, syntax).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_broken_file_is_named_with_its_place_and_a_missing_one_is_not() {
    let files = [
        (".claude.json", "{\n  \"mcpServers\": {\"a\": {\"command\" \"x\"}}\n}"),
        (".codex/config.toml", "model = 1\n[mcp_servers\n"),
        (".gemini/settings.json", "{}"),
    ];
    let broken_home = home(&files);
    let broken = |backend| {
        let setup = read(broken_home.path(), backend, &[]);
        assert_eq!(setup.servers, []);
        setup.broken.join("\n").replace(broken_home.path().to_str().unwrap(), "~")
    };
    let [claude, codex, gemini] = ["claude", "codex", "gemini"].map(broken);
    assert!(claude.starts_with("~/.claude.json:2:"), "{claude}");
    assert!(codex.starts_with("~/.codex/config.toml:2:"), "{codex}");
    assert_eq!(gemini, "");
    let empty = home(&[]);
    for backend in ["claude", "codex", "gemini"] {
        assert_eq!(read(empty.path(), backend, &[]), UserSetup::default());
    }
}

#[test]
fn instructions_that_cannot_be_read_are_named() {
    // Nothing but a directory cannot be read by the administrator either.
    let home = home(&[(".claude/CLAUDE.md/x", ""), (".codex/AGENTS.md", "fine"), (".gemini/GEMINI.md/x", "")]);
    let broken = ["claude", "codex", "gemini"].map(|backend| read(home.path(), backend, &[]).broken.join(" "));
    let said = |name: &str| format!("{}: it is not a regular file", home.path().join(name).display());
    assert_eq!(broken, [said(".claude/CLAUDE.md"), String::new(), said(".gemini/GEMINI.md")]);
}

#[test]
fn only_what_is_there_is_said_to_be_left_out() {
    let full = home(&[
        (
            ".claude/settings.json",
            r#"{"hooks": {"Stop": [{"hooks": []}]}, "enabledPlugins": {"a@b": true, "c@d": false}, "outputStyle": "terse",
                "permissions": {"allow": ["Bash(ls)"]}, "model": "opus", "awsAuthRefresh": "aws sso login",
                "awsCredentialExport": "creds", "forceLoginMethod": "console"}"#,
        ),
        (".claude/CLAUDE.md", "see @long.md"),
        (".claude/long.md", &"long ".repeat(16 * 1024)),
        (".gemini/GEMINI.md", &"long ".repeat(16 * 1024)),
        (
            ".codex/config.toml",
            "notify = [\"say\"]\n[[hooks.Stop]]\ncommand = \"x\"\n[plugins.\"a@b\"]\nenabled = true\n",
        ),
        (".codex/hooks.json", "{}"),
        (".codex/skills/.system/a/SKILL.md", "its own"),
        (".gemini/settings.json", r#"{"hooks": {"AfterTool": [{}]}}"#),
        (".gemini/extensions/x/gemini-extension.json", "{}"),
    ]);
    let left_out = |home: &Path, backend: &str| {
        let setup = read(home, backend, &[]);
        let part = |part: &UnusedPart| format!("{} {}", part.what, part.place.strip_prefix(home).unwrap().display());
        (setup.unused.iter().map(part).collect::<Vec<_>>().join(", "), setup.rule_file.is_some())
    };
    let all = |home: &Path| {
        let rows = ["claude", "codex", "gemini"].map(|backend| format!("{backend}: {:?}", left_out(home, backend)));
        rows.join("\n")
    };
    insta::assert_snapshot!(all(full.path()), @r#"
    claude: ("hooks .claude/settings.json, plugins .claude/settings.json, output style .claude/settings.json, awsAuthRefresh .claude/settings.json, forceLoginMethod .claude/settings.json, the rest .claude/CLAUDE.md", true)
    codex: ("hooks .codex/hooks.json, hooks .codex/config.toml, notify .codex/config.toml, plugins .codex/config.toml", false)
    gemini: ("the rest .gemini/GEMINI.md, hooks .gemini/settings.json, extensions .gemini/extensions", false)
    "#);
    let plain = home(&[
        (
            ".claude/settings.json",
            r#"{"hooks": {"Stop": []}, "enabledPlugins": {"a@b": false}, "outputStyle": "default",
            "permissions": {"allow": [], "deny": ["Bash(rm:*)"]}}"#,
        ),
        (".codex/config.toml", "notify = []\n[plugins.\"a@b\"]\nenabled = false\n"),
        (".gemini/settings.json", "{}"),
    ]);
    for backend in ["claude", "codex", "gemini"] {
        assert_eq!(left_out(plain.path(), backend), (String::new(), false), "{backend}");
    }
}
