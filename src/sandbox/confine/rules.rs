//! Files and ports that a process in a cage may use, as Landlock rules.
//!
//! A rule is made for what a path leads to when the command starts, and stays with it. A listed path that is itself a
//! symbolic link gets none: where it leads must be listed too, so that a link to somewhere secret opens nothing. Links
//! on the way to a path are followed unless they lie in a place that may be written.

use std::error::Error;
use std::io;
use std::iter;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::FileType;

use crate::permission::Hold;
use crate::sandbox::cage::{Cage, Network};
use crate::sandbox::hold::Files;
use crate::sandbox::listed_path::WritablePlaces;
use crate::sandbox::support::{Landlock, NEEDED, NEEDED_FOR_PORTS};

/// The newest rights that are tried out; an older kernel leaves out what it does not know.
const KNOWN: ABI = ABI::V7;

/// Devices without which ordinary programs do not run. Terminals are not among them: whoever may make one of their own may
/// open all others of the user, and read what is typed there. Whoever needs them lists `/dev/ptmx` and `/dev/pts`.
pub(in crate::sandbox) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Holds this thread, and all that it starts, to the files and ports of the cage.
pub(in crate::sandbox) fn apply(cage: &Cage) -> io::Result<Hold> {
    let status = restrict(cage).map_err(|error| io_error(&error))?;
    let needed = match cage.network {
        Network::Open => NEEDED,
        Network::Ports(_) => NEEDED_FOR_PORTS,
    };
    let is_new_enough = matches!(found(&status), Landlock::Version(version) if version >= needed);
    Ok(if is_new_enough && status.ruleset != RulesetStatus::NotEnforced { Hold::Enforced } else { Hold::Advisory })
}

/// What the kernel has, asked by a limit that this thread keeps until it ends.
pub(in crate::sandbox) fn ask() -> Landlock {
    let rules = Ruleset::default().handle_access(AccessFs::MakeBlock).and_then(Ruleset::create);
    rules.and_then(RulesetCreated::restrict_self).map_or(Landlock::Missing, |status| found(&status))
}

fn found(status: &RestrictionStatus) -> Landlock {
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Landlock::Version(effective_abi as u32),
        LandlockStatus::NotEnabled => Landlock::Disabled,
        LandlockStatus::NotImplemented => Landlock::Missing,
    }
}

/// Holds this thread, and all that it starts, to files. One that may not read everything reaches nobody else either.
pub(in crate::sandbox) fn hold(files: &Files) -> io::Result<()> {
    let handled = match files.read {
        Some(_) => AccessFs::from_all(KNOWN),
        None => AccessFs::from_write(KNOWN),
    };
    let held = || {
        let rules = listed(files.read.as_deref().unwrap_or_default(), &files.write);
        let places = WritablePlaces::find(&files.write);
        let mut rules = rules.map(|(path, access)| (places.open(path), access & handled));
        let mut ruleset = handling(handled)?;
        if files.read.is_some() {
            ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?.scope(Scope::from_all(KNOWN))?;
        }
        rules.try_fold(ruleset.create()?, allow)?.restrict_self()
    };
    held().map(drop).map_err(|error| io_error(&error))
}

/// Rules for files. A kernel that cannot tell renames apart forbids all between directories, and ordinary work with them.
fn handling(access: BitFlags<AccessFs>) -> Result<Ruleset, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::SoftRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(access)
}

/// Places and what may be done there.
fn listed<'a>(
    read: &'a [PathBuf],
    write: &'a [PathBuf],
) -> impl Iterator<Item = (&'a Path, BitFlags<AccessFs>)> + use<'a> {
    let device = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
    iter::empty()
        .chain(read.iter().map(|path| (path.as_path(), AccessFs::from_read(KNOWN))))
        .chain(write.iter().map(|path| (path.as_path(), AccessFs::from_all(KNOWN))))
        .chain(DEVICES.iter().map(move |path| (Path::new(path), device)))
}

fn restrict(cage: &Cage) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = handling(AccessFs::from_all(KNOWN))?.scope(Scope::from_all(KNOWN))?;
    if let Network::Ports(_) = cage.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let places = WritablePlaces::find(&cage.write);
    let mut rules = listed(&cage.read, &cage.write).map(|(path, access)| (places.open(path), access));
    let mut ruleset = rules.try_fold(ruleset.create()?, allow)?;
    if let Network::Ports(ports) = &cage.network {
        let rules = ports.iter().map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
        ruleset = ruleset.add_rules(rules)?;
    }
    ruleset.restrict_self()
}

fn allow(
    ruleset: RulesetCreated,
    (place, access): (Option<(OwnedFd, FileType)>, BitFlags<AccessFs>),
) -> Result<RulesetCreated, RulesetError> {
    match place {
        Some((file, FileType::Directory)) => ruleset.add_rule(PathBeneath::new(file, access)),
        Some((_, FileType::Symlink)) | None => Ok(ruleset),
        Some((file, _)) => ruleset.add_rule(PathBeneath::new(file, access & AccessFs::from_file(KNOWN))),
    }
}

/// The number that the kernel gave, from below the crate's own layers.
fn io_error(error: &(dyn Error + 'static)) -> io::Error {
    let number = |error: &(dyn Error + 'static)| error.downcast_ref::<io::Error>()?.raw_os_error();
    let found = iter::successors(Some(error), |&error| error.source()).find_map(number);
    found.map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}
