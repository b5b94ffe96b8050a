//! System calls that no safe crate offers: the split of a process, recursive mount attributes, a stop of all at once and an
//! end by a signal.

#![expect(unsafe_code, reason = "these calls have no safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::sandbox::cage::Network;

/// Which side of a split process this is.
pub(super) enum Fork {
    Parent(Pid),
    Child,
}

/// Which mounts of a tree an attribute is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    TopMount,
    AllMounts,
}

/// Forks into new namespaces. The child is the first process in them.
pub(super) fn clone_into_namespaces(network: &Network) -> io::Result<Fork> {
    let mut flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::SIGCHLD;
    if let Network::Ports(_) = network {
        flags |= libc::CLONE_NEWNET;
    }
    // SAFETY: without CLONE_VM and a stack this is a fork; the caller has one thread, so the child finds no lock that
    // another thread holds.
    result(unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_ulong, 0, 0, 0, 0) })
}

pub(super) fn fork() -> io::Result<Fork> {
    // SAFETY: the caller has one thread, so the child finds no lock that another thread holds.
    result(unsafe { libc::fork() }.into())
}

fn result(answer: libc::c_long) -> io::Result<Fork> {
    match answer {
        0 => Ok(Fork::Child),
        pid => match i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw) {
            Some(pid) => Ok(Fork::Parent(pid)),
            None => Err(io::Error::last_os_error()),
        },
    }
}

/// Makes mounts read-only, whatever their other attributes.
pub(super) fn make_read_only(mount: BorrowedFd<'_>, depth: Depth) -> io::Result<()> {
    // `struct mount_attr`: attributes to set, attributes to clear, propagation, namespace of users.
    let attributes: [u64; 4] = [libc::MOUNT_ATTR_RDONLY, 0, 0, 0];
    let recursive = match depth {
        Depth::TopMount => 0,
        Depth::AllMounts => libc::AT_RECURSIVE,
    };
    // SAFETY: both pointers are to values that outlive the call, and the size is that of the second.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has a signal to this process stop every other process that it can see. For the kernel that is one step: a process that
/// is being started meanwhile is stopped too.
pub(super) fn stop_others_on(order: Signal) -> io::Result<()> {
    extern "C" fn stop_others(_: libc::c_int) {
        // SAFETY: a call that may be made wherever a signal comes; who has nobody else to stop is done.
        unsafe { libc::kill(-1, libc::SIGSTOP) };
    }
    let handler: extern "C" fn(libc::c_int) = stop_others;
    // SAFETY: an action without flags and mask is all zeroes; the handler makes one call that is safe there.
    let answer = unsafe {
        let action =
            libc::sigaction { sa_sigaction: handler as usize, sa_flags: libc::SA_RESTART, ..std::mem::zeroed() };
        libc::sigaction(order.as_raw(), &raw const action, std::ptr::null_mut())
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends this process by a signal, so that its parent sees the same end as that of the command; returns the number that a
/// shell would give if the signal does not end it.
pub(super) fn end_by_signal(number: i32) -> i32 {
    // SAFETY: the default action needs no handler, and the old one is not used again.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    let no_core = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    // It was not this process that failed.
    rustix::process::setrlimit(rustix::process::Resource::Core, no_core).ok();
    if let Some(signal) = Signal::from_named_raw(number) {
        kill_process(getpid(), signal).ok();
    }
    128 + number
}
