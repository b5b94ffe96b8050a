//! Which command runs the tests of a project, by the files that it has. Pure.

/// A file of a project and the command that it calls for; the first that is there decides. What builds one language comes
/// before what builds anything.
const KINDS: &[(&str, &str)] = &[
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("pnpm-lock.yaml", "pnpm test"),
    ("yarn.lock", "yarn test"),
    ("package.json", "npm test"),
    ("pyproject.toml", "pytest"),
    ("pytest.ini", "pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "pytest"),
    ("setup.py", "pytest"),
    ("conftest.py", "pytest"),
    ("GNUmakefile", "make test"),
    ("makefile", "make test"),
    ("Makefile", "make test"),
];

/// The command for a directory that has these files.
pub(super) fn test_command(has: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    KINDS.iter().find(|(file, _)| has(file)).map(|(_, command)| *command)
}

/// The files that are looked for, for people and models.
pub(super) fn known() -> String {
    KINDS.iter().map(|(file, _)| format!("`{file}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_project_say_how_it_is_tested() {
        for (files, expected) in [
            (&["Cargo.toml", "Makefile"][..], Some("cargo test")),
            (&["package.json"], Some("npm test")),
            (&["package.json", "yarn.lock"], Some("yarn test")),
            (&["package.json", "pnpm-lock.yaml", "Makefile"], Some("pnpm test")),
            (&["pyproject.toml", "Makefile"], Some("pytest")),
            (&["conftest.py"], Some("pytest")),
            (&["Makefile"], Some("make test")),
            (&["go.mod", "Makefile", "package.json"], Some("go test ./...")),
            (&["README.md"], None),
            (&[], None),
        ] {
            assert_eq!(test_command(&|name| files.contains(&name)), expected, "{files:?}");
        }
    }
}
