//! The row of a child in its parent's transcript: one row, whatever the child does.

use crate::api::handoff::HandoffStatus;
use crate::api::session::Session;
use crate::look::line::{Line, Tone, one_line};
use crate::look::status::count;
use crate::tui::model::Model;
use crate::tui::sessions;
use crate::tui::transcript::Delegation;
use crate::tui::world::Activity;

/// The row as it stands at this moment.
pub(super) fn row(model: &Model, parent: &Session, child: &Delegation) -> Line {
    let activity = model.world.activity.get(&*child.child);
    let tools = activity.map(|activity| activity.tools as usize).filter(|tools| *tools > 0);
    let name = format!("@{}", one_line(&child.agent));
    let label = one_line(&child.label);
    let is_read_only = model.world.sessions.get(&*child.child).is_some_and(|session| session.read_only);
    let access = if is_read_only { " read-only" } else { "" };
    let head = |tone, glyph: &str| Line::toned(tone, format!("{glyph} ")).strong(name.clone()).dim(access);
    let ended = |tone, glyph: &str| {
        let tools = tools.map(|tools| format!(" ({})", count(tools, "tool"))).unwrap_or_default();
        head(tone, glyph).dim(tools).plain(format!("  {label}"))
    };
    match child.status {
        HandoffStatus::Queued => head(Tone::Dim, "◌").plain(format!("  {label}")).dim("  waits for its turn"),
        HandoffStatus::Running => {
            let tools = tools.map(|tools| format!(" [{}]", count(tools, "tool"))).unwrap_or_default();
            let backend = format!("  {}  ", one_line(&child.backend));
            head(Tone::Accent, "▸").dim(tools).plain(format!("  {label}")).dim(backend).then(doing(activity))
        }
        HandoffStatus::PendingPermission => wanting(head(Tone::Warn, "◆"), &label, "wants: ", parent, child),
        HandoffStatus::PendingQuestion => wanting(head(Tone::Warn, "◆"), &label, "asks: ", parent, child),
        HandoffStatus::Completed => ended(Tone::Good, "✓").plain("  ").then(sessions::changes(child.changes)),
        HandoffStatus::Failed | HandoffStatus::TimedOut => ended(Tone::Bad, "✗").with(Tone::Bad, why(child)),
        HandoffStatus::Cancelled | HandoffStatus::Interrupted => ended(Tone::Warn, "‖").dim(why(child)),
    }
}

/// The tool in hand, and the last words.
fn doing(activity: Option<&Activity>) -> Line {
    let Some(activity) = activity else { return Line::new().dim("works") };
    let tool = match &activity.tool {
        Some(tool) => Line::toned(Tone::Accent, "● ").plain(one_line(tool)),
        None if activity.snippet.is_empty() => Line::new().dim("thinks"),
        None => Line::new().dim("writes"),
    };
    match one_line(&activity.snippet) {
        snippet if snippet.is_empty() => tool,
        snippet => tool.dim(format!(" · \"{snippet}\"")),
    }
}

fn wanting(head: Line, label: &str, verb: &str, parent: &Session, child: &Delegation) -> Line {
    let wants = child.wants.as_deref().map(one_line).unwrap_or_default();
    // The counter comes first: however long the wish is, it is seen.
    head.dim(queue(parent, child)).plain(format!("  {label}  ")).with(Tone::Warn, verb).plain(wants)
}

/// Which of all that wait at the parent is the child's.
fn queue(parent: &Session, child: &Delegation) -> String {
    let is_child = |session: &Option<String>| session.as_deref() == Some(&*child.child);
    let open = parent.questions.iter().filter(|question| question.answer.is_none());
    let approvals = parent.approvals.iter().map(|approval| is_child(&approval.session));
    let waiting: Vec<bool> = approvals.chain(open.map(|question| is_child(&question.session))).collect();
    let first = waiting.iter().position(|is_child| *is_child).map_or(1, |at| at + 1);
    format!(" [{first}/{}]", waiting.len().max(1))
}

fn why(child: &Delegation) -> String {
    let word = child.status.as_str().replace('_', " ");
    match &child.error {
        Some(error) => format!("  {word}: {}", one_line(error)),
        None => format!("  {word}"),
    }
}
