//! What an agent may do: a call and the scene it is made in, a verdict out.
//!
//! `decide` is the one decision about every call, whoever carries it out. It reads nothing from the disk: whoever asks
//! for a verdict follows symbolic links first, and hands over the rules that are written down.

mod address;
mod breadth;
mod call;
pub mod claude_rules;
mod command;
pub mod compact;
mod content;
mod decide;
mod filter;
pub mod flag;
mod floor;
pub mod guard;
mod kept;
mod key_file;
pub mod load;
pub mod offer;
mod posture;
mod profile;
mod reader;
pub mod rule;
mod scene;
mod shell;
mod verb;

use std::path::{Component, Path, PathBuf};

pub use breadth::describe_breadth;
pub use call::{Call, Effect, Layer, Leads, Subject, Target, Verdict};
pub use content::shows_tracked_files;
pub use decide::{decide, is_spared, usual};
pub use floor::catastrophe;
pub use kept::{Keeper, Kept};
pub use posture::{Hold, Level, Posture, UnknownWord};
pub use profile::Profile;
pub use scene::{Access, AgentWord, Audience, GitDriver, Overlay, Places, Scene, imported_mode};
pub use shell::{describe_opaque, segments};
pub use verb::{only_git_reads, only_reads};

/// What one tool call touches, as far as the backend tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Files, by absolute path.
    Paths(Vec<PathBuf>),
    /// A shell command and the directory it runs in.
    Command { text: String, cwd: PathBuf },
    /// A page or a search.
    Url(String),
    /// A tool of an external server.
    Mcp { server: String, tool: String, effect: Effect },
    /// Another program, a way out of a sandbox, or something unknown.
    Elsewhere,
}

/// A place that a command names; whoever knows the disk looks where it leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    File(String),
    /// Whatever a pattern means in a directory: a path of which the first part is a pattern. `**` means all that is below.
    Within {
        directory: String,
        pattern: String,
    },
    /// Every file below a directory, without those that links lead to: a search may read them.
    Searched(String),
    /// A directory to work in, against which the others may be meant.
    Move(String),
    /// A program, by its path.
    Program(String),
}

/// The places that a command in `cwd` may name; `None` when one of its words points out of `tree`, or it is opaque.
pub fn places_below(command: &str, cwd: &Path, tree: &Path) -> Option<Vec<Place>> {
    if is_inside(cwd, tree) { command::places_below(command, tree) } else { None }
}

/// Whether a command may reach what a place is, once its links are followed.
pub fn is_free(place: &Place, real: &Path, tree: &Path) -> bool {
    match place {
        Place::File(name) | Place::Within { directory: name, .. } | Place::Searched(name) => {
            // Whoever searches below such a link searches the whole tree.
            let is_root_by_link = real == tree && !name.starts_with('/') && name.contains(|c| !matches!(c, '.' | '/'));
            is_inside(real, tree) && !is_tree_secret(real, tree) && !is_root_by_link
        }
        Place::Move(_) => is_inside(real, tree),
        Place::Program(_) => is_inside(real, tree) || command::is_common_program(real),
    }
}

fn is_tree_secret(path: &Path, tree: &Path) -> bool {
    guard::TREE_SECRETS.iter().any(|name| path == tree.join(name))
}

/// Whether a path is in the tree by its words alone. Git's own files are not: who writes them can run commands.
fn is_inside(path: &Path, tree: &Path) -> bool {
    let Ok(rest) = path.strip_prefix(tree) else { return false };
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    rest.components().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_of_the_tree_are_inside() {
        let is_inside = |path: &str| is_inside(Path::new(path), Path::new("/data/tree"));
        for path in ["/data/tree/a.rs", "/data/tree/src/a", "/data/tree"] {
            assert!(is_inside(path), "{path}");
        }
        let outside = [
            "/data/tree2/a.rs",
            "/etc/passwd",
            "/data/tree/../x",
            "a.rs",
            "/data/tree/.git",
            "/data/tree/a/.git/config",
        ];
        for path in outside {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn a_command_is_free_in_the_tree_only() {
        let is_free = |cwd: &str| places_below("cargo test", Path::new(cwd), Path::new("/data/tree")).is_some();
        assert!(is_free("/data/tree/sub") && !is_free("/home/me"));
    }
}
