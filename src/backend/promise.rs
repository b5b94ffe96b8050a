//! What every conversation promises, whatever happens in whatever order; the random walks of all protocols end here.

use crate::backend::event::Event;

/// Checks all events of a conversation that got so many prompts.
#[track_caller]
pub(crate) fn check(events: &[&Event], prompts: usize) {
    let count = |is_wanted: fn(&Event) -> bool| events.iter().filter(|event| is_wanted(event)).count();
    let answers = count(|event| matches!(event, Event::Final { .. } | Event::Failed(_)));
    let starts = count(|event| matches!(event, Event::Started(_)));
    assert!(starts <= 1, "started twice");
    // A conversation that never opens says why, even if no prompt waits for it.
    assert!(answers == prompts || (starts == 0 && answers == prompts + 1), "{prompts} prompts, {answers} answers");
    assert_eq!(
        count(|event| matches!(event, Event::ToolStarted(_))),
        count(|event| matches!(event, Event::ToolFinished { .. })),
        "a tool call dangles"
    );
    assert!(matches!(events.last(), Some(Event::Exited { .. })), "the exit is the last event");
}
