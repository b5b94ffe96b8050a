//! Read leases: the kernel's word that nobody has a file open for writing.

use std::io;
use std::os::fd::BorrowedFd;

/// Takes a read lease on a file that is open for reading only; it ends when the file is closed. The kernel refuses it
/// (`WouldBlock`) while anybody has the file open for writing, which includes a shared mapping whose descriptor is closed.
/// File systems without leases refuse it, too.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix has no call for leases")]
pub fn take_read_lease(file: BorrowedFd<'_>) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    // `libc` does not name it for every C library.
    const F_SETSIG: libc::c_int = 10;
    let set = |command: libc::c_int, value: libc::c_int| {
        // SAFETY: both commands take a number and no pointer, and the descriptor is borrowed, so it is open.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // Whoever opens the file for writing while the lease lasts makes the kernel signal this process. The default signal
    // would end it; this one is ignored.
    set(F_SETSIG, libc::SIGURG)?;
    set(libc::F_SETLEASE, libc::F_RDLCK)
}

/// Other systems have no such leases.
#[cfg(not(target_os = "linux"))]
pub fn take_read_lease(_: BorrowedFd<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::File;
    use std::io::ErrorKind;
    use std::os::fd::{AsFd, AsRawFd};
    use std::path::PathBuf;
    use std::process::Command;

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    use super::*;

    /// Three files that another process wrote: a descriptor of this one could live on in a child that another test starts.
    #[expect(clippy::disallowed_methods, reason = "a test starts a command")]
    fn write_files(dir: &tempfile::TempDir) -> [PathBuf; 3] {
        let status =
            Command::new("sh").args(["-c", "for f in 1 2 3; do echo text > $f; done"]).current_dir(dir).status();
        assert!(status.unwrap().success());
        ["1", "2", "3"].map(|name| dir.path().join(name))
    }

    fn lease(path: &PathBuf) -> Result<(), ErrorKind> {
        take_read_lease(File::open(path).unwrap().as_fd()).map_err(|error| error.kind())
    }

    #[test]
    #[expect(unsafe_code, reason = "a mapping has no safe wrapper")]
    fn a_writer_refuses_the_lease_even_if_only_its_mapping_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let [free, written, mapped] = write_files(&dir);
        let open = |path| File::options().read(true).write(true).open(path).unwrap();
        let _reader = File::open(&free).unwrap();
        assert_eq!(lease(&free), Ok(()));
        let _writer = open(&written);
        assert_eq!(lease(&written), Err(ErrorKind::WouldBlock));

        let writer = open(&mapped);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: the kernel chooses the address, and nobody uses the memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), 5, access, kind, writer.as_raw_fd(), 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        drop(writer);
        assert_eq!(lease(&mapped), Err(ErrorKind::WouldBlock));
        // SAFETY: it was mapped above.
        assert_eq!(unsafe { libc::munmap(memory, 5) }, 0);
    }

    #[test]
    fn a_writer_that_comes_while_the_lease_lasts_does_not_end_this_process() {
        let dir = tempfile::tempdir().unwrap();
        let [path, ..] = write_files(&dir);
        let file = File::open(&path).unwrap();
        take_read_lease(file.as_fd()).unwrap();
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // This breaks the lease, and the kernel sends its signal.
        assert_eq!(rustix::fs::open(&path, flags, Mode::empty()).map(drop), Err(Errno::AGAIN));
    }
}
