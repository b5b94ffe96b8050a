//! What a session may do with the agent's own tools, and whether a backend can keep it to that.
//!
//! A backend may give less than it was asked for, never more: where it cannot, the words for a person say why.

use crate::backend::spec::{NativeTools, Spec};
use crate::backend::{Access, Native, NativeTool};

/// Abilities that one shell has all of: an agent without tools of its own for them reads by commands.
const READING: &[NativeTool] = &[NativeTool::Read, NativeTool::Search, NativeTool::Locate, NativeTool::List];

/// Abilities that one patch tool has all of.
const WRITING: &[NativeTool] = &[NativeTool::Write, NativeTool::Edit, NativeTool::Patch];

impl NativeTool {
    /// Whether it can change files. What a command does is only known once it has done it.
    fn changes(self) -> bool {
        WRITING.contains(&self) || self == Self::Bash
    }
}

impl Native {
    /// Whether nothing is taken away.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a tool is wanted, whatever the access says about what it may do.
    pub(crate) fn lists(&self, tool: NativeTool) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(&tool))
    }

    /// Whether an agent without a sandbox of its own has a tool: read-only, it has none that could change a file.
    pub(crate) fn offers(&self, tool: NativeTool) -> bool {
        let is_kept = match self.access {
            Access::Write => true,
            Access::ReadOnly => !tool.changes(),
        };
        is_kept && self.lists(tool)
    }

    /// Whether reading is wanted in any form.
    pub(crate) fn reads(&self) -> bool {
        READING.iter().any(|tool| self.lists(*tool))
    }

    /// Whether files may be changed, by a tool or by a command.
    pub(crate) fn changes_files(&self) -> bool {
        self.access == Access::Write && (self.writes() || self.lists(NativeTool::Bash))
    }

    fn writes(&self) -> bool {
        WRITING.iter().any(|tool| self.lists(*tool))
    }
}

impl Spec {
    /// Whether the backend can keep a session to these tools of the agent's own; if not, why.
    pub fn holds(&self, native: &Native) -> Result<(), String> {
        let name = &self.name;
        match self.native_tools {
            NativeTools::Removable => Ok(()),
            NativeTools::Sandboxed => sandboxed(native).map_err(|reason| format!("backend `{name}` {reason}")),
            NativeTools::Fixed if native.is_whole() => Ok(()),
            NativeTools::Fixed => Err(format!("backend `{name}` has no way to take an agent's own tools away")),
        }
    }

    /// Whether an agent that is kept to these tools has one of them.
    pub fn has(&self, native: &Native, tool: NativeTool) -> bool {
        match self.native_tools {
            NativeTools::Removable => native.offers(tool),
            NativeTools::Sandboxed | NativeTools::Fixed => native.lists(tool),
        }
    }
}

/// Where nothing may be written, the sandbox makes the shell and the patch tool harmless. Where something may, both do
/// what they can do.
fn sandboxed(native: &Native) -> Result<(), &'static str> {
    if !native.changes_files() {
        return Ok(());
    }
    match (native.writes(), native.lists(NativeTool::Bash), native.reads()) {
        (true, true, _) | (true, false, false) => Ok(()),
        (true, false, true) => Err("reads files by commands, so it cannot write without running commands"),
        (false, _, _) => Err("cannot run commands that write without its own tool for patches"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::registry;
    use crate::backend::{claude, codex, gemini};

    fn native(tools: &[NativeTool], access: Access) -> Native {
        Native { tools: Some(tools.iter().copied().collect()), access }
    }

    #[test]
    fn read_only_takes_away_whatever_could_change_a_file() {
        let all = Native { tools: None, access: Access::ReadOnly };
        for (tool, is_offered) in [
            (NativeTool::Read, true),
            (NativeTool::WebSearch, true),
            (NativeTool::Todo, true),
            (NativeTool::Write, false),
            (NativeTool::Edit, false),
            (NativeTool::Patch, false),
            (NativeTool::Bash, false),
        ] {
            assert_eq!(all.offers(tool), is_offered, "{tool:?}");
            assert!(Native::default().offers(tool));
            assert!(!native(&[], Access::Write).offers(tool));
        }
        assert!(!native(&[NativeTool::Bash], Access::ReadOnly).offers(NativeTool::Bash));
    }

    #[test]
    fn tools_that_go_by_name_hold_every_surface() {
        use NativeTool::{Bash, Edit, Read};
        for spec in [claude::spec(), gemini::spec()] {
            for tools in [&[][..], &[Read], &[Read, Edit], &[Bash]] {
                for access in [Access::Write, Access::ReadOnly] {
                    assert_eq!(spec.holds(&native(tools, access)), Ok(()), "{} {tools:?}", spec.name);
                }
            }
        }
    }

    #[test]
    fn a_shell_that_reads_is_held_by_a_sandbox_that_does_not_write() {
        use NativeTool::{Bash, Edit, Locate, Patch, Read, Search, Todo, WebSearch};
        let reason = |tools: &[NativeTool], access| codex::spec().holds(&native(tools, access)).err();
        for tools in [&[][..], &[Read, Search, Locate], &[Todo, WebSearch], &[Read, Edit], &[Read, Bash]] {
            assert_eq!(reason(tools, Access::ReadOnly), None, "{tools:?}");
        }
        for tools in [&[][..], &[Read, Search], &[Read, Edit, Bash], &[Edit, Bash, WebSearch], &[Patch, Todo]] {
            assert_eq!(reason(tools, Access::Write), None, "{tools:?}");
        }
        let reads = "backend `codex` reads files by commands, so it cannot write without running commands";
        assert_eq!(reason(&[Read, Edit], Access::Write).as_deref(), Some(reads));
        let patches = "backend `codex` cannot run commands that write without its own tool for patches";
        assert_eq!(reason(&[Read, Bash], Access::Write).as_deref(), Some(patches));
        assert_eq!(codex::spec().holds(&Native::default()), Ok(()));
    }

    #[test]
    fn an_agent_that_nobody_knows_holds_nothing() {
        let spec = registry::from_config("mine", vec!["mine".to_owned()], Vec::new(), Vec::new());
        assert_eq!(spec.holds(&Native::default()), Ok(()));
        let reason = "backend `mine` has no way to take an agent's own tools away".to_owned();
        let read_only = Native { tools: None, access: Access::ReadOnly };
        for restricted in [native(&[NativeTool::Read], Access::Write), read_only] {
            assert_eq!(spec.holds(&restricted), Err(reason.clone()));
        }
    }
}
