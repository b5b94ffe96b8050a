//! `coppice approve` and `coppice deny`: one decision about one call of an agent.

use super::line::{Line, Tone, one_line};
use super::{Context, Exit, Failure, Format};
use crate::api::error::ErrorKind;
use crate::api::request::{AllowScope, Decide, DenyScope};
use crate::api::session::{Approval, Session};

/// Allows the call that a session waits with, once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice approve k3f
  coppice approve k3f 2
  coppice approve k3f q7x/2")]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    target: Target,
}

/// Denies the call that a session waits with; the agent is told and goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice deny k3f
  coppice deny k3f --message \"use the test database instead\"")]
pub(super) struct DenyArgs {
    #[command(flatten)]
    target: Target,
    /// What the agent is told.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Target {
    #[command(flatten)]
    id: super::IdArg,
    /// Which request, as `coppice show` names it; the oldest when absent, a child's if there is no other.
    #[arg(value_name = "REQ")]
    request: Option<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn approve(args: ApproveArgs, context: &mut Context) -> Result<Exit, Failure> {
    decide(args.target, &Decide::Allow { scope: AllowScope::Once }, context).await
}

pub(super) async fn deny(args: DenyArgs, context: &mut Context) -> Result<Exit, Failure> {
    decide(args.target, &Decide::Deny { message: args.message, scope: DenyScope::Once }, context).await
}

async fn decide(target: Target, decision: &Decide, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    // The request is named by its own id even when the person means the oldest: what is decided is what was looked at.
    let session = client.session(&target.id.id).await?;
    let approval = wanted(&session, target.request.as_deref())?;
    let after = client.decide(&session.id, &approval.id, decision).await?;
    match target.format.choice() {
        Format::Json => context.output.json(&after)?,
        Format::Human => {
            let (tone, word) = match decision {
                Decide::Allow { .. } => (Tone::Good, "allowed"),
                Decide::Deny { .. } => (Tone::Bad, "denied"),
            };
            context.output.say(&Line::toned(tone, word).plain(format!(" {}", one_line(&approval.title))))?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn wanted<'a>(session: &'a Session, request: Option<&str>) -> Result<&'a Approval, Failure> {
    let known = || session.approvals.iter().map(|approval| format!("`{}`", approval.id)).collect::<Vec<_>>().join(", ");
    match request {
        _ if session.approvals.is_empty() => {
            let message = format!("session `{}` waits for no approval: it is {}", session.id, session.status.as_str());
            Err(Failure::new(ErrorKind::Conflict.into(), message).hint("`coppice inbox` shows what waits for you"))
        }
        None => session
            .approvals
            .iter()
            .min_by_key(|approval| (approval.session.is_some(), approval.requested_at))
            .ok_or_else(|| Failure::usage("no approval")),
        Some(request) => session.approvals.iter().find(|approval| is_named(approval, request)).ok_or_else(|| {
            Failure::new(
                Exit::NotFound,
                format!("session `{}` has no open request `{request}`: open are {}", session.id, known()),
            )
        }),
    }
}

/// Whether a person means this approval; a child may be named by the beginning of its id.
fn is_named(approval: &Approval, request: &str) -> bool {
    match (approval.id.split_once('/'), request.split_once('/')) {
        (Some((child, number)), Some((prefix, wanted))) => number == wanted && child.starts_with(prefix),
        (_, _) => approval.id == request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    #[test]
    fn r49_a_childs_request_is_named_by_the_child() {
        let mut session = sample::approval();
        session.approvals[0].id = "1".into();
        let of = |child: &str, requested_at| Approval {
            id: format!("{child}/1"),
            session: Some(child.into()),
            requested_at,
            ..session.approvals[0].clone()
        };
        let (younger, older) = (of("efgh3456", 2), of("ijkl4567", 1));
        let both = Session { approvals: vec![younger.clone(), older.clone()], ..session.clone() };
        session.approvals.extend([younger, older]);
        let name = |session: &Session, request| match wanted(session, request) {
            Ok(approval) => approval.id.clone(),
            Err(Failure::Told(report)) => report.message,
            Err(Failure::PipeClosed) => String::new(),
        };
        for (session, request, expected) in [
            (&session, None, "1"),
            (&session, Some("1"), "1"),
            (&session, Some("efgh3456/1"), "efgh3456/1"),
            (&session, Some("ij/1"), "ijkl4567/1"),
            (&both, None, "ijkl4567/1"),
            (&both, Some("ij/2"), "session `abcd2345` has no open request `ij/2`: open are `efgh3456/1`, `ijkl4567/1`"),
        ] {
            assert_eq!(name(session, request), expected);
        }
    }
}
