//! A layer of Codex's configuration for one visit of a person, above the user's own.
//!
//! The interface keeps things by itself: that it looked for a screen reader, which offers were answered, which model and
//! which theme were chosen last. It reads none of that from its arguments, but it writes to the topmost file.

use std::io;
use std::path::Path;

use tempfile::TempPath;

/// What the file is called after its name.
const EXTENSION: &str = "config.toml";

/// What a person reads who comes across it.
const NOTE: &str = "# Coppice: what Codex keeps while somebody is attached to a session. It goes when they leave.\n";

/// The layer; its file is gone with it.
#[derive(Debug)]
pub(super) struct Layer {
    name: String,
    _file: TempPath,
}

impl Layer {
    /// Lays it for a thread. What a visit without an end left there is replaced.
    pub(super) async fn lay(home: &Path, thread: &str) -> io::Result<Self> {
        let plain: String = thread.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = format!("coppice-{plain}");
        let path = home.join(format!("{name}.{EXTENSION}"));
        tokio::fs::write(&path, NOTE).await?;
        Ok(Self { name, _file: TempPath::try_from_path(path)? })
    }

    /// The arguments that make the interface use it.
    pub(super) fn arguments(&self) -> [String; 2] {
        ["--profile".to_owned(), self.name.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_layer_lies_in_the_home_as_long_as_it_is_held() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("coppice-01a1e5.config.toml");
        std::fs::write(&path, "left = true\n").unwrap();
        let layer = Layer::lay(home.path(), "../01a1-e5").await.unwrap();
        assert_eq!(layer.arguments(), ["--profile", "coppice-01a1e5"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), NOTE);
        // Codex replaces files instead of writing into them.
        std::fs::write(home.path().join("draft"), "").unwrap();
        std::fs::rename(home.path().join("draft"), &path).unwrap();
        drop(layer);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
