//! Files as they are in a commit or in the index of the main checkout, whatever a worktree says.

use git2::{AttrCheckFlags, ErrorCode, ObjectType};

use super::command::Git;
use super::{GitError, Oid, Repo};

impl Repo {
    /// The content of a regular file in a commit; none when the path is not there or is something else.
    pub fn file_at(&self, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let failed = |source| GitError::Library { act: format!("read `{path}` of commit `{commit}`"), source };
        let repo = self.open()?;
        let tree = repo.find_commit(commit.raw()).and_then(|commit| commit.tree()).map_err(failed)?;
        let entry = match tree.get_path(path.as_ref()) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        // A link would lead out of the commit.
        if !matches!(entry.filemode(), 0o100644 | 0o100755) {
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

    /// Whether git may have written a file with this content at `path` of the main checkout: it is in the index, an object
    /// has the same content, or a conversion may hide which object the content comes from.
    pub fn may_have_written(&self, path: &str, content: &[u8]) -> Result<bool, GitError> {
        let failed = |source| GitError::Library { act: format!("look for the content of `{path}`"), source };
        let repo = self.open()?;
        // Line ends and `$Id$` are the conversions that need no program.
        let mut is_converted = content.contains(&b'\r') || content.windows(3).any(|window| window == b"$Id");
        for attribute in ["filter", "working-tree-encoding"] {
            let value = repo.get_attr(path.as_ref(), attribute, AttrCheckFlags::FILE_THEN_INDEX).map_err(failed)?;
            is_converted |= value.is_some();
        }
        let blob = git2::Oid::hash_object(ObjectType::Blob, content).map_err(failed)?;
        let has_object = repo.odb().map_err(failed)?.exists(blob);
        Ok(is_converted || has_object || self.is_staged(path)?)
    }

    /// Whether a path is in the index of the main checkout, merged or not.
    fn is_staged(&self, path: &str) -> Result<bool, GitError> {
        Ok(!Git::new(self, "ls-files").args(["--cached", "--", path]).run()?.is_empty())
    }
}
