//! The loopback of a network namespace, and the way from its ports to the same ports outside.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

/// When no connection can be taken, descriptors are short, and only time brings some back.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Turns the loopback of this network namespace on and listens on its ports.
pub(super) fn listen(ports: &[u16]) -> io::Result<Vec<TcpListener>> {
    turn_on()?;
    ports.iter().map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port))).collect()
}

/// Carries every connection to the same port of the network that this process is in.
pub(super) async fn carry(listener: TcpListener) -> io::Result<()> {
    let outside = (Ipv4Addr::LOCALHOST, listener.local_addr()?.port());
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let Ok((mut client, _)) = listener.accept().await else {
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        tokio::spawn(async move {
            // A connection that breaks is closed on both sides.
            if let Ok(mut server) = TcpStream::connect(outside).await {
                copy_bidirectional(&mut client, &mut server).await.ok();
            }
        });
    }
}

/// Sets the flag `IFF_UP` of the first interface, which is the loopback in every network namespace.
fn turn_on() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    const LOOPBACK: u32 = 1;
    const UP: u32 = 1;
    let mut request = Vec::with_capacity(32);
    // The header: length, kind, flags, sequence number, sender.
    request.extend(32_u32.to_ne_bytes());
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    request.extend([0; 8]);
    // The interface: family and type are left open, then its number, its flags, and which of these are meant.
    request.extend([0; 4]);
    for field in [LOOPBACK, UP, UP] {
        request.extend(field.to_ne_bytes());
    }
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (_, length) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // Behind the header of the answer is the negative error number, or zero.
    let number = answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match number {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(-number)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
