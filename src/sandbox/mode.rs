//! Changes the mode of a file that may not be opened, and of nothing that a link in its place leads to.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::Mode;

/// Changes the mode of an entry of a directory; an error for a link.
#[cfg(target_os = "linux")]
pub fn set_mode(directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{FileType, OFlags};

    // To read it needs the permission that is missing, and no older call takes the mode of what is opened like this.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&entry)?.st_mode) == FileType::Symlink {
        return Err(rustix::io::Errno::LOOP.into());
    }
    Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", entry.as_raw_fd()), mode)?)
}

#[cfg(not(target_os = "linux"))]
pub fn set_mode(directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::chmodat(directory, name, mode, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_closed_directory_is_opened_and_no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (closed, link) = (place.path().join("closed"), place.path().join("link"));
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        symlink(&closed, &link).unwrap();
        let mode = || closed.metadata().unwrap().permissions().mode() & 0o777;
        let directory = fs::File::open(place.path()).unwrap();
        assert!(set_mode(directory.as_fd(), "link".as_ref(), Mode::RWXU).is_err());
        assert_eq!(mode(), 0o000);
        set_mode(directory.as_fd(), "closed".as_ref(), Mode::RWXU).unwrap();
        assert_eq!(mode(), 0o700);
    }
}
