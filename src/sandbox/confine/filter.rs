//! System calls that no process in a cage may make: what reaches out of it without naming a file.
//!
//! A filter sees numbers, never what a pointer leads to, so it refuses whole kinds of calls. Files and ports are the
//! business of `rules`.

use std::collections::BTreeMap;
use std::io;

use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use crate::sandbox::cage::{Isolation, Network};

/// Calls that a program finds missing, as on an older kernel, and does without.
const ABSENT: &[libc::c_long] = &[
    // It makes any other call, and no filter sees that.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its flags are behind a pointer; `clone` does the same with flags that can be seen.
    libc::SYS_clone3,
    // The user's keys are no files.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Its mode is behind a pointer; `openat` does the same with a mode that can be seen.
    libc::SYS_openat2,
    // Memory, semaphores and queues that belong to all processes of the user, and are no files. An id that is known or
    // guessed needs no call that looks it up.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // The usual doors to faults of the kernel, which a work tree has no use for.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// `F_SETDELEG` of Linux 6.19: a lease that also holds up who changes a directory.
const SET_DELEGATION: u64 = 1040;

/// Calls about attributes of files that Landlock has no rule for. Programs that copy files do without them.
const UNSUPPORTED: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// Calls that are newer than `libc`'s list; the numbers are those of every architecture.
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;

/// Requests that change the flags, project or version of a file's inode through a descriptor that may only be open for
/// reading.
const INODE_REQUESTS: [u64; 6] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4004_7602, // FS_IOC32_SETVERSION
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
];

const NEW_USER: u64 = libc::CLONE_NEWUSER as u64;
const SAME_PARENT: u64 = libc::CLONE_PARENT as u64;
const UNIX: u64 = libc::AF_UNIX as u64;
const FAST_OPEN: u64 = libc::MSG_FASTOPEN as u64;
const NETLINK: u64 = libc::AF_NETLINK as u64;
const INTERNET: [u64; 2] = [libc::AF_INET as u64, libc::AF_INET6 as u64];
/// The bits that make a program run as its owner or its group.
const SET_ID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
/// Flags of `open` with which its mode counts.
const CREATING: [u64; 2] = [libc::O_CREAT as u64, (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64];
const IOPRIO_WHO_USER: u64 = 3;
const TCP: u64 = libc::IPPROTO_TCP as u64;

/// `TIOCSTI` and `TIOCLINUX`, whose type differs between C libraries.
const TYPE_INTO_TERMINAL: u64 = 0x5412;
const ASK_CONSOLE: u64 = 0x541c;

/// Calls of the x32 kind carry this bit, and mean other things by the same numbers.
const FOREIGN: u32 = 0x4000_0000;

/// One call and the arguments with which it is refused, or none for a call that always is.
type Refusal = (libc::c_long, Vec<Condition>);
type Condition = (u8, SeccompCmpArgLen, SeccompCmpOp, u64);

/// Refuses the calls in this thread and in all that it starts.
pub(in crate::sandbox) fn apply(network: &Network, isolation: Isolation) -> io::Result<()> {
    for program in programs(network, isolation).map_err(io::Error::other)? {
        seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

/// A filter has one answer, so there is one for each.
fn programs(network: &Network, isolation: Isolation) -> Result<[BpfProgram; 4], BackendError> {
    let mut sockets = sockets();
    if let Network::Ports(_) = network {
        sockets.extend(tcp_only());
    }
    let scheduling = match isolation {
        Isolation::RulesOnly => other_processes(),
        // No other process has a number there, and threads are scheduled by their numbers.
        Isolation::Namespaces => Vec::new(),
    };
    let always = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, Vec::new())).collect::<Vec<Refusal>>();
    Ok([
        program(libc::EACCES, sockets)?,
        program(libc::EPERM, [privileges(), set_id_modes(), scheduling].concat())?,
        program(libc::EOPNOTSUPP, [always(UNSUPPORTED), inode_requests()].concat())?,
        refuse_foreign(program(libc::ENOSYS, always(ABSENT))?),
    ])
}

/// Sockets that lead to other processes of the machine, or past the rules for the network.
fn sockets() -> Vec<Refusal> {
    let fine = INTERNET.into_iter().chain([NETLINK]);
    vec![
        // The daemon, the user's agents for keys, D-Bus and Docker listen on paths, which no rule covers.
        (libc::SYS_socket, fine.map(|family| (0, Dword, Ne, family)).collect()),
        (libc::SYS_socketpair, vec![(0, Dword, Ne, UNIX)]),
        // One of a pair of datagram sockets can send to any path, and raw ones are datagram sockets by another name.
        // Streams (1) and sequenced packets (5) stay: each end has its peer for life. Both have bit 0, and neither bit 1
        // nor bit 3.
        (libc::SYS_socketpair, vec![(1, Dword, MaskedEq(1), 0)]),
        (libc::SYS_socketpair, vec![(1, Dword, MaskedEq(2), 2)]),
        (libc::SYS_socketpair, vec![(1, Dword, MaskedEq(8), 8)]),
    ]
}

/// All that is not TCP by `connect`, the one thing that a rule sees.
fn tcp_only() -> Vec<Refusal> {
    let mut refused = Vec::new();
    for family in INTERNET {
        let mut refuse = |condition| refused.push((libc::SYS_socket, vec![(0, Dword, Eq, family), condition]));
        // Any type but 1, a stream: bit 0 is missing, or another one is there.
        refuse((1, Dword, MaskedEq(1), 0));
        for bit in [2, 4, 8] {
            refuse((1, Dword, MaskedEq(bit), bit));
        }
        // Other protocols for streams, such as Multipath TCP, are not ruled.
        let other = vec![(0, Dword, Eq, family), (2, Dword, Ne, 0), (2, Dword, Ne, TCP)];
        refused.push((libc::SYS_socket, other));
    }
    refused.extend([
        // The addresses of the machine can be asked for, and nothing else.
        (libc::SYS_socket, vec![(0, Dword, Eq, NETLINK), (2, Dword, Ne, 0)]),
        // The first packet of a connection that nobody asked to connect.
        (libc::SYS_sendto, vec![(3, Dword, MaskedEq(FAST_OPEN), FAST_OPEN)]),
        (libc::SYS_sendmsg, vec![(2, Dword, MaskedEq(FAST_OPEN), FAST_OPEN)]),
        (libc::SYS_sendmmsg, vec![(3, Dword, MaskedEq(FAST_OPEN), FAST_OPEN)]),
        // It binds a socket that was not bound, to a port that no rule was asked about.
        (libc::SYS_listen, Vec::new()),
    ]);
    refused
}

/// What an owner can do without any capability, to get some or to reach other processes.
fn privileges() -> Vec<Refusal> {
    vec![
        // In a namespace of one's own one is root, with all the calls that only root may make.
        (libc::SYS_unshare, vec![(0, Dword, MaskedEq(NEW_USER), NEW_USER)]),
        (libc::SYS_clone, vec![(0, Dword, MaskedEq(NEW_USER), NEW_USER)]),
        // A sibling would be a child of the supervisor, or of whoever is above it.
        (libc::SYS_clone, vec![(0, Dword, MaskedEq(SAME_PARENT), SAME_PARENT)]),
        // So it is in those that the user's containers have.
        (libc::SYS_setns, Vec::new()),
        // Files by number instead of by path.
        (libc::SYS_open_by_handle_at, Vec::new()),
        // Keys typed into a terminal by nobody.
        (libc::SYS_ioctl, vec![(1, Dword, Eq, TYPE_INTO_TERMINAL)]),
        (libc::SYS_ioctl, vec![(1, Dword, Eq, ASK_CONSOLE)]),
        // A lease makes others wait who open the file: git of the user's, or the daemon.
        (libc::SYS_fcntl, vec![(1, Dword, Eq, libc::F_SETLEASE as u64)]),
        (libc::SYS_fcntl, vec![(1, Dword, Eq, SET_DELEGATION)]),
        // The limit of another process can end it, as a signal would.
        (libc::SYS_prlimit64, vec![(0, Dword, Ne, 0), (2, Qword, Ne, 0)]),
    ]
}

/// Modes with which a program runs as the user, whoever starts it.
fn set_id_modes() -> Vec<Refusal> {
    // Each call, and which of its arguments is the mode.
    let changes = [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];
    // Each call, and which of its arguments are the flags and the mode.
    let opens = [(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    let (changes, opens) = (
        changes.into_iter().chain([(libc::SYS_chmod, 1), (libc::SYS_mknod, 1), (libc::SYS_creat, 1)]),
        opens.into_iter().chain([(libc::SYS_open, 1, 2)]),
    );
    let mut refused = Vec::new();
    for (call, mode) in changes {
        refused.extend(SET_ID.map(|bit| (call, vec![(mode, Dword, MaskedEq(bit), bit)])));
    }
    for (call, flags, mode) in opens {
        for created in CREATING {
            let creates = (flags, Dword, MaskedEq(created), created);
            refused.extend(SET_ID.map(|bit| (call, vec![creates.clone(), (mode, Dword, MaskedEq(bit), bit)])));
        }
    }
    refused
}

/// Scheduling of processes other than the caller, which can starve the daemon or another session.
fn other_processes() -> Vec<Refusal> {
    let by_id =
        [libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr, libc::SYS_sched_setaffinity];
    let mut refused: Vec<Refusal> = by_id.map(|call| (call, vec![(0, Dword, Ne, 0)])).to_vec();
    // A user as a whole includes the daemon.
    for (call, user) in [(libc::SYS_setpriority, libc::PRIO_USER as u64), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)] {
        refused.extend([(call, vec![(1, Dword, Ne, 0)]), (call, vec![(0, Dword, Eq, user)])]);
    }
    refused
}

fn inode_requests() -> Vec<Refusal> {
    INODE_REQUESTS.map(|request| (libc::SYS_ioctl, vec![(1, Dword, Eq, request)])).to_vec()
}

fn program(errno: i32, refused: Vec<Refusal>) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, conditions) in refused {
        let rules = rules.entry(call).or_default();
        if conditions.is_empty() {
            continue;
        }
        let condition = |(argument, length, op, value)| SeccompCondition::new(argument, length, op, value);
        rules.push(SeccompRule::new(conditions.into_iter().map(condition).collect::<Result<_, _>>()?)?);
    }
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let native = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, native)?.try_into()
}

/// Adds the refusal of x32 calls, which the check of the architecture lets pass; one for i386 ends the process there.
fn refuse_foreign(mut program: BpfProgram) -> BpfProgram {
    const CHECK_OF_ARCHITECTURE: usize = 3;
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let load_number = statement((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0);
    let is_foreign =
        sock_filter { code: (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, jt: 0, jf: 1, k: FOREIGN };
    let refuse = statement((libc::BPF_RET | libc::BPF_K) as u16, SeccompAction::Errno(libc::ENOSYS as u32).into());
    program.splice(CHECK_OF_ARCHITECTURE..CHECK_OF_ARCHITECTURE, [load_number, is_foreign, refuse]);
    program
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream, UdpSocket};
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use super::*;

    /// A call that is listed both ways would be refused by its arguments alone.
    #[test]
    fn a_call_is_refused_always_or_by_its_arguments() {
        let refused: Vec<_> = [sockets(), tcp_only(), privileges(), set_id_modes(), other_processes()].concat();
        let (always, by_arguments): (Vec<_>, Vec<_>) =
            refused.iter().partition(|(_, conditions)| conditions.is_empty());
        assert!(always.iter().all(|(call, _)| by_arguments.iter().all(|(other, _)| call != other)));
    }

    /// What a thread may have under the filters of a network: a stream pair, a datagram pair, a path, TCP, UDP.
    fn sockets_under(network: Network) -> [bool; 5] {
        let ask = move || {
            apply(&network, Isolation::RulesOnly).unwrap();
            // Nobody listens there, which only those learn who may connect.
            let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, 1)).unwrap_err();
            [
                UnixStream::pair().is_ok(),
                UnixDatagram::pair().is_ok(),
                UnixDatagram::unbound().is_ok(),
                tcp.kind() != io::ErrorKind::PermissionDenied,
                UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).is_ok(),
            ]
        };
        std::thread::spawn(ask).join().unwrap()
    }

    #[test]
    fn sockets_lead_to_the_network_and_to_nobody_else() {
        assert_eq!(sockets_under(Network::Open), [true, false, false, true, true]);
        assert_eq!(sockets_under(Network::Ports(Vec::new())), [true, false, false, true, false]);
    }
}
