//! What the daemon, the supervisor and its second stage say to each other: one JSON object per line.
//!
//! The first line carries three descriptors, the command's stdin, stdout and stderr. Nothing here decides anything.

use std::ffi::OsString;
use std::io::{self, BufRead, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cage::Cage;
use crate::permission::Hold;

/// stdin, stdout and stderr of the command.
pub(super) type Streams = [OwnedFd; 3];

/// A word of a command line. It need not be UTF-8, and mostly is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Word {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<OsString> for Word {
    fn from(word: OsString) -> Self {
        word.into_string().map_or_else(|word| Self::Bytes(word.into_vec()), Self::Text)
    }
}

impl From<Word> for OsString {
    fn from(word: Word) -> Self {
        match word {
            Word::Text(text) => text.into(),
            Word::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// What to execute, where, and with exactly which environment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Launch {
    pub(super) argv: Vec<Word>,
    pub(super) env: Vec<(String, String)>,
    /// Not text: a path may hold bytes that are not UTF-8.
    pub(super) cwd: OsString,
    pub(super) cage: Option<Cage>,
    pub(super) controls: Controls,
}

/// What the streams of a command are to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Controls {
    Nothing,
    /// A terminal, from which keys such as Ctrl+C reach the command as signals.
    Terminal,
}

/// From the second stage to the supervisor; the end of the stream after `Ready` means that the exec took place.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StageReport {
    Ready { exec_at_ms: i64, held: Held },
    Failed(Failure),
}

/// `Hold`, as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Held {
    Enforced,
    Advisory,
}

/// The step that failed and the number the system gave for it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) errno: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Supervise,
    Confine,
    Directory,
    Exec,
}

/// From the supervisor to the daemon; the end of the stream means that the whole tree is gone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    Started { pid: i32, exec_at_ms: i64, held: Held },
    Failed(Failure),
    Exited(Ending),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    Code(i32),
    Signal(i32),
}

/// From the daemon to the supervisor; the end of the stream means `Kill`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Int,
    HangUp,
    Term,
    Kill,
}

impl From<Hold> for Held {
    fn from(hold: Hold) -> Self {
        match hold {
            Hold::Enforced => Self::Enforced,
            Hold::Advisory => Self::Advisory,
        }
    }
}

impl From<Held> for Hold {
    fn from(held: Held) -> Self {
        match held {
            Held::Enforced => Self::Enforced,
            Held::Advisory => Self::Advisory,
        }
    }
}

impl Failure {
    pub(super) fn new(step: Step, error: &io::Error) -> Self {
        // An error without a number is one that std found itself, such as a NUL byte in an argument.
        Self { step, errno: error.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error()) }
    }
}

/// Spells one message as a line.
pub(super) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads one message; `None` at the end of the stream.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut text = Vec::new();
    match from.read_until(b'\n', &mut text)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_slice(&text)?)),
    }
}

/// The most descriptors that travel with one line.
const MOST_DESCRIPTORS: usize = 16;

/// Sends the start of `line` together with the descriptors; returns how many bytes went along.
pub(super) fn send_streams(socket: impl AsFd, streams: &Streams, line: &[u8]) -> io::Result<usize> {
    send_descriptors(socket, &streams.each_ref().map(AsFd::as_fd), line)
}

/// The same with any descriptors.
pub(super) fn send_descriptors(socket: impl AsFd, fds: &[BorrowedFd<'_>], line: &[u8]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    Ok(sendmsg(socket, &[IoSlice::new(line)], &mut control, SendFlags::empty())?)
}

/// Sends a launch and its descriptors over a blocking socket.
pub(super) fn send_launch(mut socket: impl AsFd + Write, launch: &Launch, streams: &Streams) -> io::Result<()> {
    let line = line(launch)?;
    let sent = send_streams(&socket, streams, &line)?;
    socket.write_all(&line[sent..])
}

/// Receives a launch and its descriptors; `None` when the sender is gone before it said anything.
pub(super) fn receive_launch(socket: impl AsFd) -> io::Result<Option<(Launch, Streams)>> {
    let Some((text, fds)) = receive_line(socket)? else { return Ok(None) };
    let streams = Streams::try_from(fds).map_err(|_| io::Error::other("a launch needs three descriptors"))?;
    Ok(Some((serde_json::from_slice(&text)?, streams)))
}

/// Receives one line and the descriptors that came with it; `None` when the sender is gone before it said anything.
pub(super) fn receive_line(socket: impl AsFd) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut fds = Vec::new();
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    // Read exactly up to the newline: what follows are orders, and their reader has a buffer of its own. The sender
    // waits for the answer to the launch before it sends any, so a chunk never holds both.
    while text.last() != Some(&b'\n') {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(&socket, &mut [IoSliceMut::new(&mut chunk)], &mut control, RecvFlags::empty())?;
        if got.bytes == 0 {
            return Ok(None);
        }
        text.extend_from_slice(&chunk[..got.bytes]);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                fds.extend(received);
            }
        }
    }
    for fd in &fds {
        // `CMSG_CLOEXEC` does not exist everywhere.
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok(Some((text, fds)))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_launch_larger_than_the_socket_buffer_arrives_whole_with_its_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let streams = [writer.try_clone().unwrap().into(), writer.try_clone().unwrap().into(), writer.into()];
        let long = "é".repeat(400_000);
        let words = [OsString::from(&long), OsString::from_vec(vec![b'a', 0xff])];
        let (argv, env) = (words.iter().cloned().map(Word::from).collect(), vec![("A".into(), "b\nc".into())]);
        let sent = Launch { argv, env, cwd: "/".into(), cage: None, controls: Controls::Nothing };
        let sender = std::thread::spawn(move || send_launch(&ours, &sent, &streams).unwrap());

        let (launch, [_, out, _]) = receive_launch(&theirs).unwrap().unwrap();
        sender.join().unwrap();
        assert_eq!(launch.argv.into_iter().map(OsString::from).collect::<Vec<_>>(), words);
        assert_eq!(launch.env, [("A".to_owned(), "b\nc".to_owned())]);
        std::fs::File::from(out).write_all(b"through").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn a_sender_that_leaves_early_is_no_launch() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(ours);
        assert!(receive_launch(&theirs).unwrap().is_none());
    }
}
