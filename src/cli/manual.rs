//! `coppice completions` and `coppice man`: what a package ships beside the program. Made from the same definitions as the help.

use std::path::PathBuf;

use clap::CommandFactory;

use super::output::Output;
use super::{Cli, Exit, Failure};

/// Prints a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice completions bash > ~/.local/share/bash-completion/completions/coppice
  coppice completions zsh > ~/.zfunc/_coppice
  coppice completions fish > ~/.config/fish/completions/coppice.fish")]
pub(super) struct CompletionsArgs {
    shell: clap_complete::Shell,
}

/// Prints the manual page of the program or of one command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice man | man -l -
  coppice man new | man -l -
  coppice man --dir /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// The command to describe; the program itself when absent.
    command: Option<String>,
    /// Write the pages of all commands into this directory.
    #[arg(long, conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "coppice", &mut script);
    output.bytes(&script)?;
    Ok(Exit::Done)
}

pub(super) fn man(args: &ManArgs, output: &mut Output) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    // Gives the subcommands the names and usages that they have inside the program.
    program.build();
    if let Some(dir) = &args.dir {
        clap_mangen::generate_to(program, dir)
            .map_err(|error| Failure::because(format!("failed to write the pages into `{}`", dir.display()), &error))?;
        return Ok(Exit::Done);
    }
    let command = match &args.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command `{name}`")).hint("`coppice --help` lists the commands")
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    output.bytes(&page)?;
    Ok(Exit::Done)
}
