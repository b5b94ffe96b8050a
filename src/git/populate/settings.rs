//! Which settings rule out copying, read from one listing of the configuration.

use super::{LineEnds, Unsuited};
use crate::git::Worktree;
use crate::git::command::Git;

/// Settings under which a file on disk is not its blob plus stat data, with the value that is harmless.
const HARMLESS: [(&str, &str); 7] = [
    ("core.sparsecheckout", "false"),
    ("core.symlinks", "true"),
    ("core.filemode", "true"),
    ("core.ignorecase", "false"),
    ("core.precomposeunicode", "false"),
    ("core.protecthfs", "false"),
    ("index.sparse", "false"),
];

/// Refuses a repository that git has to check out, and says whether line ends are normalised everywhere.
pub(crate) fn check(tree: &Worktree) -> Result<LineEnds, Unsuited> {
    judge(&Git::in_tree(tree, "config").args(["--list", "-z"]).run()?)
}

/// Judges `key NEWLINE value NUL`, later lines over earlier ones; a key without a value means true.
fn judge(listing: &[u8]) -> Result<LineEnds, Unsuited> {
    let listing = String::from_utf8_lossy(listing);
    let settings: Vec<(String, String)> = listing
        .split_terminator('\0')
        .map(|line| line.split_once('\n').unwrap_or((line, "true")))
        .map(|(key, value)| (key.to_ascii_lowercase(), value.to_ascii_lowercase()))
        .collect();
    let last = |key: &str| settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let unsuited = |key: &str, value: &str| Unsuited::Setting { key: key.to_owned(), value: value.to_owned() };
    for (key, harmless) in HARMLESS {
        match last(key) {
            Some(value) if as_bool(value) != Some(harmless == "true") => return Err(unsuited(key, value)),
            Some(_) | None => {}
        }
    }
    if let Some(value) = last("core.eol").filter(|value| *value == "crlf") {
        return Err(unsuited("core.eol", value));
    }
    if let Some((key, value)) = settings.iter().find(|(key, _)| key.ends_with(".promisor")) {
        return Err(unsuited(key, value));
    }
    match last("core.autocrlf").map(|value| (value, as_bool(value))) {
        None | Some((_, Some(false))) => Ok(LineEnds::AsStored),
        Some(("input", _)) => Ok(LineEnds::Normalised),
        Some((value, _)) => Err(unsuited("core.autocrlf", value)),
    }
}

/// A boolean as git spells it; nothing for what it would refuse.
fn as_bool(value: &str) -> Option<bool> {
    match value {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" | "" => Some(false),
        number => number.parse::<i64>().ok().map(|number| number != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_change_what_is_on_disk_rule_a_copy_out() {
        for (listing, expected) in [
            ("", Ok(LineEnds::AsStored)),
            ("core.bare\nfalse\0core.filemode\ntrue\0", Ok(LineEnds::AsStored)),
            ("core.filemode\nfalse\0", Err("core.filemode")),
            ("core.filemode\nfalse\0core.filemode\nyes\0", Ok(LineEnds::AsStored)),
            ("core.symlinks\noff\0", Err("core.symlinks")),
            ("core.sparseCheckout\0", Err("core.sparsecheckout")),
            ("core.sparsecheckout\n0\0", Ok(LineEnds::AsStored)),
            ("core.ignorecase\nmaybe\0", Err("core.ignorecase")),
            ("core.autocrlf\ninput\0", Ok(LineEnds::Normalised)),
            ("core.autocrlf\ntrue\0", Err("core.autocrlf")),
            ("core.autocrlf\nfalse\0core.eol\nlf\0", Ok(LineEnds::AsStored)),
            ("core.eol\ncrlf\0", Err("core.eol")),
            ("remote.origin.promisor\ntrue\0", Err("remote.origin.promisor")),
            ("alias.x\nline one\nline two\0", Ok(LineEnds::AsStored)),
        ] {
            match (judge(listing.as_bytes()), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{listing}"),
                (Err(Unsuited::Setting { key, .. }), Err(expected)) => assert_eq!(key, expected, "{listing}"),
                (found, expected) => panic!("{listing}: {found:?} instead of {expected:?}"),
            }
        }
    }
}
