//! Which programs of backends are here, and whether their versions are good: found on `PATH`, asked once, judged.
//!
//! It starts a program only to read its version, never a conversation, and decides nothing about who is chosen.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tracing::debug;

use crate::backend::install;
use crate::backend::spec::{self, Spec, Version, Versions};
use crate::backend::transport::spawn::{Child, Exit, Needs, SpawnRequest, Spawner};

/// A program on Node takes five seconds to print its version on a loaded machine.
const LIMIT: Duration = Duration::from_secs(20);

/// How much of what a program prints is read. One that prints more is stopped by its closed pipe.
const OUTPUT: u64 = 4 * 1024;

/// How much of what a broken program said is told, in characters.
const SAID: usize = 200;

/// What is known about the program of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub program: Option<PathBuf>,
    /// `None` for a program whose versions nobody tested: it is not asked.
    pub version: Option<Version>,
    pub verdict: Verdict,
}

/// Whether a program can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is not on `PATH`.
    Missing,
    /// It does not even tell its version.
    Broken {
        said: String,
    },
    TooOld {
        found: Version,
        minimum: Version,
    },
    /// Newer than what was tested: it is used, and the person is told.
    Untested {
        found: Version,
        tested: Version,
    },
    Good,
}

/// Finds programs and learns their versions; a version is kept as long as its file stays the same.
pub struct Discovery {
    spawn: Arc<dyn Spawner>,
    known: Mutex<HashMap<Stamp, Version>>,
}

/// Where a program is looked for and how it is run.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The whole environment; `PATH` is taken from it.
    pub env: &'a [(String, String)],
    pub cwd: &'a Path,
}

/// Tells one state of a file from another. Package managers give every file the same time of modification, so the
/// time of its last change of any kind counts too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stamp {
    path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Discovery {
    pub fn new(spawn: Arc<dyn Spawner>) -> Self {
        Self { spawn, known: Mutex::default() }
    }

    /// Looks for the program of a backend and judges its version. Takes as long as the program takes to tell it.
    pub async fn look(&self, spec: &Spec, surroundings: Surroundings<'_>) -> Found {
        let Some(program) = find(spec, surroundings) else {
            return Found { program: None, version: None, verdict: Verdict::Missing };
        };
        let Some(versions) = &spec.versions else {
            return Found { program: Some(program), version: None, verdict: Verdict::Good };
        };
        let told = self.version(&program, surroundings).await;
        Found { program: Some(program), version: told.as_ref().ok().copied(), verdict: judge(versions, told) }
    }

    async fn version(&self, program: &Path, surroundings: Surroundings<'_>) -> Result<Version, String> {
        let stamp = Stamp::of(program);
        let known = |stamp: &Stamp| self.known.lock().unwrap_or_else(PoisonError::into_inner).get(stamp).copied();
        if let Some(version) = stamp.as_ref().and_then(known) {
            return Ok(version);
        }
        let argv = vec![program.to_string_lossy().into_owned(), "--version".to_owned()];
        let needs = Needs { read: install::of_command(&argv, surroundings.env), write: Vec::new() };
        let request = SpawnRequest { argv, env: surroundings.env.to_vec(), cwd: surroundings.cwd.to_owned(), needs };
        debug!(program = %program.display(), "asking for the version");
        // Dropping the process ends it, so one that hangs is gone when this returns.
        let told = match tokio::time::timeout(LIMIT, run_program(&*self.spawn, request)).await {
            Ok(told) => told?,
            Err(_) => return Err(format!("it did not end within {} seconds", LIMIT.as_secs())),
        };
        let version = read_version(&told)?;
        if let Some(stamp) = stamp {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(stamp, version);
        }
        Ok(version)
    }
}

impl Stamp {
    fn of(program: &Path) -> Option<Self> {
        let file = std::fs::metadata(program).ok()?;
        Some(Self {
            path: program.to_owned(),
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

impl Verdict {
    /// Whether sessions can run on it.
    pub fn is_usable(&self) -> bool {
        match self {
            Self::Untested { .. } | Self::Good => true,
            Self::Missing | Self::Broken { .. } | Self::TooOld { .. } => false,
        }
    }
}

/// The program of a backend, as a shell in these surroundings would find it.
pub fn find(spec: &Spec, surroundings: Surroundings<'_>) -> Option<PathBuf> {
    let path = surroundings.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| OsStr::new(path));
    spec::resolve(spec, path, surroundings.cwd).ok()
}

/// Judges what a program told about its version.
pub fn judge(versions: &Versions, told: Result<Version, String>) -> Verdict {
    let Versions { minimum, tested } = *versions;
    match told {
        Err(said) => Verdict::Broken { said },
        Ok(found) if found < minimum => Verdict::TooOld { found, minimum },
        Ok(found) if found > tested => Verdict::Untested { found, tested },
        Ok(_) => Verdict::Good,
    }
}

/// What a short program printed, up to a bound, and how it ended.
pub(crate) struct ProgramOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
}

/// Runs a program without input to its end.
pub(crate) async fn run_program(spawn: &dyn Spawner, request: SpawnRequest) -> Result<ProgramOutput, String> {
    let child = spawn.spawn(request).await.map_err(|failure| failure.message)?;
    let Child { stdin, stdout, stderr, exit, control, .. } = child;
    drop(stdin);
    let (stdout, stderr, exit) = tokio::join!(read_some(stdout), read_some(stderr), exit);
    drop(control);
    Ok(ProgramOutput { stdout, stderr, exit })
}

async fn read_some(stream: Box<dyn AsyncRead + Send + Unpin>) -> String {
    let mut bytes = Vec::new();
    // What came before a broken pipe is still worth reading.
    stream.take(OUTPUT).read_to_end(&mut bytes).await.ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The version in what a program printed, or what it said instead.
fn read_version(told: &ProgramOutput) -> Result<Version, String> {
    let ProgramOutput { stdout, stderr, exit } = told;
    let said = [stderr, stdout].into_iter().find_map(|text| summarize_output(text));
    match (exit, Version::parse(stdout), said) {
        (Exit::Code(0), Some(version), _) => Ok(version),
        (Exit::Code(0), None, Some(said)) => Err(format!("it told no version but `{said}`")),
        (Exit::Code(0), None, None) => Err("it told no version".to_owned()),
        (Exit::Code(_) | Exit::Signal(_) | Exit::Lost(_), _, Some(said)) => Err(format!("{exit}: {said}")),
        (Exit::Code(_) | Exit::Signal(_) | Exit::Lost(_), _, None) => Err(exit.to_string()),
    }
}

/// The first line that says something, bounded.
pub(crate) fn summarize_output(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let kept: String = line.chars().filter(|c| !c.is_control()).take(SAID).collect();
    Some(kept)
}

#[cfg(test)]
mod tests;
