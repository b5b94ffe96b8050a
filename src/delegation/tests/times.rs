//! How long a child may work and a call may wait.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_nearest_word_about_time_counts() {
    let hours = |n: u32| 60 * n * MINUTE;
    let none = Limits {
        call: None,
        file: None,
        facade: Facade::Delegate,
        config: None,
        agent: AgentKind::Other,
        turn: hours(4),
    };
    for (limits, expected) in [
        (none, hours(4)),
        (Limits { agent: AgentKind::ReadOnlyBuiltIn, ..none }, 30 * MINUTE),
        (Limits { config: Some(hours(1)), agent: AgentKind::ReadOnlyBuiltIn, ..none }, hours(1)),
        (Limits { facade: Facade::Task, ..none }, 5 * MINUTE),
        (Limits { facade: Facade::Task, config: Some(hours(1)), ..none }, 5 * MINUTE),
        (Limits { facade: Facade::Task, file: Some(hours(2)), config: Some(hours(1)), ..none }, hours(2)),
        (Limits { call: Some(MINUTE), file: Some(hours(2)), facade: Facade::Task, ..none }, MINUTE),
        (Limits { call: Some(hours(9)), ..none }, hours(4)),
        (Limits { facade: Facade::SpawnAgent, turn: MINUTE, ..none }, MINUTE),
    ] {
        assert_eq!(limit(&limits), expected, "{limits:?}");
    }
}

#[test]
fn a_call_returns_before_the_other_side_gives_up() {
    assert_eq!(hold(None, 8 * MINUTE), 8 * MINUTE);
    assert_eq!(hold(Some(MINUTE), 8 * MINUTE), MINUTE);
    assert_eq!(hold(Some(60 * MINUTE), 8 * MINUTE), 8 * MINUTE);
}
