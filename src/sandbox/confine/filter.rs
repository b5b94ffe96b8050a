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

use crate::sandbox::cage::Network;

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
    // Memory and queues that belong to all processes of the user, and are no files.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // The usual doors to faults of the kernel, which a work tree has no use for.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

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
];

/// The same by a directory, since Linux 6.13; the numbers are those of every architecture.
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;

const TYPE_MASK: u64 = 0xf;
const NEW_USER: u64 = libc::CLONE_NEWUSER as u64;
const FAST_OPEN: u64 = libc::MSG_FASTOPEN as u64;
const NETLINK: u64 = libc::AF_NETLINK as u64;
const INTERNET: [u64; 2] = [libc::AF_INET as u64, libc::AF_INET6 as u64];
const DATAGRAM: u64 = libc::SOCK_DGRAM as u64;
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
pub(in crate::sandbox) fn apply(network: &Network) -> io::Result<()> {
    for program in programs(network).map_err(io::Error::other)? {
        seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

/// A filter has one answer, so there is one for each.
fn programs(network: &Network) -> Result<[BpfProgram; 4], BackendError> {
    let mut sockets = sockets();
    if let Network::Ports(_) = network {
        sockets.extend(tcp_only());
    }
    let always = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, Vec::new())).collect();
    Ok([
        program(libc::EACCES, sockets)?,
        program(libc::EPERM, privileges())?,
        program(libc::EOPNOTSUPP, always(UNSUPPORTED))?,
        refuse_foreign(program(libc::ENOSYS, always(ABSENT))?),
    ])
}

/// Sockets that lead to other processes of the machine, or past the rules for the network.
fn sockets() -> Vec<Refusal> {
    let fine = INTERNET.into_iter().chain([NETLINK]);
    vec![
        // The daemon, the user's agents for keys, D-Bus and Docker listen on paths, which no rule covers.
        (libc::SYS_socket, fine.map(|family| (0, Dword, Ne, family)).collect()),
        // One of a pair of datagram sockets can send to any path; of the other kinds each end has its peer for life.
        (libc::SYS_socketpair, vec![(1, Dword, MaskedEq(TYPE_MASK), DATAGRAM)]),
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
        // So it is in those that the user's containers have.
        (libc::SYS_setns, Vec::new()),
        // Files by number instead of by path.
        (libc::SYS_open_by_handle_at, Vec::new()),
        // Keys typed into a terminal by nobody.
        (libc::SYS_ioctl, vec![(1, Dword, Eq, TYPE_INTO_TERMINAL)]),
        (libc::SYS_ioctl, vec![(1, Dword, Eq, ASK_CONSOLE)]),
        // The limit of another process can end it, as a signal would.
        (libc::SYS_prlimit64, vec![(0, Dword, Ne, 0), (2, Qword, Ne, 0)]),
    ]
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
        let refused: Vec<_> = [sockets(), tcp_only(), privileges()].concat();
        let (always, by_arguments): (Vec<_>, Vec<_>) =
            refused.iter().partition(|(_, conditions)| conditions.is_empty());
        assert!(always.iter().all(|(call, _)| by_arguments.iter().all(|(other, _)| call != other)));
    }

    /// What a thread may have under the filters of a network: a stream pair, a datagram pair, a path, TCP, UDP.
    fn sockets_under(network: Network) -> [bool; 5] {
        let ask = move || {
            apply(&network).unwrap();
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
