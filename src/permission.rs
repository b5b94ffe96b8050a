//! What an agent may do: a call and the scene it is made in, a verdict out.
//!
//! `decide` is the one decision about every call, whoever carries it out. It reads nothing from the disk: whoever asks
//! for a verdict follows symbolic links first, and hands over the rules that are written down.

mod call;
mod command;
pub mod compact;
mod decide;
pub mod flag;
mod floor;
pub mod guard;
mod kept;
pub mod load;
pub mod offer;
mod posture;
mod profile;
pub mod rule;
mod scene;
mod shell;
mod verb;

use std::path::{Component, Path, PathBuf};

pub use call::{Call, Effect, Layer, Leads, Subject, Target, Verdict};
pub use decide::{decide, is_spared, usual};
pub use floor::catastrophe;
pub use kept::{Keeper, Kept};
pub use posture::{Hold, Level, Posture, UnknownWord};
pub use profile::Profile;
pub use scene::{Access, AgentWord, Audience, Overlay, Places, Scene, imported_mode};
pub use shell::segments;
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

/// Whether a call stays in the work tree `tree`, by its words.
pub fn leads(reach: &Reach, tree: &Path) -> Leads {
    let stays = match reach {
        Reach::Paths(paths) => !paths.is_empty() && paths.iter().all(|path| is_inside(path, tree)),
        Reach::Command { text, cwd } => is_inside(cwd, tree) && command::stays(text, tree),
        Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => false,
    };
    if stays { Leads::Inside } else { Leads::Elsewhere }
}

/// A place that a command names; whoever knows the disk looks where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    File(String),
    /// Entries of a directory, by a pattern.
    Within(String),
    /// A directory to work in, against which the others may be meant.
    Move(String),
    /// A program, by its path.
    Program(String),
}

/// The places that a command may name; `None` when it cannot be read.
pub fn places(command: &str) -> Option<Vec<Place>> {
    command::places(command)
}

/// Whether a command may reach what a place is, once its links are followed.
pub fn is_free(place: &Place, real: &Path, tree: &Path) -> bool {
    match place {
        Place::File(_) | Place::Within(_) | Place::Move(_) => is_inside(real, tree),
        Place::Program(_) => is_inside(real, tree) || command::is_common_program(real),
    }
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

    #[track_caller]
    fn check(reach: &Reach, expected: Leads) {
        assert_eq!(leads(reach, Path::new("/data/tree")), expected, "{reach:?}");
    }

    #[test]
    fn files_of_the_tree_are_free_and_all_others_are_asked_about() {
        let paths = |paths: &[&str]| Reach::Paths(paths.iter().map(PathBuf::from).collect());
        for inside in [&["/data/tree/a.rs"][..], &["/data/tree/src/a", "/data/tree/b"], &["/data/tree"]] {
            check(&paths(inside), Leads::Inside);
        }
        for outside in [
            &["/data/tree2/a.rs"][..],
            &["/data/tree/a", "/etc/passwd"],
            &["/data/tree/../x"],
            &["a.rs"],
            &["/data/tree/.git"],
            &["/data/tree/sub/.git/config"],
            &[],
        ] {
            check(&paths(outside), Leads::Elsewhere);
        }
        check(&Reach::Elsewhere, Leads::Elsewhere);
    }

    #[test]
    fn a_command_is_free_in_the_tree_only() {
        let command = |cwd: &str| Reach::Command { text: "cargo test".into(), cwd: cwd.into() };
        check(&command("/data/tree/sub"), Leads::Inside);
        check(&command("/home/me"), Leads::Elsewhere);
    }
}
