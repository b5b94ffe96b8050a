//! The `ask` and `deny` rules of Claude Code's settings, in the spelling of ours. What they allow counts for nothing here:
//! consent for one program is none for all.

use serde_json::Value;

use super::rule::{Rule, RuleFile};

/// The rules of a settings file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClaudeRules {
    pub file: RuleFile,
    /// Rules that have no meaning here.
    pub skipped: Vec<String>,
}

/// Reads the rules out of the text of a settings file; `name` is what verdicts call it.
pub fn read_claude_rules(name: &str, text: &str, home: &str) -> Result<ClaudeRules, serde_json::Error> {
    let settings: Value = serde_json::from_str(text)?;
    let mut found =
        ClaudeRules { file: RuleFile { name: name.to_owned(), ..RuleFile::default() }, skipped: Vec::new() };
    for (list, rules) in [("ask", &mut found.file.ask), ("deny", &mut found.file.deny)] {
        let texts = settings["permissions"][list].as_array().into_iter().flatten().filter_map(Value::as_str);
        for text in texts {
            let translated: Result<Vec<Rule>, _> = translate(text)
                .into_iter()
                .map(|rule| rule.parse::<Rule>().and_then(|rule| rule.at_home(home)))
                .collect();
            match translated {
                Ok(translated) => rules.extend(translated),
                Err(_) => found.skipped.push(text.to_owned()),
            }
        }
    }
    Ok(found)
}

/// The rules of ours that mean the same. One about edits is about every tool that writes.
fn translate(text: &str) -> Vec<String> {
    let (subject, pattern) = match text.trim().strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((subject, pattern)) => (subject, pattern.to_owned()),
        None => (text.trim(), "**".to_owned()),
    };
    let path = || match pattern.strip_prefix("./").unwrap_or(&pattern) {
        absolute if absolute.starts_with("//") => absolute[1..].to_owned(),
        settings if settings.starts_with('/') => format!("~/.claude{settings}"),
        path if path.contains('/') || path == "**" => path.to_owned(),
        name => format!("**/{name}"),
    };
    // A prefix ends at a word.
    let command = || pattern.strip_suffix(":*").map_or_else(|| pattern.clone(), |prefix| format!("{prefix} *"));
    match subject {
        "Bash" => vec![format!("Bash({})", command())],
        "Read" => vec![format!("Read({})", path())],
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => {
            ["Edit", "Write", "Delete"].map(|subject| format!("{subject}({})", path())).to_vec()
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
            ("Read(./.env)", "Read(**/.env)"),
            ("Read(~/.ssh/**)", "Read(~/.ssh/**)"),
            ("Read(//etc/passwd)", "Read(/etc/passwd)"),
            ("Read(/local)", "Read(~/.claude/local)"),
            ("Edit(config/**)", "Edit(config/**) Write(config/**) Delete(config/**)"),
            ("WebFetch(domain:evil.org)", "Fetch(domain:evil.org)"),
            ("mcp__db__drop", "MCP(db/drop)"),
            ("mcp__db", "MCP(db/*)"),
        ] {
            assert_eq!(translate(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_denied_or_asked_about_counts_and_what_is_allowed_does_not() {
        let text = r#"{"permissions": {"allow": ["Bash(*)"], "ask": ["Bash(git push:*)"],
            "deny": ["Bash(rm:*)", "Read(./.env)", "Nonsense[(x)", 3]}, "model": "opus"}"#;
        let found = read_claude_rules("settings", text, "/home/me").unwrap();
        let spelled = |rules: &[Rule]| rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(spelled(&found.file.allow), "");
        assert_eq!(spelled(&found.file.ask), "Bash(git push *)");
        assert_eq!(spelled(&found.file.deny), "Bash(rm *) Read(**/.env)");
        assert_eq!(found.skipped, ["Nonsense[(x)"]);
        assert_eq!(read_claude_rules("settings", "{}", "/").unwrap().skipped, Vec::<String>::new());
        assert!(read_claude_rules("settings", "{", "/").is_err());
    }
}
