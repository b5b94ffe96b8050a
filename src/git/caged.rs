//! A run of git with words of a model, for whoever starts it in the session's cage: such words may run anything.
//!
//! It names its directories like every other run, so that no `.git` of an agent's making leads it elsewhere.

use super::command::{OFFLINE, SETTINGS};
use super::{Oid, Worktree, veil};

/// What to start, and the variables to set on top of the environment of the cage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caged {
    pub argv: Vec<String>,
    pub env: Vec<(&'static str, String)>,
}

/// What the words are known to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// They only look: no hook runs, and no host is asked.
    Reads,
    Anything,
}

/// Files at the top of a worktree whose content is not shown, and the attributes that see to it: see [`veil`].
#[derive(Debug, Clone, Copy)]
pub struct Veil<'a> {
    pub names: &'a [&'a str],
    pub attributes: Oid,
}

/// The run of git in a worktree.
pub fn command(tree: &Worktree, words: &[String], known: Known, veil: Veil<'_>) -> Caged {
    let of_all = SETTINGS.iter().filter(|setting| known == Known::Reads || !setting.starts_with("core.hooksPath"));
    let offline = OFFLINE.iter().filter(|_| known == Known::Reads);
    let settings = of_all.chain(offline).flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]);
    let argv = std::iter::once("git".to_owned())
        .chain(settings)
        .chain([format!("--attr-source={}", veil.attributes)])
        .chain(words.iter().cloned())
        .chain(if searches(words) { veil::left_out(veil.names) } else { Vec::new() })
        .collect();
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let env = vec![
        ("GIT_DIR", path(&tree.admin)),
        ("GIT_WORK_TREE", path(&tree.path)),
        ("GIT_OPTIONAL_LOCKS", "0".to_owned()),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
        ("GIT_PAGER", "cat".to_owned()),
        ("LC_MESSAGES", "C".to_owned()),
    ];
    Caged { argv, env }
}

/// Whether the words search in files.
fn searches(words: &[String]) -> bool {
    let is_value = |at: usize| at > 0 && matches!(words[at - 1].as_str(), "-C" | "-c");
    let verb = words.iter().enumerate().find(|(at, word)| !word.starts_with('-') && !is_value(*at));
    verb.is_some_and(|(_, verb)| verb == "grep")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testkit::Sandbox;

    #[test]
    fn the_words_come_last_and_hooks_stay_off_for_those_that_read() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let words = ["log".to_owned(), "-1".to_owned()];
        let veil = Veil { names: &[".env"], attributes: tree.attributes };
        let command = |words: &[String], known| super::command(&tree, words, known, veil);
        let reads = command(&words, Known::Reads);
        assert_eq!(reads.argv.first().map(String::as_str), Some("git"));
        assert_eq!(reads.argv[reads.argv.len() - 2..], words);
        assert!(reads.argv.contains(&"core.hooksPath=/dev/null".to_owned()));
        assert!(reads.argv.contains(&"protocol.allow=never".to_owned()));
        assert!(reads.env.contains(&("GIT_DIR", tree.admin.to_string_lossy().into_owned())));
        let anything = command(&words, Known::Anything);
        assert!(!anything.argv.iter().any(|word| word.contains("hooksPath") || word.contains("protocol")));
        assert!(anything.argv.contains(&"core.fsmonitor=false".to_owned()));
        for words in [&["grep", "x"][..], &["-C", "sub", "--no-pager", "grep", "x"]] {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            let searched = command(&words, Known::Reads);
            assert_eq!(searched.argv[searched.argv.len() - 2..], [":(exclude,top,literal).env"; 2]);
        }
    }
}
