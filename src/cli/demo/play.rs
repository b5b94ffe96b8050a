//! The play: four sessions are followed at once, and each gets what it needs as soon as it needs it.

use super::board::{self, Actor};
use super::cast::{Part, ROLES};
use super::stage::Stage;
use crate::api::event::Event;
use crate::api::request::{
    AllowScope, Answer, CreateSession, Decide, DenyScope, DiffQuery, EventQuery, Merge, Resume, Start,
};
use crate::api::session::{Approval, Question, Session, Status};
use crate::cli::answer::picked;
use crate::cli::card::{self, Length};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::line::{Line, Tone, one_line};
use crate::cli::output::Sink;
use crate::cli::report::Failure;
use crate::cli::show::question_lines;
use crate::cli::{ask, diff, follow};
use crate::client::connection::Connection;
use crate::client::environment::capture_environment;
use crate::client::events::Events;

/// The sessions on stage, and what has happened to them.
pub(super) struct Play {
    client: Connection,
    events: Events,
    actors: Vec<Actor>,
    answer: Option<String>,
    permission: Option<Permission>,
    resumed: bool,
}

/// What became of the request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Given,
    Refused,
}

impl Play {
    /// Starts all sessions.
    pub(super) async fn begin(stage: &Stage) -> Result<Play, Failure> {
        let client = stage.daemon.connect().await?;
        let everything = EventQuery { since: Some(0), ..EventQuery::default() };
        let events = Events::open(stage.daemon.clone(), everything).await?;
        let mut actors = Vec::new();
        for role in ROLES {
            let request = CreateSession {
                cwd: stage.repository.display().to_string(),
                prompt: role.prompt.to_owned(),
                start: Start::AtOnce,
                model: Some("demo".to_owned()),
                title: Some(role.title.to_owned()),
                posture: role.part.posture().map(str::to_owned),
                env: capture_environment(&[]),
                ..CreateSession::default()
            };
            let session = client.create(&request).await?;
            actors.push(Actor::new(role, session.id, session.status));
        }
        Ok(Play { client, events, actors, answer: None, permission: None, resumed: false })
    }

    /// Follows all of them and responds, until all are ready.
    pub(super) async fn until_ready(&mut self, context: &mut Context) -> Result<(), Failure> {
        while self.actors.iter().any(|actor| !actor.is_ready) {
            let item = self.events.next().await?;
            let Some(event) = item.fact() else { continue };
            self.show(&event, context)?;
            if let Some(id) = follow::session_that_may_rest(&item) {
                let session = self.client.session(&id).await?;
                self.respond(&session, context).await?;
            }
        }
        self.pause(context)
    }

    /// Leaves what was redrawn until here on the screen.
    fn pause(&self, context: &mut Context) -> Result<(), Failure> {
        match context.output.talk_sink() {
            Sink::Terminal => context.output.say_all(&board::lines(&self.actors)),
            Sink::Other => Ok(()),
        }
    }

    /// A terminal shows all sessions at once and redraws them; elsewhere each fact is a line.
    fn show(&mut self, event: &Event, context: &mut Context) -> Result<(), Failure> {
        let actor = self.actors.iter_mut().find(|actor| actor.id == event.session);
        let Some(line) = actor.and_then(|actor| actor.note(event)) else { return Ok(()) };
        match context.output.talk_sink() {
            Sink::Terminal => context.output.passing(&board::lines(&self.actors)),
            Sink::Other => context.output.say(&line),
        }
    }

    /// Gives a session what it waits for. Several facts may tell the same story, so each part is played once.
    async fn respond(&mut self, session: &Session, context: &mut Context) -> Result<(), Failure> {
        let Some(actor) = self.actors.iter_mut().find(|actor| actor.id == session.id) else { return Ok(()) };
        let (name, part) = (actor.role.name, actor.role.part);
        actor.is_ready = session.status == Status::Ready;
        match (session.status, part) {
            (Status::Asking, Part::Asks) if self.answer.is_none() => {
                let Some(question) = session.questions.first() else { return Ok(()) };
                self.pause(context)?;
                let answer = decide_answer(name, question, context).await?;
                self.client.answer(&session.id, &Answer { answers: vec![answer.clone()] }).await?;
                self.answer = Some(answer);
            }
            (Status::Approval, Part::WantsPermission) if self.permission.is_none() => {
                let Some(approval) = session.approvals.first() else { return Ok(()) };
                self.pause(context)?;
                let permission = decide_permission(name, approval, context).await?;
                let decision = match permission {
                    Permission::Given => Decide::Allow { scope: AllowScope::Once },
                    Permission::Refused => Decide::Deny { message: None, scope: DenyScope::Once },
                };
                self.client.decide(&session.id, &approval.id, &decision).await?;
                self.permission = Some(permission);
            }
            (Status::Failed, Part::Crashes) if !self.resumed => {
                let crash =
                    Line::new().strong(name).with(Tone::Bad, " crashed").plain("; its work is safe, so it is resumed");
                context.output.say(&crash)?;
                self.client
                    .resume(&session.id, &Resume { env: Some(capture_environment(&[])), ..Resume::default() })
                    .await?;
                self.resumed = true;
            }
            (Status::Failed | Status::Interrupted | Status::Conflict, _) => {
                let why = session.last_error.as_ref().map(|error| one_line(&error.message)).unwrap_or_default();
                let message = format!("{name} ({}) is {}: {why}", session.id, session.status.as_str());
                return Err(Failure::new(Exit::Failed, message));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether every part was really played.
    pub(super) fn check(&self) -> Result<Permission, Failure> {
        let missing = |what| Failure::new(Exit::Failed, format!("the demo did not go as it should: {what}"));
        match (&self.answer, self.permission, self.resumed) {
            (None, _, _) => Err(missing("nobody asked a question")),
            (_, None, _) => Err(missing("nobody asked for permission")),
            (_, _, false) => Err(missing("nobody crashed")),
            (Some(_), Some(permission), true) => Ok(permission),
        }
    }

    /// Shows what each session changed.
    pub(super) async fn review(&self, context: &mut Context) -> Result<(), Failure> {
        for actor in &self.actors {
            let changes = self.client.diff(&actor.id, &DiffQuery::default()).await?;
            context.output.lines([&Line::new().strong(format!("  {}", actor.role.title))])?;
            let stat: Vec<_> =
                diff::stat(&changes).into_iter().map(|line| Line::new().plain("    ").then(line)).collect();
            context.output.lines(&stat)?;
        }
        Ok(())
    }

    /// Merges all of them, one after the other.
    pub(super) async fn merge(&self) -> Result<(), Failure> {
        for actor in &self.actors {
            let session = self.client.merge(&actor.id, &Merge::default()).await?;
            if session.status != Status::Merged {
                let message =
                    format!("{} ({}) was not merged: it is {}", actor.role.name, actor.id, session.status.as_str());
                return Err(Failure::new(Exit::Failed, message));
            }
        }
        Ok(())
    }
}

async fn decide_answer(name: &str, question: &Question, context: &mut Context) -> Result<String, Failure> {
    let first = question.options.first().cloned().unwrap_or_else(|| "yes".to_owned());
    match ask::is_possible() {
        ask::Possible::No => {
            let line = Line::new()
                .strong(name)
                .with(Tone::Warn, " asks a question")
                .plain(format!(": {}", one_line(&question.text)));
            context.output.say(&line.dim(format!("  (answered by the demo: {first})")))?;
            Ok(first)
        }
        ask::Possible::Yes => {
            let same = Line::new().dim("  (it is scripted, and goes on the same way whatever you say)");
            context.output.say(&Line::new().strong(name).with(Tone::Warn, " asks a question").then(same))?;
            context.output.say_all(&question_lines(std::slice::from_ref(question)))?;
            let answer = ask::line(context, Line::new().plain("answer [1]: ")).await?.unwrap_or_default();
            Ok(if answer.is_empty() { first } else { picked(question, &answer).unwrap_or(first) })
        }
    }
}

async fn decide_permission(name: &str, approval: &Approval, context: &mut Context) -> Result<Permission, Failure> {
    match ask::is_possible() {
        ask::Possible::No => {
            let line = Line::new()
                .strong(name)
                .with(Tone::Warn, " wants your approval")
                .plain(format!(": {}", one_line(&approval.title)));
            context.output.say(&line.dim("  (approved by the demo)"))?;
            Ok(Permission::Given)
        }
        ask::Possible::Yes => {
            context.output.say(&Line::new().strong(name).with(Tone::Warn, " wants your approval"))?;
            context.output.say_all(&card::lines(approval, Length::Short, context.now()))?;
            loop {
                let word = ask::line(context, Line::new().plain("allow? [Y/n] ")).await?.unwrap_or_default();
                match word.to_lowercase().as_str() {
                    "" | "y" | "yes" => return Ok(Permission::Given),
                    "n" | "no" => return Ok(Permission::Refused),
                    _ => context.output.say(&Line::new().dim("y, n, or Enter for yes"))?,
                }
            }
        }
    }
}
