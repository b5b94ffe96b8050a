//! Which of the agent's own tools a session has, by the names that the agent gives them. Pure.

use crate::backend::{Native, NativeTool};

/// Tools that leave the turn, the work tree or the session: other agents, other trees, timers, dialogs. A skill may run
/// as an agent of its own, and what watches over background work has none to watch over.
pub(crate) const NEVER: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "CronCreate",
    "CronDelete",
    "CronList",
    "DesignSync",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "Task",
    "TaskOutput",
    "TaskStop",
    "Workflow",
];

/// What the agent has for each ability. It lists by patterns, and patches by edits and whole files.
fn tools(ability: NativeTool) -> &'static [&'static str] {
    match ability {
        NativeTool::Read => &["Read"],
        NativeTool::Search => &["Grep"],
        NativeTool::Locate | NativeTool::List => &["Glob"],
        NativeTool::Write => &["Write"],
        NativeTool::Edit => &["Edit", "NotebookEdit"],
        NativeTool::Patch => &["Edit", "NotebookEdit", "Write"],
        NativeTool::Bash => &["Bash"],
        NativeTool::WebFetch => &["WebFetch"],
        NativeTool::WebSearch => &["WebSearch"],
        NativeTool::Todo => &["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"],
    }
}

/// The only tools there are; `None` when none is taken away.
pub(crate) fn only(native: &Native) -> Option<Vec<&'static str>> {
    if native.is_whole() {
        return None;
    }
    let offered = NativeTool::ALL.into_iter().filter(|ability| native.offers(*ability));
    let mut names: Vec<_> = offered.flat_map(tools).copied().collect();
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// Whether a call of a tool is one that the session has, in case the agent offers it all the same.
pub(crate) fn has(native: &Native, tool: &str) -> bool {
    match only(native) {
        Some(names) => names.contains(&tool),
        None => !NEVER.contains(&tool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Access;

    #[test]
    fn abilities_are_told_in_the_agents_own_names() {
        use NativeTool::{Bash, Edit, List, Locate, Patch, Read, Search, Todo, WebFetch, Write};
        let check = |tools: &[NativeTool], access, expected: &str| {
            let native = Native { tools: Some(tools.iter().copied().collect()), access };
            assert_eq!(only(&native).unwrap().join(","), expected, "{tools:?}");
        };
        check(&[], Access::Write, "");
        check(&[Read, Search, Locate, List, WebFetch], Access::Write, "Glob,Grep,Read,WebFetch");
        check(&[Read, Patch], Access::Write, "Edit,NotebookEdit,Read,Write");
        check(&[Write, Bash, Todo], Access::Write, "Bash,TaskCreate,TaskGet,TaskList,TaskUpdate,Write");
        check(&[Read, Write, Edit, Patch, Bash], Access::ReadOnly, "Read");
        let reading = Native { tools: None, access: Access::ReadOnly };
        let names = "Glob,Grep,Read,TaskCreate,TaskGet,TaskList,TaskUpdate,WebFetch,WebSearch";
        assert_eq!(only(&reading).unwrap().join(","), names);
        assert_eq!(only(&Native::default()), None);
    }

    #[test]
    fn nothing_that_starts_agents_is_ever_there() {
        let whole = Native::default();
        let reading = Native { tools: None, access: Access::ReadOnly };
        for tool in NEVER {
            assert!(!has(&whole, tool) && !has(&reading, tool), "{tool}");
        }
        assert!(has(&whole, "Bash") && !has(&reading, "Bash"));
        assert!(has(&whole, "FromTheFuture") && !has(&reading, "FromTheFuture"));
    }
}
