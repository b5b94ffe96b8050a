//! `coppice merge --fix-hooks` after a hook has stopped the merge: what the agent does about it, until it is merged or not.

use crate::api::error::{Error, ErrorKind};
use crate::api::event::Payload;
use crate::api::request::EventQuery;
use crate::cli::follow::{self, Follower, Piece};
use crate::cli::line::{Line, Tone, one_line};
use crate::cli::{Context, Exit, Failure, Format, FormatArg, detach, interrupted};
use crate::client::ClientError;
use crate::client::events::{Events, Item};

/// The events of a session from here on.
pub(super) async fn watch(id: &str, context: &mut Context) -> Result<Events, Failure> {
    let session = context.client().await?.session(id).await?;
    context.stream(EventQuery { session: Some(session.id), ..EventQuery::default() }).await
}

/// Shows what happens until the merge has an end, or the agent waits for a person.
pub(super) async fn follow(
    stream: Events,
    id: &str,
    format: FormatArg,
    context: &mut Context,
) -> Result<Exit, Failure> {
    let ended = tokio::select! {
        ended = until_ended(stream, id, format, context) => Some(ended?),
        () = interrupted() => None,
    };
    match ended {
        Some(exit) => Ok(exit),
        None => detach(id, context),
    }
}

async fn until_ended(mut stream: Events, id: &str, format: FormatArg, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let (mut follower, mut warnings) = (Follower::default(), Vec::new());
    loop {
        let item = stream.next().await?;
        let payload = item.fact().map(|event| event.payload);
        // The end is told below.
        let is_end = matches!(payload, Some(Payload::Merged { .. } | Payload::HookFixStopped { .. }));
        match format.choice() {
            Format::Human if !is_end => show(&mut follower, &item, context)?,
            Format::Json | Format::Human => {}
        }
        match payload {
            Some(Payload::HookFixStarted { output, .. }) => {
                warnings.clear();
                if let Format::Human = format.choice() {
                    let lines = output.lines().map(|line| Line::new().dim(format!("    {}", one_line(line))));
                    context.output.say_all(&lines.collect::<Vec<_>>())?;
                }
            }
            Some(Payload::Warning { message }) => warnings.push(message),
            Some(Payload::Merged { target, .. }) => {
                let mut session = client.session(id).await?;
                if let Format::Json = format.choice() {
                    session.warnings = warnings;
                }
                let target = target.trim_start_matches("refs/heads/");
                return super::tell(format, context, &session, &format!("merged into {target}"));
            }
            Some(Payload::HookFixStopped { reason, causes, hint }) => {
                let session = client.session(id).await?;
                if let Some(exit @ Exit::WaitsForAnswer) = Exit::of_session(&session) {
                    match format.choice() {
                        Format::Json => context.output.json(&session)?,
                        Format::Human => {
                            context.output.say(&Line::toned(Tone::Bad, one_line(&reason)))?;
                            context.output.say_all(&follow::closing(&session, context.now()))?;
                            context.output.say(&Line::toned(Tone::Accent, "hint: ").plain(one_line(&hint)))?;
                        }
                    }
                    return Ok(exit);
                }
                let error = Error { causes, ..Error::new(ErrorKind::Failed, reason).with_hint(hint) };
                return Err(ClientError::Refused(error).into());
            }
            Some(_) | None => {}
        }
        if follow::session_that_may_rest(&item).is_some() {
            let session = client.session(id).await?;
            if let (Some(exit @ (Exit::WaitsForAnswer | Exit::WaitsForApproval)), Some(_)) =
                (Exit::of_session(&session), &session.hook_fix)
            {
                match format.choice() {
                    Format::Json => context.output.json(&session)?,
                    Format::Human => {
                        context.output.say_all(&follow::closing(&session, context.now()))?;
                        let goes_on = "the merge goes on by itself once this is decided and the turn is done";
                        context.output.say(&Line::toned(Tone::Accent, goes_on))?;
                    }
                }
                return Ok(exit);
            }
        }
    }
}

/// What is not the agent's answer: that is not what the command was asked for.
fn show(follower: &mut Follower, item: &Item, context: &mut Context) -> Result<(), Failure> {
    for piece in follower.item(item) {
        match piece {
            Piece::Answer(_) => {}
            Piece::Talk(line) => context.output.say(&line)?,
            Piece::Progress(line) => context.output.passing(&[line])?,
        }
    }
    Ok(())
}
