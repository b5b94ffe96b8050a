//! The rules of the house as pure functions over (path, text): each returns what is wrong, with its line.

use super::text::{Code, Part, part, paths, split};

/// Which rooms each room may name. A room that has no row here does not pass.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("id", &[]),
    ("protocol", &["id"]),
    ("session", &["id", "protocol"]),
    ("tool", &[]),
    ("config", &["id", "permission"]),
    ("permission", &["id", "tool"]),
    ("mcp", &[]),
    ("agent", &["id", "permission", "tool"]),
    ("delegation", &["id", "agent"]),
    ("workflow", &["id"]),
    ("git", CORE),
    ("store", CORE),
    ("backend", BACKEND),
    ("sandbox", CORE),
    ("tools", CORE),
    ("lsp", CORE),
    ("github", CORE),
    ("api", &["id"]),
    ("paths", &[]),
    ("listener", &[]),
    (
        "engine",
        &[
            "id",
            "protocol",
            "session",
            "config",
            "permission",
            "tool",
            "agent",
            "delegation",
            "workflow",
            "git",
            "store",
            "backend",
            "sandbox",
            "tools",
            "lsp",
            "github",
            "api",
            "paths",
        ],
    ),
    // The sandbox says whether a peer is one of our own agents.
    ("server", &["id", "protocol", "session", "config", "sandbox", "engine", "api", "paths", "listener"]),
    ("client", &["id", "api", "config", "paths"]),
    ("look", &["id", "api", "permission", "tool"]),
    ("tui", &["id", "api", "config", "permission", "tool", "client", "paths", "look"]),
    ("cli", &["id", "api", "config", "mcp", "client", "paths", "look", "tui"]),
];

/// Values in, values out.
const CORE: &[&str] =
    &["id", "protocol", "session", "config", "permission", "tool", "agent", "delegation", "mcp", "workflow"];

/// The tool server of `backend` accepts connections as `server` does.
const BACKEND: &[&str] = &[
    "id",
    "protocol",
    "session",
    "config",
    "permission",
    "tool",
    "agent",
    "delegation",
    "mcp",
    "workflow",
    "listener",
];

/// What only some rooms may name: the paths, the rooms, and what to do instead.
const DOORS: &[Door] = &[
    Door { to: &["rusqlite"], rooms: &["store"], instead: "ask `store`: nobody else knows SQL" },
    Door { to: &["git2"], rooms: &["git"], instead: "ask `git`: nobody else opens a repository" },
    Door {
        to: &["Command::new", "process::Command", "tokio::process", "rustix::process::kill"],
        // The terminal interface opens the person's editor; `tools` runs commands from inside a cage.
        rooms: &["git", "backend", "sandbox", "client", "tui", "tools"],
        instead: "start it through the supervisor, or through `git`",
    },
    Door {
        to: &["axum"],
        // Agents that speak MCP reach the tools of their session through a door of `backend`.
        rooms: &["server", "backend", "listener"],
        instead: "only `server` answers requests",
    },
    Door { to: &["clap"], rooms: &["cli"], instead: "only `cli` reads arguments" },
    Door {
        to: &["anyhow"],
        rooms: &["cli", "main"],
        instead: "say what a caller could choose to do: a `thiserror` enum",
    },
];

struct Door {
    to: &'static [&'static str],
    rooms: &'static [&'static str],
    instead: &'static str,
}

/// What core rooms may not name.
const IO: &[&str] = &[
    "tokio",
    "hyper",
    "rustix",
    "getrandom",
    "tempfile",
    "directories",
    "which",
    "tracing",
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
];

/// Names of backends: data of one room.
const BACKENDS: &[&str] = &["claude", "codex", "gemini", "opencode", "demo"];

const VAGUE: &[&str] = &["utils", "util", "helpers", "helper", "common", "manager", "types", "misc"];

/// The most lines that a file may have without its tests; `main.rs` only sends each entry to its room.
const LONGEST: usize = 600;
const LONGEST_MAIN: usize = 60;

/// Exceptions: how the path begins, the rule, and why this one is right.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("src/cli/demo", "backend-name", "the tour is about the scripted agent"),
    ("src/tui/keymap/table.rs", "backend-name", "the tour is an act of that name"),
    ("src/cli/demo", "door", "the tour makes its throw-away repository as a user would, with git"),
];

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) text: String,
}

/// Whether a file under `src` is part of the product or compiled for tests only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Product,
    Tests,
}

/// The files that a file declares as modules for tests only.
pub(crate) fn test_modules(path: &str, text: &str) -> Vec<String> {
    let code = split(text).plain;
    let directory = path.trim_end_matches(".rs").trim_end_matches("/lib");
    let lines: Vec<_> = code.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter(|pair| pair[0] == "#[cfg(test)]")
        .filter_map(|pair| pair[1].strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name))
        .map(|name| format!("{directory}/{name}.rs"))
        .collect()
}

/// Everything that is wrong with one file under `src`, without the known exceptions.
pub(crate) fn source(path: &str, text: &str, kind: Kind) -> Vec<Finding> {
    let code = split(text);
    let product = part(&code.plain, &Part::Product);
    let mut found = names(path);
    if kind == Kind::Product {
        found.extend(arrows(path, &product));
        found.extend(doors(path, &product));
        found.extend(io(path, &product));
        found.extend(backend_names(path, &code, &product));
        found.extend(size(path, &product));
        found.extend(platform(path, &product));
    }
    let for_tests = match kind {
        Kind::Product => part(&code.plain, &Part::Tests),
        Kind::Tests => code.plain.clone(),
    };
    found.extend(tests(path, &for_tests));
    found.extend(comments(path, text, &code));
    let is_allowed =
        |found: &Finding| ALLOWED.iter().any(|(path, rule, _)| found.path.starts_with(path) && found.rule == *rule);
    found.retain(|found| !is_allowed(found));
    found
}

/// Everything that is wrong with one file under `tests`.
pub(crate) fn test_file(path: &str, text: &str) -> Vec<Finding> {
    let mut found = bench_file(path, text);
    found.extend(tests(path, &split(text).plain));
    found
}

/// Everything that is wrong with one file under `benches`, where time may pass.
pub(crate) fn bench_file(path: &str, text: &str) -> Vec<Finding> {
    let mut found = names(path);
    found.extend(comments(path, text, &split(text)));
    found
}

/// The room that a file under `src` belongs to.
pub(crate) fn room(path: &str) -> &str {
    let inside = path.trim_start_matches("src/");
    inside.split_once('/').map_or(inside.trim_end_matches(".rs"), |(room, _)| room)
}

fn finding(path: &str, line: usize, rule: &'static str, text: impl Into<String>) -> Finding {
    Finding { path: path.to_owned(), line, rule, text: text.into() }
}

/// No arrow but those of the table.
fn arrows(path: &str, product: &str) -> Vec<Finding> {
    let room = room(path);
    if room == "lib" || room == "main" {
        return Vec::new();
    }
    let Some((_, known)) = MAY_KNOW.iter().find(|(name, _)| *name == room) else {
        return vec![finding(path, 1, "arrow", format!("room `{room}` has no row in the table of arrows"))];
    };
    let depth = path.trim_start_matches("src/").split('/').count();
    paths(product)
        .into_iter()
        .filter_map(|(line, named)| {
            let up = "super::".repeat(depth);
            let inside = named.strip_prefix("crate::").or_else(|| named.strip_prefix(&up))?;
            let other = inside.split("::").next().unwrap_or(inside);
            let is_fine = other == room || known.contains(&other) || !MAY_KNOW.iter().any(|(name, _)| *name == other);
            (!is_fine).then(|| finding(path, line, "arrow", format!("`{room}` may not know `{other}`")))
        })
        .collect()
}

/// An outside thing is reached through its room.
fn doors(path: &str, product: &str) -> Vec<Finding> {
    let room = room(path);
    let closed: Vec<_> = DOORS.iter().filter(|door| !door.rooms.contains(&room)).collect();
    let mut found = Vec::new();
    for (line, named) in paths(product) {
        if let Some(door) = closed.iter().find(|door| door.to.iter().any(|to| names_it(&named, to))) {
            found.push(finding(path, line, "door", format!("`{named}`: {}", door.instead)));
        }
    }
    found
}

/// Whether a path is `wanted` or something in it, however much of its front was imported.
fn names_it(named: &str, wanted: &str) -> bool {
    let padded = format!("::{named}::");
    match wanted.split_once("::") {
        // The name of a crate or a root counts only at the front.
        None => padded.starts_with(&format!("::{wanted}::")),
        Some(_) => padded.contains(&format!("::{wanted}::")),
    }
}

/// Nothing under core does IO, reads a clock or draws a random number.
fn io(path: &str, product: &str) -> Vec<Finding> {
    if !CORE.contains(&room(path)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (line, named) in paths(product) {
        if named.ends_with("::now") || IO.iter().any(|word| names_it(&named, word)) {
            found.push(finding(path, line, "core-io", format!("`{named}`: the caller brings it as a value")));
        }
    }
    found
}

/// Code branches on what a backend can do, never on what it is called.
fn backend_names(path: &str, code: &Code, product: &str) -> Vec<Finding> {
    if room(path) == "backend" {
        return Vec::new();
    }
    let in_product = |line: &usize| product.lines().nth(line - 1).is_some_and(|text| !text.trim().is_empty());
    code.literals
        .iter()
        .filter(|(line, literal)| BACKENDS.contains(&literal.as_str()) && in_product(line))
        .map(|(line, literal)| finding(path, *line, "backend-name", format!("`{literal}`: ask a field of its `Spec`")))
        .collect()
}

/// The hub that everything passes through is where a code base grows its monster.
fn size(path: &str, product: &str) -> Vec<Finding> {
    let lines = product.trim_end().lines().count();
    let longest = if path == "src/main.rs" { LONGEST_MAIN } else { LONGEST };
    let text = format!("{lines} lines without tests, {longest} at most: find the second thing that it does");
    (lines > longest).then(|| finding(path, lines, "size", text)).into_iter().collect()
}

/// What an operating system can do is the sandbox's knowledge.
fn platform(path: &str, product: &str) -> Vec<Finding> {
    let is_held = room(path) == "sandbox";
    numbered(product)
        .filter(|(_, line)| !is_held && line.contains("target_os"))
        .map(|(at, _)| finding(path, at, "platform", "`target_os`: only `sandbox` tells systems apart"))
        .collect()
}

/// A file is a noun that says what is inside, and a room's entry stands beside its directory.
fn names(path: &str) -> Vec<Finding> {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    let text = if name == "mod" {
        "`mod.rs`: name the file after its room".to_owned()
    } else if VAGUE.contains(&name) {
        format!("`{name}` says nothing: name what is inside")
    } else {
        return Vec::new();
    };
    vec![finding(path, 1, "name", text)]
}

/// Tests run always and wait for facts.
fn tests(path: &str, plain: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, text) in numbered(plain) {
        let name = text.trim_start().strip_prefix("fn ").and_then(|name| name.split('_').next());
        let number = |head: &str| head.strip_prefix(char::is_lowercase).and_then(|number| number.parse::<u32>().ok());
        if let Some(head) = name.filter(|head| number(head).is_some()) {
            found.push(finding(
                path,
                line,
                "test",
                format!("`{head}_…`: a test is named by its promise, not by a number"),
            ));
        }
        for attribute in ["#[ignore", "#[should_panic"] {
            if text.trim_start().starts_with(attribute) {
                found.push(finding(
                    path,
                    line,
                    "test",
                    format!("`{attribute}]`: a test runs and says what it expects"),
                ));
            }
        }
    }
    // With a paused clock a sleep takes no time and means only an order.
    let is_paused = plain.contains("start_paused") || plain.contains("time::pause");
    for (line, named) in paths(plain) {
        let sleeps = named.ends_with("thread::sleep") || (named.ends_with("time::sleep") && !is_paused);
        if sleeps {
            found.push(finding(path, line, "test", format!("`{named}`: wait for an event, or pause the clock")));
        }
    }
    found
}

/// A file says what it is for; a comment is about what is, not about what was or will be.
fn comments(path: &str, text: &str, code: &Code) -> Vec<Finding> {
    let mut found = Vec::new();
    if !text.starts_with("//!") {
        found.push(finding(path, 1, "header", "begins with `//!`: what it is for, and what it does not do"));
    }
    for (line, comment) in &code.comments {
        let promises = ["TODO", "FIXME", "HACK"].iter().find(|word| comment.contains(**word));
        if let Some(word) = promises {
            found.push(finding(path, *line, "comment", format!("`{word}`: do it, or write an issue")));
        }
    }
    found
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// Rooms that the codemap leaves out.
pub(crate) fn codemap(document: &str, rooms: &[String]) -> Vec<Finding> {
    let path = "docs/architecture.md";
    let lines = document.lines().count();
    let mut found: Vec<_> = rooms
        .iter()
        .filter(|room| !document.contains(&format!("- `{room}`:")))
        .map(|room| finding(path, 1, "codemap", format!("room `{room}` is not in the codemap")))
        .collect();
    if lines > 220 {
        found.push(finding(path, lines, "codemap", format!("{lines} lines, 220 at most: only what seldom changes")));
    }
    found
}

/// Files of the integration crate that nothing declares, and that therefore never run.
pub(crate) fn declared(main: &str, files: &[String]) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| *file != "main" && !main.lines().any(|line| line.trim() == format!("mod {file};")))
        .map(|file| {
            finding("tests/it/main.rs", 1, "declared", format!("`mod {file};` is missing: its tests never run"))
        })
        .collect()
}

/// Files beside the code that no code names.
pub(crate) fn referenced(files: &[String], sources: &str) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| !sources.contains(file.rsplit('/').next().unwrap_or(file)))
        .map(|file| finding(file, 1, "referenced", "no source names this file"))
        .collect()
}

/// Each row of the table of faults names tests and faults of the chaos runner that exist.
pub(crate) fn proved(table: &str, sources: &str, chaos: &str) -> Vec<Finding> {
    let rows = table.lines().zip(1..).filter(|(line, _)| line.starts_with("| ") && !line.starts_with("| Fault "));
    let unknown = rows.flat_map(|(line, number)| {
        let names: Vec<_> = line.split(" | ").last().unwrap_or_default().split('`').skip(1).step_by(2).collect();
        let is_fault = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
        let is_variant = |name: &str| ["(", ","].iter().any(|end| chaos.contains(&format!("    {name}{end}")));
        let exists = move |name: &str| match is_fault(name) {
            true => is_variant(name),
            false => sources.contains(&format!("fn {name}(")),
        };
        let without = names.is_empty().then(|| finding("docs/faults.md", number, "proved", "names no test"));
        let missing = names.into_iter().filter(move |name| !exists(name));
        let missing =
            missing.map(move |name| finding("docs/faults.md", number, "proved", format!("`{name}` is missing")));
        missing.chain(without).collect::<Vec<_>>()
    });
    unknown.collect()
}

/// Every package is code that somebody must trust and everybody must build.
pub(crate) fn packages(lock: &str, ceiling: usize) -> Vec<Finding> {
    let count = lock.lines().filter(|line| *line == "[[package]]").count();
    let text = format!("{count} packages, {ceiling} at most: is the last one worth it?");
    (count > ceiling).then(|| finding("Cargo.lock", 1, "packages", text)).into_iter().collect()
}
