//! How runs of git on a session's files are confined.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use crate::api::request::Environment;
use crate::git::reach::{self, Confinement, Enclosure, Fetching, Reach, Read};
use crate::sandbox::cage::{Cage, Isolation, Network};
use crate::sandbox::hold::{self, Files, hold_thread};
use crate::sandbox::mode;

use super::super::{Options, settings};
use super::{SHARED_MEMORY, listed, places};

/// From here on no run of git in a session's worktree reads or writes more than the session's agent could: what swaps a
/// directory for a link while git is at work gains nothing.
pub(in super::super) fn confine_git(options: &Options) {
    let Options { config, executable, environment, support, .. } = options.clone();
    let (common, isolation) = (places::common(&environment), support.isolation());
    reach::confine_by(GitConfinement { common, config, environment, executable, isolation });
}

/// How runs of git are confined.
struct GitConfinement {
    /// What programs need.
    common: Vec<PathBuf>,
    /// The user's settings, which may have changed by the next run.
    config: PathBuf,
    environment: Environment,
    executable: PathBuf,
    isolation: Isolation,
}

impl GitConfinement {
    /// What may be read; `None` stands for everything.
    fn readable(&self, reach: &Reach) -> Option<Vec<PathBuf>> {
        match &reach.read {
            Read::Everything => None,
            Read::Only(own) => Some(self.common.iter().chain(own).cloned().collect()),
        }
    }
}

impl Confinement for GitConfinement {
    fn hold_thread(&self, reach: &Reach) -> io::Result<()> {
        hold_thread(&Files { read: self.readable(reach), write: reach.write.clone() })
    }

    fn enclose(&self, reach: &Reach, directory: &Path, mut env: Vec<(String, String)>) -> io::Result<Enclosure> {
        let mut read = self.readable(reach).unwrap_or_else(|| vec![PathBuf::from("/")]);
        // Settings that cannot be read open nothing.
        let config = settings::read_user_config(&self.config).unwrap_or_default();
        read.extend(listed(&config.sandbox, &self.environment));
        let mut write = reach.write.clone();
        env.retain(|(name, _)| name != "TMPDIR");
        match self.isolation {
            Isolation::Namespaces => {
                write.push(PathBuf::from(SHARED_MEMORY));
                env.push(("TMPDIR".to_owned(), SHARED_MEMORY.to_owned()));
            }
            // All processes share it.
            Isolation::RulesOnly => {}
        }
        let network = match reach.fetching {
            Fetching::Offline => Network::Ports(Vec::new()),
            Fetching::Allowed => Network::Open,
        };
        let cage = Cage { read, write, network, isolation: self.isolation };
        let variable = hold::describe(cage, directory, env)?;
        Ok(Enclosure { program: self.executable.clone(), argument: hold::ENTRY, variable })
    }

    fn set_mode(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
        mode::set_mode(directory, name, mode)
    }
}
