//! Bare `coppice`: the terminal interface, or an overview where there is no terminal.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use clap::CommandFactory;

use super::{Cli, Context, Exit, Failure, overview};
use crate::client::start::Daemon;
use crate::tui::{self, TuiError};

pub(super) async fn run(context: &mut Context) -> Result<Exit, Failure> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return overview::run(context).await;
    }
    match tui::run(Daemon::of_this_process()?, context.cwd()?).await {
        Ok(()) => Ok(Exit::Done),
        Err(TuiError::Daemon(error)) => Err(error.into()),
        Err(error @ TuiError::Terminal(_)) => Err(Failure::because("the terminal interface ended", &error)),
    }
}

/// Stands where the person points at; a word that is no directory is most likely a misspelt command.
pub(super) fn enter(path: &Path) -> Result<(), Failure> {
    env::set_current_dir(path).map_err(|error| {
        let word = path.to_string_lossy();
        Failure::usage(format!("`{word}` is neither a command nor a directory ({error})")).hint(find_way_out(&word))
    })
}

/// Why a first word with others behind it does not parse, where it is neither a command nor a directory.
pub(super) fn explain_unknown_command(arguments: &[OsString]) -> Option<Failure> {
    let word = arguments.get(1)?.to_str()?;
    if word.starts_with('-') || Path::new(word).exists() || Cli::command().find_subcommand(word).is_some() {
        return None;
    }
    Some(Failure::usage(format!("`{word}` is not a command")).hint(find_way_out(word)))
}

fn find_way_out(word: &str) -> String {
    match nearest(word) {
        Some(command) => format!("did you mean `coppice {command}`?"),
        None => "`coppice --help` lists the commands".to_owned(),
    }
}

fn nearest(word: &str) -> Option<String> {
    // Two letters in the wrong order are one mistake.
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(name, word);
    let root = Cli::command();
    let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
    let names = shown.flat_map(clap::Command::get_name_and_visible_aliases);
    let best = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) > 0.6).then(|| best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_command_is_recognised() {
        assert_eq!(nearest("lst").as_deref(), Some("list"));
        assert_eq!(nearest("aprove").as_deref(), Some("approve"));
        assert_eq!(nearest("nwe").as_deref(), Some("new"));
        assert_eq!(nearest("archvie").as_deref(), Some("archive"));
        assert_eq!(nearest("frobnicate"), None);
    }
}
