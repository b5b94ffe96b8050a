//! Which versions of the programs work, out of the table in `versions.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml_edit::{DocumentMut, Item};

use crate::backend::spec::{Version, Versions};

const TABLE: &str = include_str!("versions.toml");

static RANGES: LazyLock<BTreeMap<String, Versions>> = LazyLock::new(|| parse_ranges(TABLE));

/// The range of the backend of that name.
pub(crate) fn find_versions(backend: &str) -> Option<Versions> {
    RANGES.get(backend).cloned()
}

/// A row that is no range is left out: its program counts as one that nobody tested.
fn parse_ranges(text: &str) -> BTreeMap<String, Versions> {
    let document = text.parse::<DocumentMut>().unwrap_or_default();
    let version = |row: &Item, key: &str| Version::parse(row.get(key)?.as_str()?);
    let range = |row: &Item| Some(Versions { minimum: version(row, "minimum")?, tested: version(row, "tested")? });
    document.iter().filter_map(|(name, row)| Some((name.to_owned(), range(row)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{claude, codex, gemini};

    #[test]
    fn every_program_that_is_driven_by_its_own_words_has_a_range() {
        let specs = [claude::spec(), codex::spec(), gemini::spec()];
        for spec in &specs {
            let Versions { minimum, tested } = spec.versions.clone().expect("a range");
            assert!(minimum <= tested, "{}", spec.name);
        }
        assert_eq!(RANGES.len(), specs.len(), "{RANGES:?}");
    }

    #[test]
    fn the_documentation_tells_what_was_tested() {
        let tested = ["claude", "codex", "gemini"].map(|name| find_versions(name).unwrap().tested.to_string());
        let row = format!("| tested with | {} |", tested.join(" | "));
        assert!(include_str!("../../docs/backends.md").contains(&row), "{row}");
    }

    #[test]
    fn a_row_that_is_no_range_is_left_out() {
        let text = "[a]\nminimum = \"1.2.3\"\ntested = \"1.3.0\"\n[b]\nminimum = \"1.0.0\"\n[c]\nminimum = 1\ntested = \"x\"\n";
        let expected = Versions { minimum: Version(1, 2, 3), tested: Version(1, 3, 0) };
        assert_eq!(parse_ranges(text), BTreeMap::from([("a".to_owned(), expected)]));
        assert_eq!(parse_ranges("[a"), BTreeMap::new());
    }
}
