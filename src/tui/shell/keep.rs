//! Drafts and history on disk, one file for each repository.
//!
//! The file is small and replaced as a whole. A face that cannot read or write it works all the same.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::paths;
use crate::tui::state::Saved;

/// Where the face keeps what it knows about one repository.
pub(super) struct Keep {
    file: PathBuf,
}

impl Keep {
    /// `project` names the repository as the daemon does.
    pub(super) fn of(data: &Path, project: &str) -> Keep {
        let name: String =
            Sha256::digest(project.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Keep { file: data.join("tui").join(format!("{name}.json")) }
    }

    /// What was kept; nothing where the file is missing or of another make.
    pub(super) fn read(&self) -> Saved {
        fs::read_to_string(&self.file).map(|text| Saved::parse(&text)).unwrap_or_default()
    }

    pub(super) fn write(&self, saved: &Saved) -> io::Result<()> {
        let directory = self.file.parent().unwrap_or(Path::new("."));
        paths::make_private(directory).map_err(io::Error::other)?;
        let mut file = NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec(saved)?)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_garbage_does_no_harm() {
        let data = tempfile::tempdir().unwrap();
        let keep = Keep::of(data.path(), "/src/shop/.git");
        assert_eq!(keep.read(), Saved::default());
        keep.write(&Saved::default()).unwrap();
        assert_eq!(keep.read(), Saved::default());
        fs::write(&keep.file, b"{ not json").unwrap();
        assert_eq!(keep.read(), Saved::default());
        assert_ne!(keep.file, Keep::of(data.path(), "/src/other/.git").file);
    }
}
