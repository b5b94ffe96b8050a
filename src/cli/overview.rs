//! Bare `coppice`: what needs the person here, what works, and how to go on.

use super::line::{Line, Tone, cut, table};
use super::list::fetch;
use super::status::{self, Urgency, count, urgency};
use super::{Context, Exit, Failure};
use crate::api::error::Error;
use crate::api::project::{self, Backend, BackendQuery, Detail};
use crate::api::request::ListSessions;
use crate::api::session::Session;

pub(super) async fn run(context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let cwd = Some(context.cwd()?);
    let mut sessions = fetch(&client, ListSessions { cwd, ..ListSessions::default() }).await?;
    // A child is its parent's business until it waits for a person.
    sessions.retain(|session| session.parent.is_none() || session.needs > 0);
    let query = BackendQuery { detail: Detail::Programs, ..context.backends()? };
    let trouble = no_backend(&client.models(&query).await?.items);
    if let Some(error) = trouble.clone().filter(|_| sessions.is_empty()) {
        return Err(error.into());
    }
    status::sort(&mut sessions);
    context.output.rows(&lines(&sessions, context.now()))?;
    if let Some(Error { message, hint, .. }) = trouble {
        let hint = hint.map(|hint| Line::toned(Tone::Accent, "hint:").plain(format!(" {hint}")));
        context.output.say(&Line::new())?;
        context.output.say(&Line::toned(Tone::Warn, "warning:").plain(format!(" {message}")))?;
        context.output.say_all(hint.as_slice())?;
    }
    Ok(Exit::Done)
}

/// What to tell somebody who has no agent to work with.
fn no_backend(backends: &[Backend]) -> Option<Error> {
    let real: Vec<_> = backends.iter().filter(|backend| !backend.scripted).collect();
    let is_usable = real.iter().any(|backend| backend.problem.is_none());
    let known = real.iter().map(|backend| (backend.name.as_str(), backend.install.as_deref()));
    (!is_usable).then(|| project::no_backend(known))
}

fn lines(sessions: &[Session], now: i64) -> Vec<Line> {
    let group = |title: &str, wanted: fn(&Session) -> bool| {
        let rows: Vec<_> = sessions.iter().filter(|session| wanted(session)).map(|session| row(session, now)).collect();
        match rows.as_slice() {
            [] => Vec::new(),
            _ => [Line::new().strong(title)].into_iter().chain(table(&rows)).chain([Line::new()]).collect(),
        }
    };
    fn stands(session: &Session, wanted: Urgency) -> bool {
        session.needs == 0 && urgency(session.status) == wanted
    }
    let mut lines = group("needs you", |session| session.needs > 0);
    lines.extend(group("interrupted", |session| stands(session, Urgency::Stopped)));
    lines.extend(group("working", |session| stands(session, Urgency::Busy)));
    lines.extend(group("ready for review", |session| stands(session, Urgency::Reviewable)));
    if lines.is_empty() {
        let resting = match sessions.len() {
            0 => "no sessions in this repository".to_owned(),
            number => format!("nothing waits; {} at rest", count(number, "session")),
        };
        lines.extend([Line::new().dim(resting), Line::new()]);
    }
    lines.extend(table(&next_steps(sessions)));
    lines
}

fn row(session: &Session, now: i64) -> Vec<Line> {
    vec![
        Line::new().plain(format!("  {}", session.id)),
        status::word(status::shown(session)),
        Line::new().plain(cut(&status::title(session), 44)),
        status::marks(session),
        status::changes(session.changes),
        Line::new().dim(super::age::age(now, session.updated_at)),
        Line::new().plain(status::need(session)),
    ]
}

/// Three commands to go on with, the most useful first.
fn next_steps(sessions: &[Session]) -> Vec<Vec<Line>> {
    let blocked = sessions.iter().any(|session| session.needs > 0);
    let first = sessions.first().map(|session| session.id.as_str());
    let steps = match (blocked, first) {
        (true, Some(id)) => [
            ("coppice inbox".to_owned(), "everything that waits for you, with the commands that answer"),
            (format!("coppice show {id}"), "one session, and what you can do with it"),
            ("coppice new \"…\"".to_owned(), "another session"),
        ],
        (false, Some(id)) => [
            ("coppice new \"…\"".to_owned(), "another session"),
            (format!("coppice show {id}"), "one session, and what you can do with it"),
            ("coppice list".to_owned(), "all sessions of this repository"),
        ],
        (_, None) => [
            ("coppice new \"…\"".to_owned(), "a session that works in its own worktree"),
            ("coppice run \"…\"".to_owned(), "the same, followed until it is done"),
            ("coppice demo".to_owned(), "the whole tour with scripted agents"),
        ],
    };
    steps.into_iter().map(|(command, what)| vec![Line::toned(Tone::Accent, command), Line::new().dim(what)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Status;
    use crate::look::sample::{self, NOW, session};

    fn text(sessions: &[Session]) -> String {
        lines(sessions, NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn sessions_stand_by_what_they_need() {
        let mut sessions = vec![session(Status::Running), session(Status::Ready), sample::asking(), sample::failed()];
        status::sort(&mut sessions);
        insta::assert_snapshot!(text(&sessions), @r#"
        needs you
          abcd2345  asking  Fix the parser  +12 -4  5s  2 questions
          abcd2345  failed  Fix the parser  +12 -4  5s  the backend exited before it answered

        working
          abcd2345  running  Fix the parser  +12 -4  5s

        ready for review
          abcd2345  ready  Fix the parser  +12 -4  5s

        coppice inbox          everything that waits for you, with the commands that answer
        coppice show abcd2345  one session, and what you can do with it
        coppice new "…"        another session
        "#);
    }

    #[test]
    fn an_empty_repository_gets_the_first_steps() {
        insta::assert_snapshot!(text(&[]), @r#"
        no sessions in this repository

        coppice new "…"  a session that works in its own worktree
        coppice run "…"  the same, followed until it is done
        coppice demo     the whole tour with scripted agents
        "#);
        assert!(text(&[session(Status::Merged)]).starts_with("nothing waits; 1 session at rest\n"));
    }

    #[test]
    fn without_an_agent_the_demo_is_offered() {
        let missing = |name: &str| Backend {
            problem: Some("not on PATH".into()),
            install: Some(format!("npm i {name}")),
            ..sample::backend(name)
        };
        let demo = Backend { scripted: true, ..sample::backend("demo") };
        assert_eq!(no_backend(&[demo.clone(), missing("claude"), sample::backend("gemini")]), None);
        let told = no_backend(&[missing("claude"), missing("codex"), demo]).unwrap();
        assert_eq!(told.message, "none of `claude`, `codex` is installed");
        let hint =
            "install one: `npm i claude`, `npm i codex`; or try `coppice demo`, or the model `demo`: they need none";
        assert_eq!(told.hint.as_deref(), Some(hint));
    }
}
