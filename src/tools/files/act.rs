//! Performs what a call asks for, in a work tree that is held open. Both outcomes are texts for the model.

mod image;
mod listing;
mod many;
mod patched;
mod reading;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod walk;
mod writing;

use super::Request;
use crate::tools::Answer;
use crate::tools::inside::root::Root;

/// Performs a call; waits for the disk.
pub fn perform(root: &Root, request: &Request) -> Result<Answer, String> {
    match request {
        Request::ReadFile { path, lines } => reading::read(root, path, *lines),
        Request::ReadManyFiles { paths, offset, limit } => Ok(many::read(root, paths, *offset, *limit).into()),
        Request::WriteFile { path, content } => writing::write(root, path, content).map(Answer::from),
        Request::EditFile { path, old, new, which } => writing::edit(root, path, old, new, *which).map(Answer::from),
        Request::ApplyDiff { diff } => patched::apply(root, diff).map(Answer::from),
        Request::Mkdir { path } => writing::make_directory(root, path).map(Answer::from),
        Request::CopyFile { from, to } => writing::copy(root, from, to).map(Answer::from),
        Request::MoveFile { from, to } => writing::rename(root, from, to).map(Answer::from),
        Request::DeleteFile { path } => writing::delete(root, path).map(Answer::from),
        Request::ListDir { path } => listing::list(root, path).map(Answer::from),
        Request::Glob { pattern, cwd } => listing::glob(root, pattern, cwd).map(Answer::from),
        Request::Grep(grep) => search::grep(root, grep).map(Answer::from),
    }
}
