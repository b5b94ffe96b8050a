//! Ways out through the network, at the level that lists its ports, and what is open at the other.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};

use rustix::net::{AddressFamily, Protocol, SendFlags, SocketType, listen, sendto, socket};

use super::inside::{Probe, done, probe};

/// Connects with the first packet, by a flag that rustix does not name.
const FAST_OPEN: SendFlags = SendFlags::from_bits_retain(libc::MSG_FASTOPEN as u32);
const MULTIPATH: i32 = 262;

pub(super) const PROBES: &[Probe] = &[
    probe("workspace-network", |map| {
        done(TcpStream::connect((Ipv4Addr::LOCALHOST, map.other_port))).or_else(|_| send_datagram(map.udp_port))
    }),
    probe("vsock", |_| open(AddressFamily::from_raw(40), SocketType::STREAM, 0)).untried(),
    probe("packets", |_| open(AddressFamily::from_raw(17), SocketType::RAW, 0)).untried(),
    probe("kernel-crypto", |_| open(AddressFamily::from_raw(38), SocketType::SEQPACKET, 0)).untried(),
    probe("restricted-tcp", |map| done(TcpStream::connect((Ipv4Addr::LOCALHOST, map.other_port)))).restricted(),
    probe("restricted-tcp6", |map| {
        // Nobody listens there: outside it is refused by the other side, which is an answer too.
        answered(TcpStream::connect((Ipv6Addr::LOCALHOST, map.other_port)))
    })
    .untried()
    .restricted(),
    probe("restricted-mapped", |map| done(TcpStream::connect((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), map.other_port))))
        .restricted(),
    probe("restricted-udp", |map| send_datagram(map.udp_port)).restricted(),
    probe("restricted-udp6", |_| done(UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)))).untried().restricted(),
    probe("restricted-raw", |_| open(AddressFamily::INET, SocketType::RAW, 1)).untried().restricted(),
    probe("restricted-ping", |_| open(AddressFamily::INET, SocketType::DGRAM, 1)).untried().restricted(),
    probe("restricted-multipath", |_| open(AddressFamily::INET, SocketType::STREAM, MULTIPATH)).untried().restricted(),
    probe("restricted-sctp", |_| open(AddressFamily::INET, SocketType::STREAM, 132)).untried().restricted(),
    probe("restricted-netlink", |_| open(AddressFamily::NETLINK, SocketType::RAW, 9)).untried().restricted(),
    probe("restricted-fast-open", |map| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, map.other_port);
        done(sendto(socket, b"x", FAST_OPEN, &address).map_err(io::Error::from))
    })
    .restricted(),
    probe("restricted-bind", |_| done(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))).restricted(),
    probe("restricted-listen", |_| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        Ok(listen(socket, 1)?)
    })
    .restricted(),
    probe("restricted-same-port", |map| done(TcpStream::connect(("127.0.0.2", map.listed_port)))).restricted(),
    // Not a way out but the way that must be there.
    probe("restricted-listed-port", |map| done(TcpStream::connect((Ipv4Addr::LOCALHOST, map.listed_port))))
        .restricted(),
];

fn send_datagram(port: u16) -> io::Result<()> {
    done(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.send_to(b"x", (Ipv4Addr::LOCALHOST, port)))
}

fn answered(connected: io::Result<TcpStream>) -> io::Result<()> {
    match connected {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        other => done(other),
    }
}

fn open(family: AddressFamily, kind: SocketType, protocol: i32) -> io::Result<()> {
    let protocol =
        u32::try_from(protocol).ok().and_then(|number| std::num::NonZero::new(number).map(Protocol::from_raw));
    done(socket(family, kind, protocol).map_err(io::Error::from))
}
