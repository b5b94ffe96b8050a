//! A call of one of the tools: a request to the daemon, and its reply as text and as the object of the interface.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::tool::{self, Decisions};
use crate::api::request::{
    AllowScope, Answer, CreateSession, Decide, DenyScope, DiffQuery, ListSessions, ListTurns, SendPrompt, Start, When,
};
use crate::api::session::Session;
use crate::cli::age::parse_duration;
use crate::cli::decide::{savable, wanted};
use crate::cli::line::{Line, table};
use crate::cli::wait::Until;
use crate::cli::{Context, Exit, Failure, answer, list, permissions, posture, show, status, wait};
use crate::mcp::Output;

/// The key that lets other programs decide.
const APPROVE: &str = "mcp.approve";

/// The purpose of a question whose answer lets an agent act, or not.
const PLAN_DECISION: &str = "planner_plan_decision";

/// Performs a call. The context is the call's own, and nothing is written to its output.
pub(super) async fn perform(tool: &str, arguments: Value, context: &Context) -> Result<Output, Failure> {
    match tool {
        "new" => new(read(tool, arguments)?, context).await,
        "list" => list_sessions(read(tool, arguments)?, context).await,
        "show" => show_session(read(tool, arguments)?, context).await,
        "wait" => wait_for(read(tool, arguments)?, context).await,
        "send" => send(read(tool, arguments)?, context).await,
        "answer" => answer_questions(read(tool, arguments)?, context).await,
        "diff" => diff(read(tool, arguments)?, context).await,
        "approve" => {
            let tool::Approve { id, request, scope } = read(tool, arguments)?;
            let scope = match scope {
                tool::AllowScope::Once => AllowScope::Once,
                tool::AllowScope::Session => AllowScope::Session,
                tool::AllowScope::Always => AllowScope::Always,
            };
            decide(&id, request.as_deref(), &Decide::Allow { scope }, context).await
        }
        "deny" => {
            let tool::Deny { id, request, message, scope } = read(tool, arguments)?;
            let scope = match scope {
                tool::DenyScope::Once => DenyScope::Once,
                tool::DenyScope::Never => DenyScope::Never,
            };
            decide(&id, request.as_deref(), &Decide::Deny { message, scope }, context).await
        }
        _ => Err(Failure::new(Exit::NotFound, format!("there is no tool `{tool}`"))),
    }
}

/// What the configuration says about decisions; a daemon that does not know the key keeps them.
pub(super) async fn decisions(context: &Context) -> Result<Decisions, Failure> {
    let values = context.client().await?.config(&context.place()?).await?.items;
    let is_allowed = values.iter().any(|value| value.key == APPROVE && value.value == true);
    Ok(if is_allowed { Decisions::Allowed } else { Decisions::Kept })
}

fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Failure> {
    serde_json::from_value(arguments)
        .map_err(|error| Failure::because(format!("the arguments of `{tool}` make no sense"), &error))
}

async fn new(args: tool::New, context: &Context) -> Result<Output, Failure> {
    let tool::New { prompt, model, reasoning, agent, posture, base, title, draft, cwd } = args;
    let cwd = cwd.map_or_else(|| context.cwd(), Ok)?;
    let client = context.client().await?;
    if let Some(wanted) = &posture {
        refuse_wider(wanted, &permissions::usual_posture(&client, cwd.clone()).await?)?;
    }
    let request = CreateSession {
        cwd,
        prompt,
        start: if draft { Start::AsDraft } else { Start::AtOnce },
        model,
        reasoning,
        agent,
        posture,
        base,
        title,
        env: context.environment().await?,
        ..CreateSession::default()
    };
    standing(&client.create(&request).await?)
}

/// Programs may be more careful than the person who configured this, never less.
fn refuse_wider(wanted: &str, usual: &str) -> Result<(), Failure> {
    let width = |word: &str| posture::WORDS.iter().position(|known| *known == word);
    match (width(wanted), width(usual)) {
        (None, _) => {
            let known = posture::WORDS.map(|word| format!("`{word}`")).join(", ");
            Err(Failure::usage(format!("posture `{wanted}` is none of {known}")))
        }
        (Some(wide), Some(limit)) if wide <= limit => Ok(()),
        (Some(_), _) => Err(Failure::new(Exit::Failed, format!("posture `{wanted}` is wider than `{usual}`"))
            .hint("leave it out; a person can change it with `coppice posture`")),
    }
}

async fn list_sessions(args: tool::List, context: &Context) -> Result<Output, Failure> {
    let tool::List { all, removed, limit, cwd } = args;
    let client = context.client().await?;
    let wanted = ListSessions { removed, ..ListSessions::default() };
    let (mut sessions, scope) = match (all, cwd) {
        (true, _) => (list::fetch(&client, wanted).await?, list::Scope::EveryRepository),
        (false, Some(cwd)) => {
            let wanted = ListSessions { cwd: Some(cwd), ..wanted };
            (list::fetch(&client, wanted).await?, list::Scope::OneRepository)
        }
        (false, None) => list::here(&client, wanted, context.cwd()?).await?,
    };
    status::sort(&mut sessions);
    sessions.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
    let lines = match sessions.is_empty() {
        true => vec![Line::new().plain("no sessions")],
        false => list::lines(&sessions, context.now(), scope),
    };
    output(&lines, &json!({"items": sessions}))
}

async fn show_session(args: tool::Show, context: &Context) -> Result<Output, Failure> {
    let client = context.client().await?;
    let session = client.session(&args.id).await?;
    let turns = client.turns(&session.id, &ListTurns::default()).await?.items;
    let kin = show::Kin::read(&client, &session).await?;
    output(&show::lines(&session, &turns, &kin, context.now()), &session)
}

async fn wait_for(args: tool::Wait, context: &Context) -> Result<Output, Failure> {
    let tool::Wait { ids, any, timeout } = args;
    if ids.is_empty() {
        return Err(Failure::usage("`ids` names no session"));
    }
    let limit = timeout.as_deref().map(parse_duration).transpose().map_err(Failure::usage)?;
    let until = if any { Until::Any } else { Until::All };
    let rest = wait::rest(context, &ids, until);
    let rested = match limit {
        None => Some(rest.await?),
        Some(limit) => tokio::time::timeout(limit, rest).await.ok().transpose()?,
    };
    let is_over = rested.is_some();
    let sessions = match rested {
        Some(sessions) => sessions,
        None => {
            let client = context.client().await?;
            let mut sessions = Vec::new();
            for id in &ids {
                sessions.push(client.session(id).await?);
            }
            sessions
        }
    };
    let mut lines = table(&sessions.iter().map(wait::row).collect::<Vec<_>>());
    if !is_over {
        lines.push(Line::new().plain("the time is over; the sessions go on"));
    }
    output(&lines, &json!({"items": sessions, "timed_out": !is_over}))
}

async fn send(args: tool::Send, context: &Context) -> Result<Output, Failure> {
    let tool::Send { id, prompt, model, reasoning, agent, with, now } = args;
    let when = if now { When::Now } else { When::InOrder };
    let request = SendPrompt { text: prompt, model, reasoning, agent, with, when, ..SendPrompt::default() };
    standing(&context.client().await?.prompt(&id, &request).await?)
}

async fn answer_questions(args: tool::Answer, context: &Context) -> Result<Output, Failure> {
    let client = context.client().await?;
    let session = client.session(&args.id).await?;
    let open: Vec<_> = session.questions.iter().filter(|question| question.answer.is_none()).collect();
    if open.is_empty() {
        let message = format!("session `{}` asks nothing: it is {}", session.id, session.status.as_str());
        return Err(Failure::new(Exit::Failed, message));
    }
    let decides =
        open.iter().take(args.answers.len()).any(|question| question.purpose.as_deref() == Some(PLAN_DECISION));
    if decides {
        refuse_unless_allowed(context, format!("ask for `coppice answer {}`", session.id)).await?;
    }
    let answers = answer::choose(&open, &args.answers)?;
    standing(&client.answer(&session.id, &Answer { answers }).await?)
}

async fn diff(args: tool::Diff, context: &Context) -> Result<Output, Failure> {
    let diff = context.client().await?.diff(&args.id, &DiffQuery { turn: args.turn, review: false }).await?;
    let text = if diff.files.is_empty() { "nothing changed".to_owned() } else { diff.patch.clone() };
    Ok(Output { text, images: Vec::new(), structured: Some(object(&diff)?) })
}

/// The configuration is asked again: what was allowed when the tools were listed may be taken back.
async fn refuse_unless_allowed(context: &Context, hint: String) -> Result<(), Failure> {
    match decisions(context).await? {
        Decisions::Allowed => Ok(()),
        Decisions::Kept => {
            let failure = Failure::new(Exit::Failed, format!("`{APPROVE}` is not set: a person decides"));
            Err(failure.hint(hint))
        }
    }
}

async fn decide(id: &str, request: Option<&str>, decision: &Decide, context: &Context) -> Result<Output, Failure> {
    refuse_unless_allowed(context, format!("ask for `coppice approve {id}` or `coppice deny {id}`")).await?;
    let client = context.client().await?;
    let session = client.session(id).await?;
    let approval = wanted(&session, request)?;
    savable(approval, decision)?;
    standing(&client.decide(&session.id, &approval.id, decision).await?)
}

/// A session in a line, for calls that only move it.
fn standing(session: &Session) -> Result<Output, Failure> {
    output(&[Line::new().plain(format!("{} {}", session.id, session.status.as_str()))], session)
}

fn output(lines: &[Line], value: &impl Serialize) -> Result<Output, Failure> {
    let text = lines.iter().map(Line::text).collect::<Vec<_>>().join("\n");
    Ok(Output { text, images: Vec::new(), structured: Some(object(value)?) })
}

fn object(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::because("the reply cannot be written", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_be_more_careful_and_never_less() {
        for (wanted, usual, expected) in [
            ("plan", "attended", ""),
            ("attended", "attended", ""),
            ("unattended", "attended", "posture `unattended` is wider than `attended`"),
            ("edits", "plan", "posture `edits` is wider than `plan`"),
            ("auto", "plan", "posture `auto` is none of `plan`, `attended`, `edits`, `unattended`"),
        ] {
            let said = match refuse_wider(wanted, usual) {
                Ok(()) => String::new(),
                Err(Failure::Told(report)) => report.message,
                Err(Failure::PipeClosed) => "(quiet)".into(),
            };
            assert_eq!(said, expected, "{wanted} {usual}");
        }
    }
}
