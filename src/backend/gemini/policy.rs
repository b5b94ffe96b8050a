//! The rules about tools that the CLI is started with. What a rule denies is not even offered to the model. Pure.
//!
//! Rules never allow what the CLI would ask about, except calls of the tools that Coppice serves.

use std::fmt::Write as _;

use crate::backend::{Native, NativeTool, Purpose};

/// What would work around the session: agents of the CLI's own, modes and memories that a later turn does not know of,
/// and a list that only asks for permission.
const NEVER: &[&str] =
    &["activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "invoke_agent", "save_memory", "write_todos"];

/// A rule of a higher number comes first.
const EXCEPTION: u16 = 950;
const GENERAL: u16 = 900;

/// The text of the policy; `served` are the names of the served tools as the CLI has them.
pub(super) fn text(purpose: Purpose, native: &Native, served: &[String]) -> String {
    let mut rules = String::new();
    let mut add = |tools: &[&str], decision: &str, priority: u16| {
        if !tools.is_empty() {
            // Writing to a string does not fail. A list of words is the same in TOML as it is in Rust.
            write!(rules, "[[rule]]\ntoolName = {tools:?}\ndecision = \"{decision}\"\npriority = {priority}\n\n").ok();
        }
    };
    match purpose {
        Purpose::Utility | Purpose::Survey => add(&["*"], "deny", GENERAL),
        Purpose::Session => {
            let served: Vec<&str> = served.iter().map(String::as_str).collect();
            add(&served, "allow", EXCEPTION);
            if native.is_whole() {
                add(NEVER, "deny", GENERAL);
            } else {
                add(&offered(native, Consent::NotNeeded), "allow", EXCEPTION);
                add(&offered(native, Consent::Asked), "ask_user", EXCEPTION);
                add(&["*"], "deny", GENERAL);
            }
        }
    }
    rules
}

/// Whether the CLI asks before it runs a tool, left to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    NotNeeded,
    Asked,
}

/// The CLI's names for what is left; it patches by edits and whole files. Its own list of todos is never there.
fn offered(native: &Native, consent: Consent) -> Vec<&'static str> {
    let tools = |ability: NativeTool| -> (Consent, &'static [&'static str]) {
        match ability {
            NativeTool::Read => (Consent::NotNeeded, &["read_file"]),
            NativeTool::Search => (Consent::NotNeeded, &["grep_search"]),
            NativeTool::Locate => (Consent::NotNeeded, &["glob"]),
            NativeTool::List => (Consent::NotNeeded, &["list_directory"]),
            NativeTool::Write => (Consent::Asked, &["write_file"]),
            NativeTool::Edit => (Consent::Asked, &["replace"]),
            NativeTool::Patch => (Consent::Asked, &["replace", "write_file"]),
            NativeTool::Bash => (Consent::Asked, &["run_shell_command"]),
            NativeTool::WebFetch => (Consent::Asked, &["web_fetch"]),
            NativeTool::WebSearch => (Consent::Asked, &["google_web_search"]),
            NativeTool::Todo => (Consent::Asked, &[]),
        }
    };
    let listed = NativeTool::ALL.into_iter().filter(|ability| native.offers(*ability)).map(tools);
    let mut names: Vec<_> =
        listed.filter(|(known, _)| *known == consent).flat_map(|(_, names)| names).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Access;

    #[test]
    fn a_whole_session_loses_only_what_works_around_it() {
        insta::assert_snapshot!(text(Purpose::Session, &Native::default(), &[]), @r#"
        [[rule]]
        toolName = ["activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "invoke_agent", "save_memory", "write_todos"]
        decision = "deny"
        priority = 900
        "#);
    }

    #[test]
    fn a_restricted_session_has_what_is_named_and_nothing_else() {
        use NativeTool::{Bash, Edit, Patch, Read, WebFetch};
        let served = ["discovered_tool_delegate".to_owned()];
        let native = Native { tools: Some([Read, Edit, Patch, Bash, WebFetch].into()), access: Access::Write };
        insta::assert_snapshot!(text(Purpose::Session, &native, &served), @r#"
        [[rule]]
        toolName = ["discovered_tool_delegate"]
        decision = "allow"
        priority = 950

        [[rule]]
        toolName = ["read_file"]
        decision = "allow"
        priority = 950

        [[rule]]
        toolName = ["replace", "run_shell_command", "web_fetch", "write_file"]
        decision = "ask_user"
        priority = 950

        [[rule]]
        toolName = ["*"]
        decision = "deny"
        priority = 900
        "#);
    }

    #[test]
    fn read_only_leaves_nothing_that_writes() {
        let rules = text(Purpose::Session, &Native { tools: None, access: Access::ReadOnly }, &[]);
        for gone in ["write_file", "replace", "run_shell_command", "invoke_agent"] {
            assert!(!rules.contains(gone), "{gone}");
        }
        assert!(rules.contains(r#"["glob", "grep_search", "list_directory", "read_file"]"#), "{rules}");
        let none = text(Purpose::Session, &Native { tools: Some([].into()), access: Access::Write }, &[]);
        assert_eq!(none.matches("[[rule]]").count(), 1, "{none}");
    }

    #[test]
    fn a_side_question_has_no_tools() {
        for purpose in [Purpose::Utility, Purpose::Survey] {
            let rules = text(purpose, &Native::default(), &["discovered_tool_delegate".to_owned()]);
            insta::allow_duplicates! {
                insta::assert_snapshot!(rules, @r#"
                [[rule]]
                toolName = ["*"]
                decision = "deny"
                priority = 900
                "#);
            }
        }
    }

    #[test]
    fn only_reading_and_served_tools_are_allowed_unasked() {
        let served = ["discovered_tool_delegate".to_owned()];
        for native in [Native::default(), Native { tools: Some(NativeTool::ALL.into()), access: Access::Write }] {
            let rules = text(Purpose::Session, &native, &served);
            let allowed: Vec<_> = rules.split("\n\n").filter(|rule| rule.contains("\"allow\"")).collect();
            for gone in ["write_file", "replace", "run_shell_command", "web_fetch", "google_web_search", "\"*\""] {
                assert!(allowed.iter().all(|rule| !rule.contains(gone)), "{gone}");
            }
        }
    }
}
