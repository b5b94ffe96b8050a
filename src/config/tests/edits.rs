//! `set_key` and `unset_key`: one key changes, everything else stays byte for byte, and the value reads back.

use proptest::prelude::*;

use super::super::{LayerKind, parse, set_key, unset_key};
use super::origin;

const FILE: &str = "\
# My settings.

[limits]            # how much
stall_timeout = \"5m\"   # short
turn_timeout = '1h'

[backends.x]
command = [\"x\"]

[backends.x.env]
A = \"1\"

# The end.
";

#[track_caller]
fn check(text: &str, key: &str, typed: &str, expected: &str) {
    let edited = set_key(text, &origin(LayerKind::User), key, typed).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(edited, expected);
}

#[test]
fn a_value_changes_in_its_place() {
    check(FILE, "limits.stall_timeout", "120s", &FILE.replace("\"5m\"", "\"2m\""));
    check(FILE, "limits.turn_timeout", "2h", &FILE.replace("'1h'", "\"2h\""));
    check(FILE, "backends.x.command", r#"["y", "--acp"]"#, &FILE.replace("[\"x\"]", "[\"y\", \"--acp\"]"));
}

#[test]
fn a_missing_key_joins_its_section() {
    let expected = FILE.replace("turn_timeout = '1h'\n", "turn_timeout = '1h'\nparallel_turns = 3\n");
    check(FILE, "limits.parallel_turns", "3", &expected);
    check(
        "limits.turn_timeout = \"1h\"\n",
        "limits.parallel_turns",
        "3",
        "limits.turn_timeout = \"1h\"\nlimits.parallel_turns = 3\n",
    );
    check(
        "limits = { turn_timeout = \"1h\" }\n",
        "limits.parallel_turns",
        "3",
        "limits = { turn_timeout = \"1h\", parallel_turns = 3 }\n",
    );
}

#[test]
fn a_missing_section_is_made() {
    check("", "merge.style", "rebase", "[merge]\nstyle = \"rebase\"\n");
    check(
        "[limits]\nturn_timeout = \"1h\"\n",
        "merge.style",
        "rebase",
        "[limits]\nturn_timeout = \"1h\"\n\n[merge]\nstyle = \"rebase\"\n",
    );
    check("", "backends.my-agent.command", "my-agent", "[backends.my-agent]\ncommand = [\"my-agent\"]\n");
}

#[test]
fn a_table_of_variables_is_replaced() {
    let edited = set_key(FILE, &origin(LayerKind::User), "backends.x.env", r#"{ B = "2" }"#).unwrap();
    let layer = parse(&edited, &origin(LayerKind::User)).unwrap();
    assert_eq!(layer.get("backends.x.env").unwrap().to_string(), r#"{ "B" = "2" }"#);
    assert!(edited.contains("command = [\"x\"]") && edited.contains("# The end."), "{edited}");
}

#[test]
fn a_removed_key_leaves_the_rest_byte_for_byte() {
    let without = |text: &str, key| unset_key(text, &origin(LayerKind::User), key).unwrap();
    assert_eq!(without(FILE, "limits.stall_timeout"), FILE.replace("stall_timeout = \"5m\"   # short\n", ""));
    assert_eq!(without(FILE, "merge.style"), FILE);
    let short = without(&without(FILE, "limits.stall_timeout"), "limits.turn_timeout");
    // The header stays for what is said about it.
    assert!(short.starts_with("# My settings.\n\n[limits]            # how much\n\n[backends.x]"), "{short}");
    for (text, key, expected) in [
        ("[merge]\nstyle = \"rebase\"\n", "merge.style", ""),
        ("[merge]\n# why\nstyle = \"rebase\"\n", "merge.style", "# why\n"),
        ("# All.\n\ntitles = \"model\"\ntheme = \"dark\"\n", "titles", "# All.\n\ntheme = \"dark\"\n"),
        ("theme = \"dark\"", "theme", ""),
        ("keys.new = [\n  \"n\", # one\n  \"ctrl+n\",\n]\nkeys.quit = \"q\"\n", "keys.new", "keys.quit = \"q\"\n"),
        ("limits.turn_timeout = \"1h\"\n", "limits.turn_timeout", ""),
        (
            "limits = { turn_timeout = \"1h\", parallel_turns = 3 }\n",
            "limits.turn_timeout",
            "limits = { parallel_turns = 3 }\n",
        ),
        (
            "[backends.x]\ncommand = [\"x\"]\n\n[backends.x.env]\nA = \"1\"\n",
            "backends.x.env",
            "[backends.x]\ncommand = [\"x\"]\n",
        ),
        ("[backends.x]\ncommand = [\"x\"]\n", "backends.x.command", ""),
    ] {
        assert_eq!(without(text, key), expected, "{text}");
    }
}

#[test]
fn a_bad_removal_changes_nothing() {
    let error = |text, key| unset_key(text, &origin(LayerKind::Project), key).unwrap_err().to_string();
    assert_eq!(
        error("", "merge.stile"),
        "/data/project.toml: unknown key `merge.stile`, the nearest known key is `merge.style`"
    );
    assert_eq!(
        error("", "daemon.idle_exit"),
        "/data/project.toml: `daemon.idle_exit` holds for the whole machine and cannot be set for a project"
    );
    assert_eq!(
        error("\n[merge]\nstyle = 1", "limits.turn_timeout"),
        "/data/project.toml:3: `merge.style` must be one of `squash`, `no-ff`, `rebase`, not 1"
    );
}

#[test]
fn a_bad_edit_changes_nothing() {
    let error = |text, key, typed| set_key(text, &origin(LayerKind::Project), key, typed).unwrap_err().to_string();
    assert_eq!(
        error("", "limits.turn_timout", "1h"),
        "/data/project.toml: unknown key `limits.turn_timout`, the nearest known key is `limits.turn_timeout`"
    );
    assert_eq!(
        error("", "merge.style", "fast"),
        "/data/project.toml: `merge.style` must be one of `squash`, `no-ff`, `rebase`, not `fast`"
    );
    assert_eq!(
        error("", "response.repair", "many"),
        "/data/project.toml: `response.repair` must be a whole number from 0 to 3, not `many`"
    );
    assert_eq!(
        error("", "daemon.idle_exit", "1h"),
        "/data/project.toml: `daemon.idle_exit` holds for the whole machine and cannot be set for a project"
    );
    assert_eq!(
        error("\n[merge]\nstyle = 1", "limits.turn_timeout", "1h"),
        "/data/project.toml:3: `merge.style` must be one of `squash`, `no-ff`, `rebase`, not 1"
    );
}

fn key_and_value() -> impl Strategy<Value = (&'static str, String)> {
    let text = "[^\0]{0,20}".prop_filter("lists are typed in brackets", |text| !text.trim_start().starts_with('['));
    prop_oneof![
        (0u32..1000).prop_map(|number| ("limits.parallel_turns", number.to_string())),
        (1u32..500, prop::sample::select(vec!["s", "m", "h", "d"]))
            .prop_map(|(number, unit)| ("limits.turn_timeout", format!("{number}{unit}"))),
        text.prop_map(|text| ("worktree.setup", text)),
        "(ctrl\\+)?[a-z\\[\"'#]".prop_map(|key| ("keys.new", key)),
        "[a-z]{1,8}(/[a-z0-9.:-]{1,8})?".prop_map(|model| ("default.model", model)),
        "[a-z\"'\\\\ #é]{0,12}x".prop_map(|item| ("backends.x.command", item)),
        "[a-z\"'\\\\ #é]{1,12}x".prop_map(|item| ("backends.y.models", item)),
    ]
}

proptest! {
    #[test]
    fn what_is_set_can_be_read(
        (key, typed) in key_and_value(),
        file in prop::sample::select(vec!["", FILE, "limits = {}\nbackends = {}", "backends.x.env = {}\nlimits.turn_timeout = '1h' # c", "# only a comment"]),
    ) {
        let origin = origin(LayerKind::User);
        let edited = set_key(file, &origin, key, &typed).unwrap();
        let before = parse(file, &origin).unwrap();
        let after = parse(&edited, &origin).unwrap();
        let expected = super::super::parse_flags([("flag", key, typed.as_str())]).unwrap();
        prop_assert_eq!(after.get(key), expected.get(key));
        for entry in before.entries.iter().filter(|entry| entry.path != key) {
            prop_assert_eq!(after.get(&entry.path), Some(&entry.value));
        }
        prop_assert_eq!(&set_key(&edited, &origin, key, &typed).unwrap(), &edited);

        let removed = unset_key(&edited, &origin, key).unwrap();
        let after = parse(&removed, &origin).unwrap();
        prop_assert_eq!(after.get(key), None);
        for entry in before.entries.iter().filter(|entry| entry.path != key) {
            prop_assert_eq!(after.get(&entry.path), Some(&entry.value));
        }
        prop_assert_eq!(unset_key(&removed, &origin, key).unwrap(), removed);
    }
}
