//! A call of a tool for git as a request, or what is wrong with it; nothing that is refused here ever reaches git.

use serde_json::Value;

use super::super::params::Nothing;
use super::super::parse::read;
use super::{Change, Look, Parts, Request, Selection, Span, params, words};

const LOG_DEFAULT: u32 = 10;
const LOG_LIMIT: u32 = 200;

/// How many words a call of git may have.
const MOST_WORDS: usize = 1000;

/// Reads a call; `None` when the tool is of another family.
pub(in super::super) fn parse(name: &str, arguments: &Value) -> Option<Result<Request, String>> {
    let named = |read: Result<Request, String>| read.map_err(|error| format!("{name}: {error}"));
    // The words of these begin with a flag that a model can branch on.
    let refused = |flag: &str, read: Result<Request, String>| {
        read.map_err(|error| format!("{flag}=false reason=validation\n{error}"))
    };
    Some(match name {
        "list_git_changed_files" => read(name, arguments).map(changed),
        "git_branch_status" => read(name, arguments).map(|Nothing {}| Request::Look(Look::BranchStatus)),
        "git_show_file_at_rev" => read(name, arguments).and_then(|given| named(show(given))),
        "git_diff_files" => read(name, arguments).and_then(|given| named(diff(given))),
        "git_log_file" => read(name, arguments).and_then(|given| named(log(given))),
        "git_blame_lines" => read(name, arguments).and_then(|given| named(blame(given))),
        "git_merge_base" => read(name, arguments).and_then(|given| named(merge_base(given))),
        "git_commit_context" => read(name, arguments).map(|Nothing {}| Request::Look(Look::CommitContext)),
        "git" => read(name, arguments).and_then(|given| named(git(given))),
        "git_stage_files" => read(name, arguments).and_then(|given| named(stage(given))),
        "git_unstage_files" => read(name, arguments).and_then(|given| named(unstage(given))),
        "git_create_branch" => read(name, arguments).and_then(|given| refused("created", create_branch(given))),
        "git_commit" => read(name, arguments).and_then(|given| refused("committed", commit(given))),
        "git_commit_apply" => read(name, arguments).and_then(|given| refused("committed", commit_apply(given))),
        "git_checkpoint" => read(name, arguments).map(checkpoint),
        "rollback" => read(name, arguments).and_then(|given| named(rollback(given))),
        "git_push" => read(name, arguments).map(|Nothing {}| Request::Push),
        _ => return None,
    })
}

fn changed(given: params::Changed) -> Request {
    let wanted = |part: Option<bool>| part.unwrap_or(true);
    let (staged, unstaged, untracked) = (wanted(given.staged), wanted(given.unstaged), wanted(given.untracked));
    Request::Look(Look::Changed(Parts { staged, unstaged, untracked }))
}

fn show(given: params::Show) -> Result<Request, String> {
    Ok(Request::Look(Look::Show { path: path(given.path)?, rev: revision(given.rev, "HEAD")? }))
}

fn diff(given: params::Diff) -> Result<Request, String> {
    let span = match (given.base, given.head) {
        (None, None) => Span::Uncommitted,
        (Some(base), None) => Span::Since(words::revision(&base)?),
        (Some(base), Some(head)) => Span::Between { base: words::revision(&base)?, head: words::revision(&head)? },
        (None, Some(_)) => return Err("head needs base".to_owned()),
    };
    let paths = given.paths.unwrap_or_default().into_iter().map(|given| path(Some(given)));
    Ok(Request::Look(Look::Diff { span, paths: paths.collect::<Result<_, _>>()? }))
}

fn log(given: params::Log) -> Result<Request, String> {
    let limit = given.limit.map_or(Ok(LOG_DEFAULT), |limit| line("limit", Some(limit)))?;
    Ok(Request::Look(Look::Log { path: path(given.path)?, limit: limit.min(LOG_LIMIT) }))
}

fn blame(given: params::Blame) -> Result<Request, String> {
    let path = path(given.path)?;
    let (start, end) = (line("start", given.start)?, line("end", given.end)?);
    if end < start {
        return Err(format!("end must not be before start: {start} to {end}"));
    }
    Ok(Request::Look(Look::Blame { path, start, end }))
}

fn merge_base(given: params::MergeBase) -> Result<Request, String> {
    let base = given.base.ok_or("base is required")?;
    let head = given.head.ok_or("head is required")?;
    Ok(Request::Look(Look::MergeBase { base: words::revision(&base)?, head: words::revision(&head)? }))
}

fn git(given: params::Git) -> Result<Request, String> {
    let args = given.args.filter(|args| !args.is_empty()).ok_or("args is required, such as [\"status\"]")?;
    if args.len() > MOST_WORDS {
        return Err(format!("args must be at most {MOST_WORDS} words"));
    }
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err("args must not hold a zero byte".to_owned());
    }
    if args.first().is_some_and(|first| first == "git") {
        return Err("args must begin after `git`, such as [\"status\"]".to_owned());
    }
    Ok(Request::Git { args })
}

fn stage(given: params::Stage) -> Result<Request, String> {
    match (given.paths, given.all.unwrap_or(false)) {
        (None, true) => Ok(Request::Change(Change::Stage(Selection::All))),
        (given @ Some(_), false) => Ok(Request::Change(Change::Stage(Selection::Paths(paths(given)?)))),
        (Some(paths), true) if paths.is_empty() => Ok(Request::Change(Change::Stage(Selection::All))),
        (Some(_), true) => Err("give either paths or all, not both".to_owned()),
        (None, false) => Err("give paths, or all as true".to_owned()),
    }
}

fn unstage(given: params::Unstage) -> Result<Request, String> {
    Ok(Request::Change(Change::Unstage { paths: paths(given.paths)? }))
}

fn create_branch(given: params::CreateBranch) -> Result<Request, String> {
    let name = words::branch(given.name.as_deref().map(str::trim).ok_or("name is required")?)?;
    Ok(Request::Change(Change::CreateBranch { name, start: revision(given.start_point, "HEAD")? }))
}

fn commit(given: params::Commit) -> Result<Request, String> {
    let message = given.message.map(|message| message.trim().to_owned()).filter(|message| !message.is_empty());
    let message = message.ok_or("message is required")?;
    if message.contains('\0') {
        return Err("message must not hold a zero byte".to_owned());
    }
    Ok(Request::Commit { message })
}

fn commit_apply(given: params::CommitApply) -> Result<Request, String> {
    let message = words::subject(given.message.as_deref().unwrap_or_default())?;
    Ok(Request::Commit { message })
}

fn checkpoint(given: params::Checkpoint) -> Request {
    let message = given.message.map(|message| message.replace('\0', "").trim().to_owned());
    let message = message.filter(|message| !message.is_empty()).unwrap_or_else(|| "checkpoint".to_owned());
    Request::Change(Change::Checkpoint { message })
}

fn rollback(given: params::Rollback) -> Result<Request, String> {
    Ok(Request::Change(Change::Rollback { target: revision(given.target, "HEAD~1")? }))
}

fn revision(given: Option<String>, default: &str) -> Result<String, String> {
    given.filter(|given| !given.trim().is_empty()).map_or(Ok(default.to_owned()), |given| words::revision(&given))
}

fn path(given: Option<String>) -> Result<String, String> {
    // What is judged is what is looked at: nobody trims it later.
    let path = given.map(|path| path.trim().to_owned()).filter(|path| !path.is_empty()).ok_or("path is required")?;
    match path.contains('\0') {
        false => Ok(path),
        true => Err("path must not hold a zero byte".to_owned()),
    }
}

fn paths(given: Option<Vec<String>>) -> Result<Vec<String>, String> {
    let given = given.filter(|paths| !paths.is_empty()).ok_or("paths is required")?;
    given.into_iter().map(|given| path(Some(given))).collect()
}

/// The number of a line, or of how many.
fn line(what: &str, given: Option<f64>) -> Result<u32, String> {
    let number = given.ok_or_else(|| format!("{what} is required"))?;
    let is_whole = number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number);
    match is_whole {
        true => Ok(number as u32),
        false => Err(format!("{what} must be a whole number from 1, not {number}")),
    }
}
