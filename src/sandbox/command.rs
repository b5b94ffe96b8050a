//! Short commands: run one to its end with bounded output, a time limit and each line as it comes.
//!
//! For setup and teardown commands and for hooks. The command reads nothing and writes both streams to one pipe, so
//! that its output keeps its order.

use std::fs::File;
use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout_at};

use super::SandboxError;
use super::launch::{self, Process, Spawn, Status, Stop};
use super::wire::Controls;

/// A longer line reaches the caller in pieces of this size.
const LINE_LIMIT: usize = 8 * 1024;

/// How long a command may run and how much of its output is kept.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub timeout: Duration,
    /// Bytes kept of the end of the output; lines reach the callback whatever this is.
    pub keep: usize,
}

/// A command that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub end: End,
    /// The end of the output, at most `Limits::keep` bytes of it.
    pub output: String,
    /// How many bytes came before `output`.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Status(Status),
    TimedOut,
}

impl Finished {
    /// Whether the command ran to its end and was content.
    pub fn is_success(&self) -> bool {
        self.end == End::Status(Status::Exited(0))
    }

    /// The number a shell would give it.
    pub fn code(&self) -> i32 {
        match self.end {
            End::Status(status) => status.code(),
            End::TimedOut => 124,
        }
    }

    /// How it ended, for people.
    pub fn describe(&self) -> String {
        match self.end {
            End::Status(Status::Exited(code)) => format!("exit status {code}"),
            End::Status(Status::Signalled(signal)) => format!("signal {signal}"),
            End::Status(Status::Lost) => "its supervisor was killed".to_owned(),
            End::TimedOut => "it took too long".to_owned(),
        }
    }
}

/// Runs a command to its end. Dropping the future kills it.
pub async fn run(
    spawn: Spawn,
    limits: Limits,
    on_line: &mut (dyn FnMut(&str) + Send),
) -> Result<Finished, SandboxError> {
    let deadline = Instant::now() + limits.timeout;
    let command = spawn.argv.first().cloned().ok_or(SandboxError::NoCommand)?;
    let streams = || -> io::Result<_> {
        let (ours, theirs) = io::pipe()?;
        let streams = [File::open("/dev/null")?.into(), theirs.try_clone()?.into(), theirs.into()];
        Ok((pipe::Receiver::from_owned_fd(ours.into())?, streams))
    };
    let (mut output, streams) = streams().map_err(|source| SandboxError::Supervisor { command, source })?;
    let mut process = launch::start(spawn, streams, Controls::Nothing).await?;

    let mut transcript = Transcript::new(limits.keep);
    let end = match timeout_at(deadline, follow(&mut process, &mut output, &mut transcript, on_line)).await {
        Ok(status) => End::Status(status),
        Err(_) => {
            process.stop(Stop::Kill);
            follow(&mut process, &mut output, &mut transcript, on_line).await;
            End::TimedOut
        }
    };
    transcript.finish(on_line);
    Ok(Finished { end, dropped: transcript.dropped, output: transcript.text() })
}

/// Reads to the end of the output, which comes at the latest with the end of the tree.
async fn follow(
    process: &mut Process,
    output: &mut pipe::Receiver,
    transcript: &mut Transcript,
    on_line: &mut (dyn FnMut(&str) + Send),
) -> Status {
    let mut chunk = vec![0; LINE_LIMIT];
    while let Ok(read @ 1..) = output.read(&mut chunk).await {
        transcript.push(&chunk[..read], on_line);
    }
    process.wait().await
}

/// Cuts bytes into lines and keeps the last of them.
struct Transcript {
    keep: usize,
    kept: Vec<u8>,
    dropped: u64,
    line: Vec<u8>,
}

impl Transcript {
    fn new(keep: usize) -> Self {
        Self { keep, kept: Vec::new(), dropped: 0, line: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8], on_line: &mut (dyn FnMut(&str) + Send)) {
        self.kept.extend_from_slice(bytes);
        let excess = self.kept.len().saturating_sub(self.keep);
        self.kept.drain(..excess);
        self.dropped += excess as u64;
        for byte in bytes {
            match byte {
                b'\n' => self.flush(on_line),
                _ => self.line.push(*byte),
            }
            if self.line.len() >= LINE_LIMIT {
                self.flush(on_line);
            }
        }
    }

    fn finish(&mut self, on_line: &mut (dyn FnMut(&str) + Send)) {
        if !self.line.is_empty() {
            self.flush(on_line);
        }
    }

    fn flush(&mut self, on_line: &mut (dyn FnMut(&str) + Send)) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        on_line(&String::from_utf8_lossy(line));
        self.line.clear();
    }

    /// The kept bytes as text; a character that the cut went through is left out.
    fn text(&self) -> String {
        let is_inside_character = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        let cut = match self.dropped {
            0 => 0,
            _ => self.kept.iter().take(3).take_while(|byte| is_inside_character(byte)).count(),
        };
        String::from_utf8_lossy(&self.kept[cut..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keep: usize, chunks: &[&[u8]], lines: &[&str], text: &str, dropped: u64) {
        let mut transcript = Transcript::new(keep);
        let mut seen = Vec::new();
        let mut on_line = |line: &str| seen.push(line.to_owned());
        for chunk in chunks {
            transcript.push(chunk, &mut on_line);
        }
        transcript.finish(&mut on_line);
        assert_eq!((transcript.text().as_str(), transcript.dropped), (text, dropped));
        assert_eq!(seen, lines);
    }

    #[test]
    fn lines_are_whole_and_the_kept_text_is_the_end() {
        check(99, &[], &[], "", 0);
        check(99, &[b"a\nb"], &["a", "b"], "a\nb", 0);
        check(99, &[b"a", b"b\r\n", b"\n"], &["ab", ""], "ab\r\n\n", 0);
        check(3, &[b"ab\ncd\n"], &["ab", "cd"], "cd\n", 3);
        check(0, &[b"ab\n"], &["ab"], "", 3);
        check(2, &["ä€".as_bytes()], &["ä€"], "", 3);
        check(4, &["€ö!".as_bytes()], &["€ö!"], "ö!", 2);
        check(9, &[b"\xff\n"], &["\u{fffd}"], "\u{fffd}\n", 0);
    }

    #[test]
    fn an_endless_line_comes_in_pieces() {
        let long = vec![b'x'; LINE_LIMIT * 2 + 1];
        let piece = "x".repeat(LINE_LIMIT);
        check(1, &[&long], &[&piece, &piece, "x"], "x", (LINE_LIMIT * 2) as u64);
    }
}
