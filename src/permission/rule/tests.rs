//! What rules look like, which tools they are about, and what their patterns mean.

use proptest::prelude::*;

use super::*;

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

fn inside(path: &str) -> Spot {
    Spot { absolute: format!("/data/tree/{path}"), inside: Some(path.to_owned()) }
}

fn outside(path: &str) -> Spot {
    Spot { absolute: path.to_owned(), inside: None }
}

#[test]
fn rules_are_read_and_spelled() {
    for (text, subject, pattern) in [
        ("Bash(go test *)", "Bash", "go test *"),
        ("  Edit (internal/**) ", "Edit", "internal/**"),
        ("Bash(echo (a) b)", "Bash", "echo (a) b"),
        ("MCP(*/delete_*)", "MCP", "*/delete_*"),
        ("Bash()", "Bash", ""),
        ("Bash( a )", "Bash", " a "),
        ("git_push(*)", "git_push", "*"),
    ] {
        let rule = rule(text);
        assert_eq!((rule.subject(), rule.pattern()), (subject, pattern), "{text}");
        assert_eq!(rule.to_string(), format!("{subject}({pattern})"));
    }
    for text in ["", "Bash", "Bash(", "(x)", "1Bash(x)", "Ba sh(x)", "Bash(x) y", "Bash(a\nb)", "Bäsh(x)"] {
        let error = text.parse::<Rule>().unwrap_err();
        assert_eq!(error.to_string(), format!("invalid rule \"{text}\" (want \"Tool(pattern)\")"));
    }
}

#[test]
fn a_rule_that_could_never_match_is_none() {
    let error = "Bsah(rm *)".parse::<Rule>().unwrap_err().to_string();
    assert!(error.starts_with("rule \"Bsah(rm *)\" is about no known tool; known are `Read`, `Write`, "), "{error}");
    let error = "Edit(src/[a)".parse::<Rule>().unwrap_err();
    assert_eq!(error.to_string(), "rule \"Edit(src/[a)\" has an invalid pattern");
}

#[test]
fn a_prefix_is_about_its_tools() {
    for (text, about, not) in [
        ("Edit(*)", &["edit", "patch", "rename_symbol", "code_action"][..], &["write", "read"][..]),
        ("Write(*)", &["write"], &["edit", "patch"]),
        ("Read(*)", &["read"], &["search", "list"]),
        ("Github(*)", &["gh_pr_create", "gh_issue_list"], &["git"]),
        ("MCP(*)", &["mcp:db:drop"], &["read", "bash"]),
        ("apply_patch(*)", &["patch"], &["edit"]),
        ("skill(*)", &["skill"], &["bash"]),
    ] {
        assert!(about.iter().all(|tool| rule(text).is_about_name(ToolName::read(tool))), "{text}");
        assert!(!not.iter().any(|tool| rule(text).is_about_name(ToolName::read(tool))), "{text}");
    }
}

#[test]
fn stars_of_paths_stay_in_a_directory_unless_there_are_two() {
    for (pattern, path, expected) in [
        ("src/*", "src/a.rs", true),
        ("src/*", "src/a/b.rs", false),
        ("src/**", "src/a/b.rs", true),
        ("src/**", "src", true),
        ("src/**", "srcs/a", false),
        ("src/**/*.rs", "src/a.rs", true),
        ("src/**/*.rs", "src/a/b/c.rs", true),
        ("**/*.pem", "x.pem", true),
        ("**/x", "a/b/x", true),
        ("**", "a/.b/c", true),
        ("*", ".env", true),
        ("./a/?.rs", "a/b.rs", true),
        ("a/{b,c}/d", "a/c/d", true),
        ("a/[bc]", "a/c", true),
        ("a\\*", "a*", true),
        ("a\\*", "ab", false),
        ("/data/tree/src/**", "src/a", true),
        ("/etc/**", "src/a", false),
    ] {
        for sense in [Sense::Gives, Sense::Takes] {
            let found = rule(&format!("Edit({pattern})")).means_path(&inside(path), None, sense);
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }
}

#[test]
fn a_pattern_of_the_tree_gives_nothing_outside_of_it() {
    for (pattern, gives, takes) in [
        ("**", false, true),
        ("**/*.pem", false, true),
        ("home/**", false, false),
        ("/home/me/**", true, true),
        ("/home/*", false, false),
    ] {
        let rule = rule(&format!("Read({pattern})"));
        assert_eq!(rule.means_path(&outside("/home/me/x.pem"), None, Sense::Gives), gives, "{pattern}");
        assert_eq!(rule.means_path(&outside("/home/me/x.pem"), None, Sense::Takes), takes, "{pattern}");
    }
}

#[test]
fn copies_and_moves_are_pairs() {
    let (from, to) = (inside("src/a"), inside("dst/b"));
    for (text, expected) in [
        ("Move(src/* -> dst/*)", true),
        ("Move(src/* -> other/*)", false),
        ("Move(** -> **)", true),
        ("Move(src/**)", true),
        ("Move(dst/**)", false),
    ] {
        assert_eq!(rule(text).means_path(&from, Some((&from, &to)), Sense::Gives), expected, "{text}");
    }
}

#[test]
fn home_is_a_place_of_rules() {
    let home = "/home/[me]";
    let at_home = |text: &str| rule(text).at_home(home).unwrap();
    assert!(at_home("Read(~/notes/**)").means_path(&outside("/home/[me]/notes/a"), None, Sense::Gives));
    assert!(at_home("Read($HOME/a)").means_path(&outside("/home/[me]/a"), None, Sense::Gives));
    assert_eq!(at_home("Read(~/notes/**)").to_string(), "Read(~/notes/**)");
    let pair = (&outside("/home/[me]/a"), &outside("/home/[me]/b"));
    assert!(at_home("Copy(~/a -> ~/b)").means_path(pair.0, Some(pair), Sense::Gives));
}

#[test]
fn texts_know_no_directories() {
    for (text, target, expected) in [
        ("Bash(go test *)", "go test ./a/b", true),
        ("Bash(go test *)", "go build", false),
        ("Fetch(https://docs.rs/*)", "https://docs.rs/a/b", true),
        ("MCP(github/*)", "github/create_pr", true),
        ("Edit(*)", "go", false),
    ] {
        assert_eq!(rule(text).means_text(target), expected, "{text}");
    }
    assert!(rule("Grep(*)").means_path(&inside("src/a"), None, Sense::Gives));
    assert!(!rule("Grep(*)").means_path(&outside("/etc/a"), None, Sense::Gives));
    assert!(rule("Grep(/etc/*)").means_path(&outside("/etc/a"), None, Sense::Gives));
    assert_eq!(rule("Git(push *)").shell_pattern().as_deref(), Some("git push *"));
    assert_eq!(rule("Bash(push *)").shell_pattern().as_deref(), Some("push *"));
}

proptest! {
    #[test]
    fn whatever_is_a_rule_is_spelled_as_one(text in "\\s{0,2}[A-Za-z][A-Za-z0-9_]{0,6}\\s?\\(.{0,12}\\)\\s{0,2}|.{0,16}") {
        if let Ok(rule) = text.parse::<Rule>() {
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
        }
    }

    #[test]
    fn the_quick_look_at_a_path_never_changes_the_answer(
        pattern in "[ab/*?{},\\[\\]]{1,8}|(a|b|\\*|\\*\\*)(/(a|b|\\*|\\*\\*|a\\*b)){0,3}",
        path in "[ab]{1,2}(/[ab]{1,2}){0,3}",
    ) {
        if let Ok(rule) = Rule::new("Edit", &pattern) {
            let glob = globset::GlobBuilder::new(&pattern).literal_separator(true).build().unwrap().compile_matcher();
            let is_whole = pattern.strip_suffix("/**").is_some_and(|directory| {
                Rule::new("Edit", directory).is_ok_and(|rule| rule.means_path(&inside(&path), None, Sense::Gives))
            });
            let expected = glob.is_match(&path) || is_whole;
            let is_absolute = pattern.starts_with('/');
            prop_assert!(is_absolute || rule.means_path(&inside(&path), None, Sense::Gives) == expected);
        }
    }
}
