//! What all calls of this family need: the work tree, its servers, and files as the servers are shown them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::lsp::answer::Location;
use crate::lsp::position::Position;
use crate::lsp::servers::{self, PROGRAMS, Program};
use crate::lsp::{LspError, uri};
use crate::tools::inside::root::Root;

use super::super::super::delegate::Caller;
use super::super::super::shared::Shared;
use super::keep::{Key, Lease};
use super::start::{self, Rights};
use super::watch::{self, Seen};

/// The bytes of the longest file that a server is shown.
const LONGEST: u64 = 4 << 20;

pub(super) struct Desk<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) caller: &'a Caller,
    pub(super) root: Arc<Root>,
    /// The work tree by the name that servers know.
    pub(super) tree: PathBuf,
}

/// A file that a server was shown.
pub(super) struct Opened {
    pub(super) lease: Lease,
    /// The files as the server knew them then.
    pub(super) seen: Arc<Seen>,
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) version: i64,
    /// Whether the server had looked at the whole project.
    pub(super) is_ready: bool,
}

impl<'a> Desk<'a> {
    pub(super) async fn open(shared: &'a Arc<Shared>, caller: &'a Caller) -> Result<Self, String> {
        let named = PathBuf::from(&caller.record.body.worktree);
        let opened = blocking(move || Ok((Root::open(&named, None)?, named.canonicalize()?))).await?;
        let (root, tree) =
            opened.map_err(|error: std::io::Error| format!("the work tree cannot be opened: {error}"))?;
        Ok(Self { shared, caller, root: Arc::new(root), tree })
    }

    /// The server for a program, told of all that became of the files.
    pub(super) async fn lease(&self, program: &'static Program) -> Result<(Lease, Arc<Seen>), String> {
        let Caller { record, role, config, .. } = self.caller;
        let rights = Rights::of(record, role, config);
        let (shared, root, tree) = (Arc::clone(self.shared), Arc::clone(&self.root), self.tree.clone());
        let start = start::start(shared, record.clone(), rights, program, start::Place { root, tree });
        let lease = self.shared.languages.lease(self.key(program), start).await?;
        let seen = self.refresh(&lease).await?;
        Ok((lease, seen))
    }

    /// The server for a program, if it runs.
    pub(super) async fn running(&self, program: &'static Program) -> Option<Lease> {
        let lease = self.shared.languages.find(&self.key(program))?;
        self.refresh(&lease).await.ok()?;
        Some(lease)
    }

    fn key(&self, program: &'static Program) -> Key {
        let Caller { record, role, config, .. } = self.caller;
        let tree = PathBuf::from(&record.body.worktree);
        Key { tree, program: program.name, made_of: Rights::of(record, role, config).name() }
    }

    /// The files that servers care about.
    pub(super) async fn files(&self) -> Result<Seen, String> {
        let root = Arc::clone(&self.root);
        blocking(move || watch::look(&root)).await?
    }

    /// Tells a server what agents, builds and people did to the files since it was last asked.
    async fn refresh(&self, lease: &Lease) -> Result<Arc<Seen>, String> {
        // Calls look one after the other: what one of them has told is never older than what it replaces.
        let mut known = lease.files.lock().await;
        let seen = Arc::new(self.files().await?);
        let changes = known.as_ref().map(|known| watch::changes(known, &seen)).unwrap_or_default();
        let versions = lease.server.versions().await.map_err(told)?;
        for path in versions.keys() {
            let is_changed = path.strip_prefix(&self.tree).is_ok_and(|inside| changes.contains_key(inside));
            if !is_changed {
                continue;
            }
            let shown = self.show(lease, path).await;
            if shown.is_err() {
                lease.server.close(path).await.map_err(told)?;
            }
        }
        if !changes.is_empty() {
            let named: Vec<_> = changes.iter().map(|(path, what)| (self.tree.join(path), *what)).collect();
            lease.server.happened(&named).await.map_err(told)?;
        }
        *known = Some(Arc::clone(&seen));
        Ok(seen)
    }

    /// Opens a file that a call names with the server for it, and waits until the server can be asked about it.
    pub(super) async fn ask_about(&self, path: &Path) -> Result<Opened, String> {
        let opened = self.file(path).await?;
        let is_ready = opened.lease.server.ready().await;
        Ok(Opened { is_ready, ..opened })
    }

    /// Opens a file that a call names with the server for it.
    pub(super) async fn file(&self, path: &Path) -> Result<Opened, String> {
        let path = self.place(path).await?;
        let program = servers::for_file(&path).ok_or_else(|| unserved(&path))?;
        let (lease, seen) = self.lease(program).await?;
        let (text, version) = self.show(&lease, &path).await?;
        Ok(Opened { lease, seen, path, text, version, is_ready: false })
    }

    /// Where a path that a call names is, by the name that servers know.
    pub(super) async fn place(&self, path: &Path) -> Result<PathBuf, String> {
        let (root, name) = (Arc::clone(&self.root), path.to_string_lossy().into_owned());
        let looked = blocking(move || {
            root.look(&name)?;
            root.place(&name)
        });
        looked.await?.map(|inside| self.tree.join(inside)).map_err(|error| error.to_string())
    }

    /// Shows a file of the tree to a server.
    pub(super) async fn show(&self, lease: &Lease, path: &Path) -> Result<(String, i64), String> {
        let language = lease.server.program().language(path).unwrap_or("plaintext");
        let text = self.read(path).await?;
        let version = lease.server.show(path, language, text.clone()).await.map_err(told)?;
        Ok((text, version))
    }

    /// The text of a file of the tree, by the name that servers know.
    pub(super) async fn read(&self, path: &Path) -> Result<String, String> {
        let (root, name) = (Arc::clone(&self.root), self.inside(path)?);
        blocking(move || read(&root, &name)).await?
    }

    /// The name of a file from the root of the tree; what is elsewhere is refused.
    pub(super) fn inside(&self, path: &Path) -> Result<String, String> {
        match path.strip_prefix(&self.tree) {
            Ok(inside) => Ok(inside.to_string_lossy().into_owned()),
            Err(_) => Err(format!("`{}` is outside of the work tree", path.display())),
        }
    }

    /// A path as it is told: from the root of the tree, or whole where it is elsewhere.
    pub(super) fn told(&self, path: &Path) -> String {
        path.strip_prefix(&self.tree).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// A location as it is told.
    pub(super) fn location(&self, location: &Location) -> Value {
        let (start, end) = (location.range.start, location.range.end);
        json!({
            "path": self.told(&location.path),
            "line": start.line + 1,
            "character": start.character,
            "end_line": end.line + 1,
            "end_char": end.character,
        })
    }
}

impl Opened {
    /// The parameters of a question about a position.
    pub(super) fn at(&self, position: Position) -> Value {
        json!({ "textDocument": { "uri": uri::of(&self.path) }, "position": position })
    }

    /// What a server is told that lacks a method; none when it has it.
    pub(super) fn lacks(&self, method: &str) -> Option<String> {
        (!self.lease.server.can(method)).then(|| lacks(self.lease.server.program(), method))
    }

    /// What is to be known about an answer that may be incomplete.
    pub(super) fn notice(&self) -> Option<String> {
        (!self.is_ready).then(|| unready(self.lease.server.program()))
    }
}

pub(super) fn lacks(program: &Program, method: &str) -> String {
    format!("language server `{}` does not support `{method}`", program.name)
}

pub(super) fn unready(program: &Program) -> String {
    format!("language server `{}` still looks at the project; there may be more", program.name)
}

pub(super) fn unserved(path: &Path) -> String {
    let ends = PROGRAMS.iter().flat_map(|program| program.languages).map(|(end, _)| format!(".{end}"));
    let ends: Vec<_> = ends.collect();
    format!("no language server serves `{}`; served are {}", path.display(), ends.join(", "))
}

/// What went wrong with a server, for the model.
pub(super) fn told(error: LspError) -> String {
    error.to_string()
}

/// The text of a file of the tree, by its name from the root.
pub(super) fn read(root: &Root, name: &str) -> Result<String, String> {
    let (file, entry) = root.read(name).map_err(|error| error.to_string())?;
    if entry.size > LONGEST {
        return Err(format!("`{name}` has {} bytes; language servers are shown {LONGEST} at most", entry.size));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("`{name}` is not UTF-8 text"))
}

/// What is to be known about an answer, in one.
pub(super) fn notices(said: [Option<String>; 2]) -> Option<String> {
    let said: Vec<_> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// A line as it is shown, not longer than a reader wants.
pub(super) fn cut(line: &str) -> String {
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| format!("the work was broken off: {error}"))
}
