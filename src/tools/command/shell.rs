//! Runs a command of the shell in a process group of its own, and keeps what it says within bounds.

#![expect(clippy::disallowed_methods, reason = "the commands of an agent start here, inside its cage")]

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::tools::inside::Halt;

/// How long the streams of a command that has ended may stay open before its answer is given: whatever it left in the
/// background may hold them for good.
const GRACE: Duration = Duration::from_secs(1);

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ran {
    /// As a shell tells it: 128 and the number of the signal for one that was killed.
    pub(super) exit: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Which part of a stream is kept, and how many bytes of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep {
    Head(usize),
    Tail(usize),
}

/// Why a command has no outcome.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShellError {
    #[error("failed to start `/bin/sh`: {0}")]
    Start(io::Error),
    #[error("failed to wait for the command: {0}")]
    Wait(io::Error),
    #[error("the command was stopped")]
    Stopped,
}

/// Runs a command until it ends, or until `halt` stops it.
pub(super) fn run(command: &str, directory: &Path, halt: &Halt, keep: Keep) -> Result<Ran, ShellError> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).current_dir(directory).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = halt.start(|| shell.spawn()).map_err(ShellError::Start)?;
    let Some(mut child) = started else { return Err(ShellError::Stopped) };
    let (open, closed) = mpsc::channel();
    let stdout = follow(child.stdout.take(), keep, &open);
    let stderr = follow(child.stderr.take(), keep, &open);
    drop(open);
    let exit = end(&mut child, halt)?;
    // Nothing is ever sent: the channel is done when both readers are.
    let left = closed.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout);
    let text = |kept: &Arc<Mutex<Kept>>| lock(kept).text(if left { Open::Held } else { Open::Closed });
    Ok(Ran { exit, stdout: text(&stdout), stderr: text(&stderr) })
}

fn end(child: &mut Child, halt: &Halt) -> Result<i32, ShellError> {
    let was_stopped = halt.end(child).map_err(ShellError::Wait)?;
    let status = child.wait().map_err(ShellError::Wait)?;
    match (was_stopped, status.code()) {
        (true, _) => Err(ShellError::Stopped),
        (false, Some(code)) => Ok(code),
        (false, None) => Ok(128 + status.signal().unwrap_or_default()),
    }
}

/// Reads a stream to its end beside the command, also what is not kept: a full pipe would stop the command.
fn follow(stream: Option<impl Read + Send + 'static>, keep: Keep, open: &mpsc::Sender<()>) -> Arc<Mutex<Kept>> {
    let kept = Arc::new(Mutex::new(Kept { keep, bytes: Vec::new(), total: 0 }));
    let (target, open) = (Arc::clone(&kept), open.clone());
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut chunk = [0; 16 << 10];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => lock(&target).push(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        drop(open);
    });
    kept
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is kept of a stream.
struct Kept {
    keep: Keep,
    bytes: Vec<u8>,
    total: usize,
}

/// Whether a stream was read to its end.
#[derive(Clone, Copy)]
enum Open {
    Closed,
    /// Somebody still has it.
    Held,
}

impl Kept {
    fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len();
        match self.keep {
            Keep::Head(limit) => {
                let room = limit.saturating_sub(self.bytes.len()).min(chunk.len());
                self.bytes.extend_from_slice(&chunk[..room]);
            }
            Keep::Tail(limit) => {
                self.bytes.extend_from_slice(chunk);
                // Moved together now and then instead of with each chunk.
                if self.bytes.len() > 2 * limit {
                    self.bytes.drain(..self.bytes.len() - limit);
                }
            }
        }
    }

    /// The text, with a word about what is missing.
    fn text(&self, open: Open) -> String {
        let total = self.total;
        let mut text = match self.keep {
            Keep::Head(limit) if total > limit => {
                let text = String::from_utf8_lossy(whole_end(&self.bytes));
                format!("{text}\n…[truncated: the first {limit} of {total} bytes]\n")
            }
            Keep::Tail(limit) if total > limit => {
                let tail = &self.bytes[self.bytes.len().saturating_sub(limit)..];
                let text = String::from_utf8_lossy(whole_start(tail));
                format!("…[truncated: the last {limit} of {total} bytes]\n{text}")
            }
            Keep::Head(_) | Keep::Tail(_) => String::from_utf8_lossy(&self.bytes).into_owned(),
        };
        match open {
            Open::Closed => {}
            Open::Held => text.push_str("…[a process in the background holds the output; what it says is not read]\n"),
        }
        text
    }
}

/// Bytes without a last character that was cut apart.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let cut = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    &bytes[..bytes.len() - cut]
}

/// Bytes without a first character that was cut apart.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keep: Keep, chunks: &[&[u8]]) -> String {
        let mut kept = Kept { keep, bytes: Vec::new(), total: 0 };
        chunks.iter().for_each(|chunk| kept.push(chunk));
        kept.text(Open::Closed)
    }

    #[test]
    fn what_is_missing_is_announced() {
        let head = |chunks: &[&[u8]]| kept(Keep::Head(8), chunks);
        assert_eq!(head(&[b"12345678"]), "12345678");
        assert_eq!(head(&[b"1234", b"56789", b"0"]), "12345678\n…[truncated: the first 8 of 10 bytes]\n");
        assert_eq!(head(&["1234567ü".as_bytes()]), "1234567\n…[truncated: the first 8 of 9 bytes]\n");
        assert_eq!(head(&[b"a\xffb"]), "a\u{fffd}b");
        let tail = |chunks: &[&[u8]]| kept(Keep::Tail(4), chunks);
        assert_eq!(tail(&[b"1234"]), "1234");
        assert_eq!(tail(&[b"12", b"345678", b"9"]), "…[truncated: the last 4 of 9 bytes]\n6789");
        assert_eq!(tail(&["xü123".as_bytes()]), "…[truncated: the last 4 of 6 bytes]\n123");
    }

    proptest::proptest! {
        #[test]
        fn no_more_than_the_limit_is_kept(chunks: Vec<Vec<u8>>, limit in 1_usize..64) {
            let whole: Vec<u8> = chunks.concat();
            for keep in [Keep::Head(limit), Keep::Tail(limit)] {
                let mut kept = Kept { keep, bytes: Vec::new(), total: 0 };
                chunks.iter().for_each(|chunk| kept.push(chunk));
                let text = kept.text(Open::Closed);
                proptest::prop_assert!(kept.bytes.len() <= 2 * limit);
                proptest::prop_assert_eq!(whole.len() > limit, text.contains("…[truncated"));
            }
        }
    }
}
