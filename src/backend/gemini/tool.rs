//! The CLI's own tools: what its words about a call tell beyond the protocol. Pure.
//!
//! It sends no arguments. The id of a call begins with the tool's name; the title of a command is the command itself, and
//! those of searches end with the directory, shortened when it is long. The CLI refuses files outside of the session's
//! directories before it asks.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::backend::acp::policy::Known;
use crate::backend::acp::update::ToolUpdate;
use crate::backend::event::ToolStatus;
use crate::backend::gemini::call::{FAILED, ORDER};
use crate::backend::gemini::served::PREFIX;
use crate::permission::Reach;

/// The CLI's names that rules do not know, and theirs.
const NAMES: &[(&str, &str)] = &[
    ("google_web_search", "web_search"),
    ("grep_search", "search"),
    ("list_directory", "list"),
    ("replace", "edit"),
    ("run_shell_command", "bash"),
];

/// What a long path has in its middle.
const LEFT_OUT: &str = "...";

/// Stands before the directory of a search.
const WITHIN: &str = " within ";

/// Reads the call of a permission request; `None` when it does not name its tool.
pub(crate) fn read(call: &Value, cwd: &Path) -> Option<Known> {
    let (tool, _) = call["toolCallId"].as_str()?.split_once("__")?;
    let title = call["title"].as_str().unwrap_or_default();
    let reach = match tool {
        "run_shell_command" => command(call, cwd).unwrap_or(Reach::Elsewhere),
        "read_file" | "replace" | "write_file" => Reach::Paths(named(call, cwd)),
        "list_directory" => Reach::Paths(vec![directory(title, cwd)]),
        "grep_search" => Reach::Paths(searched(title, cwd)),
        "glob" => Reach::Paths(vec![pattern(title, cwd)]),
        "web_fetch" => url(title).map_or(Reach::Elsewhere, Reach::Url),
        _ => Reach::Elsewhere,
    };
    let note = matches!(reach, Reach::Command { .. }).then(|| description(call).to_owned());
    let name = NAMES.iter().find(|(own, _)| *own == tool).map_or(tool, |(_, name)| name);
    Some(Known { tool: name.to_owned(), reach, note })
}

/// Tells the call of a served tool as others do. The CLI gives it a name of its own and the arguments for a title, and a
/// call that failed in words ends like any other.
pub(crate) fn retell(update: ToolUpdate) -> ToolUpdate {
    let Some(tool) = update.call.split_once("__").and_then(|(tool, _)| tool.strip_prefix(PREFIX)) else {
        return update;
    };
    let words = update.title.as_deref().unwrap_or_default();
    let mut input: Option<Value> = serde_json::from_str(words).ok().filter(Value::is_object);
    if let Some(Value::Object(arguments)) = &mut input {
        arguments.shift_remove(ORDER);
    }
    let failed =
        update.output.as_deref().filter(|_| update.finished.is_some()).and_then(|said| said.strip_prefix(FAILED));
    ToolUpdate {
        title: Some(tool.to_owned()),
        input: input.or(update.input),
        finished: if failed.is_some() { Some(ToolStatus::Failed) } else { update.finished },
        output: failed.map(str::to_owned).or(update.output),
        ..update
    }
}

/// What the model says about a command; before it is the directory, which for the work tree is the wrong one.
fn description(call: &Value) -> &str {
    let explanation = call["content"][0]["content"]["text"].as_str().unwrap_or_default();
    explanation.split_once("] ").map_or("", |(_, description)| description)
}

fn named(call: &Value, cwd: &Path) -> Vec<PathBuf> {
    let diffs = call["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "diff");
    let locations = call["locations"].as_array().into_iter().flatten();
    let mut paths: Vec<PathBuf> =
        diffs.chain(locations).filter_map(|place| place["path"].as_str()).map(|path| cwd.join(path)).collect();
    paths.dedup();
    paths
}

/// It runs in the work tree unless its explanation begins with another directory; the words for the work tree name the
/// directory of the process instead, so they are not read.
fn command(call: &Value, cwd: &Path) -> Option<Reach> {
    let text = call["title"].as_str().filter(|title| !title.is_empty())?.to_owned();
    let explanation = call["content"][0]["content"]["text"].as_str()?;
    if explanation.starts_with("[current working directory ") {
        return Some(Reach::Command { text, cwd: cwd.to_owned() });
    }
    let (place, rest) = explanation.strip_prefix("[in ")?.split_once(']')?;
    // A directory may have a bracket in its name: with a second one, nobody can say where it ends.
    (!rest.contains(']')).then(|| Reach::Command { text, cwd: cwd.join(place) })
}

/// A directory as a title tells it. One that cannot be told is somewhere in the tree, so the tree stands for it.
fn directory(words: &str, cwd: &Path) -> PathBuf {
    match words {
        "" | "." | "./" => cwd.to_owned(),
        words if words.contains(LEFT_OUT) => cwd.to_owned(),
        words => cwd.join(words),
    }
}

/// Where a search starts, and the files that it is for: `'words'`, `'words' in files within directory`.
fn searched(title: &str, cwd: &Path) -> Vec<PathBuf> {
    // What ends with the quote is words to its end.
    let is_words = |text: &str| text.ends_with('\'');
    let (head, start) = match title.rsplit_once(WITHIN) {
        Some((head, words)) if !is_words(title) => (head, directory(words, cwd)),
        Some(_) | None => (title, cwd.to_owned()),
    };
    let files = head.rsplit_once("' in ").filter(|_| !is_words(head)).map(|(_, files)| start.join(files));
    std::iter::once(start).chain(files).collect()
}

/// The files that a pattern may find: `'pattern'`, `'pattern' within directory`. It may climb out of where it starts.
fn pattern(title: &str, cwd: &Path) -> PathBuf {
    let inner = title.strip_prefix('\'').unwrap_or(title);
    if let Some(pattern) = inner.strip_suffix('\'') {
        return cwd.join(pattern);
    }
    match inner.rsplit_once(WITHIN) {
        Some((quoted, words)) => directory(words, cwd).join(quoted.trim_end_matches('\'')),
        None => cwd.to_owned(),
    }
}

/// The address of a page; a prompt that names two, or is cut short, names none.
fn url(title: &str) -> Option<String> {
    let (_, prompt) = title.split_once(": \"")?;
    let prompt = prompt.strip_suffix('"')?;
    if prompt.ends_with(LEFT_OUT) {
        return None;
    }
    let is_address = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    let mut addresses = prompt.split_whitespace().filter(is_address);
    // Whatever else holds an address, in brackets or behind a word, could be followed too.
    let is_only = prompt.matches("://").count() == 1;
    addresses.next().filter(|_| is_only).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::Tool;

    #[track_caller]
    fn check(tool: &str, title: &str, expected: Reach) {
        let call = json!({"toolCallId": format!("{tool}__{tool}_1794829538687_0"), "title": title, "locations": []});
        let known = read(&call, Path::new("/repo")).unwrap();
        assert_eq!(known.reach, expected, "{title}");
    }

    fn paths(path: &str) -> Reach {
        Reach::Paths(vec![PathBuf::from(path)])
    }

    #[test]
    fn a_search_names_its_place() {
        for (title, expected) in [("sub", "/repo/sub"), (".", "/repo"), ("../plans", "/repo/../plans")] {
            check("list_directory", title, paths(expected));
        }
        check("list_directory", "a/very/.../long/path", paths("/repo"));
        for (title, expected) in [
            ("'hello'", "/repo"),
            ("'hello' within ./", "/repo"),
            ("'x within src'", "/repo"),
            ("'a' within b' within secret", "/repo/secret"),
            ("'x' within a/.../z", "/repo"),
        ] {
            check("grep_search", title, paths(expected));
        }
        let both = |start: &str, files: &str| Reach::Paths(vec![PathBuf::from(start), PathBuf::from(files)]);
        check("grep_search", "'de' in *.txt within sub", both("/repo/sub", "/repo/sub/*.txt"));
        check("grep_search", "'x' in .env", both("/repo", "/repo/.env"));
        for (title, expected) in [
            ("'src/*.rs'", "/repo/src/*.rs"),
            ("'*.txt' within sub", "/repo/sub/*.txt"),
            ("'../*'", "/repo/../*"),
            ("'/etc/*'", "/etc/*"),
            ("'*' within a/.../z", "/repo/*"),
            ("odd", "/repo"),
        ] {
            check("glob", title, paths(expected));
        }
    }

    #[test]
    fn a_tool_has_the_name_that_rules_know() {
        for (tool, expected) in [
            ("read_file", "read_file"),
            ("replace", "edit"),
            ("run_shell_command", "bash"),
            ("google_web_search", "web_search"),
            ("from_the_future", "from_the_future"),
        ] {
            let call = json!({"toolCallId": format!("{tool}__1")});
            assert_eq!(read(&call, Path::new("/repo")).unwrap().tool, expected);
        }
        for (_, name) in NAMES {
            assert!(Tool::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_file_is_named_once() {
        let place = json!({"path": "/repo/a"});
        let diff = json!({"type": "diff", "path": "/repo/a", "oldText": "", "newText": "x"});
        let call = json!({"toolCallId": "write_file__1", "content": [diff], "locations": [place]});
        assert_eq!(read(&call, Path::new("/repo")).unwrap().reach, paths("/repo/a"));
        check("read_file", "a.txt", Reach::Paths(Vec::new()));
    }

    #[test]
    fn a_page_has_an_address_and_a_search_has_none() {
        let title = |prompt: &str| format!("Processing URLs and instructions from prompt: \"{prompt}\"");
        let page = Reach::Url("https://a.example/x".to_owned());
        check("web_fetch", &title("read https://a.example/x closely"), page);
        for prompt in
            ["https://a.example and https://b.example", "see (https://a.example)", "https://a.example/long...", "none"]
        {
            check("web_fetch", &title(prompt), Reach::Elsewhere);
        }
        check("google_web_search", "Searching the web for: \"rust\"", Reach::Elsewhere);
        check("from_the_future", "https://a.example", Reach::Elsewhere);
    }

    #[test]
    fn a_title_is_a_command() {
        let check = |title: &str, explanation: &str, expected: Option<&str>| {
            let content = json!([{"type": "content", "content": {"type": "text", "text": explanation}}]);
            let call = json!({"toolCallId": "run_shell_command__1", "title": title, "content": content});
            let command = |cwd: &str| Reach::Command { text: title.to_owned(), cwd: cwd.into() };
            let expected = expected.map_or(Reach::Elsewhere, command);
            assert_eq!(read(&call, Path::new("/repo")).unwrap().reach, expected, "{explanation}");
        };
        check("make", "[current working directory /neutral] (Build [all])", Some("/repo"));
        check("make", "[in sub] (Build)", Some("/repo/sub"));
        check("make", "[in /etc]", Some("/etc"));
        // The directory could be `a` or `a] x/../../../etc`.
        check("make", "[in a] x/../../../etc] (Build)", None);
        check("make", "[in a] [background]", None);
        check("make", "Build it", None);
        check("", "[current working directory /neutral]", None);
    }

    #[test]
    fn a_command_is_shown_with_what_the_model_says_about_it() {
        for (explanation, expected) in
            [("[current working directory /neutral] (Build [all])", "(Build [all])"), ("[in sub]", "")]
        {
            let content = json!([{"type": "content", "content": {"type": "text", "text": explanation}}]);
            let call = json!({"toolCallId": "run_shell_command__1", "title": "make", "content": content});
            assert_eq!(read(&call, Path::new("/repo")).unwrap().note.as_deref(), Some(expected));
        }
        let other = json!({"toolCallId": "glob__1", "title": "'*'"});
        assert_eq!(read(&other, Path::new("/repo")).unwrap().note, None);
    }

    #[test]
    fn a_served_call_is_told_by_its_name_and_arguments() {
        let update = |title: &str, finished: Option<ToolStatus>, output: Option<&str>| ToolUpdate {
            call: "discovered_tool_run_bash__discovered_tool_run_bash_1794829538687_0".to_owned(),
            title: Some(title.to_owned()).filter(|title| !title.is_empty()),
            finished,
            output: output.map(str::to_owned),
            ..ToolUpdate::default()
        };
        let told = |input: Option<Value>, finished, output| ToolUpdate {
            input,
            title: Some("run_bash".to_owned()),
            ..update("", finished, output)
        };
        let given = r#"{"command":"ls","wait_for_previous":true}"#;
        assert_eq!(retell(update(given, None, None)), told(Some(json!({"command": "ls"})), None, None));
        assert_eq!(retell(update("odd", None, None)), told(None, None, None));
        let (done, failed) = (Some(ToolStatus::Completed), Some(ToolStatus::Failed));
        let ls = Some(json!({"command": "ls"}));
        assert_eq!(retell(update(given, done, Some("a"))), told(ls.clone(), done, Some("a")));
        assert_eq!(retell(update(given, done, Some("Error: no"))), told(ls, failed, Some("no")));
        // Of its own tools the CLI tells as it does.
        let own = ToolUpdate { call: "run_shell_command__1".to_owned(), ..update("Error: ls", done, Some("Error: x")) };
        assert_eq!(retell(own.clone()), own);
    }

    #[test]
    fn a_call_without_a_name_is_left_to_the_protocol() {
        for id in [json!("ls-1794829538687-1"), json!(null)] {
            assert_eq!(read(&json!({"toolCallId": id, "title": "ls"}), Path::new("/repo")), None);
        }
    }
}
