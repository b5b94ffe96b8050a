//! Calls of the tools for files, as requests, or what is wrong with them.

use serde_json::Value;

use super::{Case, Grep, Lines, Request, Syntax, Which, params, patch};
use crate::permission::Kept;
use crate::tools::parse::read;

/// How many lines a file shows unless more are asked for.
pub(super) const LINES: usize = 2000;

/// Files of one call.
const FILES: usize = 20;

/// Bytes of each file, and of all files of one call.
pub(super) const BYTES: usize = 512 * 1024;

const MATCHES: usize = 50;

/// Reads a call; `None` when the tool is of another family.
pub(in crate::tools) fn parse(name: &str, arguments: &Value) -> Option<Result<Request, String>> {
    let request = match name {
        "read_file" => read(name, arguments).and_then(read_file),
        "read_many_files" => read(name, arguments).and_then(read_many_files),
        "write_file" => read(name, arguments).and_then(write_file),
        "edit_file" => read(name, arguments).and_then(edit_file),
        "apply_diff" => read(name, arguments).and_then(apply_diff),
        "mkdir" => read(name, arguments).and_then(|given| one_path(name, given).map(|path| Request::Mkdir { path })),
        "copy_file" => read(name, arguments)
            .and_then(|given| two_paths(name, given).map(|(from, to)| Request::CopyFile { from, to })),
        "move_file" => read(name, arguments)
            .and_then(|given| two_paths(name, given).map(|(from, to)| Request::MoveFile { from, to })),
        "delete_file" => {
            read(name, arguments).and_then(|given| one_path(name, given).map(|path| Request::DeleteFile { path }))
        }
        "list_dir" => read(name, arguments).map(list_dir),
        "glob" => read(name, arguments).and_then(glob),
        "grep" => read(name, arguments).and_then(grep),
        _ => return None,
    };
    Some(request)
}

fn read_file(given: params::ReadFile) -> Result<Request, String> {
    let path = path("read_file", "path", given.path)?;
    let offset = at_least(1, "read_file", "offset", given.offset)?.unwrap_or(1);
    let limit = at_least(1, "read_file", "limit", given.limit)?.unwrap_or(LINES);
    Ok(Request::ReadFile { path, lines: Lines { offset, limit } })
}

fn read_many_files(given: params::ReadManyFiles) -> Result<Request, String> {
    let tool = "read_many_files";
    let mut paths = given.paths.filter(|paths| !paths.is_empty()).ok_or("read_many_files: paths is required")?;
    if paths.iter().any(|path| path.is_empty()) {
        return Err("read_many_files: a path must not be empty".to_owned());
    }
    if paths.len() > FILES {
        return Err(format!("read_many_files: {} paths are too many: {FILES} at most", paths.len()));
    }
    paths.sort();
    paths.dedup();
    // Nothing is before the first byte.
    let offset = given.offset.unwrap_or(0).max(0);
    let limit = at_least(1, tool, "limit", given.limit)?.unwrap_or(BYTES).min(BYTES);
    Ok(Request::ReadManyFiles { paths, offset: offset.unsigned_abs(), limit })
}

fn write_file(given: params::WriteFile) -> Result<Request, String> {
    let path = path("write_file", "path", given.path)?;
    let content = given.content.ok_or("write_file: content is required; an empty one empties the file")?;
    Ok(Request::WriteFile { path, content })
}

fn edit_file(given: params::EditFile) -> Result<Request, String> {
    let path = path("edit_file", "path", given.path)?;
    let old = given.old_string.ok_or("edit_file: old_string is required")?;
    let new = given.new_string.ok_or("edit_file: new_string is required; an empty one removes the old text")?;
    if old.is_empty() {
        return Err("edit_file: old_string must not be empty; write_file makes a file".to_owned());
    }
    if old == new {
        return Err("edit_file: old_string and new_string are the same: nothing would change".to_owned());
    }
    let which = if given.replace_all.unwrap_or(false) { Which::All } else { Which::Single };
    Ok(Request::EditFile { path, old, new, which })
}

fn apply_diff(given: params::ApplyDiff) -> Result<Request, String> {
    let diff = given.diff.ok_or("apply_diff: diff is required")?;
    patch::parse(&diff).map_err(|text| format!("apply_diff: {text}"))?;
    Ok(Request::ApplyDiff { diff })
}

fn one_path(tool: &str, given: params::OnePath) -> Result<String, String> {
    path(tool, "path", given.path)
}

fn two_paths(tool: &str, given: params::TwoPaths) -> Result<(String, String), String> {
    let (from, to) = (path(tool, "src", given.src)?, path(tool, "dst", given.dst)?);
    match from == to {
        true => Err(format!("{tool}: src and dst are the same")),
        false => Ok((from, to)),
    }
}

fn list_dir(given: params::ListDir) -> Request {
    Request::ListDir { path: or_tree(given.path) }
}

fn glob(given: params::Glob) -> Result<Request, String> {
    let pattern = given.pattern.filter(|pattern| !pattern.is_empty()).ok_or("glob: pattern is required")?;
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Err(format!("glob: `{pattern}` must be relative and without `..`; name the directory by cwd"));
    }
    Ok(Request::Glob { pattern, cwd: or_tree(given.cwd) })
}

fn grep(given: params::Grep) -> Result<Request, String> {
    let pattern = given.pattern.filter(|pattern| !pattern.is_empty()).ok_or("grep: pattern is required")?;
    let max_results = at_least(1, "grep", "max_results", given.max_results)?.unwrap_or(MATCHES);
    let syntax = if given.regex.unwrap_or(false) { Syntax::Regex } else { Syntax::Literal };
    let case = if given.ignore_case.unwrap_or(false) { Case::Ignored } else { Case::Sensitive };
    Ok(Request::Grep(Grep { pattern, path: or_tree(given.path), syntax, case, max_results, kept: Kept::default() }))
}

fn path(tool: &str, parameter: &str, given: Option<String>) -> Result<String, String> {
    given.filter(|path| !path.is_empty()).ok_or_else(|| format!("{tool}: {parameter} is required"))
}

/// A directory that may be left out.
fn or_tree(given: Option<String>) -> String {
    given.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned())
}

fn at_least(least: usize, tool: &str, parameter: &str, given: Option<i64>) -> Result<Option<usize>, String> {
    let number = |value: i64| match usize::try_from(value) {
        Ok(value) if value >= least => Ok(value),
        Ok(_) | Err(_) => Err(format!("{tool}: {parameter} must be at least {least}, not {value}")),
    };
    given.map(number).transpose()
}
