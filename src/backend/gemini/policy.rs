//! The rules about tools that the CLI is started with. What a rule denies is not even offered to the model. Pure.
//!
//! Left to itself the CLI asks about some calls only: not about reads, searches on the web and commands that it takes for
//! harmless. Here every call comes back, except those of the tools that Coppice serves.

use std::fmt::Write as _;

use crate::backend::{Native, NativeTool, Purpose};

/// What would work around the session: agents of the CLI's own, modes and memories that a later turn does not know of,
/// and a list that only asks for permission.
const NEVER: &[&str] =
    &["activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "invoke_agent", "save_memory", "write_todos"];

/// What touches neither files nor the network: the CLI's words about what it does, and about commands that it runs.
const HARMLESS: &[&str] = &["list_background_processes", "read_background_output", "update_topic"];

const SHELL: &str = "run_shell_command";

/// A rule of a higher number comes first.
const COMMAND: u16 = 960;
const EXCEPTION: u16 = 950;
const GENERAL: u16 = 900;
const REST: u16 = 850;

/// The text of the policy; `served` are the names of the served tools as the CLI has them.
pub(super) fn text(purpose: Purpose, native: &Native, served: &[String]) -> String {
    let mut rules = String::new();
    let mut add = |tools: &[&str], decision: &str, priority: u16| {
        if !tools.is_empty() {
            // Writing to a string does not fail. A list of words is the same in TOML as it is in Rust.
            write!(rules, "[[rule]]\ntoolName = {tools:?}\ndecision = \"{decision}\"\npriority = {priority}\n").ok();
            if priority == COMMAND {
                // A rule about arguments is not softened for commands that the CLI takes for harmless. Every command
                // has this one.
                rules.push_str("argsPattern = \"command\"\n");
            }
            rules.push('\n');
        }
    };
    match purpose {
        Purpose::Utility | Purpose::Survey => add(&["*"], "deny", GENERAL),
        Purpose::Session => {
            let served: Vec<&str> = served.iter().map(String::as_str).collect();
            add(&served, "allow", EXCEPTION);
            if native.is_whole() {
                add(&[SHELL], "ask_user", COMMAND);
                add(HARMLESS, "allow", EXCEPTION);
                add(NEVER, "deny", GENERAL);
                add(&["*"], "ask_user", REST);
            } else {
                let offered = offered(native);
                if offered.contains(&SHELL) {
                    add(&[SHELL], "ask_user", COMMAND);
                }
                add(&offered, "ask_user", EXCEPTION);
                add(&["*"], "deny", GENERAL);
            }
        }
    }
    rules
}

/// The CLI's names for what is left; it patches by edits and whole files. Its own list of todos is never there.
fn offered(native: &Native) -> Vec<&'static str> {
    let tools = |ability: NativeTool| -> &'static [&'static str] {
        match ability {
            NativeTool::Read => &["read_file"],
            NativeTool::Search => &["grep_search"],
            NativeTool::Locate => &["glob"],
            NativeTool::List => &["list_directory"],
            NativeTool::Write => &["write_file"],
            NativeTool::Edit => &["replace"],
            NativeTool::Patch => &["replace", "write_file"],
            NativeTool::Bash => &[SHELL],
            NativeTool::WebFetch => &["web_fetch"],
            NativeTool::WebSearch => &["google_web_search"],
            NativeTool::Todo => &[],
        }
    };
    let listed = NativeTool::ALL.into_iter().filter(|ability| native.offers(*ability));
    let mut names: Vec<_> = listed.flat_map(tools).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Access;

    #[test]
    fn in_a_whole_session_every_call_comes_back() {
        insta::assert_snapshot!(text(Purpose::Session, &Native::default(), &[]), @r#"
        [[rule]]
        toolName = ["run_shell_command"]
        decision = "ask_user"
        priority = 960
        argsPattern = "command"

        [[rule]]
        toolName = ["list_background_processes", "read_background_output", "update_topic"]
        decision = "allow"
        priority = 950

        [[rule]]
        toolName = ["activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "invoke_agent", "save_memory", "write_todos"]
        decision = "deny"
        priority = 900

        [[rule]]
        toolName = ["*"]
        decision = "ask_user"
        priority = 850
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
        toolName = ["run_shell_command"]
        decision = "ask_user"
        priority = 960
        argsPattern = "command"

        [[rule]]
        toolName = ["read_file", "replace", "run_shell_command", "web_fetch", "write_file"]
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
        let left = r#"["glob", "google_web_search", "grep_search", "list_directory", "read_file", "web_fetch"]"#;
        assert!(rules.contains(left), "{rules}");
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
    fn only_served_and_harmless_tools_are_allowed_unasked() {
        let served = ["discovered_tool_delegate".to_owned()];
        for native in [Native::default(), Native { tools: Some(NativeTool::ALL.into()), access: Access::Write }] {
            let rules = text(Purpose::Session, &native, &served);
            for rule in rules.split("\n\n").filter(|rule| rule.contains("\"allow\"")) {
                let names = HARMLESS.iter().copied().chain(served.iter().map(String::as_str));
                let rest = names.fold(rule.to_owned(), |rest, name| rest.replace(&format!("{name:?}"), ""));
                assert!(rest.contains("toolName = [") && !rest.contains('_'), "{rule}");
            }
        }
    }
}
