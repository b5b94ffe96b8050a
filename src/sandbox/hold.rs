//! Holds one thread, and the programs that it starts, to files. The rest of the process goes on as it was.
//!
//! It is for programs of the user's own that work where an agent may be at work too. A thread whose reads are limited also
//! makes no TCP connection, reaches no abstract socket and signals nobody else, as far as the kernel has rules for that.

use std::io;
use std::path::PathBuf;

/// Files that may be used. What does not exist is passed over, and so is what is itself a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// What may be read and executed; everything if nothing is said.
    pub read: Option<Vec<PathBuf>>,
    /// What may be changed too.
    pub write: Vec<PathBuf>,
}

/// Holds the calling thread until it ends.
#[cfg(target_os = "linux")]
pub fn hold_thread(files: &Files) -> io::Result<()> {
    super::confine::rules::hold(files)
}

#[cfg(not(target_os = "linux"))]
pub fn hold_thread(_files: &Files) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::permission::Hold;
    use crate::sandbox::support::support;

    /// What a held thread may do with a file inside and with one outside: read, write, each.
    fn try_both(files: Files, inside: &Path, outside: &Path) -> [bool; 4] {
        let (inside, outside) = (inside.to_owned(), outside.to_owned());
        let tries = move || {
            hold_thread(&files).unwrap();
            let read = |place: &Path| fs::read(place.join("there")).is_ok();
            let write = |place: &Path| fs::write(place.join("made"), "x").is_ok();
            [read(&inside), write(&inside), read(&outside), write(&outside)]
        };
        std::thread::spawn(tries).join().unwrap()
    }

    #[test]
    fn a_thread_with_limited_reads_makes_no_connection() {
        if support().hold_of_ports() == Hold::Advisory {
            return;
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connects = move |read: Option<Vec<PathBuf>>| {
            let files = Files { read, write: Vec::new() };
            let connect = move || hold_thread(&files).map(|()| std::net::TcpStream::connect(address).is_ok());
            std::thread::spawn(connect).join().unwrap().unwrap()
        };
        assert!(connects(None));
        assert!(!connects(Some(vec![PathBuf::from("/usr")])));
    }

    #[test]
    fn a_thread_is_held_and_the_others_are_not() {
        if support().hold() == Hold::Advisory {
            return;
        }
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (inside, outside) = (inside.path(), outside.path());
        for place in [inside, outside] {
            fs::write(place.join("there"), "x").unwrap();
        }
        let write = vec![inside.to_owned()];
        let files = Files { read: Some(vec![PathBuf::from("/usr")]), write: write.clone() };
        assert_eq!(try_both(files, inside, outside), [true, true, false, false]);
        let files = Files { read: None, write };
        assert_eq!(try_both(files, inside, outside), [true, true, true, false]);
        let files = Files { read: Some(vec![inside.to_owned()]), write: Vec::new() };
        assert_eq!(try_both(files, inside, outside), [true, false, false, false]);
        fs::write(outside.join("made"), "by a thread that nobody holds").unwrap();
    }
}
