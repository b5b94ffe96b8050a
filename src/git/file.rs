//! Files as they are in a commit, whatever a worktree says.

use git2::{ErrorCode, ObjectType};

use super::{GitError, Oid, Repo};

impl Repo {
    /// The content of a regular file in a commit; none when the path is not there or is something else.
    pub fn file_at(&self, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.file_up_to(commit, path, usize::MAX)
    }

    /// The same for a commit or a tree, and for files of at most `limit` bytes: what is longer is not read.
    pub fn file_up_to(&self, from: &Oid, path: &str, limit: usize) -> Result<Option<Vec<u8>>, GitError> {
        let failed = |source| GitError::Library { act: format!("read `{path}` of commit `{from}`"), source };
        let repo = self.open()?;
        let tree = repo.find_object(from.raw(), None).and_then(|found| found.peel_to_tree()).map_err(failed)?;
        let entry = match tree.get_path(path.as_ref()) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        // A link would lead out of the commit.
        if !matches!(entry.filemode(), 0o100644 | 0o100755) {
            return Ok(None);
        }
        let (size, _) = repo.odb().and_then(|objects| objects.read_header(entry.id())).map_err(failed)?;
        if size > limit {
            return Ok(None);
        }
        let blob = repo.find_blob(entry.id()).map_err(failed)?;
        Ok(Some(blob.content().to_owned()))
    }

    /// The names in a directory of a commit, in order; none when the path is not there or is something else.
    pub fn names_at(&self, commit: &Oid, path: &str) -> Result<Vec<String>, GitError> {
        let failed = |source| GitError::Library { act: format!("list `{path}` of commit `{commit}`"), source };
        let repo = self.open()?;
        let tree = repo.find_commit(commit.raw()).and_then(|commit| commit.tree()).map_err(failed)?;
        let entry = match tree.get_path(path.as_ref()) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        if entry.kind() != Some(ObjectType::Tree) {
            return Ok(Vec::new());
        }
        let directory = repo.find_tree(entry.id()).map_err(failed)?;
        // A name that is not text names no file that anybody here asks for.
        let names = directory.iter().filter_map(|entry| entry.name().ok().map(str::to_owned));
        Ok(names.collect())
    }
}
