//! Ways out through the kernel: powers, namespaces, and calls that stand in for others.

use std::fs;
use std::io;
use std::process::Command;

use rustix::thread::{capabilities, no_new_privs};

use super::inside::{MAP, Probe, done, is_known, probe, refused};
use super::syscall::{call, clone};

/// The bit that calls of the x32 kind carry.
const X32: libc::c_long = 0x4000_0000;

pub(super) const PROBES: &[Probe] = &[
    probe("set-user-id", |_| if no_new_privs()? { Err(refused("new privileges are off")) } else { Ok(()) }).untried(),
    probe("capabilities", |_| match capabilities(None)?.permitted.is_empty() {
        true => Err(refused("none are left")),
        false => Ok(()),
    })
    .untried(),
    probe("user-namespace", |_| done(call(libc::SYS_unshare, [libc::CLONE_NEWUSER as usize]))).untried(),
    probe("user-namespace-by-clone", |_| clone(libc::CLONE_NEWUSER)).untried(),
    probe("user-namespace-by-clone3", |_| match call(libc::SYS_clone3, []) {
        // Its argument is refused, the call is not.
        Err(error) if error.raw_os_error() != Some(libc::ENOSYS) => Ok(()),
        other => done(other),
    })
    .untried(),
    probe("mount-namespace", |_| done(call(libc::SYS_unshare, [libc::CLONE_NEWNS as usize]))).untried(),
    probe("other-namespace", |_| {
        let own = fs::File::open("/proc/self/ns/mnt")?;
        let own = std::os::fd::AsRawFd::as_raw_fd(&own) as usize;
        done(call(libc::SYS_setns, [own]))
    })
    .untried(),
    probe("mount", |map| {
        let (kind, target) = (c_text("tmpfs"), c_text(&map.tree("").display().to_string()));
        call(libc::SYS_mount, [kind.as_ptr() as usize, target.as_ptr() as usize, kind.as_ptr() as usize])?;
        // It succeeds without a cage, and the machine must not keep it.
        done(call(libc::SYS_umount2, [target.as_ptr() as usize, libc::MNT_DETACH as usize]))
    })
    .untried(),
    probe("open-tree", |_| {
        let root = c_text("/");
        done(call(
            libc::SYS_open_tree,
            [libc::AT_FDCWD as usize, root.as_ptr() as usize, libc::OPEN_TREE_CLONE as usize],
        ))
    })
    .untried(),
    probe("change-root", |_| Ok(rustix::process::chroot("/")?)).untried(),
    probe("bubblewrap", |_| ends_well(Command::new("bwrap").args(["--ro-bind", "/", "/", "true"]))).untried(),
    probe("unshare-program", |_| ends_well(Command::new("unshare").args(["-r", "-m", "true"]))).untried(),
    probe("file-by-number", |_| is_known(call(libc::SYS_open_by_handle_at, [usize::MAX]), libc::EPERM)).untried(),
    probe("io-uring", |_| is_known(call(libc::SYS_io_uring_setup, []), libc::ENOSYS)).untried(),
    probe("keyring", |_| is_known(call(libc::SYS_keyctl, [usize::MAX]), libc::ENOSYS)),
    probe("add-key", |_| is_known(call(libc::SYS_add_key, []), libc::ENOSYS)),
    // Nobody has such a segment: the kernel says so only when it looks.
    probe("system-v-memory", |_| is_known(call(libc::SYS_shmget, [1, 0, 0]), libc::ENOSYS)),
    probe("system-v-memory-by-id", |_| is_known(call(libc::SYS_shmdt, [1]), libc::ENOSYS)),
    probe("system-v-semaphores", |_| is_known(call(libc::SYS_semop, [usize::MAX, 0, 0]), libc::ENOSYS)),
    probe("system-v-timed-semaphores", |_| is_known(call(libc::SYS_semtimedop, [usize::MAX, 0, 0]), libc::ENOSYS)),
    probe("system-v-messages", |_| is_known(call(libc::SYS_msgsnd, [usize::MAX]), libc::ENOSYS)),
    probe("system-v-messages-in", |_| is_known(call(libc::SYS_msgrcv, [usize::MAX]), libc::ENOSYS)),
    probe("message-queues", |_| is_known(call(libc::SYS_mq_unlink, [0]), libc::ENOSYS)),
    probe("bpf", |_| is_known(call(libc::SYS_bpf, [usize::MAX]), libc::ENOSYS)).untried(),
    probe("perf-events", |_| is_known(call(libc::SYS_perf_event_open, []), libc::ENOSYS)).untried(),
    probe("userfaultfd", |_| is_known(call(libc::SYS_userfaultfd, [usize::MAX]), libc::ENOSYS)).untried(),
    // A pipe is no terminal: the kernel says so only when it looks at the request.
    probe("typed-by-nobody", |_| is_known(call(libc::SYS_ioctl, [0, libc::TIOCSTI as usize]), libc::EPERM)),
    probe("console-request", |_| is_known(call(libc::SYS_ioctl, [0, libc::TIOCLINUX as usize]), libc::EPERM)),
    probe("x32-call", |_| done(call(X32 | libc::SYS_getpid, []))).untried(),
    probe("x32-socket", |_| done(call(X32 | libc::SYS_socket, [libc::AF_UNIX as usize, 1]))).untried(),
    probe("i386-call", |_| {
        let me = std::env::current_exe()?;
        ends_well(Command::new(me).args(["--exact", "escape::kernel::old_gate"]).env(OLD_GATE, "1").env_remove(MAP))
    })
    .untried(),
    probe("kernel-setting", |_| fs::write("/proc/sys/kernel/core_pattern", "|/bin/true")).untried(),
];

const OLD_GATE: &str = "COPPICE_TEST_OLD_GATE";

/// Goes through the gate when the probe asks for it, and is an empty test otherwise.
#[test]
fn old_gate() {
    if std::env::var_os(OLD_GATE).is_some() {
        #[cfg(target_arch = "x86_64")]
        assert_eq!(super::syscall::i386_getpid(), i64::from(std::process::id()));
        #[cfg(not(target_arch = "x86_64"))]
        panic!("there is no such gate");
    }
}

fn ends_well(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() { Ok(()) } else { Err(refused(&output.status.to_string())) }
}

fn c_text(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).unwrap()
}
