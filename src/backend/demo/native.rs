//! The agent's own abilities: which of them it was left, and which of them a directive needs. Pure.

use crate::backend::acp::native;
use crate::backend::demo::script::Directive;
use crate::backend::{Access, Native, NativeTool};

/// A directive that is not performed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) tool: &'static str,
    pub(super) reason: String,
}

/// Whether a directive needs more than what is left.
pub(super) fn refusal(left: &Native, directive: &Directive) -> Option<Refused> {
    let (tool, effect) = need(directive)?;
    let is_missing = left.tools.as_ref().is_some_and(|tools| !tools.contains(&tool));
    let tool = native::name(tool);
    let reason = match (is_missing, left.access, effect) {
        (true, _, _) => format!("there is no tool `{tool}`"),
        (false, Access::ReadOnly, Effect::Changes) => "the work tree is read-only".to_owned(),
        (false, Access::ReadOnly, Effect::None) | (false, Access::Write, _) => return None,
    };
    Some(Refused { tool, reason })
}

/// All of it in one line.
pub(super) fn describe(left: &Native) -> String {
    let tools = match &left.tools {
        None => "all".to_owned(),
        Some(tools) if tools.is_empty() => "none".to_owned(),
        Some(tools) => tools.iter().map(|tool| native::name(*tool)).collect::<Vec<_>>().join(", "),
    };
    let access = match left.access {
        Access::Write => "",
        Access::ReadOnly => "; read-only",
    };
    format!("native: {tools}{access}")
}

/// What a directive may do to the work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    Changes,
}

/// A command could do anything, and nothing here confines it, so it counts as a change.
fn need(directive: &Directive) -> Option<(NativeTool, Effect)> {
    match directive {
        Directive::Read(_) => Some((NativeTool::Read, Effect::None)),
        Directive::Write { .. } => Some((NativeTool::Write, Effect::Changes)),
        Directive::Append { .. } | Directive::Delete(_) => Some((NativeTool::Edit, Effect::Changes)),
        Directive::Run(_) | Directive::Report(_) | Directive::Child(_) => Some((NativeTool::Bash, Effect::Changes)),
        Directive::Say(_)
        | Directive::Think(_)
        | Directive::Plan(_)
        | Directive::Permission(_)
        | Directive::Request(_)
        | Directive::May { .. }
        | Directive::Begin
        | Directive::End
        | Directive::Then
        | Directive::Ask { .. }
        | Directive::Answer(_)
        | Directive::Summary { .. }
        | Directive::Usage { .. }
        | Directive::Wait(_)
        | Directive::Fail { .. }
        | Directive::Hang
        | Directive::Crash(_)
        | Directive::Garbage
        | Directive::Raw(_)
        | Directive::Invalid(_)
        | Directive::Huge(_)
        | Directive::Env(_)
        | Directive::EchoHistory
        | Directive::EchoImages
        | Directive::EchoModel
        | Directive::Calls(_)
        | Directive::Tools
        | Directive::Native => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_needs_its_tool_and_a_change_needs_write_access() {
        let left = |tools: Option<&[NativeTool]>, access| Native {
            tools: tools.map(|tools| tools.iter().copied().collect()),
            access,
        };
        let write = Directive::Write { path: "a".to_owned(), text: String::new() };
        let read = Directive::Read("a".to_owned());
        for (left, directive, expected, described) in [
            (left(None, Access::Write), &write, None, "native: all"),
            (left(None, Access::ReadOnly), &write, Some("the work tree is read-only"), "native: all; read-only"),
            (left(None, Access::ReadOnly), &read, None, "native: all; read-only"),
            (left(Some(&[]), Access::Write), &read, Some("there is no tool `read`"), "native: none"),
            (left(Some(&[]), Access::Write), &Directive::Hang, None, "native: none"),
            (left(Some(&[NativeTool::Write, NativeTool::Read]), Access::Write), &write, None, "native: read, write"),
        ] {
            assert_eq!(refusal(&left, directive).map(|refused| refused.reason).as_deref(), expected);
            assert_eq!(describe(&left), described);
        }
    }
}
