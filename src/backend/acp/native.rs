//! What is left of an agent's own tools, as variables of its process: an agent of ours is told that way.
//!
//! The protocol has no word for it, so agents of others keep all of their tools.

use crate::backend::{Access, Native, NativeTool};

/// The abilities that exist, with commas between them; absent when all do.
const TOOLS_ENV: &str = "COPPICE_NATIVE_TOOLS";

/// `read-only` or absent.
const ACCESS_ENV: &str = "COPPICE_ACCESS";

const READ_ONLY: &str = "read-only";

const NAMES: [(NativeTool, &str); 11] = [
    (NativeTool::Read, "read"),
    (NativeTool::Search, "search"),
    (NativeTool::Locate, "locate"),
    (NativeTool::List, "list"),
    (NativeTool::Write, "write"),
    (NativeTool::Edit, "edit"),
    (NativeTool::Patch, "patch"),
    (NativeTool::Bash, "bash"),
    (NativeTool::WebFetch, "web-fetch"),
    (NativeTool::WebSearch, "web-search"),
    (NativeTool::Todo, "todo"),
];

/// Says so in an environment; what it said before counts for nothing.
pub(super) fn tell(env: &mut Vec<(String, String)>, native: &Native) {
    env.retain(|(name, _)| name != TOOLS_ENV && name != ACCESS_ENV);
    let tools = native.tools.as_ref().map(|tools| {
        let names: Vec<&str> = tools.iter().map(|tool| name(*tool)).collect();
        (TOOLS_ENV.to_owned(), names.join(","))
    });
    let access = match native.access {
        Access::Write => None,
        Access::ReadOnly => Some((ACCESS_ENV.to_owned(), READ_ONLY.to_owned())),
    };
    env.extend(tools.into_iter().chain(access));
}

/// What the variables say; a name that is not known grants nothing.
pub(crate) fn read(value: impl Fn(&str) -> Option<String>) -> Native {
    let known = |word: &str| NAMES.iter().find(|(_, name)| *name == word).map(|(tool, _)| *tool);
    Native {
        tools: value(TOOLS_ENV).map(|names| names.split(',').filter_map(known).collect()),
        access: match value(ACCESS_ENV) {
            None => Access::Write,
            Some(_) => Access::ReadOnly,
        },
    }
}

pub(crate) fn name(tool: NativeTool) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == tool).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let of = |tools: &[NativeTool]| Some(tools.iter().copied().collect());
        let all: Vec<NativeTool> = NAMES.iter().map(|(tool, _)| *tool).collect();
        for tools in [None, of(&[]), of(&[NativeTool::Bash, NativeTool::WebFetch]), of(&all)] {
            for access in [Access::Write, Access::ReadOnly] {
                let native = Native { tools: tools.clone(), access };
                let mut env = vec![(TOOLS_ENV.to_owned(), "read".to_owned())];
                tell(&mut env, &native);
                let value = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                assert_eq!(read(value), native);
            }
        }
    }

    #[test]
    fn a_broken_value_never_widens() {
        let native = read(|name| Some(if name == TOOLS_ENV { "everything,read" } else { "odd" }.to_owned()));
        let expected = Native { tools: Some([NativeTool::Read].into()), access: Access::ReadOnly };
        assert_eq!(native, expected);
    }
}
