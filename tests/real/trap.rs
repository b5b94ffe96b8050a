//! A proxy that lets nobody through to another machine and writes down who wanted to go where: no test reaches a real host.

use std::io::{BufRead, BufReader, Write, copy};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The trap. Its thread ends with the test process.
pub(crate) struct Trap {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Trap {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut request = BufReader::new(stream);
                let mut line = String::new();
                // A connection without a request says nothing about where it wanted to go.
                request.read_line(&mut line).ok();
                let mut words = line.split_whitespace();
                let (method, target) = (words.next(), words.next().unwrap_or("(nothing)").to_owned());
                match loopback(&target).filter(|_| method == Some("CONNECT")) {
                    Some(address) => drop(thread::spawn(move || tunnel(request, address))),
                    None => noted.lock().unwrap_or_else(PoisonError::into_inner).push(target),
                }
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every target, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A server of the test's own, which some programs want to reach through the proxy as well.
fn loopback(target: &str) -> Option<SocketAddr> {
    target.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback())
}

/// Carries bytes both ways until one side has none. Neither side misses what is lost with a connection.
fn tunnel(mut request: BufReader<TcpStream>, address: SocketAddr) -> Option<()> {
    let mut line = String::new();
    while request.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    let mut server = TcpStream::connect(address).ok()?;
    let mut client = request.get_ref().try_clone().ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut to_server = server.try_clone().ok()?;
    thread::spawn(move || {
        copy(&mut request, &mut to_server).ok();
        to_server.shutdown(Shutdown::Write).ok();
    });
    copy(&mut server, &mut client).ok();
    client.shutdown(Shutdown::Write).ok()
}
