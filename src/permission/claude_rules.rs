//! The rules of Claude Code's settings, in the spelling of ours. What they allow counts only once a person takes it over:
//! consent for one program is none for all.

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::load::List;
use super::rule::{Rule, RuleError, RuleFile};

/// The rules of a settings file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClaudeRules {
    pub file: RuleFile,
    /// Rules that have no meaning here.
    pub skipped: Vec<String>,
}

/// A rule that a settings file allows something by.
#[derive(Debug, PartialEq, Eq)]
pub struct AllowRule {
    pub text: String,
    pub meaning: Result<Vec<Rule>, RuleError>,
}

/// Reads what the text of a settings file allows.
pub fn read_allow_rules(text: &str, home: &str) -> Result<Vec<AllowRule>, String> {
    let settings = parse_settings(text)?;
    let texts = listed_texts(&settings["permissions"]["allow"]);
    Ok(texts.map(|text| AllowRule { text: text.to_owned(), meaning: parse(text, List::Allow, home) }).collect())
}

/// Reads the rules that forbid out of the text of a settings file; `name` is what verdicts call it.
pub fn read_claude_rules(name: &str, text: &str, home: &str) -> Result<ClaudeRules, String> {
    let settings = parse_settings(text)?;
    let mut found =
        ClaudeRules { file: RuleFile { name: name.to_owned(), ..RuleFile::default() }, skipped: Vec::new() };
    for (name, list, rules) in [("ask", List::Ask, &mut found.file.ask), ("deny", List::Deny, &mut found.file.deny)] {
        for text in listed_texts(&settings["permissions"][name]) {
            match parse(text, list, home) {
                Ok(translated) => rules.extend(translated),
                Err(_) => found.skipped.push(text.to_owned()),
            }
        }
    }
    Ok(found)
}

/// The rules of a settings file that nobody can read: whatever it may forbid is asked about.
pub fn ask_about_everything(name: &str) -> RuleFile {
    let ask = EVERYTHING.iter().filter_map(|subject| Rule::new(subject, "**").ok()).collect();
    RuleFile { name: name.to_owned(), ask, ..RuleFile::default() }
}

/// The tools that rules of Claude Code are about.
const EVERYTHING: &[&str] = &["Bash", "Delete", "Edit", "Fetch", "MCP", "Read", "Write"];

/// Reads settings as people write them, with comments; the error is `LINE:COLUMN: why`.
pub fn parse_settings(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let parsed = parsed.map_err(|error| {
        let why = error.kind().to_string().to_lowercase();
        format!("{}:{}: {why}", error.line_display(), error.column_display())
    });
    Ok(parsed?.value.map(Value::from).unwrap_or_default())
}

/// The texts of a list, or the only one.
fn listed_texts(value: &Value) -> impl Iterator<Item = &str> {
    let only = value.as_str().into_iter();
    only.chain(value.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn parse(text: &str, list: List, home: &str) -> Result<Vec<Rule>, RuleError> {
    translate(text, list).into_iter().map(|rule| rule.parse::<Rule>().and_then(|rule| rule.at_home(home))).collect()
}

/// The rules of ours that mean the same. One that forbids edits is about every tool that writes, one that allows them about
/// those that the word means.
fn translate(text: &str, list: List) -> Vec<String> {
    let (subject, pattern) = match text.trim().strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((subject, pattern)) => (subject, pattern.to_owned()),
        // It is refused as it stands.
        None if text.contains('(') => return vec![text.to_owned()],
        None => (text.trim(), "**".to_owned()),
    };
    let place = |pattern: &str| match pattern.strip_prefix("./").unwrap_or(pattern) {
        absolute if absolute.starts_with("//") => absolute[1..].to_owned(),
        // One that allows the file at the root allows no other.
        root if list == List::Allow && pattern.starts_with("./") => root.to_owned(),
        settings if settings.starts_with('/') => format!("~/.claude{settings}"),
        path if path.contains('/') || path == "**" => path.to_owned(),
        name => format!("**/{name}"),
    };
    let paths = || match (list, pattern.strip_suffix('/').unwrap_or(&pattern)) {
        (List::Allow, _) => vec![place(&pattern)],
        (List::Ask | List::Deny, path) if path.is_empty() || path.ends_with("**") => vec![place(&pattern)],
        // What is meant may be a directory, and then all that is in it is.
        (List::Ask | List::Deny, path) => vec![place(path), format!("{}/**", place(path))],
    };
    let rules = |subject: &str| paths().into_iter().map(|path| format!("{subject}({path})")).collect::<Vec<_>>();
    // A prefix ends at a word.
    let command = || pattern.strip_suffix(":*").map_or_else(|| pattern.clone(), |prefix| format!("{prefix} *"));
    match subject {
        "Bash" => vec![format!("Bash({})", command())],
        "Read" => rules("Read"),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => {
            let subjects: &[&str] = match (list, subject) {
                (List::Allow, "Write") => &["Write"],
                // Its rules for edits count for whole files too.
                (List::Allow, "Edit") => &["Edit", "Write"],
                (List::Allow, _) => &["Edit"],
                (List::Ask | List::Deny, _) => &["Edit", "Write", "Delete"],
            };
            subjects.iter().flat_map(|subject| rules(subject)).collect()
        }
        "WebFetch" => vec![format!("Fetch({pattern})")],
        subject => match subject.strip_prefix("mcp__").map(|name| name.split_once("__").unwrap_or((name, "*"))) {
            Some((server, tool)) => vec![format!("MCP({server}/{tool})")],
            None => vec![format!("{subject}({pattern})")],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_translated() {
        for (text, expected) in [
            ("Bash", "Bash(**)"),
            ("Bash(rm:*)", "Bash(rm *)"),
            ("Bash(git push *)", "Bash(git push *)"),
            ("Read", "Read(**)"),
            ("Read(./.env)", "Read(**/.env) Read(**/.env/**)"),
            ("Read(private)", "Read(**/private) Read(**/private/**)"),
            ("Read(j/)", "Read(**/j) Read(**/j/**)"),
            ("Read(a/b/)", "Read(a/b) Read(a/b/**)"),
            ("Read(conf/*)", "Read(conf/*) Read(conf/*/**)"),
            ("Read(~/.ssh/**)", "Read(~/.ssh/**)"),
            ("Read(//etc/passwd)", "Read(/etc/passwd) Read(/etc/passwd/**)"),
            ("Read(/local)", "Read(~/.claude/local) Read(~/.claude/local/**)"),
            (
                "Write(./out/)",
                "Edit(**/out) Edit(**/out/**) Write(**/out) Write(**/out/**) Delete(**/out) Delete(**/out/**)",
            ),
            ("Edit(config/**)", "Edit(config/**) Write(config/**) Delete(config/**)"),
            ("WebFetch(domain:evil.org)", "Fetch(domain:evil.org)"),
            ("mcp__db__drop", "MCP(db/drop)"),
            ("mcp__db", "MCP(db/*)"),
        ] {
            assert_eq!(translate(text, List::Deny).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_allowed_is_translated_and_never_widened() {
        let text = r#"{"permissions": {"allow": ["Bash(npm run test:*)", "Edit(docs/**)", "Write(x.md)", "NotebookEdit", "Read(./x.md)",
            "Read(~/notes/**)", "Skill(pdf)", "Bash(a", 3], "deny": ["Bash(rm:*)"]}}"#;
        let read = |rule: &AllowRule| match &rule.meaning {
            Ok(rules) => format!("{}: {}", rule.text, rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(" ")),
            Err(error) => format!("{}! {}", rule.text, error.to_string().split(';').next().unwrap_or_default()),
        };
        let rules = read_allow_rules(text, "/home/me").unwrap();
        insta::assert_snapshot!(rules.iter().map(read).collect::<Vec<_>>().join("\n"), @r#"
        Bash(npm run test:*): Bash(npm run test *)
        Edit(docs/**): Edit(docs/**) Write(docs/**)
        Write(x.md): Write(**/x.md)
        NotebookEdit: Edit(**)
        Read(./x.md): Read(x.md)
        Read(~/notes/**): Read(~/notes/**)
        Skill(pdf)! rule "Skill(pdf)" is about no known tool
        Bash(a! invalid rule "Bash(a" (want "Tool(pattern)")
        "#);
        assert_eq!(read_allow_rules("{}", "/").unwrap(), []);
        assert!(read_allow_rules("{", "/").is_err());
    }

    #[test]
    fn what_is_denied_or_asked_about_counts_and_what_is_allowed_does_not() {
        let text = r#"{"permissions": {"allow": ["Bash(*)"], "ask": ["Bash(git push:*)"],
            "deny": ["Bash(rm:*)", "Read(./.env)", "Nonsense[(x)", 3]}, "model": "opus"}"#;
        let found = read_claude_rules("settings", text, "/home/me").unwrap();
        let spelled = |rules: &[Rule]| rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(spelled(&found.file.allow), "");
        assert_eq!(spelled(&found.file.ask), "Bash(git push *)");
        assert_eq!(spelled(&found.file.deny), "Bash(rm *) Read(**/.env) Read(**/.env/**)");
        assert_eq!(found.skipped, ["Nonsense[(x)"]);
        assert_eq!(read_claude_rules("settings", "{}", "/").unwrap().skipped, Vec::<String>::new());
        assert!(read_claude_rules("settings", "{", "/").is_err());
    }
}
