//! Lines out of a byte stream that may hold anything: endless lines, invalid UTF-8, no last newline.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::{debug, trace, warn};

/// Agents put whole files and images on one line; beyond this they are broken.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// A line that takes more than a moment to read, and that no program writes for people.
const LONG_LINE: usize = 1024 * 1024;

/// One line without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Bytes that are not UTF-8 are replaced, so that one bad byte costs one message at most.
    Text(String),
    /// The line was longer than the limit and is skipped.
    TooLong { bytes: u64 },
}

/// Splits a stream into lines.
pub(crate) struct LineReader<R> {
    inner: BufReader<R>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(inner: R, limit: usize) -> Self {
        Self { inner: BufReader::with_capacity(64 * 1024, inner), limit }
    }

    /// A further line that needs no reading; `None` when only a part of one is there, or nothing.
    pub(crate) fn next_buffered(&mut self) -> Option<Line> {
        let available = self.inner.buffer();
        let end = newline(available)?;
        let line = finish(available[..end].to_vec(), end as u64, self.limit);
        self.inner.consume(end + 1);
        Some(line)
    }

    /// The next line, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut kept = Vec::new();
        let mut seen = 0u64;
        loop {
            let available = self.inner.fill_buf().await?;
            if available.is_empty() {
                return Ok((seen > 0).then(|| finish(kept, seen, self.limit)));
            }
            let end = newline(available);
            let part = &available[..end.unwrap_or(available.len())];
            seen += part.len() as u64;
            if kept.len() + part.len() <= self.limit {
                kept.extend_from_slice(part);
            } else {
                kept.clear();
            }
            let used = part.len() + usize::from(end.is_some());
            self.inner.consume(used);
            if end.is_some() {
                return Ok(Some(finish(kept, seen, self.limit)));
            }
        }
    }
}

/// Handles a text of so many bytes; the other tasks of this thread go on elsewhere while a long one is read.
pub(crate) fn handle_text<T>(bytes: usize, handle: impl FnOnce() -> T) -> T {
    if bytes > LONG_LINE { run_blocking(handle) } else { handle() }
}

/// Does something slow on this thread, whose other tasks go on elsewhere if the runtime has other threads.
pub(crate) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().is_ok_and(|at| at.runtime_flavor() == RuntimeFlavor::MultiThread) {
        true => tokio::task::block_in_place(work),
        false => work(),
    }
}

/// Logs a line that is no message. Programs write for people to the same pipe, but nothing long.
pub(crate) fn log_skipped(line: &str, reason: &dyn Display) {
    match line.len() > LONG_LINE {
        true => warn!(%reason, bytes = line.len(), "line skipped"),
        false => debug!(%reason, bytes = line.len(), "line skipped"),
    }
    trace!(line, "skipped line");
}

fn newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

fn finish(kept: Vec<u8>, seen: u64, limit: usize) -> Line {
    if seen > limit as u64 {
        return Line::TooLong { bytes: seen };
    }
    Line::Text(String::from_utf8(kept).unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned()))
}

/// The last bytes of a stream that is read to its end whatever it says.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(self.limit)..];
        let excess = (self.bytes.len() + chunk.len()).saturating_sub(self.limit);
        self.bytes.drain(..excess);
        self.bytes.extend(chunk);
    }

    /// The kept bytes as text, without a character that the cut went through.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim_start_matches('\u{fffd}').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut reader = LineReader::new(input, limit);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    fn text(line: &str) -> Line {
        Line::Text(line.to_owned())
    }

    #[tokio::test]
    async fn every_stream_ends_in_lines() {
        assert_eq!(lines(b"", 8).await, []);
        assert_eq!(lines(b"a\n\nb", 8).await, [text("a"), text(""), text("b")]);
        assert_eq!(lines(b"\xff{}\nx\n", 8).await, [text("\u{fffd}{}"), text("x")]);
        assert_eq!(lines(b"123456789\nok\n", 8).await, [Line::TooLong { bytes: 9 }, text("ok")]);
        assert_eq!(lines(b"12345678\n", 8).await, [text("12345678")]);
    }

    #[tokio::test]
    async fn what_has_been_read_is_there_at_once() {
        let mut reader = LineReader::new(&b"a\n\n\xff\n123456789\npart"[..], 8);
        assert_eq!(reader.next_buffered(), None);
        assert_eq!(reader.next().await.unwrap(), Some(text("a")));
        let buffered: Vec<Line> = std::iter::from_fn(|| reader.next_buffered()).collect();
        assert_eq!(buffered, [text(""), text("\u{fffd}"), Line::TooLong { bytes: 9 }]);
        assert_eq!(reader.next().await.unwrap(), Some(text("part")));
        assert_eq!(reader.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_line_of_ten_megabytes_arrives_whole_and_one_of_twenty_is_skipped() {
        let (whole, skipped) = ("x".repeat(10 << 20), "y".repeat(20 << 20));
        let found = lines(format!("{whole}\n{skipped}\nnext\n").as_bytes(), MAX_LINE).await;
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], text(&whole));
        assert_eq!(found[1..], [Line::TooLong { bytes: 20 << 20 }, text("next")]);
    }

    #[test]
    fn a_tail_keeps_the_end_and_whole_characters() {
        let mut tail = Tail::new(4);
        tail.push(b"ab");
        tail.push(b"cdef");
        assert_eq!(tail.text(), "cdef");
        tail.push("xyé!".as_bytes());
        tail.push(b"12");
        assert_eq!(tail.text(), "!12");
        tail.push(b"a much longer chunk");
        assert_eq!(tail.text(), "hunk");
    }
}
