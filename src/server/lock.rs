//! The lock that keeps a second daemon away, and who holds it.
//!
//! The file names its holder. Its text counts only while the lock is held, so a pid left by a crash, and used again by
//! a stranger since, misleads nobody; nothing needs to be cleaned up.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Released when the process ends, however it ends.
#[derive(Debug)]
pub struct DaemonLock {
    file: File,
    holder: Holder,
    /// The last holder, if it never said goodbye.
    pub lost: Option<Holder>,
}

/// The process that holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub socket: PathBuf,
    /// Whether it ended as it should; absent in the text of older versions.
    #[serde(default)]
    pub ended: Option<bool>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("a daemon is already running{}", describe(holder.as_ref()))]
    Held { holder: Option<Holder> },
    #[error("failed to lock `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Takes the lock or tells who has it.
pub fn acquire(path: &Path, holder: &Holder) -> Result<DaemonLock, LockError> {
    let failed = |source| LockError::Io { path: path.to_owned(), source };
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            // A client that looks whether a daemon runs shares the lock for a moment.
            Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => file.unlock().map_err(failed)?,
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { holder: read_holder(&mut file) }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
    let lost = read_holder(&mut file).filter(|last| last.ended == Some(false));
    write_holder(&mut file, holder).map_err(failed)?;
    Ok(DaemonLock { file, holder: holder.clone(), lost })
}

impl DaemonLock {
    /// Notes in the file that its holder ends as it should. The text stays readable meanwhile: clients look who holds the
    /// lock until it is free.
    pub fn say_goodbye(&mut self) {
        let ended = Holder { ended: Some(true), ..self.holder.clone() };
        let Ok(mut text) = serde_json::to_vec(&ended) else { return };
        // As long as before: `true` is shorter than `false`.
        text.push(b' ');
        if let Err(error) = self.file.write_all_at(&text, 0) {
            tracing::warn!(%error, "the next daemon takes this one for lost");
        }
    }
}

fn write_holder(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(holder)?)
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn describe(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => format!(" (pid {}, socket `{}`)", holder.pid, holder.socket.display()),
        // Between taking the lock and writing its name.
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(pid: u32) -> Holder {
        Holder { pid, started_at: 5, socket: "/run/x.sock".into(), ended: Some(false) }
    }

    #[test]
    fn a_holder_that_never_said_goodbye_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lost = |lock: &DaemonLock| lock.lost.as_ref().map(|last| last.pid);
        let first = acquire(&path, &holder(1)).unwrap();
        assert_eq!(lost(&first), None);
        drop(first);
        let mut second = acquire(&path, &holder(22)).unwrap();
        assert_eq!(lost(&second), Some(1));
        second.say_goodbye();
        assert_eq!(
            acquire(&path, &holder(3)).unwrap_err().to_string(),
            "a daemon is already running (pid 22, socket `/run/x.sock`)"
        );
        drop(second);
        assert_eq!(lost(&acquire(&path, &holder(3)).unwrap()), None);
    }

    #[test]
    fn the_second_is_told_about_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "the longer name of somebody who crashed").unwrap();
        let first = acquire(&path, &holder(1)).unwrap();
        assert_eq!(
            acquire(&path, &holder(2)).unwrap_err().to_string(),
            "a daemon is already running (pid 1, socket `/run/x.sock`)"
        );
        drop(first);
        assert!(acquire(&path, &holder(2)).is_ok());
    }

    #[test]
    fn a_client_that_looks_keeps_no_daemon_from_starting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let look = File::create(&path).unwrap();
        look.lock_shared().unwrap();
        let daemon = std::thread::spawn(move || acquire(&path, &holder(1)).map(drop));
        look.unlock().unwrap();
        assert!(daemon.join().unwrap().is_ok());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing/lock");
        let error = acquire(&path, &holder(1)).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to lock `{}`", path.display()));
    }
}
