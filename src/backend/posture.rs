//! What a posture leaves of an agent's own tools. Pure.
//!
//! It never decides about a call: what is left is asked about all the same.

use std::collections::BTreeSet;
use std::path::Path;

use crate::backend::{Launch, Native, NativeTool};
use crate::permission::Posture;

/// The tools of a conversation. A plan is made by reading; what can write is left only where there is one file to write,
/// and for an agent that writes at all.
pub(crate) fn left(launch: &Launch) -> Native {
    match launch.posture {
        Posture::Plan => planning(&launch.native, launch.plan_file.as_deref()),
        Posture::Attended | Posture::Edits | Posture::Unattended => launch.native.clone(),
    }
}

fn planning(native: &Native, plan_file: Option<&Path>) -> Native {
    let is_kept = |tool: &NativeTool| match tool {
        NativeTool::Read
        | NativeTool::Search
        | NativeTool::Locate
        | NativeTool::List
        | NativeTool::WebFetch
        | NativeTool::WebSearch
        | NativeTool::Todo => native.lists(*tool),
        NativeTool::Write | NativeTool::Edit => plan_file.is_some() && native.offers(*tool),
        NativeTool::Patch | NativeTool::Bash => false,
    };
    let tools: BTreeSet<NativeTool> = NativeTool::ALL.into_iter().filter(is_kept).collect();
    Native { tools: Some(tools), access: native.access }
}
