//! `coppice demo`: the whole tour in a throw-away repository, with scripted agents and without an account.
//!
//! It is an ordinary client of a daemon of its own: it uses nothing that another program could not use as well.

mod board;
mod cast;
mod play;
mod stage;

use super::line::{Line, Tone};
use super::{Context, Exit, Failure, ask};
use cast::{ROLES, UNWANTED};
use play::{Permission, Play};
use stage::{BRANCH, Stage};

/// Shows the whole tour: four scripted agents at once, in four worktrees of a throw-away repository.
///
/// One asks a question, one asks for permission, one crashes and is resumed, one works straight on; then their work is
/// reviewed and merged. No account and no network is needed, and nothing outside its own directory is touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice demo
  coppice demo --keep

The scripted agent also works in your own repository: `coppice new --model demo PROMPT`. It does what the lines of the
prompt say that begin with `@`, one after the other; without any it notes the task in a file.
  @say TEXT  @think TEXT  @plan A | B          what it says on the way
  @write FILE TEXT  @append FILE TEXT          files; `<<END` in place of TEXT takes the lines up to `END`
  @delete FILE  @read FILE  @run COMMAND       without being asked about
  @request TITLE  @permission TITLE            asks about the next line first, by its path or command; by its title alone
  @may KIND TARGET  @begin  @end  @then        asks about anything; the block that is skipped when denied; the next turn
  @ask QUESTION | A | B  @answer TEXT          ends the turn with a question, or with an answer
  @summary TURN || SESSION  @usage IN OUT      what the response carries besides
  @call TOOL JSON  @call& TOOL JSON  @tools    tools that Coppice serves, one or several at once; their list
  @wait FIFO  @hang  @fail TEXT  @crash [once] how turns go wrong; also @garbage @raw @invalid @huge @child
  @report COMMAND  @env NAME  @native  @echo-history  @echo-images  @echo-model")]
pub(super) struct Args {
    /// Leave the repository and its sessions for a look around.
    #[arg(long)]
    keep: bool,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let stage = Stage::build()?;
    let played = tokio::select! {
        played = tour(&stage, context) => Some(played),
        () = super::interrupted() => None,
    };
    let ended = stage.end_daemon().await;
    match played {
        Some(Ok(())) => {
            ended?;
            close(&args, stage, context)?;
            Ok(Exit::Done)
        }
        Some(Err(failure)) => {
            let place = Line::new().dim(format!("what is left of the demo is in {}", stage.dir().display()));
            context.output.say(&place)?;
            Err(failure)
        }
        None => {
            ended?;
            stage.remove()?;
            Ok(Exit::Detached)
        }
    }
}

/// The tour itself, up to the proof that everything arrived.
async fn tour(stage: &Stage, context: &mut Context) -> Result<(), Failure> {
    let heading = |text: &str| Line::new().strong(text);
    context.output.say(&heading("Four scripted agents, four worktrees, one repository"))?;
    context.output.say(&Line::new().dim("No model is asked: each agent plays a script. Everything else is real."))?;
    if ask::is_possible() == ask::Possible::Yes {
        context.output.say(&Line::new().dim("Two of them will need you; Enter takes the answer in brackets."))?;
    }
    context.output.say(&Line::new())?;

    let mut play = Play::begin(stage).await?;
    play.until_ready(context).await?;
    let permission = play.check()?;

    context.output.say(&Line::new())?;
    context.output.say(&heading("What they did"))?;
    play.review(context).await?;

    context.output.say(&Line::new())?;
    context.output.say(&heading(&format!("Merged into {BRANCH}")))?;
    play.merge().await?;
    check_files(&stage.files()?, permission)?;
    context.output.text(&stage.log()?)
}

/// Ends the tour; the stage is taken down unless somebody wants to look around.
fn close(args: &Args, stage: Stage, context: &mut Context) -> Result<(), Failure> {
    context.output.say(&Line::new())?;
    context.output.say(&Line::toned(Tone::Good, "Everything is merged, and nothing was lost on the way."))?;
    let command = |text: String| Line::toned(Tone::Accent, format!("  {text}"));
    if args.keep {
        let home = stage.daemon.paths.home.clone().unwrap_or_default();
        context.output.say(&Line::new().plain("Look around:"))?;
        context.output.say(&command(format!("cd {}", stage.repository.display())))?;
        return context.output.say(&command(format!("COPPICE_HOME={} coppice list", home.display())));
    }
    stage.remove()?;
    context.output.say(&Line::new().plain("Try it in a repository of yours:"))?;
    context
        .output
        .say(&command("coppice".to_owned()).dim("                  the interface: all sessions on one screen"))?;
    context.output.say(&command("coppice models".to_owned()).dim("           which agents are installed"))?;
    context
        .output
        .say(&command("coppice new \"fix …\"".to_owned()).dim("      a session that works in the background"))?;
    context.output.say(&command("coppice inbox".to_owned()).dim("            everything that waits for you"))
}

/// What the base branch must hold when all sessions are merged.
fn check_files(files: &[String], permission: Permission) -> Result<(), Failure> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let missing = ROLES.iter().flat_map(|role| role.brings).find(|file| !has(file));
    let draft_is_right = match permission {
        Permission::Given => !has(UNWANTED),
        Permission::Refused => has(UNWANTED),
    };
    match missing {
        Some(file) => Err(Failure::new(Exit::Failed, format!("`{file}` did not arrive on {BRANCH}"))),
        None if draft_is_right => Ok(()),
        None => Err(Failure::new(Exit::Failed, format!("`{UNWANTED}` is not as the decision left it on {BRANCH}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_what_the_branch_holds() {
        let outcome = |files: &[&str], permission| {
            let files: Vec<_> = files.iter().map(|file| file.to_string()).collect();
            match check_files(&files, permission) {
                Ok(()) => "good".to_owned(),
                Err(Failure::Told(report)) => report.message,
                Err(Failure::PipeClosed) => String::new(),
            }
        };
        let all = ["farewell.sh", "MANUAL.md", "CHANGELOG.md", "greet-fr.sh", "greet-de.sh"];
        let with_draft = [all.as_slice(), &[UNWANTED]].concat();
        assert_eq!(outcome(&all, Permission::Given), "good");
        assert_eq!(outcome(&with_draft, Permission::Refused), "good");
        assert_eq!(outcome(&all[1..], Permission::Given), "`farewell.sh` did not arrive on main");
        assert_eq!(outcome(&with_draft, Permission::Given), "`old-draft.txt` is not as the decision left it on main");
        assert_eq!(outcome(&all, Permission::Refused), "`old-draft.txt` is not as the decision left it on main");
    }
}
