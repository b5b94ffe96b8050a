//! How long a child may work, and how long a call may wait for it.

use std::time::Duration;

use super::Facade;

/// Its contract says five minutes, whatever the child is.
const TASK: Duration = Duration::from_secs(300);
const DEFAULT: Duration = Duration::from_secs(4 * 3600);
const READ_ONLY_BUILT_IN: Duration = Duration::from_secs(30 * 60);

/// Everything that has a say in a child's time, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub call: Option<Duration>,
    /// What the agent's file says.
    pub file: Option<Duration>,
    pub facade: Facade,
    /// What the configuration says, where somebody set it.
    pub config: Option<Duration>,
    pub agent: AgentKind,
    /// No child works longer than a turn may.
    pub turn: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// Looks at things and reports: it is done soon or not at all.
    ReadOnlyBuiltIn,
    Other,
}

/// How long a child may work.
pub fn limit(limits: &Limits) -> Duration {
    let of_facade = match limits.facade {
        Facade::Task => Some(TASK),
        Facade::Delegate | Facade::SpawnAgent | Facade::Agent => None,
    };
    let default = match limits.agent {
        AgentKind::ReadOnlyBuiltIn => READ_ONLY_BUILT_IN,
        AgentKind::Other => DEFAULT,
    };
    let told = limits.call.or(limits.file).or(of_facade).or(limits.config);
    told.unwrap_or(default).min(limits.turn)
}

/// How long a call may wait for its child before it returns with `running`: what is configured, but never longer than
/// the agent on the other side waits for the call.
pub fn hold(config: Option<Duration>, backend: Duration) -> Duration {
    config.map_or(backend, |config| config.min(backend))
}
