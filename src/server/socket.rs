//! The daemon's socket: private to the user, removed when the daemon ends, taken over when it is stale.
//!
//! Who calls this holds the daemon's lock, so nobody else binds the same path at the same time.

use std::fs::{self, Permissions};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::paths::{self, PathsError};

/// A bound socket; its file goes with it.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Tells our file from one that somebody else put in its place.
    inode: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("another process answers on `{}`", path.display())]
    Answered { path: PathBuf },
    #[error("`{}` exists and is not a socket", path.display())]
    NotASocket { path: PathBuf },
    #[error(transparent)]
    Directory(#[from] PathsError),
    #[error("failed to listen on `{}`", path.display())]
    Bind { path: PathBuf, source: io::Error },
}

/// Binds the socket; needs a tokio runtime around it.
pub fn bind(path: &Path) -> Result<Socket, SocketError> {
    paths::make_private(path.parent().unwrap_or(Path::new("/")))?;
    remove_stale(path)?;
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    let listener = UnixListener::bind(path).map_err(failed)?;
    // No window for others before this: the directory keeps them out.
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
    Ok(Socket { listener, path: path.to_owned(), inode })
}

impl Socket {
    /// Binds again if the file is gone, as after a logout that removed the directory. While that fails, for example because
    /// nobody is logged in, clients cannot connect and the next call tries again.
    pub fn keep_in_place(&mut self) {
        if is_inode(&self.path, self.inode) {
            return;
        }
        match bind(&self.path) {
            Ok(socket) => {
                *self = socket;
                tracing::info!(socket = %self.path.display(), "the socket was gone; listening again");
            }
            Err(error) => tracing::debug!(%error, "the socket is gone"),
        }
    }
}

fn is_inode(path: &Path, inode: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.ino() == inode)
}

fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    match UnixStream::connect(path) {
        Ok(_) => Err(SocketError::Answered { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            match fs::symlink_metadata(path).map_err(failed)?.file_type().is_socket() {
                true => fs::remove_file(path).map_err(failed),
                false => Err(SocketError::NotASocket { path: path.to_owned() }),
            }
        }
        Err(source) => Err(failed(source)),
    }
}

impl Deref for Socket {
    type Target = UnixListener;

    fn deref(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if is_inode(&self.path, self.inode) {
            // A file that stays behind is stale, and the next daemon knows what to do about it.
            fs::remove_file(&self.path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn the_socket_is_private_and_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/daemon.sock");
        fs::create_dir(dir.path().join("run")).unwrap();
        fs::set_permissions(dir.path().join("run"), Permissions::from_mode(0o755)).unwrap();
        let socket = bind(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.sock");
        // std leaves the file behind, like a killed daemon.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let live = bind(&path).unwrap();
        let text = format!("another process answers on `{}`", path.display());
        assert_eq!(bind(&path).unwrap_err().to_string(), text);
        assert!(path.exists());
        drop(live);
    }

    #[tokio::test]
    async fn a_file_of_another_kind_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.sock");
        fs::write(&path, "notes").unwrap();
        let text = format!("`{}` exists and is not a socket", path.display());
        assert_eq!(bind(&path).unwrap_err().to_string(), text);
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
    }

    #[tokio::test]
    async fn a_socket_that_was_removed_with_its_directory_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let (run, path) = (dir.path().join("run"), dir.path().join("run/daemon.sock"));
        let mut socket = bind(&path).unwrap();
        fs::remove_dir_all(&run).unwrap();
        fs::write(&run, "in the way").unwrap();
        socket.keep_in_place();
        fs::remove_file(&run).unwrap();
        socket.keep_in_place();
        let client = UnixStream::connect(&path).unwrap();
        socket.accept().await.unwrap();
        socket.keep_in_place();
        assert_eq!((mode(&path), client.peer_addr().unwrap().as_pathname()), (0o600, Some(path.as_path())));
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_file_that_took_the_place_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.sock");
        let socket = bind(&path).unwrap();
        fs::write(dir.path().join("other"), "").unwrap();
        fs::rename(dir.path().join("other"), &path).unwrap();
        drop(socket);
        assert!(path.exists());
    }
}
