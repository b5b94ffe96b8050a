//! Where everything lives: a pure function of the user's surroundings.
//!
//! Client, daemon and command line must agree on it, so none of them computes a path of its own. What is read from
//! outside is gathered in `Surroundings`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// A unix socket's path is limited to 104 bytes on some systems, its closing NUL included.
const SOCKET_LIMIT: usize = 100;

/// No settings of a program are larger.
const LARGEST_SETTINGS: u64 = 16 << 20;

/// Every place that Coppice uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The one directory that holds everything, when `COPPICE_HOME` names one.
    pub home: Option<PathBuf>,
    /// The user's configuration file.
    pub config: PathBuf,
    /// The user's own agents.
    pub agents: PathBuf,
    /// The store, the worktrees and the log.
    pub data: PathBuf,
    /// Things that mean nothing after a reboot.
    pub run: PathBuf,
    /// The daemon's socket.
    pub socket: PathBuf,
}

/// What the paths depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `COPPICE_HOME`.
    pub coppice_home: Option<OsString>,
    /// The platform's directories for this program.
    pub config_dir: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    /// Absent when the system has none, or none was made for this login.
    pub runtime_dir: Option<PathBuf>,
    pub temp_dir: PathBuf,
    pub user: u32,
}

/// Why there is no usable place.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    #[error("the home directory is unknown")]
    NoHome,
    #[error("COPPICE_HOME is the relative path `{}`, which means another directory wherever it is used", home.display())]
    RelativeHome { home: PathBuf },
    #[error("directory `{}` belongs to another user", path.display())]
    Foreign { path: PathBuf },
    #[error("failed to prepare the directory `{}`", path.display())]
    Directory { path: PathBuf, source: io::Error },
}

impl Paths {
    /// Reads the surroundings of this process and computes its paths.
    pub fn of_this_process() -> Result<Self, PathsError> {
        Self::compute(&Surroundings::read())
    }

    pub fn compute(around: &Surroundings) -> Result<Self, PathsError> {
        let home = around.coppice_home.as_deref().filter(|home| !home.is_empty()).map(PathBuf::from);
        if let Some(home) = home.as_ref().filter(|home| home.is_relative()) {
            return Err(PathsError::RelativeHome { home: home.clone() });
        }
        let (config_dir, data, run) = match &home {
            Some(home) => (home.clone(), home.join("data"), home.join("run")),
            None => {
                let data = around.data_dir.clone().ok_or(PathsError::NoHome)?;
                let run = around.runtime_dir.clone().unwrap_or_else(|| data.join("run"));
                (around.config_dir.clone().ok_or(PathsError::NoHome)?, data, run)
            }
        };
        let socket = socket_in(&run, around);
        let (config, agents) = (config_dir.join("config.toml"), config_dir.join("agents"));
        Ok(Self { home, config, agents, data, run, socket })
    }

    /// Held by the daemon as long as it lives. Beside the data and not beside the socket: two logins may have different
    /// runtime directories, and still only one daemon may write the store.
    pub fn lock(&self) -> PathBuf {
        self.data.join("daemon.lock")
    }

    /// Held by a client while it starts a daemon.
    pub fn start_lock(&self) -> PathBuf {
        self.run.join("start.lock")
    }

    /// What a daemon says before it has a log.
    pub fn start_log(&self) -> PathBuf {
        self.run.join("start.log")
    }

    /// The daemon's log; older parts have a number appended.
    pub fn log(&self) -> PathBuf {
        self.data.join("log").join("daemon.log")
    }
}

impl Surroundings {
    /// Reads them from the environment.
    pub fn read() -> Self {
        let dirs = directories::ProjectDirs::from("", "", "coppice");
        let runtime_dir = dirs.as_ref().and_then(|dirs| dirs.runtime_dir());
        Self {
            coppice_home: std::env::var_os("COPPICE_HOME"),
            config_dir: dirs.as_ref().map(|dirs| dirs.config_dir().to_owned()),
            data_dir: dirs.as_ref().map(|dirs| dirs.data_dir().to_owned()),
            runtime_dir: runtime_dir.filter(|dir| dir.parent().is_some_and(Path::is_dir)).map(Path::to_owned),
            temp_dir: PathBuf::from("/tmp"),
            user: rustix::process::getuid().as_raw(),
        }
    }
}

/// Makes a directory that only this user can enter, also where everybody could have made one of that name before.
pub fn make_private(dir: &Path) -> Result<(), PathsError> {
    let failed = |source| PathsError::Directory { path: dir.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
    let found = fs::symlink_metadata(dir).map_err(failed)?;
    if !found.is_dir() || found.uid() != rustix::process::getuid().as_raw() {
        return Err(PathsError::Foreign { path: dir.to_owned() });
    }
    if found.permissions().mode() & 0o777 != 0o700 {
        fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Reads settings of another program that the user wrote. What is no regular file is nobody's settings: a pipe would be
/// waited for.
pub fn read_user_file(path: &Path) -> Option<String> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut text = String::new();
    file.metadata().ok().filter(Metadata::is_file)?;
    file.take(LARGEST_SETTINGS).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The socket stands in the run directory, or under a short name in the temp directory when that path is too long.
fn socket_in(run: &Path, around: &Surroundings) -> PathBuf {
    let usual = run.join("daemon.sock");
    match usual.as_os_str().len() <= SOCKET_LIMIT {
        true => usual,
        false => {
            let private = around.temp_dir.join(format!("coppice-{}", around.user));
            private.join(format!("{}.sock", short_hash(run.as_os_str())))
        }
    }
}

fn short_hash(text: &OsStr) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux() -> Surroundings {
        Surroundings {
            coppice_home: None,
            config_dir: Some("/home/u/.config/coppice".into()),
            data_dir: Some("/home/u/.local/share/coppice".into()),
            runtime_dir: Some("/run/user/7/coppice".into()),
            temp_dir: "/tmp".into(),
            user: 7,
        }
    }

    #[track_caller]
    fn check(around: Surroundings, [config, data, run, socket]: [&str; 4]) {
        let paths = Paths::compute(&around).unwrap();
        assert_eq!(paths.config, Path::new(config));
        assert_eq!(paths.data, Path::new(data));
        assert_eq!(paths.run, Path::new(run));
        assert_eq!(paths.socket, Path::new(socket));
    }

    #[test]
    fn the_platform_decides() {
        let data = "/home/u/.local/share/coppice";
        let config = "/home/u/.config/coppice/config.toml";
        check(linux(), [config, data, "/run/user/7/coppice", "/run/user/7/coppice/daemon.sock"]);
        let run = format!("{data}/run");
        let socket = format!("{run}/daemon.sock");
        check(Surroundings { runtime_dir: None, ..linux() }, [config, data, &run, &socket]);
    }

    #[test]
    fn one_directory_holds_everything_when_asked() {
        let around = Surroundings { coppice_home: Some("/h".into()), ..linux() };
        let (paths, home) = (Paths::compute(&around).unwrap(), Path::new("/h"));
        assert_eq!(paths.home.as_deref(), Some(home));
        assert_eq!(paths.config, home.join("config.toml"));
        assert_eq!(paths.agents, home.join("agents"));
        assert_eq!(paths.lock(), home.join("data/daemon.lock"));
        assert_eq!(paths.log(), home.join("data/log/daemon.log"));
        assert_eq!(paths.start_log(), home.join("run/start.log"));
        assert_eq!(paths.socket, home.join("run/daemon.sock"));
        let unset = Surroundings { coppice_home: Some("".into()), ..linux() };
        assert_eq!(Paths::compute(&unset).unwrap(), Paths::compute(&linux()).unwrap());
        let homeless = Surroundings { coppice_home: Some("/h".into()), config_dir: None, data_dir: None, ..linux() };
        assert!(Paths::compute(&homeless).is_ok());
    }

    #[test]
    fn a_socket_path_that_is_too_long_moves_and_stays_its_own() {
        let at = |length: usize| {
            let home = format!("/{}", "h".repeat(length - "//run/daemon.sock".len()));
            let paths = Paths::compute(&Surroundings { coppice_home: Some(home.into()), ..linux() }).unwrap();
            paths.socket.into_os_string().into_string().unwrap()
        };
        assert_eq!(at(100).len(), 100);
        assert!(at(101).starts_with("/tmp/coppice-7/"), "{}", at(101));
        assert_ne!(at(101), at(102));
    }

    #[test]
    fn without_a_home_there_is_no_path() {
        let around = Surroundings { config_dir: None, data_dir: None, ..linux() };
        assert!(matches!(Paths::compute(&around), Err(PathsError::NoHome)));
    }

    #[test]
    fn a_private_directory_is_made_narrowed_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let made = dir.path().join("a/b");
        make_private(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
        fs::set_permissions(&made, Permissions::from_mode(0o755)).unwrap();
        make_private(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&made, &link).unwrap();
        assert!(matches!(make_private(&link), Err(PathsError::Foreign { .. })));
    }
}
