//! Drafts and history on disk, one file for each repository.
//!
//! The file is small and replaced as a whole, with what other faces wrote into it meanwhile. A face that cannot read or write it works all the same.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::paths;
use crate::tui::composer;
use crate::tui::state::Saved;

/// Where the face keeps what it knows about one repository. Other faces of that repository keep theirs in the same place.
pub(super) struct Keep {
    file: PathBuf,
    /// What the file held when this face last had to do with it.
    base: Saved,
}

impl Keep {
    /// `project` names the repository as the daemon does.
    pub(super) fn of(data: &Path, project: &str) -> Keep {
        let name: String =
            Sha256::digest(project.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Keep { file: data.join("tui").join(format!("{name}.json")), base: Saved::default() }
    }

    /// What was kept; nothing where the file is missing or of another make.
    pub(super) fn read(&mut self) -> Saved {
        self.base = self.found();
        self.base.clone()
    }

    /// Writes what this face changed since it last read or wrote, and says what the file holds then.
    pub(super) fn write(&mut self, ours: &Saved) -> io::Result<Saved> {
        let directory = self.file.parent().unwrap_or(Path::new("."));
        paths::make_private(directory).map_err(io::Error::other)?;
        // Nobody else writes between reading and writing. The file itself is replaced and cannot carry the lock.
        let lock = File::create(self.file.with_extension("lock"))?;
        lock.lock()?;
        let theirs = self.found();
        let merged = composer::merge(&self.base, ours, theirs.clone());
        if merged != theirs {
            let mut file = NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec(&merged)?)?;
            file.persist(&self.file)?;
        }
        self.base.clone_from(&merged);
        Ok(merged)
    }

    fn found(&self) -> Saved {
        fs::read_to_string(&self.file).map(|text| Saved::parse(&text)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::composer::Content;

    #[test]
    fn what_is_kept_comes_back_and_garbage_does_no_harm() {
        let data = tempfile::tempdir().unwrap();
        let mut keep = Keep::of(data.path(), "/src/shop/.git");
        assert_eq!(keep.read(), Saved::default());
        keep.write(&Saved::default()).unwrap();
        assert_eq!(keep.read(), Saved::default());
        fs::write(&keep.file, b"{ not json").unwrap();
        assert_eq!(keep.read(), Saved::default());
        assert_ne!(keep.file, Keep::of(data.path(), "/src/other/.git").file);
    }

    #[test]
    fn of_two_faces_none_writes_over_what_it_did_not_change() {
        let data = tempfile::tempdir().unwrap();
        let [mut one, mut other] = [(); 2].map(|()| Keep::of(data.path(), "/src/shop/.git"));
        let task = |text: &str| Saved { task: Content { text: text.into(), ..Content::default() }, ..Saved::default() };
        one.write(&task("old")).unwrap();
        assert_eq!((one.read(), other.read()), (task("old"), task("old")));
        one.write(&task("written later")).unwrap();
        assert_eq!(other.write(&task("old")).unwrap(), task("written later"));
        assert_eq!(one.read(), task("written later"));
    }
}
