//! What is left of an agent's own tools in a role, and whether its backend can be kept to that.

use std::collections::BTreeSet;

use crate::agent::surface::Surface;
use crate::backend::spec::Spec;
use crate::backend::{Access, Native, NativeTool};
use crate::config::{Config, family};
use crate::permission::Profile;
use crate::tool::Tool;

/// What is left of the agent's own tools, and why the backend cannot be held to it if it cannot.
pub(super) fn left(
    surface: &Surface,
    access: Access,
    profile: Profile,
    config: &Config,
    spec: &Spec,
) -> (Native, Option<String>) {
    let own: BTreeSet<_> = surface.native().filter_map(tool).filter(|tool| is_left(*tool, profile)).collect();
    let with = |tools: BTreeSet<NativeTool>| {
        let is_whole = Tool::all().filter_map(tool).all(|tool| tools.contains(&tool));
        Native { tools: Some(tools).filter(|_| !is_whole), access }
    };
    let exact = with(own.clone());
    let Err(reason) = spec.holds(&exact) else { return (exact, None) };
    // The setting about searching the web is no part of the definition: where it cannot be held, the definition can be.
    let searching = with(own.into_iter().chain([NativeTool::WebSearch]).collect());
    match config.tools.web_search == family::WebSearch::Off && spec.holds(&searching).is_ok() {
        true => (searching, None),
        false => (exact, Some(reason)),
    }
}

/// Whether a profile leaves a tool to the agent itself. What is served in the place of its own tools has no list of todos
/// for an agent that keeps one, and no search of the web.
fn is_left(tool: NativeTool, profile: Profile) -> bool {
    match (profile, tool) {
        (Profile::Native, _) | (_, NativeTool::Todo | NativeTool::WebSearch) => true,
        (
            Profile::Enforced | Profile::ReadOnly,
            NativeTool::Read
            | NativeTool::Search
            | NativeTool::Locate
            | NativeTool::List
            | NativeTool::Write
            | NativeTool::Edit
            | NativeTool::Patch
            | NativeTool::Bash
            | NativeTool::WebFetch,
        ) => false,
    }
}

/// The agent's own tool that a tool means.
pub(in super::super::super) fn tool(tool: Tool) -> Option<NativeTool> {
    NativeTool::ALL.into_iter().find(|native| native.tool() == tool)
}
