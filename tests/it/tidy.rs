//! One package has no crate walls: these tests are the walls. Each rule is also shown to fail.

mod rules;
mod text;

use std::fs;
use std::path::Path;

use rules::{
    Finding, Kind, bench_file, codemap, declared, packages, proved, referenced, room, source, test_file, test_modules,
};

/// How many packages `Cargo.lock` may name.
const PACKAGES: usize = 450;

/// Every file below a directory of this package, as (path from its root, text); none when there is no such directory.
fn files(directory: &str) -> Vec<(String, String)> {
    fn walk(root: &Path, directory: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else if let Ok(text) = fs::read_to_string(&path) {
                found.push((path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), text));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    walk(root, &root.join(directory), &mut found);
    found.sort();
    found
}

/// The Rust files below a directory.
fn rust(directory: &str) -> Vec<(String, String)> {
    files(directory).into_iter().filter(|(path, _)| path.ends_with(".rs")).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[track_caller]
fn check(found: Vec<Finding>) {
    let lines: Vec<_> = found.iter().map(|f| format!("{}:{}: [{}] {}", f.path, f.line, f.rule, f.text)).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn the_sources_keep_to_their_rooms() {
    let sources = rust("src");
    let for_tests: Vec<_> = sources.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    // What a module for tests declares is for tests too.
    let is_below = |path: &str, module: &str| {
        path.strip_prefix(module.trim_end_matches(".rs")).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let is_for_tests = |path: &str| for_tests.iter().any(|module| is_below(path, module));
    let kind = |path: &str| if is_for_tests(path) { Kind::Tests } else { Kind::Product };
    check(sources.iter().flat_map(|(path, text)| source(path, text, kind(path))).collect());
}

#[test]
fn the_tests_keep_the_rules_for_tests() {
    check(rust("tests").iter().flat_map(|(path, text)| test_file(path, text)).collect());
    check(rust("benches").iter().flat_map(|(path, text)| bench_file(path, text)).collect());
}

#[test]
fn the_codemap_is_complete_and_short() {
    let mut rooms: Vec<_> = rust("src").iter().map(|(path, _)| room(path).to_owned()).collect();
    rooms.dedup();
    rooms.retain(|room| room != "lib" && room != "main");
    check(codemap(&read("docs/architecture.md"), &rooms));
}

#[test]
fn every_file_of_the_integration_crate_runs() {
    let names = files("tests/it").into_iter().filter_map(|(path, _)| {
        let name = path.strip_prefix("tests/it/")?.strip_suffix(".rs")?;
        (!name.contains('/')).then(|| name.to_owned())
    });
    check(declared(&read("tests/it/main.rs"), &names.collect::<Vec<_>>()));
}

#[test]
fn templates_and_schemas_are_used() {
    // Those of the tools are written by the test that compares them, all and no others.
    let is_generated = |path: &String| path.starts_with("schemas/tools/");
    let files_of = ["templates", "schemas"].into_iter().flat_map(files).map(|(path, _)| path);
    let used: Vec<_> = files_of.filter(|path| !is_generated(path)).collect();
    let sources: String = ["src", "tests"].into_iter().flat_map(files).map(|(_, text)| text).collect();
    check(referenced(&used, &sources));
}

#[test]
fn every_test_that_the_table_of_faults_names_exists() {
    let sources: String = ["src", "tests"].into_iter().flat_map(rust).map(|(_, text)| text).collect();
    check(proved(&read("docs/faults.md"), &sources, &read("tests/chaos/step.rs")));
}

#[test]
fn dependencies_stay_few() {
    check(packages(&read("Cargo.lock"), PACKAGES));
}

#[test]
fn every_agent_reads_the_same_facts() {
    for link in ["CLAUDE.md", "GEMINI.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(link);
        assert_eq!(fs::read_link(path).unwrap(), Path::new("AGENTS.md"), "{link}");
    }
}

/// The rules that a file breaks, with the line.
#[track_caller]
fn breaks(path: &str, body: &str, expected: &[(&str, usize)]) {
    let text = format!("//! A file.\n{body}\n");
    let kind = if path.ends_with("/tests.rs") { Kind::Tests } else { Kind::Product };
    let found = if path.starts_with("src/") { source(path, &text, kind) } else { test_file(path, &text) };
    assert_eq!(found.iter().map(|f| (f.rule, f.line)).collect::<Vec<_>>(), expected, "{found:#?}");
}

#[test]
fn arrows_that_are_not_drawn_are_found() {
    breaks("src/store/writer.rs", "use crate::git::Oid;", &[("arrow", 2)]);
    breaks("src/store/writer.rs", "use crate::{\n    id::SessionId,\n    api::event::Event,\n};", &[("arrow", 4)]);
    breaks("src/store/writer.rs", "fn f() { crate::engine::wake() }", &[("arrow", 2)]);
    breaks("src/store.rs", "use super::git;", &[("arrow", 2)]);
    breaks("src/store/writer.rs", "use super::super::git;", &[("arrow", 2)]);
    breaks("src/api/event.rs", "use crate::session::Status;", &[("arrow", 2)]);
    breaks("src/cli/list.rs", "use crate::store::Store;", &[("arrow", 2)]);
    breaks("src/server/routes.rs", "use crate::store::Store;", &[("arrow", 2)]);
    breaks("src/attic.rs", "", &[("arrow", 1)]);

    breaks("src/store/writer.rs", "use crate::id::SessionId;\nuse super::row;\nuse crate::store::row;", &[]);
    breaks("src/store/writer.rs", "// like crate::git\nconst A: &str = \"crate::git\";", &[]);
    breaks("src/store/writer.rs", "#[cfg(test)]\nmod tests {\n    use crate::git::Repo;\n}", &[]);
    breaks("src/cli/list.rs", "use crate::client::Client;\nuse crate::api::session::Session;", &[]);
    breaks("src/main.rs", "use coppice::engine;", &[]);
}

#[test]
fn io_in_the_core_is_found() {
    breaks("src/session/turn.rs", "use std::fs;", &[("core-io", 2)]);
    breaks("src/session/turn.rs", "use std::{\n    collections::BTreeMap,\n    fs::File,\n};", &[("core-io", 4)]);
    breaks("src/protocol.rs", "async fn f() { tokio::task::yield_now().await }", &[("core-io", 2)]);
    breaks("src/config.rs", "fn f() { std::env::var(\"HOME\").ok(); }", &[("core-io", 2)]);
    breaks("src/id.rs", "use std::time::Instant;\nfn f() { Instant::now(); }", &[("core-io", 3)]);

    breaks("src/engine/clock.rs", "fn f() { std::time::SystemTime::now(); }", &[]);
    breaks("src/config.rs", "use std::path::Path;\nuse std::time::Duration;", &[]);
}

#[test]
fn modules_for_tests_are_known_by_their_declaration() {
    let text =
        "#[cfg(test)]\nmod tests;\nmod row;\n#[cfg(test)]\npub(crate) mod sample;\n#[cfg(test)]\nmod inside {\n}\n";
    assert_eq!(test_modules("src/store.rs", text), ["src/store/tests.rs", "src/store/sample.rs"]);
}

#[test]
fn closed_doors_are_found() {
    breaks("src/engine/project.rs", "use rusqlite::Connection;", &[("door", 2)]);
    breaks("src/engine/project.rs", "use git2::Repository;", &[("door", 2)]);
    breaks(
        "src/engine/setup.rs",
        "use std::process::Command;\nfn f() { Command::new(\"sh\"); }",
        &[("door", 2), ("door", 3)],
    );
    breaks("src/server/routes.rs", "fn f() { tokio::process::Command::new(\"sh\"); }", &[("door", 2)]);
    breaks("src/cli/list.rs", "use std::process::Command;", &[("door", 2)]);
    breaks("src/client.rs", "use axum::Router;", &[("door", 2)]);
    breaks("src/git/repo.rs", "use anyhow::Result;", &[("door", 2)]);

    breaks("src/git/command.rs", "use std::process::Command;", &[]);
    breaks("src/store/open.rs", "use rusqlite::Connection;", &[]);
    breaks("src/engine/mailbox.rs", "enum Command { New }\nfn f() -> Command { Command::New }", &[]);
}

#[test]
fn names_of_backends_are_found() {
    breaks("src/engine/launch.rs", "fn f(name: &str) -> bool { name == \"codex\" }", &[("backend-name", 2)]);
    breaks("src/cli/new.rs", "const A: &str = r\"claude\";", &[("backend-name", 2)]);
    breaks("src/backend/registry.rs", "const A: &str = \"claude\";", &[]);
    breaks("src/cli/demo.rs", "const A: &str = \"demo\";", &[]);
    breaks("src/engine/launch.rs", "#[cfg(test)]\nmod tests {\n    const A: &str = \"demo\";\n}", &[]);
}

#[test]
fn systems_told_apart_outside_the_sandbox_are_found() {
    breaks("src/git/populate.rs", "#[cfg(target_os = \"linux\")]\nfn f() {}", &[("platform", 2)]);
    breaks("src/sandbox/tree.rs", "#[cfg(target_os = \"linux\")]\nfn f() {}", &[]);
}

#[test]
fn files_that_grow_too_long_are_found() {
    breaks("src/engine/session.rs", &"fn f() {}\n".repeat(600), &[("size", 601)]);
    breaks("src/main.rs", &"fn f() {}\n".repeat(60), &[("size", 61)]);
    let tests = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}", "    fn g() {}\n".repeat(600));
    breaks("src/engine/session.rs", &tests, &[]);
    breaks("src/engine/tests.rs", &"fn f() {}\n".repeat(600), &[]);
}

#[test]
fn names_that_say_nothing_are_found() {
    breaks("src/store/utils.rs", "", &[("name", 1)]);
    breaks("src/store/mod.rs", "", &[("name", 1)]);
    breaks("tests/it/helpers.rs", "", &[("name", 1)]);
    breaks("src/store/lease.rs", "", &[]);
}

#[test]
fn tests_that_rest_are_found() {
    breaks("tests/it/resume.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}", &[("test", 3)]);
    breaks("tests/it/resume.rs", "#[test]\nfn r101_it_resumes() {}", &[("test", 3)]);
    breaks("tests/it/resume.rs", "fn f() { std::thread::sleep(A); }", &[("test", 2)]);
    breaks("tests/it/resume.rs", "async fn f() { tokio::time::sleep(A).await; }", &[("test", 2)]);
    breaks("src/engine/tests.rs", "#[test]\n#[should_panic]\nfn f() {}", &[("test", 3)]);
    breaks("src/git/repo.rs", "#[cfg(test)]\nmod tests {\n    use std::thread::sleep;\n}", &[("test", 4)]);

    let paused = "#[tokio::test(start_paused = true)]\nasync fn f() { tokio::time::sleep(A).await; }";
    breaks("src/engine/tests.rs", paused, &[]);
    breaks("src/engine/timer.rs", "async fn f() { tokio::time::sleep(A).await; }", &[]);
}

#[test]
fn comments_that_promise_are_found() {
    breaks("src/git/repo.rs", "// TODO: later", &[("comment", 2)]);
    breaks("src/git/repo.rs", "const A: &str = \"TODO\";", &[]);
    let found = source("src/git/repo.rs", "use std::fs;\n", Kind::Product);
    assert_eq!(found.iter().map(|f| f.rule).collect::<Vec<_>>(), ["header"]);
}

#[test]
fn files_that_nobody_knows_are_found() {
    let rules = |found: Vec<Finding>| found.into_iter().map(|f| f.rule).collect::<Vec<_>>();
    assert_eq!(rules(codemap("- `git`: x\n", &["git".into(), "store".into()])), ["codemap"]);
    assert_eq!(rules(codemap(&"\n".repeat(221), &[])), ["codemap"]);
    assert_eq!(rules(declared("mod cli;\n", &["main".into(), "cli".into(), "lost".into()])), ["declared"]);
    assert_eq!(
        rules(referenced(&["templates/a.md".into(), "templates/b.md".into()], "path = \"a.md\"")),
        ["referenced"]
    );
    let table = "| x | y | z | `Kill`, `a_test` |\n";
    assert_eq!(rules(proved(table, "fn a_test() {", "    Kill(Victim),\n")), Vec::<&str>::new());
    assert_eq!(rules(proved(table, "fn a_test_of_more() {", "    Killed,\n")), ["proved", "proved"]);
    assert_eq!(rules(packages("[[package]]\n[[package]]\n", 1)), ["packages"]);
    assert_eq!(rules(packages("[[package]]\n", 1)), Vec::<&str>::new());
}
