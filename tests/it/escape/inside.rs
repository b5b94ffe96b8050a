//! Tries the ways out, one after the other, in the process that is in the cage.

use std::io;

use super::world::Map;
use super::{files, kernel, network, processes};

/// Tells this test binary that it is inside: which level, and where things are.
pub(super) const LEVEL: &str = "COPPICE_TEST_LEVEL";
pub(super) const MAP: &str = "COPPICE_TEST_MAP";
/// What a line of the answer begins with; the harness writes others.
pub(super) const MARK: &str = "probe ";

/// One way out.
pub(super) struct Probe {
    pub(super) name: &'static str,
    pub(super) level: Level,
    pub(super) outside: Outside,
    /// Succeeds when the way is open.
    pub(super) attempt: fn(&Map) -> io::Result<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Workspace,
    Restricted,
}

/// What happens without a cage, which tells a wall from a typing error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    Opens,
    /// It depends on the user and the machine, or would change the machine.
    Untried,
}

/// A way that is open without a cage.
pub(super) const fn probe(name: &'static str, attempt: fn(&Map) -> io::Result<()>) -> Probe {
    Probe { name, level: Level::Workspace, outside: Outside::Opens, attempt }
}

impl Probe {
    pub(super) const fn untried(self) -> Self {
        Self { outside: Outside::Untried, ..self }
    }

    pub(super) const fn restricted(self) -> Self {
        Self { level: Level::Restricted, ..self }
    }
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Restricted => "restricted",
        }
    }
}

pub(super) fn all() -> impl Iterator<Item = &'static Probe> {
    [files::WRITES, files::READS, files::DETOURS, processes::PROBES, kernel::PROBES, network::PROBES]
        .into_iter()
        .flatten()
}

/// Plays the intruder when a test asks for it, and is an empty test otherwise.
#[test]
fn entry() {
    let Ok(level) = std::env::var(LEVEL) else { return };
    let map: Map = serde_json::from_str(&std::env::var(MAP).unwrap()).unwrap();
    println!();
    for probe in all().filter(|probe| probe.level.as_str() == level) {
        match (probe.attempt)(&map) {
            Ok(()) => println!("{MARK}{} open", probe.name),
            Err(error) => println!("{MARK}{} held: {error}", probe.name),
        }
    }
}

/// Succeeds with an answer of no interest.
pub(super) fn done<T>(answer: io::Result<T>) -> io::Result<()> {
    answer.map(|_| ())
}

/// Fails as a wall would.
pub(super) fn refused(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Whether the kernel went as far as looking at the arguments.
pub(super) fn is_known(answer: io::Result<i64>, refusal: i32) -> io::Result<()> {
    match answer {
        Err(error) if error.raw_os_error() == Some(refusal) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
