//! A proxy that lets nobody through and writes down who wanted to go where: no test reaches a real host.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

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
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut line = String::new();
                // A connection without a request says nothing about where it wanted to go.
                BufReader::new(stream).read_line(&mut line).ok();
                let target = line.split_whitespace().nth(1).unwrap_or("(nothing)").to_owned();
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(target);
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
