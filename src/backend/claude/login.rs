//! The user's login where confined conversations can renew it.
//!
//! The agent renews a token by a file that takes the place of the old one, and a renewed token spends the one before. It
//! must not write the user's own directory, whose settings name commands. So there is one directory of ours for all
//! conversations of a login, and the token moves between the two as it changes: this way or that, whichever was renewed.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::{Event, RecursiveMode, Watcher};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::backend::Launch;
use crate::backend::agent_dir::{AgentDir, PRIVATE};
use crate::backend::claude::argv::value;
use crate::backend::user_file::read_text;

/// The file of a login, in a directory of the agent.
const FILE: &str = ".credentials.json";

/// The member of the file that holds the token. Others are of servers and plugins, which stay with the user.
const MEMBER: &str = "claudeAiOauth";

/// What a renewed token may change in the user's file: whoever can write our directory can plant nothing else there.
const RENEWED: &[&str] = &["accessToken", "refreshToken", "expiresAt", "refreshTokenExpiresAt"];

/// One move at a time: a token read before another move and written after it would be a spent one.
static MOVING: Mutex<()> = Mutex::new(());

/// The two places of one login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keeper {
    user: PathBuf,
    own: AgentDir,
    /// What both held last. It lies beside our directory, where no agent writes.
    agreed: PathBuf,
}

/// One side, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    /// No file, or one without a token: nobody is logged in.
    Empty,
    /// Nobody can say.
    Broken,
    Token(Token),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    /// Tells tokens apart without being one.
    digest: String,
    expires_at: i64,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    /// The agent empties a token that the service refused.
    Spent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    None,
    /// From the user to us.
    Bring,
    /// From us to the user.
    Carry,
    /// The user logged out.
    Forget,
}

/// Where the user's own agent keeps its login.
pub(crate) fn users_dir(env: &[(String, String)]) -> Option<PathBuf> {
    let set = |name: &str| env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let named = set("CLAUDE_SECURESTORAGE_CONFIG_DIR").or_else(|| set("CLAUDE_CONFIG_DIR"));
    match named {
        Some(dir) if !dir.is_empty() => Some(PathBuf::from(dir)),
        Some(_) | None => value(env, "HOME").map(|home| Path::new(home).join(".claude")),
    }
}

/// The user's file, which a login that does not move is read from.
pub(crate) fn users_file(env: &[(String, String)]) -> Option<PathBuf> {
    users_dir(env).map(|dir| dir.join(FILE))
}

/// Whether the user's file holds a token that was not refused. The token itself is renewed again and again.
pub(crate) fn is_logged_in(env: &[(String, String)]) -> bool {
    let side = users_file(env).map_or(Side::Empty, |path| side(read(&path)));
    matches!(side, Side::Token(Token { life: Life::Alive, .. }))
}

impl Keeper {
    /// The login of a conversation; `None` where it stays with the user: where nothing is confined, and where the file
    /// holds none.
    pub(crate) fn of(launch: &Launch) -> Option<Self> {
        launch.confines.limits.as_ref()?;
        let dir = users_dir(&launch.environment())?;
        let dir = fs::canonicalize(&dir).unwrap_or(dir);
        // Sessions may be told of different stores; their tokens must never meet.
        let store = &hex(dir.as_os_str().as_bytes())[..16];
        let user = dir.join(FILE);
        // A link of the user's is followed, so that what takes the file's place does not take the link's.
        let user = fs::canonicalize(&user).unwrap_or(user);
        let own = AgentDir::fixed(launch.login_dir.join(store));
        let keeper = Self { user, own, agreed: launch.login_dir.join(format!("{store}.agreed")) };
        let is_there = fs::symlink_metadata(keeper.dir().join(FILE)).is_ok();
        let is_kept = is_there || matches!(keeper.sides().0, Side::Token(_) | Side::Broken);
        is_kept.then_some(keeper)
    }

    /// Where the agent finds its login.
    pub(crate) fn dir(&self) -> &Path {
        self.own.path()
    }

    /// Brings both places to the same token; reads and writes files.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let _turn = MOVING.lock().unwrap_or_else(PoisonError::into_inner);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.dir())?;
        let (user, own) = self.sides();
        let agreed = fs::read_to_string(&self.agreed).ok();
        let deed = decide(&user, &own, agreed.as_deref());
        debug!(?deed, "login settled");
        match deed {
            Move::None => {}
            Move::Bring => {
                let brought = json!({MEMBER: read(&self.user)?[MEMBER].take()});
                self.own.write(FILE, PRIVATE, brought.to_string().as_bytes())?;
            }
            Move::Carry => {
                let (mut kept, renewed) = (read(&self.user)?, self.read_own()?);
                for &member in RENEWED {
                    if let Some(value) = renewed[MEMBER].get(member).filter(|value| value.is_string() || value.is_i64())
                    {
                        kept[MEMBER][member] = value.clone();
                    }
                }
                write(&self.user, &kept)?;
            }
            Move::Forget => self.own.remove(FILE)?,
        }
        let held = match (deed, user, own) {
            (Move::None | Move::Bring, Side::Token(token), Side::Token(_) | Side::Empty)
            | (Move::Carry, _, Side::Token(token)) => Some(token.digest),
            (Move::None | Move::Bring | Move::Carry | Move::Forget, _, _) => None,
        };
        match held {
            Some(digest) if agreed.as_ref() != Some(&digest) => fs::write(&self.agreed, digest),
            Some(_) | None => Ok(()),
        }
    }

    /// Settles as often as one of the places changes; never ends.
    pub(crate) async fn keep(self: Arc<Self>) {
        let (sender, mut changes) = mpsc::channel(1);
        let concerns = |event: &Event| event.paths.iter().any(|path| path.file_name().is_some_and(|name| name == FILE));
        let watch = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_change = event.is_ok_and(|event| !event.kind.is_access() && concerns(&event));
            if is_change {
                // One that waits already stands for this one too.
                sender.try_send(()).ok();
            }
        });
        let watched = watch.and_then(|mut watcher| {
            for dir in [Some(self.dir()), self.user.parent()].into_iter().flatten() {
                watcher.watch(dir, RecursiveMode::NonRecursive)?;
            }
            Ok(watcher)
        });
        let _watcher = match watched {
            Ok(watcher) => watcher,
            Err(error) => {
                warn!(%error, "login not watched: a renewed token reaches the user when the agent ends");
                return std::future::pending().await;
            }
        };
        while changes.recv().await.is_some() {
            self.clone().settle_aside().await;
        }
        std::future::pending().await
    }

    /// Settles without holding up the runtime; a failure is told in the log, because nobody else can do anything about it.
    pub(crate) async fn settle_aside(self: Arc<Self>) {
        match tokio::task::spawn_blocking(move || self.settle()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "login not settled"),
            Err(error) => warn!(%error, "login not settled"),
        }
    }

    fn sides(&self) -> (Side, Side) {
        (side(read(&self.user)), side(self.read_own()))
    }

    fn read_own(&self) -> io::Result<Value> {
        let text = self.own.read(FILE)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// Which of the two is the token to keep. One that nobody but us could have brought there gives way; where both were
/// changed, the one that lives longer is the younger one.
fn decide(user: &Side, own: &Side, agreed: Option<&str>) -> Move {
    let (user, own) = match (user, own) {
        (Side::Broken, _) | (Side::Empty, Side::Empty) => return Move::None,
        (Side::Empty, Side::Token(_) | Side::Broken) => return Move::Forget,
        (Side::Token(_), Side::Empty | Side::Broken) => return Move::Bring,
        (Side::Token(user), Side::Token(own)) => (user, own),
    };
    let is_agreed = |token: &Token| agreed == Some(&token.digest);
    match (user.life, own.life) {
        _ if user.digest == own.digest => Move::None,
        (Life::Spent, Life::Spent) => Move::None,
        (Life::Alive, Life::Spent) => Move::Bring,
        (Life::Spent | Life::Alive, Life::Alive) if is_agreed(user) => Move::Carry,
        (Life::Spent | Life::Alive, Life::Alive) if is_agreed(own) => Move::Bring,
        (Life::Spent | Life::Alive, Life::Alive) if own.expires_at > user.expires_at => Move::Carry,
        (Life::Spent | Life::Alive, Life::Alive) => Move::Bring,
    }
}

fn side(read: io::Result<Value>) -> Side {
    match read {
        Ok(file) if file[MEMBER].is_object() => Side::Token(token(&file[MEMBER])),
        Ok(_) => Side::Empty,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Side::Empty,
        Err(_) => Side::Broken,
    }
}

fn token(value: &Value) -> Token {
    let text = |member: &str| value[member].as_str().unwrap_or_default();
    let (access, refresh) = (text("accessToken"), text("refreshToken"));
    Token {
        digest: hex(format!("{access}\n{refresh}").as_bytes()),
        expires_at: value["expiresAt"].as_i64().unwrap_or_default(),
        life: if access.is_empty() { Life::Spent } else { Life::Alive },
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> io::Result<Value> {
    Ok(serde_json::from_str(&read_text(path)?)?)
}

/// Writes a file of the user's, whole or not at all; only its owner may read it.
fn write(path: &Path, value: &Value) -> io::Result<()> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let draft = path.with_extension(format!("json.{:016x}", u64::from_be_bytes(random)));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(value.to_string().as_bytes()).and_then(|()| file.sync_all());
    let moved = written.and_then(|()| fs::rename(&draft, path));
    if moved.is_err() {
        // What is left of a failure is a draft; the failure itself is what counts.
        fs::remove_file(&draft).ok();
    }
    moved
}

#[cfg(test)]
mod tests;
