//! Who may hand work to whom, how deep, and how many at once.

use crate::agent::Mode;

/// How deep the agents that are listed for it may nest.
const NESTED_DEPTH: u32 = 2;

/// What a child hears that must not hand its work on.
pub const DEPTH_REACHED: &str = "Agent depth limit reached. Solve the task yourself.";

/// Where a session stands that wants to hand out work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    /// A session that a person started has 0, its child 1.
    pub depth: u32,
    pub agent: &'a str,
    /// Whether the agent's surface holds the tool.
    pub tool: DelegationTool,
    pub max_depth: u32,
    /// Agents that may nest one level deeper than the rest.
    pub nested_agents: &'a [String],
    pub active_children: usize,
    pub max_children: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegationTool {
    InSurface,
    Absent,
}

/// The agent that is to do the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    pub id: &'a str,
    pub mode: Mode,
}

/// Whether the delegation tools exist for a session at all.
pub fn may_delegate(parent: &Standing<'_>) -> bool {
    match parent.tool {
        DelegationTool::InSurface => parent.depth < deepest(parent),
        DelegationTool::Absent => false,
    }
}

/// Lets a child start, or says to the parent's model why not.
pub fn admit(parent: &Standing<'_>, child: Candidate<'_>) -> Result<(), String> {
    if !may_delegate(parent) {
        return Err(DEPTH_REACHED.to_owned());
    }
    match child.mode {
        Mode::Subagent | Mode::All => {}
        Mode::Primary => return Err(format!("agent \"{}\" is not delegatable (mode: primary)", child.id)),
    }
    let (active, most) = (parent.active_children, parent.max_children);
    match active < most {
        true => Ok(()),
        false => Err(format!(
            "at most {most} background subagents may run concurrently (current: {active}); wait for one to finish or \
             close one, then try again"
        )),
    }
}

/// How deep the children of a session may be. A limit of 0 turns delegation off for everybody.
fn deepest(parent: &Standing<'_>) -> u32 {
    let is_nested = parent.nested_agents.iter().any(|id| id == parent.agent);
    match (parent.max_depth, is_nested) {
        (0, _) => 0,
        (most, true) => most.max(NESTED_DEPTH),
        (most, false) => most,
    }
}
