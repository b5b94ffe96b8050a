//! The daemon's log file: starts over when it is large, keeps a few older parts.
//!
//! Only the writing; what is logged and in which words is up to `tracing`. A thread of its own writes, so that nobody who
//! logs waits for the disk or for a lock, also in the midst of a panic. What does not fit on the disk is lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};

/// When the log starts over.
const LIMIT: u64 = 4 * 1024 * 1024;
/// How many older parts stay.
const KEEP: u32 = 3;
/// How many records may wait to be written before others are lost.
const WAITING: usize = 8192;

/// A file that is renamed away when it has grown: `daemon.log`, then `daemon.log.1` and so on.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
}

/// Sends what this process logs to the file; `filter` is in the words of `tracing_subscriber::EnvFilter`. The writing ends
/// with the guard.
pub fn install(path: &Path, filter: &str) -> io::Result<WorkerGuard> {
    let file = RotatingFile::open(path, LIMIT)?;
    let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(WAITING).thread_name("log");
    let (writer, guard) = builder.finish(file);
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(writer)
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
    Ok(guard)
}

impl RotatingFile {
    fn open(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, limit })
    }

    fn rotate(&mut self) -> io::Result<()> {
        for part in (1..KEEP).rev() {
            match fs::rename(self.part(part), self.part(part + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        fs::rename(&self.path, self.part(1))?;
        *self = Self::open(&self.path, self.limit)?;
        Ok(())
    }

    fn part(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

impl Write for RotatingFile {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        if self.size > 0 && self.size + record.len() as u64 > self.limit {
            // A log that cannot rotate goes on growing rather than going silent.
            self.rotate().ok();
        }
        let written = self.file.write(record)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_log_starts_over_and_keeps_three_parts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log/daemon.log");
        for record in 0..6 {
            // Opened anew each time, as by one daemon after another.
            let mut file = RotatingFile::open(&path, 20).unwrap();
            writeln!(file, "record {record} a").unwrap();
            writeln!(file, "{record} b").unwrap();
        }
        let mut parts: Vec<_> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
            .collect();
        parts.sort();
        let part = |name: &str, number: u32| (name.into(), format!("record {number} a\n{number} b\n"));
        assert_eq!(
            parts,
            [part("daemon.log", 5), part("daemon.log.1", 4), part("daemon.log.2", 3), part("daemon.log.3", 2)]
        );
    }

    #[test]
    fn a_record_larger_than_the_limit_is_written_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let mut file = RotatingFile::open(&path, 4).unwrap();
        file.write_all(b"longer than four").unwrap();
        file.write_all(b"x").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x");
    }
}
