//! `coppice approve` and `coppice deny`: one decision about one call of an agent.

use super::line::{Line, Tone, one_line};
use super::{Context, Exit, Failure, Format, permissions};
use crate::api::error::ErrorKind;
use crate::api::request::{AllowScope, Decide, DenyScope};
use crate::api::session::{Approval, Session};
use crate::look::verdict;

/// Allows the call that a session waits with: once, for the session, or always.
///
/// What `--session` and `--always` save is in the card of the request, and said again when it is saved. Requests that wait
/// and that the saved rules cover are decided too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice approve k3f
  coppice approve k3f 2 --session
  coppice approve k3f --always
  coppice approve k3f q7x/2")]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    target: Target,
    /// Allow calls like this one until the session ends.
    #[arg(long, conflicts_with = "always")]
    session: bool,
    /// Allow calls like this one in this repository, for you; the rules go to `.coppice/permissions.local.json`.
    #[arg(long)]
    always: bool,
}

/// Denies the call that a session waits with; the agent is told and goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice deny k3f
  coppice deny k3f --message \"use the test database instead\"
  coppice deny k3f 2 --never")]
pub(super) struct DenyArgs {
    #[command(flatten)]
    target: Target,
    /// What the agent is told.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Deny calls like this one in this repository from here on; the rules go to `.coppice/permissions.local.json`.
    #[arg(long)]
    never: bool,
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
    let scope = match (args.session, args.always) {
        (true, _) => AllowScope::Session,
        (false, true) => AllowScope::Always,
        (false, false) => AllowScope::Once,
    };
    decide(args.target, Decide::Allow { scope }, context).await
}

pub(super) async fn deny(args: DenyArgs, context: &mut Context) -> Result<Exit, Failure> {
    let scope = if args.never { DenyScope::Never } else { DenyScope::Once };
    decide(args.target, Decide::Deny { message: args.message, scope }, context).await
}

async fn decide(target: Target, decision: Decide, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    // The request is named by its own id even when the person means the oldest: what is decided is what was looked at.
    let session = client.session(&target.id.id).await?;
    let approval = wanted(&session, target.request.as_deref())?;
    savable(approval, &decision)?;
    let after = client.decide(&session.id, &approval.id, &decision).await?;
    match target.format.choice() {
        Format::Json => context.output.json(&after)?,
        Format::Human => {
            let file = match Saved::by(&decision) {
                Saved::Nothing | Saved::ForSession => None,
                Saved::ForGood => permissions::own_file(&client, &session).await?,
            };
            context.output.say_all(&told(
                &decision,
                approval,
                file.as_deref(),
                &covered(&session, approval, &after),
            ))?;
        }
    }
    Ok(Exit::Done)
}

/// What a decision leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saved {
    Nothing,
    ForSession,
    ForGood,
}

impl Saved {
    fn by(decision: &Decide) -> Saved {
        match decision {
            Decide::Allow { scope: AllowScope::Once } | Decide::Deny { scope: DenyScope::Once, .. } => Saved::Nothing,
            Decide::Allow { scope: AllowScope::Session } => Saved::ForSession,
            Decide::Allow { scope: AllowScope::Always } | Decide::Deny { scope: DenyScope::Never, .. } => {
                Saved::ForGood
            }
        }
    }
}

/// Refuses to save what has no rule: the person would believe that something was settled.
pub(super) fn savable(approval: &Approval, decision: &Decide) -> Result<(), Failure> {
    match (Saved::by(decision), approval.saves.as_slice(), decision) {
        (Saved::Nothing, _, _) | (Saved::ForSession | Saved::ForGood, [_, ..], _) => Ok(()),
        (Saved::ForSession | Saved::ForGood, [], Decide::Allow { .. }) => {
            Err(Failure::new(ErrorKind::Invalid.into(), "this call can only be allowed once")
                .hint("leave `--session` and `--always` out"))
        }
        (Saved::ForSession | Saved::ForGood, [], Decide::Deny { .. }) => Err(Failure::new(
            ErrorKind::Invalid.into(),
            "this call can only be denied once: no rule can be made from it",
        )
        .hint(
            "leave `--never` out; to deny such calls for good, write a rule into `.coppice/permissions.local.json`: \
                     `{\"permissions\": {\"deny\": [\"Bash(rm *)\"]}}`",
        )),
    }
}

/// The other requests that waited and that the decision settled too.
fn covered<'a>(before: &'a Session, decided: &Approval, after: &Session) -> Vec<&'a Approval> {
    let waits = |approval: &Approval| after.approvals.iter().any(|open| open.id == approval.id);
    before.approvals.iter().filter(|approval| approval.id != decided.id && !waits(approval)).collect()
}

/// What was decided, what was saved by it and where.
fn told(decision: &Decide, approval: &Approval, file: Option<&str>, covered: &[&Approval]) -> Vec<Line> {
    let (tone, word) = match decision {
        Decide::Allow { .. } => (Tone::Good, "allowed"),
        Decide::Deny { .. } => (Tone::Bad, "denied"),
    };
    let mut lines = vec![Line::toned(tone, word).plain(format!(" {}", one_line(&approval.title)))];
    let place = match Saved::by(decision) {
        Saved::Nothing => None,
        Saved::ForSession => Some("for this session".to_owned()),
        Saved::ForGood => Some(file.map_or_else(|| "for this repository".to_owned(), |file| format!("in {file}"))),
    };
    lines.extend(place.map(|place| {
        let rules = verdict::rules(&approval.saves);
        Line::new().dim(format!("{word} {place}: ")).plain(rules)
    }));
    lines.extend(covered.iter().map(|approval| {
        Line::new().dim("settled by it: ").strong(&approval.id).plain(format!("  {}", one_line(&approval.title)))
    }));
    lines
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
    use crate::look::sample;

    const FILE: Option<&str> = Some("/src/app/.coppice/permissions.local.json");

    #[test]
    fn what_was_saved_is_said_with_its_place() {
        let mut before = sample::approval();
        before.approvals[0].saves = vec!["Bash(cargo test *)".into()];
        before.approvals.push(Approval { id: "r2".into(), title: "run `cargo test -q`".into(), ..sample::push() });
        let after = Session { approvals: vec![], ..before.clone() };
        let asked = &before.approvals[0];
        let text = |decision: &Decide, after: &Session| {
            let lines = told(decision, asked, FILE, &covered(&before, asked, after));
            lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(text(&Decide::Allow { scope: AllowScope::Always }, &after), @r"
        allowed run `cargo test`
        allowed in /src/app/.coppice/permissions.local.json: Bash(cargo test *)
        settled by it: r2  run `cargo test -q`
        ");
        let still = Session { approvals: before.approvals[1..].to_vec(), ..before.clone() };
        insta::assert_snapshot!(text(&Decide::Allow { scope: AllowScope::Session }, &still), @r"
        allowed run `cargo test`
        allowed for this session: Bash(cargo test *)
        ");
        assert_eq!(text(&Decide::Allow { scope: AllowScope::Once }, &still), "allowed run `cargo test`");
        insta::assert_snapshot!(text(&Decide::Deny { message: None, scope: DenyScope::Never }, &still), @r"
        denied run `cargo test`
        denied in /src/app/.coppice/permissions.local.json: Bash(cargo test *)
        ");
    }

    #[test]
    fn what_has_no_rule_is_decided_once() {
        let message = |decision: &Decide| match savable(&sample::push(), decision) {
            Ok(()) => String::new(),
            Err(Failure::Told(report)) => report.message,
            Err(Failure::PipeClosed) => "(quiet)".into(),
        };
        for (decision, expected) in [
            (Decide::Allow { scope: AllowScope::Once }, ""),
            (Decide::Allow { scope: AllowScope::Session }, "this call can only be allowed once"),
            (Decide::Allow { scope: AllowScope::Always }, "this call can only be allowed once"),
            (Decide::Deny { message: None, scope: DenyScope::Once }, ""),
            (
                Decide::Deny { message: None, scope: DenyScope::Never },
                "this call can only be denied once: no rule can be made from it",
            ),
        ] {
            assert_eq!(message(&decision), expected, "{decision:?}");
        }
    }

    #[test]
    fn a_childs_request_is_named_by_the_child() {
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
