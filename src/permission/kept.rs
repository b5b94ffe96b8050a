//! Which files may not be read, as data: for whoever looks through many files where the rules are not.
//!
//! The decision about a call sees the paths that it names. A search meets others, and leaves out what these would be
//! denied.

use std::cell::LazyCell;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compact::tool::Spelled;
use super::compact::{CompactPermission, glob};
use super::rule::{Rule, RuleFile, Sense, Spot};

/// The denials of `read` that count for a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// What each map says about reading, in its order: the last match decides.
    maps: Vec<Vec<Said>>,
    /// The patterns of rules, each of which decides by itself.
    patterns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    pattern: String,
    word: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Denied,
    Open,
}

/// The same, ready to be held against many files of one work tree.
#[derive(Debug)]
pub struct Keeper {
    tree: String,
    maps: Vec<Vec<Said>>,
    rules: Vec<Rule>,
}

impl Kept {
    /// What keeps files from the tool `search`.
    pub fn of<'m>(maps: impl IntoIterator<Item = &'m CompactPermission>, files: &[RuleFile]) -> Self {
        Self::from_rules(maps, files.iter().flat_map(|file| &file.deny))
    }

    /// What keeps a command from being one that only looks: files that are asked about as well.
    pub fn for_commands<'m>(maps: impl IntoIterator<Item = &'m CompactPermission>, files: &[RuleFile]) -> Self {
        Self::from_rules(maps, files.iter().flat_map(|file| file.deny.iter().chain(&file.ask)))
    }

    fn from_rules<'m, 'r>(
        maps: impl IntoIterator<Item = &'m CompactPermission>,
        rules: impl Iterator<Item = &'r Rule>,
    ) -> Self {
        let (read, search) = (Spelled::new("read"), Spelled::new("search"));
        let said = |map: &CompactPermission| {
            let rules = map.rules.iter().filter(|rule| read.is_meant_by(&rule.tool));
            let word = |denied| if denied { Word::Denied } else { Word::Open };
            rules.map(|rule| Said { pattern: rule.pattern.clone(), word: word(rule.keeps_from(&search)) }).collect()
        };
        let patterns = rules.filter_map(Rule::kept_pattern);
        Self { maps: maps.into_iter().map(said).collect(), patterns: patterns.map(str::to_owned).collect() }
    }

    /// Made ready for a work tree, which is given with its links followed.
    pub fn keeper(&self, tree: &Path) -> Keeper {
        // A pattern that was a rule before is one again.
        let rules = self.patterns.iter().filter_map(|pattern| Rule::new("Read", pattern).ok()).collect();
        Keeper { tree: tree.to_string_lossy().into_owned(), maps: self.maps.clone(), rules }
    }
}

impl Keeper {
    /// Whether a file, by its path from the root of the tree, may not be read.
    pub fn keeps(&self, place: &Path) -> bool {
        let inside = place.to_string_lossy();
        // Many files are asked about, and few patterns speak of more than this.
        let spot = LazyCell::new(|| Spot {
            absolute: format!("{}/{inside}", self.tree),
            inside: Some(inside.clone().into_owned()),
        });
        let is_meant = |said: &&Said| match said.pattern.starts_with('/') {
            true => glob::matches(&said.pattern, &spot.absolute),
            false => glob::matches(&said.pattern, &inside),
        };
        let by_map = |map: &Vec<Said>| map.iter().rfind(is_meant).is_some_and(|said| said.word == Word::Denied);
        self.maps.iter().any(by_map) || self.rules.iter().any(|rule| rule.means_path(&spot, None, Sense::Takes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::load;

    fn map(text: &str) -> CompactPermission {
        load::map("permissions.jsonc", text, "/home/me").unwrap()
    }

    fn check(maps: &[&str], deny: &[&str], kept: &[&str], open: &[&str]) {
        let maps: Vec<_> = maps.iter().map(|text| map(text)).collect();
        let deny = deny.iter().map(|rule| rule.parse::<Rule>().unwrap().at_home("/home/me").unwrap()).collect();
        let file = RuleFile { deny, ..RuleFile::default() };
        let data = serde_json::to_string(&Kept::of(&maps, &[file])).unwrap();
        let keeper = serde_json::from_str::<Kept>(&data).unwrap().keeper(Path::new("/home/me/tree"));
        for path in kept {
            assert!(keeper.keeps(Path::new(path)), "{path}");
        }
        for path in open {
            assert!(!keeper.keeps(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn files_that_may_not_be_read_are_not_searched() {
        let hidden = ["api/.env", ".env", "my-credentials.json", "secrets/a.txt", "a.env.local"];
        check(&[load::SEED], &[], &hidden, &["src/a.rs", "api/.env.example"]);
        check(&[r#"{"read":{"*.env":"deny"}}"#, r#"{"read":"allow"}"#], &[], &["a.env"], &["b"]);
        check(&[], &["Read(**/*.pem)", "read(~/tree/x/**)"], &["a/b.pem", "c.pem", "x/y"], &["c.crt", "y"]);
    }

    #[test]
    fn a_rule_about_the_tool_and_not_about_files_keeps_nothing() {
        let none = &["src/a.rs", "a.env"];
        check(&[r#"{"*":"deny","grep":"allow"}"#, r#"{"read":"deny","grep":"allow"}"#], &["Read(**)"], &[], none);
        check(&[r#"{"read":{"*.env":"deny"},"*":"allow"}"#], &["Edit(*.env)", "Grep(*.env)"], &[], none);
    }
}
