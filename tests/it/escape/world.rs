//! What is around the cage: a home with secrets, a repository with worktrees, sockets, ports and processes.

use std::collections::HashMap;
use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use coppice::sandbox::cage::{Cage, Isolation, Network};
use coppice::sandbox::launch::{Spawn, Supervised, spawn};
use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, TempDir};

use super::syscall::call;

pub(super) const SUPERVISOR: &str = env!("CARGO_BIN_EXE_coppice");

/// Where things are, for those inside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Map {
    root: PathBuf,
    /// What a parent left open by mistake.
    pub(super) directory_fd: i32,
    pub(super) file_fd: i32,
    pub(super) abstract_name: String,
    /// A file in the shared memory of the machine.
    pub(super) shared_memory: PathBuf,
    pub(super) terminal: PathBuf,
    /// A process outside, with all that the user has.
    pub(super) stranger: i32,
    /// A process in another cage.
    pub(super) neighbour: i32,
    /// This test's process.
    pub(super) daemon: i32,
    pub(super) listed_port: u16,
    pub(super) other_port: u16,
    pub(super) udp_port: u16,
}

impl Map {
    pub(super) fn home(&self, inside: &str) -> PathBuf {
        self.root.join("home").join(inside)
    }

    /// The user's checkout.
    pub(super) fn repo(&self, inside: &str) -> PathBuf {
        self.root.join("repo").join(inside)
    }

    /// The work tree of the session.
    pub(super) fn tree(&self, inside: &str) -> PathBuf {
        self.root.join("data/worktrees/own").join(inside)
    }

    /// The work tree of another session.
    pub(super) fn other(&self, inside: &str) -> PathBuf {
        self.root.join("data/worktrees/other").join(inside)
    }

    pub(super) fn data(&self, inside: &str) -> PathBuf {
        self.root.join("data").join(inside)
    }

    pub(super) fn root(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }
}

/// Everything around one cage; it ends with this value.
pub(super) struct World {
    pub(super) map: Map,
    isolation: Isolation,
    stranger: Child,
    _neighbour: Supervised,
    _kept: Kept,
    _root: TempDir,
}

/// Ends that must stay open for as long as somebody may try to reach them.
type Kept = (UnixListener, UnixDatagram, UnixListener, [TcpListener; 3], UdpSocket, File, [OwnedFd; 2], NamedTempFile);

impl World {
    pub(super) async fn new(isolation: Isolation) -> Self {
        let directory = tempfile::Builder::new().prefix("cop").tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        furnish(&root);

        let socket = UnixListener::bind(root.join("daemon.sock")).unwrap();
        let datagram = UnixDatagram::bind(root.join("log.sock")).unwrap();
        let abstract_name = format!("coppice-escape-{}", root.display());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let abstract_socket = UnixListener::bind_addr(&address).unwrap();
        let listed = TcpListener::bind("127.0.0.1:0").unwrap();
        let listed_port = listed.local_addr().unwrap().port();
        // The same port on an address that is not ours.
        let elsewhere = TcpListener::bind(("127.0.0.2", listed_port)).unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (master, terminal) = open_terminal();
        let left_open = [File::open(root.join("home")), File::options().append(true).open(root.join("home/notes"))];
        let left_open = left_open.map(|file| OwnedFd::from(file.unwrap()));
        for fd in &left_open {
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty()).unwrap();
        }
        let shared_memory = NamedTempFile::new_in("/dev/shm").unwrap();
        let stranger = Command::new("sleep").arg("600").spawn().unwrap();
        let neighbour = neighbour(&root, isolation).await;

        let map = Map {
            directory_fd: left_open[0].as_raw_fd(),
            file_fd: left_open[1].as_raw_fd(),
            abstract_name,
            shared_memory: shared_memory.path().to_owned(),
            terminal,
            stranger: i32::try_from(stranger.id()).unwrap(),
            neighbour: neighbour.process.pid(),
            daemon: i32::try_from(std::process::id()).unwrap(),
            listed_port,
            other_port: other.local_addr().unwrap().port(),
            udp_port: udp.local_addr().unwrap().port(),
            root,
        };
        let kept =
            (socket, datagram, abstract_socket, [listed, elsewhere, other], udp, master, left_open, shared_memory);
        Self { map, isolation, stranger, _neighbour: neighbour, _kept: kept, _root: directory }
    }

    /// What a session gets: its work tree and a private directory to write, the system and the repository to read.
    pub(super) fn cage(&self, network: Network) -> Cage {
        cage(&self.map.root, "own", network, self.isolation)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stranger.kill().unwrap();
        self.stranger.wait().unwrap();
    }
}

fn cage(root: &Path, session: &str, network: Network, isolation: Isolation) -> Cage {
    let me = std::env::current_exe().unwrap();
    let mut read: Vec<_> = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc"].map(PathBuf::from).to_vec();
    read.extend([me.parent().unwrap().to_owned(), root.join("repo")]);
    let write = ["data/worktrees", "data/sessions"].map(|parent| root.join(parent).join(session));
    Cage { read, write: write.into_iter().chain(["/dev/shm".into()]).collect(), network, isolation }
}

fn furnish(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for secret in [".ssh/id_ed25519", ".aws/credentials", ".gnupg/key", ".netrc", ".config/gh/hosts.yml"] {
        write(&format!("home/{secret}"), "secret");
    }
    write("home/.bashrc", "# mine\n");
    write("home/notes", "mine\n");
    write("data/coppice.db", "rows");
    fs::create_dir_all(root.join("home/bin")).unwrap();
    fs::copy("/bin/true", root.join("home/bin/tool")).unwrap();
    for session in ["own", "other"] {
        fs::create_dir_all(root.join("data/sessions").join(session)).unwrap();
    }
    fs::create_dir(root.join("repo")).unwrap();
    write("repo/README.md", "# sample\n");
    write("home/.gitconfig", "[user]\n\tname = Tess Ter\n\temail = tess@example.com\n");
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "begin"]);
    for session in ["own", "other"] {
        git(root, &["worktree", "add", "-q", "-b", session, &format!("../data/worktrees/{session}")]);
    }
}

fn git(root: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(root.join("repo")).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1");
    git.env("HOME", root.join("home")).env("GIT_CONFIG_GLOBAL", root.join("home/.gitconfig"));
    assert!(git.status().unwrap().success(), "git {arguments:?}");
}

/// A terminal of the user, as a shell of theirs has one.
fn open_terminal() -> (File, PathBuf) {
    let master = File::options().read(true).write(true).open("/dev/ptmx").unwrap();
    let fd = master.as_raw_fd() as usize;
    let (unlocked, mut number) = (0_i32, 0_i32);
    call(libc::SYS_ioctl, [fd, libc::TIOCSPTLCK as usize, &raw const unlocked as usize]).unwrap();
    call(libc::SYS_ioctl, [fd, libc::TIOCGPTN as usize, &raw mut number as usize]).unwrap();
    (master, PathBuf::from(format!("/dev/pts/{number}")))
}

async fn neighbour(root: &Path, isolation: Isolation) -> Supervised {
    let environment = HashMap::from([("PATH", std::env::var("PATH").unwrap()), ("TOKEN", "of another".into())]);
    spawn(Spawn {
        executable: PathBuf::from(SUPERVISOR),
        argv: ["sleep", "600"].map(str::to_owned).to_vec(),
        env: environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        cwd: PathBuf::from("/"),
        cage: Some(cage(root, "other", Network::Open, isolation)),
        worktree: None,
    })
    .await
    .unwrap()
}
