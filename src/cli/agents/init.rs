//! `coppice agents init`: files to begin with. Nothing that exists is ever changed.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::super::line::{Line, Tone};
use super::super::{Context, Exit, Failure, Format, FormatArg};
use crate::api::agent::SeededAgents;

/// An agent with every setting explained.
const STARTER: &str = include_str!("../../../templates/starter/agent.md");

/// Copies the built-in agents into your own directory, to change them there; or begins an agent of this repository.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  coppice agents init\n  coppice agents init --project release-notes")]
pub(super) struct Args {
    /// Write `.coppice/agents/NAME.md` in the root of this repository instead.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let (seeded, said) = match args.project {
        Some(name) => begin(&name, context)?,
        None => copy(context).await?,
    };
    match args.format.choice() {
        Format::Json => context.output.json(&seeded)?,
        Format::Human => {
            let path = |name: &String| Path::new(&seeded.directory).join(name).display().to_string();
            let paths: Vec<_> = seeded.written.iter().map(|name| Line::new().plain(path(name))).collect();
            context.output.lines(&paths)?;
            context.output.say(&said)?;
        }
    }
    Ok(Exit::Done)
}

/// What was written, and what a person should know about it.
type Written = (SeededAgents, Line);

async fn copy(context: &Context) -> Result<Written, Failure> {
    let seeded = context.client().await?.seed_agents().await?;
    if seeded.written.is_empty() {
        let message = format!("nothing was written: `{}` has {}", seeded.directory, seeded.existing.join(", "));
        return Err(Failure::new(Exit::Failed, message).hint("remove or rename what is there, then try again"));
    }
    let warning = " these copies are used instead of the built-in agents, also when a later version improves those";
    Ok((seeded, Line::toned(Tone::Warn, "warning:").plain(warning)))
}

fn begin(name: &str, context: &Context) -> Result<Written, Failure> {
    if !is_name(name) {
        return Err(Failure::usage(format!("`{name}` cannot be the name of an agent"))
            .hint("use lower-case letters, digits, `-` and `_`, at most 64 of them"));
    }
    let cwd = PathBuf::from(context.cwd()?);
    let Some(root) = cwd.ancestors().find(|directory| directory.join(".git").symlink_metadata().is_ok()) else {
        return Err(Failure::usage(format!("`{}` is not in a git repository", cwd.display()))
            .hint("run it in the repository that the agent is for"));
    };
    let (directory, file) = (root.join(".coppice/agents"), format!("{name}.md"));
    write(&directory.join(&file))?;
    let directory = directory.display().to_string();
    let written = SeededAgents { directory, written: vec![file], existing: Vec::new() };
    Ok((written, Line::new().dim(format!("it counts at once: coppice new --agent {name} …"))))
}

fn write(path: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::because(format!("failed to write `{}`", path.display()), &error);
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    match fs::File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(STARTER.as_bytes()).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Failure::new(Exit::Failed, format!("`{}` exists already", path.display()))
                .hint("choose another name, or edit it"))
        }
        Err(error) => Err(failed(error)),
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}
