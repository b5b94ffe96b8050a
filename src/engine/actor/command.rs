//! What clients tell a session.

use crate::api::event::Payload;
use crate::api::request::{Undo, When};
use crate::api::session::Status;
use crate::permission::Posture;
use crate::protocol::prompt::{self, Answer};
use crate::session::{Event, FixStop, Phase, Rest, Session, Turn};
use crate::store::{Change, Durability, PromptRow, StoreError};
use crate::workflow::PLAN_DECISION;

use super::super::fault::Fault;
use super::super::prepare::SetupChoice;
use super::super::record::{PostureRecord, PromptBody, Redirect, TurnBody, json};
use super::super::{clock, delegate, handoff, image, view};
use super::{Actor, Command, Draft};

/// Said to whoever takes the worktree away from a session while a process that may write it is at work.
const WRITES_ON: &str = "the rules of `plan` apply at once; processes that already run can write the worktree until \
                         the turn or the attached program ends";

/// Where a prompt stands in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Last,
}

impl Actor {
    pub(super) async fn obey(&mut self, command: Command) -> Result<(), Fault> {
        match (&command, self.record.removed_at) {
            (Command::Restore, None) if self.record.status != Status::Archived => {
                return Err(Fault::NotRemoved { id: self.id });
            }
            (Command::Restore | Command::Relink { .. }, Some(_)) | (_, None) => {}
            (_, Some(_)) => return Err(Fault::Removed { id: self.id }),
        }
        self.refuse_while_attached(&command)?;
        if self.ends_due_merge(&command).await? {
            return Ok(());
        }
        self.mend_tree(&command).await?;
        self.finish_undo(&command).await?;
        match command {
            Command::Start => {
                self.start().await;
                Ok(())
            }
            Command::Send { draft, when } => self.send(*draft, when).await,
            Command::SendReview => self.send_review().await,
            Command::DropPrompt { number } => self.drop_prompt(number).await,
            Command::Answer { answers } => self.answer(answers).await,
            Command::Decide { request, decide } => self.decide(&request, decide).await,
            Command::Stop => self.stop().await,
            Command::Abort { reason } => {
                self.abort(&reason).await;
                Ok(())
            }
            Command::Resume(setup) => self.resume(setup).await,
            Command::Undo(Undo { merge: Some(commit), ssh_agent, .. }) => self.undo_merge(&commit, ssh_agent).await,
            Command::Undo(Undo { merge: None, to, .. }) => self.undo(to).await,
            Command::Redo => self.redo().await,
            Command::Relink { common_dir } => self.relink(common_dir).await,
            Command::Merge(request) => self.merge(request).await,
            Command::Rebase => self.rebase().await,
            Command::Resolution(command) => self.resolve(command).await,
            Command::Integrate => self.integrate_into_parent().await,
            Command::SetPosture { posture, yolo } => self.set_posture(posture, yolo).await,
            Command::Attach(visit) => self.attach(visit).await,
            Command::Note { note } => self.note(note).await,
            Command::Archive => self.archive().await,
            Command::Remove => self.remove().await,
            Command::Restore => self.restore().await,
            Command::Retitle { from, to } => self.retitle(&from, to).await,
            Command::Recount { turn, was, now } => self.recount(turn, was, now).await,
            Command::CommitAgain => self.commit_again().await,
            Command::Reword { turn, commit, message } => self.reword(turn, commit, message).await,
        }
    }

    pub(super) fn wrong_state(&self, act: &'static str) -> Fault {
        let next = view::next_names(&self.record);
        let next: Vec<_> = next.iter().map(|name| format!("`coppice {name} {}`", self.id)).collect();
        let hint = Some(format!("possible are {}", next.join(", ")));
        Fault::WrongState { id: self.id, status: self.record.status, act, hint }
    }

    /// Begins the next queued prompt if nothing is in progress.
    pub(super) async fn start(&mut self) {
        match self.state {
            Session::Resting(_) if self.closing.is_none() => {
                if let Some(begin) = self.begin().await {
                    self.step(begin).await;
                }
            }
            Session::Attached(_) => self.begin_after_guest().await,
            Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) => {}
        }
    }

    async fn send(&mut self, draft: Draft, when: When) -> Result<(), Fault> {
        if let Session::Integrating(_) = self.state {
            return Err(self.wrong_state("take a prompt"));
        }
        let place = match when {
            When::InOrder => Place::Last,
            When::Now => Place::First,
        };
        let Draft { text, images, switch, context, author } = draft;
        let images = image::store(self.shared.images_dir(self.id), self.record.body.prompts + 1, images).await?;
        if let Session::Resting(Rest::Failed | Rest::Interrupted) = self.state
            && switch.backend.is_some()
        {
            // Who was to take the prompts that wait did not take them.
            self.record.body.redirect = Some(Redirect { last: self.record.body.prompts, switch: switch.clone() });
        }
        self.queue(PromptBody { text, images, switch, context, author }, place).await?;
        match (when, self.state) {
            (When::Now, Session::Turning(_)) => {
                self.go_on = true;
                self.interrupt("another prompt was sent").await;
            }
            (When::InOrder | When::Now, _) => self.start().await,
        }
        Ok(())
    }

    /// Accepts a prompt: once this returns, it survives anything.
    pub(super) async fn queue(&mut self, prompt: PromptBody, place: Place) -> Result<(), Fault> {
        self.queue_with(prompt, place, Vec::new()).await
    }

    /// The same, with changes that hold exactly when the prompt is accepted.
    pub(super) async fn queue_with(
        &mut self,
        prompt: PromptBody,
        place: Place,
        with: Vec<Change>,
    ) -> Result<(), Fault> {
        if prompt.text.trim().is_empty() {
            return Err(Fault::EmptyPrompt);
        }
        let body = &mut self.record.body;
        let number = body.prompts + 1;
        let before = (body.prompts, body.order.clone(), body.hook_fix.clone());
        if let Some(fix) = body.hook_fix.take_if(|fix| fix.prompt != number) {
            self.staged.push(fix.stopped(self.id, FixStop::OtherPrompt));
        }
        body.prompts = number;
        match place {
            Place::First => body.order.insert(0, number),
            Place::Last => body.order.push(number),
        }
        let images = view::attached(&prompt.images);
        self.staged.push(Payload::PromptQueued { number, text: prompt.text.clone(), images, author: prompt.author });
        let row = PromptRow { session: self.id, number, at: clock::now(), body: json(&prompt), turn: None };
        let kept = self.unsaved.len();
        let changes = std::iter::once(Change::Prompt(row)).chain(with).collect();
        if let Err(error) = self.persist(Durability::Full, changes).await {
            // The client is told that the prompt was not taken, so it must not appear later.
            let body = &mut self.record.body;
            (body.prompts, body.order, body.hook_fix) = before;
            self.forget_refused(kept);
            return Err(error.into());
        }
        Ok(())
    }

    async fn answer(&mut self, answers: Vec<String>) -> Result<(), Fault> {
        let is_expired = self.record.body.calls.iter().any(|call| call.expired && call.answer.is_none());
        if self.record.status != Status::Asking && !is_expired {
            return Err(self.wrong_state("take an answer"));
        }
        if self.record.body.calls.iter().any(|call| call.answer.is_none()) {
            return self.answer_calls(answers).await;
        }
        if let ([asked], [answer]) = (self.record.body.questions.as_slice(), answers.as_slice())
            && asked.purpose.as_deref() == Some(PLAN_DECISION)
        {
            let answer = answer.clone();
            return self.decide_plan(&answer).await;
        }
        let open: Vec<usize> = self
            .record
            .body
            .questions
            .iter()
            .enumerate()
            .filter(|(_, asked)| asked.answer.is_none())
            .map(|(at, _)| at)
            .collect();
        if answers.len() > open.len() {
            return Err(Fault::TooManyAnswers { id: self.id, asked: open.len(), given: answers.len() });
        }
        let before = self.record.body.questions.clone();
        for (at, given) in open.into_iter().zip(answers) {
            let question = &mut self.record.body.questions[at];
            let answer = chosen(&question.options, &given);
            question.answer = Some(answer.clone());
            self.staged.push(Payload::QuestionAnswered {
                index: u32::try_from(at).unwrap_or(u32::MAX),
                answer,
                call: None,
            });
        }
        let spoken: Option<Vec<Answer>> = self
            .record
            .body
            .questions
            .iter()
            .map(|asked| asked.answer.clone().map(|text| Answer { question: asked.text.clone(), text }))
            .collect();
        // The last answer and the prompt that carries all of them are one fact.
        let kept = self.unsaved.len();
        let stored = match &spoken {
            Some(spoken) => {
                let answers = PromptBody { text: prompt::answers(spoken), ..PromptBody::default() };
                self.queue(answers, Place::First).await
            }
            None => self.persist(Durability::Full, Vec::new()).await.map_err(Fault::from),
        };
        if stored.is_err() {
            self.record.body.questions = before;
            self.forget_refused(kept);
        }
        stored?;
        if spoken.is_some() {
            self.start().await;
        }
        Ok(())
    }

    /// Goes on after a decision that came when nothing ran.
    pub(super) async fn resume_if_interrupted(&mut self) -> Result<(), Fault> {
        match self.state {
            Session::Resting(Rest::Interrupted) => self.resume(SetupChoice::Run).await,
            Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => Ok(()),
        }
    }

    /// Changes what the session may do by itself, from the next call on.
    pub(super) async fn set_posture(&mut self, posture: Option<Posture>, yolo: Option<bool>) -> Result<(), Fault> {
        let record = &self.record.body.posture;
        let wanted = PostureRecord {
            word: posture.unwrap_or_else(|| record.posture()).as_str().to_owned(),
            yolo: yolo.unwrap_or(record.yolo),
        };
        if *record == wanted {
            return Ok(());
        }
        let takes_tree_away = wanted.posture() == Posture::Plan && record.posture() != Posture::Plan;
        let is_at_work = match self.state {
            Session::Resting(_) | Session::Turning(Turn { phase: Phase::Queued, .. }) => false,
            Session::Turning(Turn {
                phase:
                    Phase::Preparing
                    | Phase::Working
                    | Phase::Parked
                    | Phase::Returning
                    | Phase::Stopping(..)
                    | Phase::Closing(..),
                ..
            })
            | Session::Integrating(_)
            | Session::Attached(_) => true,
        };
        if takes_tree_away {
            self.record.body.plan_mode.before = Some(record.word.clone());
        }
        if takes_tree_away && is_at_work {
            self.has_wider_cage = true;
            self.staged.push(Payload::Warning { message: WRITES_ON.to_owned() });
        }
        self.staged.push(Payload::PostureChanged { posture: wanted.word.clone(), yolo: wanted.yolo });
        self.record.body.posture = wanted;
        self.persist(Durability::Full, Vec::new()).await?;
        self.lead_children().await?;
        if takes_tree_away && !is_at_work {
            // A process keeps the cage that it was started with; the next turn starts another one.
            self.end_processes().await?;
        }
        self.judge_again().await
    }

    /// Children may do what their parent may do.
    async fn lead_children(&self) -> Result<(), Fault> {
        let posture = &self.record.body.posture;
        let (posture, yolo) = (Some(posture.posture()), Some(posture.yolo));
        for handoff in handoff::of_parent(&self.shared, self.id).await? {
            let Ok(child) = handoff.child_session_id.parse() else { continue };
            if handoff.status.is_final() {
                continue;
            }
            // A child may be waiting for this session.
            let shared = self.shared.clone();
            self.shared.tasks.spawn(async move {
                delegate::tell(&shared, child, Command::SetPosture { posture, yolo }).await.ok();
            });
        }
        Ok(())
    }

    async fn stop(&mut self) -> Result<(), Fault> {
        match self.state {
            Session::Turning(_) => {
                self.go_on = false;
                self.interrupt("stopped by the user").await;
            }
            // What waits begins when the person's program has ended.
            Session::Attached(_) => self.ask_guest_to_leave(),
            Session::Resting(_) | Session::Integrating(_) => return Err(self.wrong_state("be stopped")),
        }
        Ok(())
    }

    /// Stops whatever goes on, and lets nothing that waits follow.
    async fn abort(&mut self, reason: &str) {
        self.go_on = false;
        match self.state {
            Session::Turning(_) => self.interrupt(reason).await,
            Session::Resting(_) | Session::Integrating(_) | Session::Attached(_) => {}
        }
    }

    /// Stops the turn in progress, if there is one.
    pub(super) async fn interrupt(&mut self, reason: &str) {
        if let Some(turn) = &mut self.turn {
            turn.reason = reason.to_owned();
        }
        self.step(Event::Stop).await;
    }

    async fn resume(&mut self, setup: SetupChoice) -> Result<(), Fault> {
        match self.state {
            Session::Resting(Rest::Draft | Rest::Failed | Rest::Interrupted) => {}
            Session::Resting(Rest::Archived) => {
                self.setup = setup;
                self.unarchive().await?;
                self.start().await;
                return Ok(());
            }
            Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => {
                return Err(self.wrong_state("be resumed"));
            }
        }
        if self.record.body.has_nothing_to_resume() {
            return Err(Fault::NothingToResume { id: self.id });
        }
        if self.record.body.unfinished || self.record.body.order.is_empty() {
            let task = self.last_task().await?;
            self.queue(task, Place::First).await?;
        }
        self.setup = setup;
        self.start().await;
        Ok(())
    }

    /// The prompt of the last turn. It is sent again as a whole, because nobody knows how much of it was heard; the
    /// notes around it say what happened to the first attempt.
    async fn last_task(&self) -> Result<PromptBody, Fault> {
        let turn = self.record.body.turns;
        let row = self.shared.turn(self.id, turn).await?.ok_or(Fault::NoTurn { id: self.id, turn })?;
        let TurnBody { prompt: text, images, author, .. } = TurnBody::read(&row)?;
        let context = delegate::of_unfinished(&self.shared, &self.record).await?;
        Ok(PromptBody { text, images, context, author, ..PromptBody::default() })
    }
}

/// One queued prompt.
pub(super) fn queued_prompt(queued: Result<Vec<PromptRow>, StoreError>, number: u32) -> Result<PromptBody, String> {
    let rows = queued.map_err(|error| error.to_string())?;
    let row = rows.into_iter().find(|row| row.number == number).ok_or("it is not in the store")?;
    PromptBody::read(&row).map_err(|error| error.to_string())
}

/// A number chooses an option; anything else is said as it is.
pub(super) fn chosen(options: &[String], given: &str) -> String {
    let number = given.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| options.get(at)).cloned().unwrap_or_else(|| given.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_an_option_and_text_is_kept() {
        let options = ["red".to_owned(), "green".to_owned()];
        for (given, expected) in [("2", "green"), (" 1 ", "red"), ("3", "3"), ("0", "0"), ("blue", "blue"), ("", "")] {
            assert_eq!(chosen(&options, given), expected);
        }
    }
}
