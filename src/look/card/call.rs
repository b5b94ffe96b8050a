//! What a call is, in a verb that people know, whatever its backend calls it. Unknown tools keep their names.

use serde_json::Value;

use super::change::Piece;
use super::input::Input;
use super::native;
use crate::look::line::{Line, visible};

/// A longer argument would not be read.
const ARGUMENT: usize = 1_000;

/// Stands for an argument that is not known.
const UNKNOWN: &str = "…";

/// The files as they are, where a commit could stand.
const WORKTREE: &str = "worktree";

/// The server of our own tools, before their names.
const OWN_SERVER: &[&str] = &["coppice.", "mcp__coppice__"];

/// One call, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    verb: String,
    argument: String,
    pub(super) shape: Shape,
}

/// What the body and the footer of a card are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// Streams and an exit code; the command where it is known.
    Command(Option<String>),
    /// What was read is told by its size.
    Read,
    /// Several files in one text.
    ReadMany,
    /// How many bytes were written, where the call says it.
    Written(Option<usize>),
    Change {
        path: String,
        pieces: Vec<Piece>,
    },
    Entries,
    Matches,
    /// What the server said about a page, not the page.
    Fetched,
    /// The task of a child and what came of it; the task where the call says it.
    Delegated(Option<String>),
    /// Done is done; a word about it is the footer.
    Confirmed,
    Text,
}

impl Call {
    pub(super) fn new(verb: &str, argument: impl Into<String>, shape: Shape) -> Call {
        Call { verb: verb.to_owned(), argument: argument.into(), shape }
    }

    pub(super) fn maybe(verb: &str, argument: Option<impl Into<String>>, shape: Shape) -> Call {
        Call::new(verb, argument.map_or_else(|| UNKNOWN.to_owned(), Into::into), shape)
    }

    /// `Verb(argument)`.
    pub(super) fn header(&self) -> Line {
        Line::new().strong(format!("{}({})", harmless(&self.verb), harmless(&self.argument)))
    }
}

/// Reads a call as an event tells it: the tool or its kind, a title for people, and the input where there is one.
pub(super) fn read(tool: &str, title: &str, input: Option<&Value>) -> Call {
    let title = title.trim();
    let (name, title) = match tool {
        // A title that names the tool says nothing about what the call is about.
        "" | "other" | "unknown" | "mcp_tool_call" | "dynamic_tool_call" => (own_name(title), ""),
        tool => (own_name(tool), title),
    };
    let told = Told { title, input: Input(input) };
    let known = [git, github, code, served, session, native::read].into_iter().find_map(|family| family(name, told));
    known.unwrap_or_else(|| Call::new(name, UNKNOWN, Shape::Text))
}

/// A call that waits: the verb of its card, and what the title says behind a verb of its own. Its input is not known.
pub(super) fn announce(tool: &str, title: &str) -> Line {
    let Call { verb, shape, .. } = read(tool, title, None);
    let subject = match shape {
        // It may be a sentence about the command.
        Shape::Command(_) if !title.contains('`') => title.trim().to_owned(),
        _ => native::object(Told { title: title.trim(), input: Input(None) }),
    };
    let (verb, subject) = (harmless(&verb), harmless(&subject));
    let head = Line::new().strong(&verb);
    if subject == verb { head } else { head.plain(format!("({subject})")) }
}

/// What an event tells about a call.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) title: &'a str,
    pub(super) input: Input<'a>,
}

impl<'a> Told<'a> {
    /// The file or directory that a call is about. The title has it as from the work tree, where it has it.
    pub(super) fn path(self) -> Option<&'a str> {
        let path =
            self.input.text(&["path", "file_path", "notebook_path", "file", "dir", "directory", "target_file"])?;
        Some(self.place(path))
    }

    fn place(self, path: &'a str) -> &'a str {
        let ends = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        let mut tails = ends.map(|start| &path[start..]).filter(|tail| !tail.is_empty());
        let is_told =
            |tail: &str| self.title.strip_suffix(tail).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '));
        tails.find(|tail| is_told(tail)).unwrap_or(path)
    }

    fn pair(self) -> Option<String> {
        let [from, to] = [&["src"], &["dst"]].map(|names| self.input.text(names));
        let (from, to) = (from?, to?);
        Some(format!("{from} → {to}"))
    }

    /// From one commit to the other; `open` is where it ends if the call names no other.
    fn span(self, open: &str) -> Option<String> {
        let [from, to] = [&["base"], &["head"]].map(|names| self.input.text(names));
        Some(format!("{}..{}", from?, to.unwrap_or(open)))
    }
}

/// The tools of the table, by the names that models call them.
fn served(name: &str, told: Told<'_>) -> Option<Call> {
    let input = told.input;
    let path = told.path();
    Some(match name {
        "run_bash" => native::command("Bash", told),
        "run_tests" => native::command("Test", told),
        "read_file" => native::reading(told),
        "read_many_files" => Call::maybe("Read", input.items(&["paths"]).map(files), Shape::ReadMany),
        "write_file" => native::writing(told),
        "edit_file" => native::editing(told),
        "apply_diff" | "apply_patch" => {
            let pieces = input.text(&["diff", "patch"]).map(Piece::patch).into_iter().collect();
            Call::new("Patch", "apply", Shape::Change { path: String::new(), pieces })
        }
        "mkdir" => Call::maybe("Mkdir", path, Shape::Confirmed),
        "delete_file" => Call::maybe("Delete", path, Shape::Confirmed),
        "copy_file" => Call::maybe("Copy", told.pair(), Shape::Confirmed),
        "move_file" => Call::maybe("Move", told.pair(), Shape::Confirmed),
        "list_dir" => Call::new("List", path.unwrap_or("."), Shape::Entries),
        "glob" => native::glob(told),
        "grep" => native::grep(told),
        "fetch_url" => native::fetching(told),
        "rollback" => Call::new("Rollback", input.text(&["target"]).unwrap_or("HEAD~1"), Shape::Confirmed),
        _ => return None,
    })
}

fn git(name: &str, told: Told<'_>) -> Option<Call> {
    let input = told.input;
    let path = || told.path().unwrap_or(UNKNOWN);
    let ran = |argument: String| Call::new("Git", argument, Shape::Command(None));
    let staged = |verb: &str| match input.items(&["paths"]).filter(|_| !input.is_set(&["all"])) {
        Some(paths) => format!("{verb} {}", files(paths)),
        None => format!("{verb} all"),
    };
    Some(match name {
        "git" => {
            let argument = input.words(&["args"]).unwrap_or_else(|| UNKNOWN.to_owned());
            let command = format!("git {argument}");
            Call::new("Git", argument, Shape::Command(Some(command)))
        }
        "git_branch_status" => ran("branch status".to_owned()),
        "git_show_file_at_rev" => ran(format!("show {} @ {}", path(), input.text(&["rev"]).unwrap_or("HEAD"))),
        // Without a second commit it is compared with the files as they are; without a first one, with what is committed.
        "git_diff_files" => ran(format!("diff {}", told.span(WORKTREE).as_deref().unwrap_or(WORKTREE))),
        "git_merge_base" => ran(format!("merge-base {}", told.span(UNKNOWN).as_deref().unwrap_or(UNKNOWN))),
        "git_stage_files" => ran(staged("stage")),
        "git_unstage_files" => ran(staged("unstage")),
        "git_create_branch" => {
            let from = input.text(&["start_point"]).map(|from| format!(" from {from}")).unwrap_or_default();
            ran(format!("create branch {}{from}", input.text(&["name"]).unwrap_or(UNKNOWN)))
        }
        "git_commit" | "git_commit_apply" => ran("commit".to_owned()),
        "git_commit_context" => ran("commit context".to_owned()),
        "git_push" => ran("push".to_owned()),
        "git_checkpoint" => ran("checkpoint".to_owned()),
        "git_log_file" => ran(format!("log {}", path())),
        "git_blame_lines" => {
            let line = |names: &[&str]| input.number(names).map_or_else(|| UNKNOWN.to_owned(), |line| line.to_string());
            let (first, last) = (line(&["start"]), line(&["end"]));
            ran(format!("blame {}:L{first}-L{last}", path()))
        }
        "list_git_changed_files" => ran("list changed".to_owned()),
        _ => return None,
    })
}

/// Pull requests and issues. Without a reference they are those of the branch.
fn github(name: &str, told: Told<'_>) -> Option<Call> {
    let input = told.input;
    let request = || match (input.text(&["ref"]), input.number(&["ref"])) {
        (Some(named), _) => format!(" {named}"),
        (None, Some(number)) => format!(" {number}"),
        (None, None) => String::new(),
    };
    let (argument, shape) = match name {
        "gh_pr_context" => ("pr context".to_owned(), Shape::Text),
        "gh_pr_read" => (format!("pr{}", request()), Shape::Text),
        "gh_pr_review_context" => (format!("review pr{}", request()), Shape::Text),
        "gh_issue_read" => match input.number(&["number"]) {
            Some(number) => (format!("issue {number}"), Shape::Text),
            None => (format!("issue {UNKNOWN}"), Shape::Text),
        },
        "gh_issue_list" => ("issues".to_owned(), Shape::Text),
        "gh_pr_create" => (format!("create pr \"{}\"", input.text(&["title"]).unwrap_or(UNKNOWN)), Shape::Confirmed),
        "gh_pr_update" => (format!("update pr{}", request()), Shape::Confirmed),
        "gh_pr_add_comment" => (format!("comment on pr{}", request()), Shape::Confirmed),
        _ => return None,
    };
    Some(Call::new("GitHub", argument, shape))
}

/// What language servers are asked.
fn code(name: &str, told: Told<'_>) -> Option<Call> {
    let input = told.input;
    let place = || {
        let path = told.path().unwrap_or(UNKNOWN);
        let line = input.number(&["line"]).map(|line| format!(":{line}")).unwrap_or_default();
        match input.text(&["symbol"]) {
            Some(symbol) => format!("{symbol} @ {path}{line}"),
            None => format!("{path}{line}"),
        }
    };
    Some(match name {
        "symbols" => Call::maybe("Symbols", input.text(&["query"]).map(|query| format!("\"{query}\"")), Shape::Text),
        "definition" => Call::new("Definition", place(), Shape::Text),
        "diagnostics" => match input.items(&["paths"]) {
            Some(paths) => Call::new("Diagnostics", files(paths), Shape::Text),
            None => Call::maybe("Diagnostics", told.path(), Shape::Text),
        },
        "refs" => Call::new("References", place(), Shape::Text),
        "trace" => {
            let mode = input.text(&["mode"]).unwrap_or("graph");
            Call::new("Trace", format!("{mode} of {}", place()), Shape::Text)
        }
        "rename_symbol" => {
            let to = input.text(&["new_name"]).unwrap_or(UNKNOWN);
            Call::new("Rename", format!("{} → {to}", place()), Shape::Confirmed)
        }
        "code_action" => {
            let wanted = input.text(&["title", "kind"]).map(|wanted| format!(": {wanted}")).unwrap_or_default();
            Call::new("Action", format!("{}{wanted}", told.path().unwrap_or(UNKNOWN)), Shape::Confirmed)
        }
        _ => return None,
    })
}

/// Children, tasks and skills: what a session is asked for.
fn session(name: &str, told: Told<'_>) -> Option<Call> {
    let input = told.input;
    let id = || input.text(&["id"]).unwrap_or(UNKNOWN);
    let task = |verb: &str| {
        let words = [input.text(&["action"]), input.text(&["title"]).or_else(|| input.text(&["task_id"]))];
        let words: Vec<&str> = words.into_iter().flatten().chain(input.text(&["review_status"])).collect();
        let argument = if words.is_empty() { UNKNOWN.to_owned() } else { words.join(" ") };
        Call::new(verb, argument, Shape::Text)
    };
    Some(match name {
        "wait" => Call::maybe("Wait", input.texts(&["ids"]).map(|ids| ids.join(", ")), Shape::Delegated(None)),
        "send_input" => {
            let said = input.text(&["message"]).and_then(|said| said.lines().find(|line| !line.trim().is_empty()));
            Call::new("Send", format!("{}: {}", id(), said.unwrap_or(UNKNOWN)), Shape::Text)
        }
        "close_agent" => Call::new("Close", id(), Shape::Text),
        "resume_agent" => Call::new("Resume", id(), Shape::Text),
        "set_thread_note" => Call::new("Note", id(), Shape::Text),
        "list_active_agents" => Call::new("Agents", input.text(&["scope"]).unwrap_or("children"), Shape::Text),
        "list_agents" => Call::new("Agents", input.text(&["agent_type"]).unwrap_or("all"), Shape::Text),
        "task_workflow" => task("Tasks"),
        "task_review" => task("Review"),
        "exit_plan_mode" => Call::new("Plan", "show", Shape::Text),
        "search_skills" => {
            Call::maybe("Skills", input.text(&["query"]).map(|query| format!("\"{query}\"")), Shape::Text)
        }
        _ => return None,
    })
}

fn files(paths: &[Value]) -> String {
    crate::look::status::count(paths.len(), "file")
}

/// A tool's name without the server, where the server is ours: `coppice.run_bash`, `run_bash (coppice MCP Server)`.
fn own_name(name: &str) -> &str {
    let name = name.strip_suffix(" (coppice MCP Server)").unwrap_or(name);
    OWN_SERVER.iter().find_map(|server| name.strip_prefix(server)).unwrap_or(name)
}

/// On one line, whatever is in it.
fn harmless(text: &str) -> String {
    let end = text.floor_char_boundary(ARGUMENT);
    let one = |c: char| if matches!(c, '\n' | '\r' | '\t') { Some(' ') } else { Some(c).filter(|c| !c.is_control()) };
    let kept = visible(&text[..end].chars().filter_map(one).collect::<String>());
    if end < text.len() { kept + "…" } else { kept }
}
