//! Files of rules, good and bad, and what is added to them.

use proptest::prelude::*;

use super::*;

const NAME: &str = ".coppice/permissions.json";

fn read(text: &str) -> Result<RuleFile, String> {
    rule_file(NAME, text, "/home/me").map_err(|error| error.to_string())
}

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

#[test]
fn a_file_has_three_lists() {
    let text = r#"{"permissions":{"allow":["Bash(go test *)","Edit(internal/**)"],"ask":["Github(create_pr)"],
        "deny":["Edit(/etc/**)","MCP(*/delete_*)"]}}"#;
    let expected = RuleFile {
        name: NAME.to_owned(),
        allow: vec![rule("Bash(go test *)"), rule("Edit(internal/**)")],
        ask: vec![rule("Github(create_pr)")],
        deny: vec![rule("Edit(/etc/**)"), rule("MCP(*/delete_*)")],
    };
    assert_eq!(grants(&expected.allow), ["Bash(go test *)", "Edit(internal/**)"]);
    assert_eq!(read(text), Ok(expected));
    for empty in ["", " \n", "{}", r#"{"permissions":{}}"#] {
        assert_eq!(read(empty), Ok(RuleFile { name: NAME.to_owned(), ..RuleFile::default() }), "{empty}");
    }
}

#[test]
fn an_error_names_the_file_the_line_and_the_rule() {
    for (text, expected) in [
        ("{\n\"permissions\":{\n\"allow\":[\"x\",\n\"Bash\"]}}", ":3: invalid rule \"x\" (want \"Tool(pattern)\")"),
        ("{\"permissions\":{\"deny\":[\n\n\"Bash\"]}}", ":3: invalid rule \"Bash\" (want \"Tool(pattern)\")"),
        ("{\n\"permissions\":{\"denied\":[]}}", ":2: unknown key `denied`, known are `allow`, `ask`, `deny`"),
        ("{\"permission\":{}}", ":1: unknown key `permission`, known are `permissions`"),
        ("[]", ":1: expected an object with `permissions`"),
        ("{\"permissions\":[]}", ":1: expected an object with `allow`, `ask` and `deny`"),
        ("{\"permissions\":{\"deny\":\"Bash(x)\"}}", ":1: expected a list of rules"),
        ("{\"permissions\":{\"deny\":[\n1]}}", ":2: expected a rule such as \"Bash(go test *)\""),
        ("{\n\n\"permissions\":", ":3: expected value after colon in object property"),
        ("{\n// no\n}", ":2: comments are not allowed"),
    ] {
        assert_eq!(read(text), Err(format!("{NAME}{expected}")), "{text}");
    }
}

#[test]
fn a_map_keeps_its_order_and_may_have_comments() {
    let text = r#"{
        // The last match decides.
        "*": "ask",
        "read_file": { "*.env": "deny", /* but */ "*.env.example": "allow", "~/.ssh/*": "deny", },
        "bash": "allow",
    }"#;
    let map = map("permissions.jsonc", text, "/home/me").unwrap();
    let rules: Vec<_> = map.rules.iter().map(|rule| (rule.tool.as_str(), rule.pattern.as_str(), rule.action)).collect();
    assert_eq!(
        rules,
        [
            ("*", "*", Action::Ask),
            ("read_file", "*.env", Action::Deny),
            ("read_file", "*.env.example", Action::Allow),
            ("read_file", "/home/me/.ssh/*", Action::Deny),
            ("bash", "*", Action::Allow),
        ]
    );
    assert_eq!(map.evaluate("read", Some(".env")), Some(Action::Deny));
    assert_eq!(map.evaluate("read", Some(".env.example")), Some(Action::Allow));
}

#[test]
fn a_map_that_means_nothing_is_an_error() {
    for (text, expected) in [
        ("{\n\"bash\": \"maybe\"}", ":2: invalid permission for tool \"bash\": expected allow, deny or ask"),
        ("{\"bash\": {\n\"x\": 1}}", ":2: invalid permission for tool \"bash\": expected allow, deny or ask"),
        ("\"allow\"", ":1: expected an object of tools"),
        ("{\"bash\" \"allow\"}", ":1: expected colon after the string or word in object property"),
    ] {
        let error = map("permissions.jsonc", text, "/home/me").unwrap_err();
        assert_eq!(error.to_string(), format!("permissions.jsonc{expected}"), "{text}");
    }
    assert_eq!(map("permissions.jsonc", "// nothing\n", "").unwrap(), CompactPermission::default());
}

#[test]
fn the_seed_keeps_secrets_and_decides_nothing_else() {
    let map = map("permissions.jsonc", SEED, "/home/me").unwrap();
    for (tool, target, expected) in [
        ("read", "a/.env", Some(Action::Deny)),
        ("read", ".env.production", Some(Action::Deny)),
        ("read", ".env.example", Some(Action::Allow)),
        ("read", "aws-credentials.json", Some(Action::Deny)),
        ("Edit", ".env", Some(Action::Deny)),
        ("apply_patch", ".env", Some(Action::Deny)),
        ("write", "src/a.rs", None),
        ("read", "src/a.rs", None),
        ("bash", "ls", None),
        ("mcp:db:drop", "*", None),
    ] {
        assert_eq!(map.evaluate(tool, Some(target)), expected, "{tool} {target}");
    }
}

#[test]
fn a_rule_is_added_once_and_the_rest_stays() {
    let add = |text: &str, list, text_of_rule: &str| with_rule(NAME, text, list, &rule(text_of_rule)).unwrap();
    let first = add("", List::Allow, "Bash(git push *)");
    assert_eq!(first, "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(git push *)\"\n    ]\n  }\n}\n");
    assert_eq!(add(&first, List::Allow, "Bash(git push *)"), first);
    assert_eq!(add(&first, List::Allow, " Bash (git push *) "), first);
    let both = add(&first, List::Deny, "Edit(b/**)");
    let file = read(&both).unwrap();
    assert_eq!((file.allow, file.deny), (vec![rule("Bash(git push *)")], vec![rule("Edit(b/**)")]));
    let broken = with_rule(NAME, "{\"permissions\":{\"allow\":[\"x\"]}}", List::Deny, &rule("Bash(rm *)"));
    assert_eq!(broken.unwrap_err().to_string(), format!("{NAME}:1: invalid rule \"x\" (want \"Tool(pattern)\")"));
}

proptest! {
    #[test]
    fn what_is_added_is_there_and_nothing_is_lost(patterns in prop::collection::vec("[ -~]{0,10}", 0..6)) {
        let mut text = String::new();
        for (at, pattern) in patterns.iter().enumerate() {
            let list = [List::Allow, List::Ask, List::Deny][at % 3];
            text = with_rule(NAME, &text, list, &Rule::new("Bash", pattern).unwrap()).unwrap();
        }
        let file = read(&text).unwrap();
        for (at, pattern) in patterns.iter().enumerate() {
            let rules = [&file.allow, &file.ask, &file.deny][at % 3];
            prop_assert_eq!(rules.iter().filter(|rule| rule.pattern() == pattern).count(), 1);
        }
    }

    #[test]
    fn any_text_is_rules_or_an_error(text in "[{}\\[\\]\":,a-z() \n]{0,60}") {
        rule_file(NAME, &text, "").ok();
        map(NAME, &text, "").ok();
    }
}
