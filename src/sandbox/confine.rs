//! Turns a cage into limits that the kernel holds this process to, and all that it starts.
//!
//! Nothing here can be taken back, so only the second stage calls it, right before it executes. Where the kernel lacks
//! something the rest is applied all the same, and the answer says that the cage does not hold.

#[cfg(target_os = "linux")]
pub(super) mod filter;
#[cfg(target_os = "linux")]
pub(super) mod rules;

use std::io;

use super::cage::Cage;
use crate::permission::Hold;

/// Puts this thread into the cage.
#[cfg(target_os = "linux")]
pub(super) fn confine(cage: &Cage) -> io::Result<Hold> {
    rustix::thread::set_no_new_privs(true)?;
    drop_capabilities()?;
    // From here on nothing needs a privilege, and making rules needs no call that the filters refuse.
    let filtered = filter::apply(&cage.network, cage.isolation);
    let held = rules::apply(cage)?;
    Ok(match (filtered, held) {
        (Ok(()), Hold::Enforced) => Hold::Enforced,
        (Ok(()), Hold::Advisory) | (Err(_), Hold::Enforced | Hold::Advisory) => Hold::Advisory,
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn confine(_cage: &Cage) -> io::Result<Hold> {
    Ok(Hold::Advisory)
}

/// Gives up every capability for good. Root stays the owner of its files and is nothing more: above all it cannot look
/// into processes that have more capabilities than it has, such as the daemon.
#[cfg(target_os = "linux")]
pub(super) fn drop_capabilities() -> io::Result<()> {
    use rustix::io::Errno;
    use rustix::thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
        set_capabilities,
    };

    clear_ambient_capability_set()?;
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The kernel knows no further ones, or an ordinary user asks: such a one gains nothing by an exec, because
            // new privileges are off.
            Err(Errno::INVAL | Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
