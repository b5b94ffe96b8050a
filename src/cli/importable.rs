//! What can be taken over from the agent programs, as a list: one row each, and below it what there is to know.

use super::line::{Line, Tone, one_line, table};
use crate::api::import::ImportState;

/// One thing that can be imported, or not.
pub(super) struct ImportRow<'a> {
    /// What stands in front of the state.
    pub(super) cells: Vec<Line>,
    pub(super) note: Option<&'a str>,
}

pub(super) fn describe_rows(rows: Vec<ImportRow<'_>>) -> Vec<Line> {
    let (cells, notes): (Vec<_>, Vec<_>) = rows.into_iter().map(|row| (row.cells, row.note)).unzip();
    let note = |note: &str| Line::new().plain("    ").with(Tone::Warn, one_line(note));
    let lines = table(&cells).into_iter().zip(notes);
    lines.flat_map(|(line, text)| std::iter::once(line).chain(text.map(note))).collect()
}

/// How more is imported, where something can be.
pub(super) fn describe_command(
    states: impl IntoIterator<Item = ImportState>,
    command: &str,
    target: &str,
) -> Vec<Line> {
    let can_be = states.into_iter().any(|state| matches!(state, ImportState::Ready | ImportState::ByName));
    let line = || Line::new().plain(command).dim(", or ").plain("--all").dim(" for those that are ready");
    let lines = || vec![Line::new(), line().dim(format!(", adds them to {}", one_line(target)))];
    if can_be { lines() } else { Vec::new() }
}

pub(super) fn describe_state(state: ImportState) -> Line {
    match state {
        ImportState::Ready => Line::toned(Tone::Good, "ready"),
        ImportState::ByName => Line::toned(Tone::Warn, "by name"),
        ImportState::Imported => Line::toned(Tone::Good, "imported"),
        ImportState::Present => Line::new().dim("there"),
        ImportState::Clash => Line::toned(Tone::Warn, "clash"),
        ImportState::Unusable => Line::toned(Tone::Bad, "no"),
    }
}
