//! Ways out through other processes: looking into them, signals, limits, sockets and descriptors.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process::{Command, Stdio};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    connect, sendmsg, sendto, socketpair,
};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Resource, Rlimit, Signal, getppid, getpriority_process, kill_process,
    pidfd_getfd, pidfd_open, pidfd_send_signal, prlimit, setpriority_process,
};
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use super::inside::{Probe, done, probe, refused};
use super::syscall::{call, clone};

pub(super) const PROBES: &[Probe] = &[
    probe("daemon-environment", |map| done(fs::read(format!("/proc/{}/environ", map.daemon)))),
    probe("daemon-root", |map| done(fs::read_dir(format!("/proc/{}/root/", map.daemon)))),
    probe("daemon-working-directory", |map| done(fs::read_link(format!("/proc/{}/cwd", map.daemon)))),
    probe("daemon-memory", |map| done(fs::File::open(format!("/proc/{}/mem", map.daemon)))).untried(),
    probe("daemon-maps", |map| done(fs::read(format!("/proc/{}/maps", map.daemon)))),
    probe("daemon-descriptors", |map| done(fs::read_link(format!("/proc/{}/fd/{}", map.daemon, map.file_fd)))),
    probe("daemon-one-descriptor", |map| {
        done(fs::read(format!("/proc/{}/fd/{}", map.daemon, map.file_fd)).or_else(|error| {
            // Outside it opens and cannot be read, because it was opened for writing.
            if error.raw_os_error() == Some(libc::EBADF) { Ok(Vec::new()) } else { Err(error) }
        }))
    }),
    probe("neighbour-environment", |map| done(fs::read(format!("/proc/{}/environ", map.neighbour)))),
    probe("neighbour-root", |map| done(fs::read_dir(format!("/proc/{}/root/", map.neighbour)))),
    probe("supervisor-memory", |_| done(fs::File::open(format!("/proc/{}/mem", supervisor()?.as_raw_nonzero()))))
        .untried(),
    probe("supervisor-root", |_| done(fs::read_dir(format!("/proc/{}/root/", supervisor()?.as_raw_nonzero())))),
    probe("supervisor-descriptor", |_| {
        let process = pidfd_open(supervisor()?, PidfdFlags::empty())?;
        done(pidfd_getfd(process, 0, PidfdGetfdFlags::empty()).map_err(io::Error::from))
    })
    .untried(),
    probe("command-lines", |map| done(fs::read(format!("/proc/{}/cmdline", map.stranger)))),
    probe("own-environment", |_| done(fs::read("/proc/self/environ"))),
    probe("trace-stranger", |map| trace(map.stranger)).untried(),
    probe("trace-neighbour", |map| trace(map.neighbour)).untried(),
    probe("memory-of-stranger", |map| {
        let mut byte = 0_u8;
        let ours = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let theirs = libc::iovec { iov_base: std::ptr::without_provenance_mut(4096), iov_len: 1 };
        let (ours, theirs) = (&raw const ours as usize, &raw const theirs as usize);
        match call(libc::SYS_process_vm_readv, [map.stranger as usize, ours, 1, theirs, 1]) {
            // Nothing is at that address, which only those learn who may look.
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok(()),
            other => done(other),
        }
    })
    .untried(),
    probe("descriptor-of-stranger", |map| {
        let process = pidfd_open(pid(map.stranger)?, PidfdFlags::empty())?;
        done(pidfd_getfd(process, 0, PidfdGetfdFlags::empty()).map_err(io::Error::from))
    })
    .untried(),
    // Harmless to those who get it: they are not stopped.
    probe("signal-stranger", |map| Ok(kill_process(pid(map.stranger)?, Signal::CONT)?)),
    probe("signal-neighbour", |map| Ok(kill_process(pid(map.neighbour)?, Signal::CONT)?)),
    probe("signal-daemon", |map| Ok(kill_process(pid(map.daemon)?, Signal::CONT)?)),
    probe("signal-supervisor", |_| Ok(kill_process(supervisor()?, Signal::CONT)?)),
    probe("signal-by-handle", |map| {
        let process = pidfd_open(pid(map.stranger)?, PidfdFlags::empty())?;
        Ok(pidfd_send_signal(process, Signal::CONT)?)
    }),
    probe("signal-thread", |map| done(call(libc::SYS_tkill, [map.stranger as usize, libc::SIGCONT as usize]))),
    probe("limit-stranger", |map| {
        let limit = Rlimit { current: Some(0), maximum: Some(0) };
        done(prlimit(Some(pid(map.stranger)?), Resource::Core, limit).map_err(io::Error::from))
    }),
    // The values that are there already: a lower priority could not be taken back, and a higher one is not the user's.
    probe("priority-of-neighbour", |map| {
        let process = Some(pid(map.neighbour)?);
        Ok(setpriority_process(process, getpriority_process(process)?)?)
    }),
    probe("io-priority-of-daemon", |map| {
        let (which, who) = (1, map.daemon as usize);
        let priority = call(libc::SYS_ioprio_get, [which, who])?;
        done(call(libc::SYS_ioprio_set, [which, who, priority as usize]))
    }),
    probe("scheduler-of-daemon", |map| {
        let (who, priority) = (map.daemon as usize, 0_i32);
        let policy = call(libc::SYS_sched_getscheduler, [who])?;
        done(call(libc::SYS_sched_setscheduler, [who, policy as usize, &raw const priority as usize]))
    }),
    probe("scheduler-parameter-of-daemon", |map| {
        let priority = 0_i32;
        done(call(libc::SYS_sched_setparam, [map.daemon as usize, &raw const priority as usize]))
    }),
    probe("scheduler-attributes-of-daemon", |map| {
        // Of the first version: size, policy, flags, nice, priority and three times.
        let (who, size, mut attributes) = (map.daemon as usize, 48, [0_u64; 6]);
        call(libc::SYS_sched_getattr, [who, &raw mut attributes as usize, size, 0])?;
        done(call(libc::SYS_sched_setattr, [who, &raw const attributes as usize, 0]))
    }),
    probe("processors-of-daemon", |map| {
        let who = Some(pid(map.daemon)?);
        Ok(sched_setaffinity(who, &sched_getaffinity(who)?)?)
    }),
    // A sibling of the command is nobody's child that the command could be held responsible for.
    probe("sibling", |_| clone(libc::CLONE_PARENT)),
    probe("orphan", |_| {
        // An orphan below the supervisor, or the init process of a namespace, ends with it; below anybody else it is free.
        let script = "setsid sh -c 'sleep 600 >/dev/null & echo $!'";
        let output = Command::new("sh").args(["-c", script]).stderr(Stdio::null()).output()?;
        let orphan = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let stat = fs::read_to_string(format!("/proc/{orphan}/stat"))?;
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        if parent == Some(supervisor()?.as_raw_nonzero().get()) {
            Err(refused("the supervisor has it"))
        } else {
            Ok(())
        }
    })
    .untried(),
    probe("unix-socket", |map| done(UnixStream::connect(map.root("daemon.sock")))),
    probe("abstract-socket", |map| {
        done(UnixStream::connect_addr(&SocketAddr::from_abstract_name(&map.abstract_name)?))
    }),
    probe("unix-datagram", |map| done(UnixDatagram::unbound()?.send_to(b"x", map.root("log.sock")))),
    probe("unix-server", |map| done(UnixListener::bind(map.tree("server.sock")))),
    probe("datagram-of-a-pair", |map| {
        let (ours, _theirs) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        let address = SocketAddrUnix::new(map.root("log.sock"))?;
        done(sendto(ours, b"x", SendFlags::empty(), &address).map_err(io::Error::from))
    }),
    probe("raw-socket-of-a-pair", |map| {
        let (ours, _theirs) = socketpair(AddressFamily::UNIX, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let address = SocketAddrUnix::new(map.root("log.sock"))?;
        done(sendto(ours, b"x", SendFlags::empty(), &address).map_err(io::Error::from))
    }),
    probe("stream-of-a-pair", |map| {
        let (ours, _theirs) = UnixStream::pair()?;
        Ok(connect(ours, &SocketAddrUnix::new(map.root("daemon.sock"))?)?)
    })
    .untried(),
    probe("descriptor-over-output", |_| {
        let (reader, _writer) = io::pipe()?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let sent = [reader.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&sent));
        let data = [io::IoSlice::new(b"x")];
        done(sendmsg(io::stdout(), &data, &mut control, SendFlags::empty()).map_err(io::Error::from))
    })
    .untried(),
];

fn pid(number: i32) -> io::Result<Pid> {
    Pid::from_raw(number).ok_or_else(|| refused("no process"))
}

/// The supervisor, or the init process of the namespaces, neither of which is in the cage.
fn supervisor() -> io::Result<Pid> {
    getppid().ok_or_else(|| refused("no parent"))
}

/// Attaches, and lets go by ending: the kernel detaches for those who are gone.
fn trace(process: i32) -> io::Result<()> {
    done(call(libc::SYS_ptrace, [libc::PTRACE_SEIZE as usize, process as usize]))
}
