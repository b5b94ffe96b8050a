//! Performs a call inside the cage. Everything here blocks: it runs on a thread of its own.

use std::path::{Path, PathBuf};

use super::Request;
use super::address;
use super::page::{self, Page};
use super::shell::{self, Keep, Ran};
use crate::tools::Answer;
use crate::tools::inside::Halt;

/// How much of each stream of a command is kept.
const STREAM: usize = 1 << 20;

/// How much of each stream of failed tests is kept: the end says what failed.
const TAIL: usize = 32 << 10;

/// Performs a call in the work tree `tree`; both outcomes are texts for the model.
pub(crate) fn perform(tree: &Path, halt: &Halt, request: &Request) -> Result<Answer, String> {
    match request {
        Request::Bash { command } => {
            let ran =
                shell::run(command, tree, halt, Keep::Head(STREAM)).map_err(|error| format!("run_bash: {error}"))?;
            Ok(streams(&ran).into())
        }
        Request::Tests { command: None, .. } => Err("run_tests: command is required".to_owned()),
        Request::Tests { command: Some(command), path } => {
            let directory = below(tree, path).map_err(|error| format!("run_tests: {error}"))?;
            let ran = shell::run(command, &directory, halt, Keep::Tail(TAIL))
                .map_err(|error| format!("run_tests: {error}"))?;
            Ok(if ran.exit == 0 { "exit=0".to_owned() } else { streams(&ran) }.into())
        }
        Request::Fetch { url, max_bytes } => {
            let fetched =
                page::fetch(url, *max_bytes, address::is_public).map_err(|error| format!("fetch_url: {error}"))?;
            Ok(told(&fetched, url).into())
        }
    }
}

/// A directory of the work tree. The command may go wherever its cage lets it; it begins where the rules were asked about.
fn below(tree: &Path, path: &Path) -> Result<PathBuf, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("`{}`: {error}", path.display()));
    let directory = real(&tree.join(path))?;
    match directory.starts_with(real(tree)?) && directory.is_dir() {
        true => Ok(directory),
        false => Err(format!("`{}` is no directory of the work tree", path.display())),
    }
}

fn streams(ran: &Ran) -> String {
    let Ran { exit, stdout, stderr } = ran;
    let end = if stdout.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
    format!("exit={exit}\n--- stdout ---\n{stdout}{end}--- stderr ---\n{stderr}")
}

fn told(page: &Page, asked: &str) -> String {
    let Page { status, content_type, url, redirect, text, is_cut } = page;
    // Whoever was sent on should know where to.
    let url = if url == asked { String::new() } else { format!("url={url}\n") };
    let redirect = redirect.as_ref().map(|to| format!("redirect={to}\n")).unwrap_or_default();
    format!("status={status}\ncontent_type={content_type}\ntruncated={is_cut}\n{url}{redirect}## content\n{text}")
}
