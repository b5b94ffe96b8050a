//! The agent's own tools: what a call is called, what it touches, what it did. Pure.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::backend::claude::mcp;
use crate::backend::diff;
use crate::backend::event::ToolKind;
use crate::backend::output::bounded;
use crate::permission::{Effect, Reach};

/// The tool through which the model gives its response; it is no tool to anybody else.
pub(crate) const RESPONSE: &str = "StructuredOutput";

/// A longer title would not be read.
const TITLE_LIMIT: usize = 200;

pub(crate) fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Grep" | "Glob" => ToolKind::Search,
        "Bash" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// The name of a tool as rules know it: most are the agent's own.
pub(crate) fn known(tool: &str) -> &str {
    match tool {
        "NotebookEdit" => "Edit",
        other => other,
    }
}

/// One line for people; paths of the work tree are told as from there.
pub(crate) fn title(tool: &str, input: &Value, cwd: &Path) -> String {
    let text = |member: &str| input[member].as_str().unwrap_or_default();
    let place = |member: &str| {
        let path = Path::new(text(member));
        path.strip_prefix(cwd).unwrap_or(path).display().to_string()
    };
    let title = match tool {
        "Read" | "Edit" | "Write" => format!("{tool} {}", place("file_path")),
        "MultiEdit" => format!("Edit {}", place("file_path")),
        "NotebookEdit" => format!("Edit {}", place("notebook_path")),
        "Bash" => text("command").lines().next().unwrap_or_default().to_owned(),
        "Grep" | "Glob" if text("path").is_empty() => format!("Search `{}`", text("pattern")),
        "Grep" | "Glob" => format!("Search `{}` in {}", text("pattern"), place("path")),
        "WebFetch" => format!("Fetch {}", text("url")),
        "WebSearch" => format!("Search the web for `{}`", text("query")),
        "Skill" => format!("Skill {}", text("skill")),
        _ => mcp::own_name(tool).unwrap_or(tool).to_owned(),
    };
    let title = title.trim();
    let title = &title[..title.floor_char_boundary(TITLE_LIMIT)];
    if title.is_empty() { tool.to_owned() } else { title.to_owned() }
}

/// What a call touches.
pub(crate) fn reach(tool: &str, input: &Value, cwd: &Path) -> Reach {
    let path = |member: &str| input[member].as_str().filter(|path| !path.is_empty()).map(|path| cwd.join(path));
    let paths = |path: Option<PathBuf>| Reach::Paths(path.into_iter().collect());
    match tool {
        "Read" | "Edit" | "MultiEdit" | "Write" => paths(path("file_path")),
        "NotebookEdit" => paths(path("notebook_path")),
        "Grep" => {
            let start = path("path").unwrap_or_else(|| cwd.to_owned());
            let globs = input["glob"].as_str().into_iter().flat_map(split_globs);
            // A slash at its beginning means the place that the search starts from.
            let files: Vec<_> = globs.map(|glob| start.join(glob.trim_start_matches('/'))).collect();
            Reach::Paths(std::iter::once(start).chain(files).collect())
        }
        // The pattern may climb out of the place it starts from.
        "Glob" => {
            let start = path("path").unwrap_or_else(|| cwd.to_owned());
            paths(input["pattern"].as_str().map(|pattern| start.join(pattern)))
        }
        "Bash" if input["dangerouslyDisableSandbox"] != true => input["command"]
            .as_str()
            .map_or(Reach::Elsewhere, |command| Reach::Command { text: command.to_owned(), cwd: cwd.to_owned() }),
        // A search reaches whatever its service makes of it; only a page has an address.
        "WebFetch" => input["url"].as_str().map_or(Reach::Elsewhere, |url| Reach::Url(url.to_owned())),
        _ => foreign(tool).unwrap_or(Reach::Elsewhere),
    }
}

/// The patterns for files in the `glob` of a search, which the agent splits at blanks, and at commas outside of braces.
fn split_globs(globs: &str) -> impl Iterator<Item = &str> {
    globs.split_whitespace().flat_map(|part| {
        let is_cut = !part.contains('{');
        part.split(move |c| is_cut && c == ',')
    })
}

/// A tool of a server that is not ours. The agent does not pass on what the server says about it.
fn foreign(tool: &str) -> Option<Reach> {
    let (server, tool) = tool.strip_prefix("mcp__")?.split_once("__")?;
    let is_named = !server.is_empty() && !tool.is_empty() && server != mcp::SERVER;
    is_named.then(|| Reach::Mcp { server: server.to_owned(), tool: tool.to_owned(), effect: Effect::Destroys })
}

/// What a call would do, for the one who decides about it.
pub(crate) fn preview(tool: &str, input: &Value, cwd: &Path) -> String {
    let text = |member: &str| input[member].as_str().unwrap_or_default();
    let place = |member: &str| {
        let path = Path::new(text(member));
        path.strip_prefix(cwd).unwrap_or(path).display().to_string()
    };
    let piece = |edit: &'_ Value| {
        let text = |member: &str| edit[member].as_str().unwrap_or_default().to_owned();
        (text("old_string"), text("new_string"))
    };
    let pieces = |edits: Vec<(String, String)>| {
        diff::of_pieces(&place("file_path"), edits.iter().map(|(old, new)| (old.as_str(), new.as_str())))
    };
    let preview = match tool {
        "Edit" => pieces(vec![piece(input)]),
        "MultiEdit" => pieces(input["edits"].as_array().into_iter().flatten().map(piece).collect()),
        "Write" => diff::of_pieces(&place("file_path"), [("", text("content"))]),
        "NotebookEdit" => diff::of_pieces(&place("notebook_path"), [("", text("new_source"))]),
        "WebFetch" => text("url").to_owned(),
        "WebSearch" => text("query").to_owned(),
        "Bash" if text("description").is_empty() => text("command").to_owned(),
        "Bash" => format!("{}\n({})", text("command"), text("description")),
        _ => serde_json::to_string_pretty(input).unwrap_or_default(),
    };
    bounded(preview.trim_end())
}

/// The output of a call: the diff of an edit, else what the model was told.
pub(crate) fn output(result: &Value, rich: &Value) -> String {
    let patch: Vec<&str> = rich["structuredPatch"].as_array().into_iter().flatten().flat_map(hunk).collect();
    if !patch.is_empty() {
        return bounded(&patch.join("\n"));
    }
    match &result["content"] {
        Value::String(text) => bounded(text),
        Value::Array(parts) => bounded(&parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")),
        _ => String::new(),
    }
}

fn hunk(hunk: &Value) -> impl Iterator<Item = &str> {
    hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn part(part: &Value) -> Option<&str> {
    match part["type"].as_str()? {
        "text" => part["text"].as_str(),
        "image" => Some("[image]"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::output;

    const CWD: &str = "/tree";

    #[test]
    fn titles_are_short_and_from_the_tree() {
        for (tool, input, expected) in [
            ("Read", json!({"file_path": "/tree/src/a.rs"}), "Read src/a.rs"),
            ("Edit", json!({"file_path": "/etc/hosts"}), "Edit /etc/hosts"),
            ("Write", json!({"file_path": "/tree/b", "content": "x"}), "Write b"),
            ("NotebookEdit", json!({"notebook_path": "/tree/n.ipynb"}), "Edit n.ipynb"),
            ("Bash", json!({"command": "make\nmake test"}), "make"),
            ("Grep", json!({"pattern": "x.*", "path": "/tree/src"}), "Search `x.*` in src"),
            ("Glob", json!({"pattern": "**/*.rs"}), "Search `**/*.rs`"),
            ("WebFetch", json!({"url": "https://example.com"}), "Fetch https://example.com"),
            ("WebSearch", json!({"query": "rust"}), "Search the web for `rust`"),
            ("Skill", json!({"skill": "verify"}), "Skill verify"),
            ("mcp__coppice__delegate", json!({}), "delegate"),
            ("FromTheFuture", json!(null), "FromTheFuture"),
            ("Bash", json!({}), "Bash"),
        ] {
            assert_eq!(title(tool, &input, Path::new(CWD)), expected, "{tool} {input}");
        }
        assert_eq!(title("Bash", &json!({"command": "é".repeat(500)}), Path::new(CWD)).len(), TITLE_LIMIT);
    }

    #[test]
    fn a_call_reaches_what_its_input_names() {
        let paths = |path: &str| Reach::Paths(vec![PathBuf::from(path)]);
        let both = |start: &str, files: &str| Reach::Paths(vec![PathBuf::from(start), PathBuf::from(files)]);
        let command = |text: &str| Reach::Command { text: text.to_owned(), cwd: PathBuf::from(CWD) };
        let mcp = |server: &str, tool: &str| Reach::Mcp {
            server: server.to_owned(),
            tool: tool.to_owned(),
            effect: Effect::Destroys,
        };
        for (tool, input, expected) in [
            ("Read", json!({"file_path": "/etc/passwd"}), paths("/etc/passwd")),
            ("Edit", json!({"file_path": "src/a"}), paths("/tree/src/a")),
            ("Write", json!({}), Reach::Paths(Vec::new())),
            ("NotebookEdit", json!({"notebook_path": "/tree/n"}), paths("/tree/n")),
            ("Grep", json!({"pattern": "x"}), paths("/tree")),
            ("Grep", json!({"pattern": "x", "path": "/home"}), paths("/home")),
            ("Grep", json!({"pattern": "x", "glob": ".env"}), both("/tree", "/tree/.env")),
            ("Grep", json!({"pattern": "x", "path": "a", "glob": "/*.{c,h}"}), both("/tree/a", "/tree/a/*.{c,h}")),
            ("Glob", json!({"pattern": "*.rs", "path": "src"}), paths("/tree/src/*.rs")),
            ("Glob", json!({"pattern": "/etc/*"}), paths("/etc/*")),
            ("Glob", json!({"pattern": "../*"}), paths("/tree/../*")),
            ("Bash", json!({"command": "make"}), command("make")),
            ("Bash", json!({"command": "make", "dangerouslyDisableSandbox": true}), Reach::Elsewhere),
            ("Bash", json!({}), Reach::Elsewhere),
            ("MultiEdit", json!({"file_path": "a"}), paths("/tree/a")),
            ("WebFetch", json!({"url": "https://example.com"}), Reach::Url("https://example.com".to_owned())),
            ("WebFetch", json!({}), Reach::Elsewhere),
            ("mcp__github__create_pr", json!({}), mcp("github", "create_pr")),
            ("mcp__a_b__c__d", json!({}), mcp("a_b", "c__d")),
            ("mcp__coppice__delegate", json!({}), Reach::Elsewhere),
            ("mcp__github", json!({}), Reach::Elsewhere),
            ("mcp____tool", json!({}), Reach::Elsewhere),
            ("WebSearch", json!({"query": "x"}), Reach::Elsewhere),
            ("Skill", json!({"skill": "x"}), Reach::Elsewhere),
            ("FromTheFuture", json!({"file_path": "/tree/a"}), Reach::Elsewhere),
        ] {
            assert_eq!(reach(tool, &input, Path::new(CWD)), expected, "{tool} {input}");
        }
    }

    #[test]
    fn a_preview_shows_what_would_happen() {
        for (tool, input, expected) in [
            (
                "Edit",
                json!({"file_path": "/tree/f", "old_string": "a\nb", "new_string": "c\nb"}),
                "--- f\n+++ f\n@@ @@\n-a\n+c\n b",
            ),
            (
                "MultiEdit",
                json!({"file_path": "/etc/f", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]}),
                "--- /etc/f\n+++ /etc/f\n@@ @@\n-a\n+b\n@@ @@\n-c",
            ),
            ("Write", json!({"file_path": "f", "content": "x\ny\n"}), "--- f\n+++ f\n@@ @@\n+x\n+y"),
            (
                "NotebookEdit",
                json!({"notebook_path": "/tree/n.ipynb", "new_source": "1 + 1"}),
                "--- n.ipynb\n+++ n.ipynb\n@@ @@\n+1 + 1",
            ),
            ("Bash", json!({"command": "make", "description": "Builds"}), "make\n(Builds)"),
            ("Bash", json!({"command": "make"}), "make"),
            ("WebFetch", json!({"url": "https://a.example/x", "prompt": "p"}), "https://a.example/x"),
            ("WebSearch", json!({"query": "rust"}), "rust"),
            ("FromTheFuture", json!({"a": 1}), "{\n  \"a\": 1\n}"),
        ] {
            assert_eq!(preview(tool, &input, Path::new(CWD)), expected, "{tool}");
        }
    }

    #[test]
    fn output_is_a_diff_or_what_the_model_was_told_and_never_endless() {
        let patch = json!({"structuredPatch": [{"lines": ["-hello", "+bye"]}, {"lines": [" x"]}]});
        assert_eq!(output(&json!({"content": "updated"}), &patch), "-hello\n+bye\n x");
        let parts =
            json!({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]});
        assert_eq!(output(&parts, &Value::Null), "a\n[image]\nb");
        assert_eq!(output(&json!({}), &json!("Error: x")), "");
        let long = output(&json!({"content": format!("START{}END", "é".repeat(output::LIMIT))}), &Value::Null);
        assert!(long.len() < output::LIMIT + 100 && long.starts_with("START") && long.ends_with("END"));
    }
}
