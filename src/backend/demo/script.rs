//! The script language of the demo agent: lines of the task that begin with `@`, one directive each. Pure.
//!
//! `@call TOOL {json}` waits for its result; `@call&` lines that follow each other are made at the same time.
//! Text arguments take the rest of the line, or, after `<<WORD`, the lines up to one that is just `WORD`.

use serde_json::{Value, json};

/// One directive and the line of the task it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) line: usize,
    /// The line after its last one.
    pub(crate) end: usize,
    pub(crate) directive: Directive,
}

/// What the agent can be told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Directive {
    /// Prose before the response.
    Say(String),
    Think(String),
    Plan(Vec<String>),
    Write {
        path: String,
        text: String,
    },
    Append {
        path: String,
        text: String,
    },
    Delete(String),
    /// Puts the text of a file into the answer.
    Read(String),
    /// Runs `sh -c` and streams its output.
    Run(String),
    /// The same, and puts the output and the exit code into the answer.
    Report(String),
    /// Asks for permission; when refused, the next directive, or the whole block, is skipped.
    Permission(String),
    /// The same, and the request names the path or the command of the next directive. What was allowed by its path may lie
    /// outside of the work tree.
    Request(String),
    /// Asks for permission for a call of that kind, does nothing, and puts into the answer how it was decided.
    May {
        kind: CallKind,
        target: String,
    },
    Begin,
    End,
    /// Keeps the rest of the script for the next prompt that has no script of its own.
    Then,
    /// A question of the structured response.
    Ask {
        question: String,
        options: Vec<String>,
    },
    Answer(String),
    Summary {
        turn: String,
        session: String,
    },
    /// Tokens of the turn, and what it cost in millionths of a dollar.
    Usage {
        input: u64,
        output: u64,
        cost: Option<u64>,
    },
    /// Blocks until the file exists; of a FIFO, until somebody opens it for writing.
    Wait(String),
    /// Answers the prompt with a JSON-RPC error.
    Fail {
        code: i64,
        message: String,
    },
    /// Blocks until the turn is cancelled.
    Hang,
    /// Ends the process in the middle of the turn.
    Crash(Times),
    /// Writes a line that is not JSON.
    Garbage,
    /// Ends the turn with this text instead of the structured response.
    Raw(String),
    /// Ends the turn with an invalid response; the repair turn gets a valid one, or another invalid one.
    Invalid(Times),
    /// A tool call with that many bytes of output, on one line.
    Huge(usize),
    /// Starts a process that leaves its session and its group, and writes its pid to the file.
    Child(String),
    /// Puts the value of a variable into the answer.
    Env(String),
    /// Puts the number of remembered turns into the answer.
    EchoHistory,
    /// Puts the parts of the prompt into the answer, in their order.
    EchoImages,
    /// Puts the model into the answer.
    EchoModel,
    /// Calls served tools, all of them at once, and puts their results into the answer.
    Calls(Vec<ServedCall>),
    /// Puts the names of the served tools into the answer.
    Tools,
    /// Puts the agent's own abilities into the answer.
    Native,
}

/// What a call would be that is only asked about; its target is a path, an address or a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Read,
    Edit,
    Delete,
    Search,
    Fetch,
    Run,
}

/// One call of a served tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedCall {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Always,
    /// Once per state directory, also when the script is sent again.
    Once,
}

/// A script that cannot be understood; the line counts from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {problem}")]
pub(crate) struct ScriptError {
    line: usize,
    problem: String,
}

/// The task of a prompt: what follows the last line of three dashes that is not inside a text of the script.
pub(crate) fn task(prompt: &str) -> &str {
    let mut start = 0;
    let mut offset = 0;
    let mut word: Option<&str> = None;
    for line in prompt.split_inclusive('\n') {
        offset += line.len();
        let line = line.trim_end();
        match word {
            Some(end) if line == end => word = None,
            Some(_) => {}
            None if line == "---" => start = offset,
            None if line.starts_with('@') => word = split_word(line).1,
            None => {}
        }
    }
    let task = prompt.get(start..).unwrap_or_default();
    // A line is left free below the dashes; lines are counted as the person has written them.
    if start > 0 { task.strip_prefix('\n').unwrap_or(task) } else { task }
}

/// Reads all directives of a task; a task without any is an empty script.
pub(crate) fn parse(task: &str) -> Result<Vec<Step>, ScriptError> {
    let lines: Vec<&str> = task.lines().collect();
    let mut steps = Vec::new();
    let mut at = 0;
    // Whether the step before takes further calls.
    let mut joins = false;
    while let Some(text) = lines.get(at) {
        let Some(text) = text.strip_prefix('@') else {
            at += 1;
            continue;
        };
        let line = at;
        let (inline, word) = split_word(text.trim_end());
        at += 1;
        let mut body = None;
        if let Some(word) = word {
            let rest = lines.get(at..).unwrap_or_default();
            let length = rest.iter().position(|text| text.trim_end() == word);
            let length = length.ok_or_else(|| error(line, format!("the text up to `{word}` has no end")))?;
            body = Some(rest.iter().take(length).map(|text| format!("{text}\n")).collect::<String>());
            at += length + 1;
        }
        let directive = directive(inline, body).map_err(|problem| error(line, problem))?;
        let is_beside = inline.starts_with(BESIDE);
        match (steps.last_mut(), directive) {
            (Some(Step { end, directive: Directive::Calls(calls), .. }), Directive::Calls(more))
                if is_beside && joins && *end == line =>
            {
                calls.extend(more);
                *end = at;
            }
            (_, directive) => steps.push(Step { line, end: at, directive }),
        }
        joins = is_beside;
    }
    Ok(steps)
}

/// Begins a call that is made together with its neighbours.
const BESIDE: &str = "call&";

/// Splits `… <<WORD` off the end of a directive.
fn split_word(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once("<<") {
        Some((before, word)) if !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase()) => {
            (before.trim_end(), Some(word))
        }
        Some(_) | None => (text, None),
    }
}

fn error(line: usize, problem: String) -> ScriptError {
    ScriptError { line: line + 1, problem }
}

fn directive(text: &str, body: Option<String>) -> Result<Directive, String> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let free_text = || body.clone().map_or_else(|| rest.to_owned(), |body| body.trim_end().to_owned());
    let required = |what: &str| match free_text() {
        text if text.is_empty() => Err(format!("`@{name}` needs {what}")),
        text => Ok(text),
    };
    let file = || {
        let (path, line) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let text = body.clone().unwrap_or_else(|| format!("{}\n", line.trim()));
        if path.is_empty() { Err(format!("`@{name}` needs a path")) } else { Ok((path.to_owned(), text)) }
    };
    Ok(match name {
        "say" => Directive::Say(required("a text")?),
        "think" => Directive::Think(required("a text")?),
        "plan" => Directive::Plan(alternatives(&required("entries")?)),
        "write" => file().map(|(path, text)| Directive::Write { path, text })?,
        "append" => file().map(|(path, text)| Directive::Append { path, text })?,
        "delete" => Directive::Delete(required("a path")?),
        "read" => Directive::Read(required("a path")?),
        "run" => Directive::Run(required("a command")?),
        "report" => Directive::Report(required("a command")?),
        "permission" => Directive::Permission(required("a title")?),
        "request" => Directive::Request(required("a title")?),
        "may" => {
            let (kind, inline) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let target = body.as_deref().unwrap_or(inline);
            match (CallKind::parse(kind), target.trim()) {
                (None, _) => return Err(format!("`@may {kind}`: expected read, edit, delete, search, fetch or run")),
                (Some(_), "") => return Err(format!("`@may {kind}` needs a path, an address or a command")),
                (Some(kind), target) => Directive::May { kind, target: target.to_owned() },
            }
        }
        "begin" => Directive::Begin,
        "end" => Directive::End,
        "then" => Directive::Then,
        "ask" => {
            let mut parts = alternatives(&required("a question")?).into_iter();
            Directive::Ask { question: parts.next().unwrap_or_default(), options: parts.collect() }
        }
        "answer" => Directive::Answer(required("a text")?),
        "summary" => {
            let text = required("a text")?;
            let (turn, session) = text.split_once("||").unwrap_or((&text, &text));
            Directive::Summary { turn: turn.trim().to_owned(), session: session.trim().to_owned() }
        }
        "usage" => {
            let mut words = rest.split_whitespace();
            let count = |word: Option<&str>| word.and_then(|word| word.parse().ok());
            let (input, output) = (count(words.next()), count(words.next()));
            let cost = words.next().map(|word| word.parse().ok().and_then(millionths).ok_or(word));
            match (input, output, cost.transpose(), words.next()) {
                (Some(input), Some(output), Ok(cost), None) => Directive::Usage { input, output, cost },
                _ => return Err("`@usage` needs two numbers, and may have a cost in dollars".to_owned()),
            }
        }
        "wait" => Directive::Wait(required("a path")?),
        "fail" => {
            let text = required("a message")?;
            let code = text.split_once(' ').and_then(|(code, message)| Some((code.parse().ok()?, message.to_owned())));
            let (code, message) = code.unwrap_or((-32603, text));
            Directive::Fail { code, message }
        }
        "hang" => Directive::Hang,
        "crash" => Directive::Crash(times(rest)?),
        "garbage" => Directive::Garbage,
        "raw" => Directive::Raw(free_text()),
        "invalid" => Directive::Invalid(times(rest)?),
        "huge" => Directive::Huge(rest.parse().map_err(|_| format!("`@huge {rest}`: expected a number of bytes"))?),
        "child" => Directive::Child(required("a path")?),
        "env" => Directive::Env(required("a name")?),
        "echo-history" => Directive::EchoHistory,
        "echo-images" => Directive::EchoImages,
        "echo-model" => Directive::EchoModel,
        "call" | BESIDE => {
            let (tool, inline) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let text = body.clone().unwrap_or_else(|| inline.trim().to_owned());
            let arguments = if text.trim().is_empty() { Ok(json!({})) } else { serde_json::from_str(&text) };
            match (tool, arguments) {
                ("", _) => return Err(format!("`@{name}` needs the name of a tool")),
                (_, Err(problem)) => return Err(format!("`@{name} {tool}`: the arguments are not JSON: {problem}")),
                (_, Ok(arguments)) => Directive::Calls(vec![ServedCall { tool: tool.to_owned(), arguments }]),
            }
        }
        "tools" => Directive::Tools,
        "native" => Directive::Native,
        unknown => return Err(format!("unknown directive `@{unknown}`; `coppice demo --help` lists them")),
    })
}

impl CallKind {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "search" => Self::Search,
            "fetch" => Self::Fetch,
            "run" => Self::Run,
            _ => return None,
        })
    }
}

/// Dollars as a whole number, so that directives can be compared.
fn millionths(dollars: f64) -> Option<u64> {
    // A cast saturates, so nothing but a sign and a missing number has to be refused.
    (dollars >= 0.0).then_some((dollars * 1e6).round() as u64)
}

fn alternatives(text: &str) -> Vec<String> {
    text.split('|').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn times(text: &str) -> Result<Times, String> {
    match text {
        "" => Ok(Times::Always),
        "once" => Ok(Times::Once),
        other => Err(format!("expected `once` or nothing, not `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(task: &str, expected: &[Directive]) {
        let steps = parse(task).unwrap();
        assert_eq!(steps.into_iter().map(|step| step.directive).collect::<Vec<_>>(), expected);
    }

    #[track_caller]
    fn refused(task: &str, expected: &str) {
        assert_eq!(parse(task).unwrap_err().to_string(), expected);
    }

    fn s(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn every_directive_has_a_form() {
        check("plain words\n with @ inside\n", &[]);
        check("@say hello there  \n@think hm", &[Directive::Say(s("hello there")), Directive::Think(s("hm"))]);
        check("@plan a | b |c", &[Directive::Plan(vec![s("a"), s("b"), s("c")])]);
        check("@write a/b.txt one line", &[Directive::Write { path: s("a/b.txt"), text: s("one line\n") }]);
        check(
            "@write a <<END\n@say not a directive\n---\n\nEND\n@append a <<X\nX",
            &[
                Directive::Write { path: s("a"), text: s("@say not a directive\n---\n\n") },
                Directive::Append { path: s("a"), text: s("") },
            ],
        );
        check("@delete a\n@run make -j2", &[Directive::Delete(s("a")), Directive::Run(s("make -j2"))]);
        check("@run <<END\ncat <<EOF\nEOF\nEND", &[Directive::Run(s("cat <<EOF\nEOF"))]);
        check(
            "@permission rm it\n@begin\n@end\n@then",
            &[Directive::Permission(s("rm it")), Directive::Begin, Directive::End, Directive::Then],
        );
        check("@request make it", &[Directive::Request(s("make it"))]);
        check(
            "@may read /etc/a b\n@may fetch https://a.example",
            &[
                Directive::May { kind: CallKind::Read, target: s("/etc/a b") },
                Directive::May { kind: CallKind::Fetch, target: s("https://a.example") },
            ],
        );
        check("@may run <<E\na\nb\nE", &[Directive::May { kind: CallKind::Run, target: s("a\nb") }]);
        check("@report ls", &[Directive::Report(s("ls"))]);
        check("@ask Which? | a | b", &[Directive::Ask { question: s("Which?"), options: vec![s("a"), s("b")] }]);
        check("@answer <<E\ntwo\nlines\nE", &[Directive::Answer(s("two\nlines"))]);
        check("@summary one || all", &[Directive::Summary { turn: s("one"), session: s("all") }]);
        check("@summary same", &[Directive::Summary { turn: s("same"), session: s("same") }]);
        check("@usage 10 2", &[Directive::Usage { input: 10, output: 2, cost: None }]);
        check("@usage 10 2 0.25", &[Directive::Usage { input: 10, output: 2, cost: Some(250_000) }]);
        check("@wait go.fifo\n@hang", &[Directive::Wait(s("go.fifo")), Directive::Hang]);
        check("@fail it broke", &[Directive::Fail { code: -32603, message: s("it broke") }]);
        check("@fail 429 too many", &[Directive::Fail { code: 429, message: s("too many") }]);
        check("@crash\n@crash once", &[Directive::Crash(Times::Always), Directive::Crash(Times::Once)]);
        check("@invalid once\n@garbage", &[Directive::Invalid(Times::Once), Directive::Garbage]);
        check("@raw\n@raw {\"x\"", &[Directive::Raw(s("")), Directive::Raw(s("{\"x\""))]);
        check("@huge 1000\n@child pid", &[Directive::Huge(1000), Directive::Child(s("pid"))]);
        check("@env HOME\n@echo-history", &[Directive::Env(s("HOME")), Directive::EchoHistory]);
        check("@echo-images\n@echo-model", &[Directive::EchoImages, Directive::EchoModel]);
        check("@read a b\n@tools\n@native", &[Directive::Read(s("a b")), Directive::Tools, Directive::Native]);
    }

    #[test]
    fn calls_side_by_side_are_one_step() {
        let call = |tool: &str, arguments| ServedCall { tool: s(tool), arguments };
        check("@call a", &[Directive::Calls(vec![call("a", json!({}))])]);
        check("@call a <<END\n{\"x\":\n1}\nEND", &[Directive::Calls(vec![call("a", json!({"x": 1}))])]);
        check(
            "@call& a {\"x\": \"<<\"}\n@call& b\n@call c\n@call& d\n\n@call& e",
            &[
                Directive::Calls(vec![call("a", json!({"x": "<<"})), call("b", json!({}))]),
                Directive::Calls(vec![call("c", json!({}))]),
                Directive::Calls(vec![call("d", json!({}))]),
                Directive::Calls(vec![call("e", json!({}))]),
            ],
        );
        refused("@call", "line 1 of the script: `@call` needs the name of a tool");
        assert!(parse("@call a {").unwrap_err().to_string().contains("`@call a`: the arguments are not JSON: "));
    }

    #[test]
    fn a_bad_script_says_where_and_why() {
        refused("hello\n@say", "line 2 of the script: `@say` needs a text");
        for usage in ["@usage 1", "@usage 1 2 much", "@usage 1 2 -1", "@usage 1 2 3 4"] {
            refused(usage, "line 1 of the script: `@usage` needs two numbers, and may have a cost in dollars");
        }
        refused("@crash twice", "line 1 of the script: expected `once` or nothing, not `twice`");
        refused("@may fly x", "line 1 of the script: `@may fly`: expected read, edit, delete, search, fetch or run");
        refused("@may read", "line 1 of the script: `@may read` needs a path, an address or a command");
        refused("@huge big", "line 1 of the script: `@huge big`: expected a number of bytes");
        refused("@write a <<END\ntext", "line 1 of the script: the text up to `END` has no end");
        assert!(
            parse("@nope")
                .unwrap_err()
                .to_string()
                .contains("unknown directive `@nope`; `coppice demo --help` lists them")
        );
    }

    #[test]
    fn only_the_last_section_is_the_task() {
        assert_eq!(task("just this"), "just this");
        assert_eq!(task("rules\n\n---\n\n@say one\n"), "@say one\n");
        assert_eq!(task("rules\n---\n> @say old\n---\n@say last"), "@say last");
        assert_eq!(task("rules\n---\n@write a <<END\n---\nEND\n@say x"), "@write a <<END\n---\nEND\n@say x");
        assert_eq!(task("---"), "");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(@[a-z-]{0,12}|<<|END|---|\\||\\PC{0,6}| |\n){0,40}") {
            let task = task(&text);
            prop_assert!(text.ends_with(task));
            if let Ok(steps) = parse(task) {
                prop_assert!(steps.windows(2).all(|pair| pair[0].end <= pair[1].line));
            }
        }
    }
}
