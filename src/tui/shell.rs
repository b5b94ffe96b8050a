//! The face in the world: keys and the stream come in, frames and requests go out.
//!
//! Keys are drawn at once; what the stream brings is drawn at most so many times a second. Nothing here decides anything.

use std::io;
use std::time::Duration;

use crossterm::event::{Event as Input, MouseEventKind};
use futures_util::FutureExt;
use jiff::tz::TimeZone;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::model::Model;
use super::msg::{Msg, Reply, Request};
use super::update::update;
use super::world::Link;
use super::{burst, composer, notice, settings, typeahead};
use crate::api::error::{Error, ErrorKind};
use crate::client::start::Daemon;

mod daemon;
mod errand;
mod keep;
mod keys;
mod look;
mod outside;
mod pulse;
mod stream;
mod terminal;
mod visit;

pub(crate) use outside::edit_text;

use daemon::{Desk, Reading};
use errand::Errand;
use keep::Keep;
use keys::Keys;
use terminal::Screen;
use visit::{Opening, opened};

/// What the stream brings is drawn this often at most.
const FRAME: Duration = Duration::from_millis(33);
/// Ages are counted in seconds.
const TICK: Duration = Duration::from_secs(1);
/// A draft is on disk this long after the last key.
const SAVE_AFTER: Duration = Duration::from_millis(400);
/// A signal within this time after another program had the terminal was meant for that one.
const FOREIGN: Duration = Duration::from_secs(1);
/// Acts that are under way when the person leaves have this long.
const LAST: Duration = Duration::from_secs(2);
/// A dialog has to stand this long without a key before one decides it: earlier ones were meant for something else.
const PATIENCE: i64 = 300;
/// Letters that follow each other within this time are text where they are shortcuts one by one.
const MOMENT: i64 = 200;
/// How much of the stream may wait for the screen.
const WAITING: usize = 1024;

/// Why the face could not begin, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error(transparent)]
    Daemon(#[from] Error),
    #[error("failed to use the terminal")]
    Terminal(#[from] io::Error),
}

/// Opens the face for the repository that holds `cwd` and returns when the person leaves.
pub async fn run(daemon: Daemon, cwd: String) -> Result<(), TuiError> {
    let (sender, inbox) = mpsc::channel(WAITING);
    let path = std::env::var_os("PATH").and_then(|path| path.into_string().ok());
    let mut desk = Desk::new(daemon.clone(), cwd.clone(), path, sender.clone());
    let mut model = Model { now: now(), patience: PATIENCE, moment: MOMENT, ..Model::default() };
    model.transcripts.set_zone(TimeZone::system());
    model.world.cwd = cwd;
    let keep = begin(&mut model, &desk).await?;
    desk.settings = model.world.config.clone().into();
    let screen = Screen::take()?;
    model.size = screen.size()?;
    let shell = Shell {
        model,
        desk,
        keep,
        keys: Keys::default(),
        screen,
        reading: Reading::default(),
        inbox,
        dirty: Dirty::Keys,
        drawn: None,
        unready: false,
        save_at: None,
        errand: None,
        opening: None,
        returned: None,
        is_over: false,
    };
    let watch = tokio::spawn(pulse::run(daemon.clone(), sender.clone()));
    let stream = tokio::spawn(stream::run(daemon, sender));
    let result = shell.go().await;
    stream.abort();
    watch.abort();
    Ok(result?)
}

/// Reads what the first frame shows, so that a directory without a repository is told on the usual screen.
async fn begin(model: &mut Model, desk: &Desk) -> Result<Keep, TuiError> {
    let (repository, sessions, config) =
        tokio::join!(desk.answer(Request::Repository), desk.answer(Request::List), desk.answer(Request::Config));
    for reply in [repository, sessions, config] {
        match reply {
            Reply::Failed { error, .. } => return Err(error.into()),
            reply => drop(update(model, Msg::Reply(reply))),
        }
    }
    drop(update(model, Msg::Reply(desk.answer(Request::FindMoved).await)));
    // It has just answered; the stream says when that is over.
    model.world.link = Link::Connected;
    let mut keep = Keep::of(&desk.daemon.paths.data, &model.world.repository.project);
    composer::restore(model, keep.read());
    settings::look_around(model, |name| std::env::var(name).ok());
    Ok(keep)
}

struct Shell {
    model: Model,
    desk: Desk,
    keep: Keep,
    keys: Keys,
    screen: Screen,
    reading: Reading,
    inbox: mpsc::Receiver<Msg>,
    dirty: Dirty,
    drawn: Option<Instant>,
    /// Whether the screen shows a dialog whose keys do not count yet.
    unready: bool,
    save_at: Option<Instant>,
    /// What gets the terminal once everything else that was asked for is under way.
    errand: Option<Errand>,
    opening: Option<Opening>,
    /// When the terminal came back from another program.
    returned: Option<Instant>,
    is_over: bool,
}

/// Whether the screen shows the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Dirty {
    No,
    /// The next frame is soon enough.
    Stream,
    /// The person waits for it.
    Keys,
}

impl Shell {
    async fn go(mut self) -> io::Result<()> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        let mut stop = signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?;
        let mut go_on = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
        while !self.is_over {
            if let Some(errand) = self.errand.take() {
                self.run_errand(errand).await?;
            }
            self.draw_if_due()?;
            let frame = self.next_frame();
            let save = self.save_at;
            let release = self.next_release();
            tokio::select! {
                biased;
                input = self.keys.next() => match input {
                    Some(input) => self.input(input?)?,
                    None => break,
                },
                _ = terminate.recv() => break,
                _ = hang_up.recv() => break,
                // What interrupts another program in the terminal reaches this one too.
                _ = interrupt.recv() => match self.returned {
                    Some(returned) if returned.elapsed() < FOREIGN => {}
                    Some(_) | None => break,
                },
                _ = quit.recv() => break,
                _ = stop.recv() => match self.returned {
                    // What stopped another program has stopped this one with it.
                    Some(returned) if returned.elapsed() < FOREIGN => {}
                    Some(_) | None => self.suspend()?,
                },
                _ = go_on.recv() => {
                    self.screen.resume()?;
                    self.dirty = Dirty::Keys;
                }
                () = until(frame), if frame.is_some() => self.model.now = now(),
                () = until(save), if save.is_some() => self.save(),
                () = until(release), if release.is_some() => {
                    self.dirty = Dirty::Keys;
                    self.take(Msg::Time(now()))?;
                }
                Some(opened) = opened(&mut self.opening) => self.attach(opened).await?,
                Some(msg) = self.inbox.recv() => self.take(msg)?,
                _ = tick.tick() => self.take(Msg::Time(now()))?,
            }
        }
        self.finish().await;
        self.save();
        Ok(())
    }

    /// What was asked for goes out although the person leaves, and what came of it counts.
    async fn finish(&mut self) {
        self.desk.finish(LAST).await;
        while let Ok(msg) = self.inbox.try_recv() {
            update(&mut self.model, msg);
        }
    }

    fn input(&mut self, input: Input) -> io::Result<()> {
        self.model.now = now();
        self.read(input)
    }

    /// Takes an input at the time of the model.
    fn read(&mut self, input: Input) -> io::Result<()> {
        let msg = match input {
            Input::Key(key) => Msg::Key(key),
            // Some terminals tell of every cell that the pointer passes.
            Input::Mouse(mouse) if mouse.kind == MouseEventKind::Moved => return Ok(()),
            Input::Mouse(mouse) => Msg::Mouse(mouse),
            Input::Paste(text) => Msg::Paste(text),
            Input::Resize(..) => Msg::Resize(self.screen.size()?),
            Input::FocusGained => Msg::Focused,
            Input::FocusLost => Msg::Unfocused,
        };
        self.dirty = Dirty::Keys;
        self.take(msg)
    }

    /// One message, and all that it asks for.
    fn take(&mut self, msg: Msg) -> io::Result<()> {
        self.dirty = self.dirty.max(Dirty::Stream);
        match &msg {
            Msg::Reply(Reply::Session(session)) => self.read_again(&session.id),
            Msg::Reply(Reply::Gone(id) | Reply::Unread { session: id, .. }) => self.read_again(id),
            Msg::Connected | Msg::Lost(_) | Msg::Stopped => self.reading.clear(),
            Msg::Reply(_)
            | Msg::Key(_)
            | Msg::Mouse(_)
            | Msg::Paste(_)
            | Msg::Resize(_)
            | Msg::Focused
            | Msg::Unfocused
            | Msg::Time(_)
            | Msg::Silent { .. }
            | Msg::Answers
            | Msg::SettingsChanged
            | Msg::Fact(_)
            | Msg::Live(_) => {}
        }
        for request in update(&mut self.model, msg) {
            self.perform(request)?;
        }
        Ok(())
    }

    fn read_again(&mut self, id: &str) {
        if self.reading.ends(id) && self.reading.begins(id) {
            self.desk.perform(Request::Read(id.to_owned()));
        }
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        if self.unready && typeahead::ready_at(&self.model).is_none_or(|ready| ready <= self.model.now) {
            self.dirty = Dirty::Keys;
        }
        let is_due = match self.dirty {
            Dirty::No => false,
            Dirty::Keys => true,
            Dirty::Stream => self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME),
        };
        if is_due {
            let mut waits_anew = typeahead::is_undrawn(&self.model);
            self.screen.draw(&mut self.model)?;
            self.drawn = Some(Instant::now());
            self.dirty = Dirty::No;
            // What waited while the dialog was drawn was typed before anybody saw it, however long that took.
            while typeahead::is_waiting(&self.model)
                && let Some(Some(input)) = self.keys.next().now_or_never()
            {
                self.read(input?)?;
                waits_anew = true;
            }
            if waits_anew {
                self.model.now = now();
                typeahead::restart(&mut self.model);
            }
            self.unready = typeahead::ready_at(&self.model).is_some_and(|ready| ready > self.model.now);
        }
        Ok(())
    }

    /// When the screen has to be drawn although nothing else happens.
    fn next_frame(&self) -> Option<Instant> {
        let soon = (self.dirty == Dirty::Stream).then(|| self.drawn.map_or_else(Instant::now, |drawn| drawn + FRAME));
        // The keys of a dialog show when they count.
        let left = typeahead::ready_at(&self.model).map(|ready| ready - self.model.now).filter(|left| *left > 0);
        let ready = left.map(|left| Instant::now() + Duration::from_millis(left.unsigned_abs()));
        soon.into_iter().chain(ready).min()
    }

    /// When a letter that is held back becomes its shortcut.
    fn next_release(&self) -> Option<Instant> {
        let left = burst::due_at(&self.model)?.saturating_sub(now()).max(0);
        Some(Instant::now() + Duration::from_millis(left.unsigned_abs()))
    }

    /// Keeps what was written here, and takes over what was written in another face.
    fn save(&mut self) {
        self.save_at = None;
        let ours = composer::saved(&self.model);
        match self.keep.write(&ours) {
            Ok(merged) if merged != ours => {
                composer::adopt(&mut self.model, &ours, &merged);
                self.dirty = Dirty::Keys;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "drafts are not kept"),
        }
    }

    fn perform(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Read(id) => {
                if self.reading.begins(&id) {
                    self.desk.perform(Request::Read(id));
                }
            }
            Request::Edit { session, path, line } => {
                let worktree = self.model.world.sessions.get(&session).map(|session| session.worktree.clone());
                self.errand = worktree.map(|worktree| Errand::File { worktree, path, line });
            }
            Request::EditText { text } => self.errand = Some(Errand::Text(text)),
            Request::Run(command) => self.errand = Some(Errand::Command(command)),
            Request::Demo => self.errand = Some(Errand::Demo),
            Request::Copy(text) => {
                self.screen.send(&outside::clipboard_bytes(&text))?;
                if self.model.terminal.tmux.is_some() {
                    // The terminal's own way was tried; a tmux that is too old for this one changes nothing.
                    outside::copy_in_tmux(&text).ok();
                }
                let lines = text.lines().count();
                let what = if lines > 1 { format!("{lines} lines") } else { text };
                self.take(Msg::Reply(Reply::Copied(what)))?;
            }
            Request::TakeImage { target } => self.desk.aside(move || match outside::clip() {
                Ok(outside::Clip::Image(image)) => Msg::Reply(Reply::Image { target, spelled: None, image }),
                Ok(outside::Clip::Text(text)) => Msg::Reply(Reply::Text { target, text }),
                Err(error) => Msg::Reply(Reply::Failed { doing: "paste".to_owned(), error }),
            }),
            Request::ReadImage { target, path, spelled } => {
                let directory = self.model.world.cwd.clone();
                self.desk.aside(move || match outside::read_image(directory.as_ref(), &path) {
                    Ok(image) => Msg::Reply(Reply::Image { target, spelled: Some(spelled), image }),
                    Err(error) => Msg::Reply(Reply::Failed { doing: "take the image".to_owned(), error }),
                });
            }
            Request::Notify(news) => self.notify(&news)?,
            Request::Recall => self.save(),
            Request::Save => self.save_at = Some(Instant::now() + SAVE_AFTER),
            Request::Redraw => {
                self.screen.forget()?;
                self.dirty = Dirty::Keys;
            }
            Request::Suspend => self.suspend()?,
            Request::Quit => self.is_over = true,
            Request::Attach { session, program } => self.open(session, program)?,
            Request::Detach => self.opening = None,
            request @ (Request::List
            | Request::ListRemoved
            | Request::FindMoved
            | Request::Page { .. }
            | Request::Create { .. }
            | Request::Prompt { .. }
            | Request::Answer { .. }
            | Request::Decide { .. }
            | Request::Stop(_)
            | Request::Resume(_)
            | Request::Merge { .. }
            | Request::Rebase(_)
            | Request::ProposeResolution(_)
            | Request::AcceptResolution { .. }
            | Request::Integrate(_)
            | Request::Undo { .. }
            | Request::Redo(_)
            | Request::Archive(_)
            | Request::Remove(_)
            | Request::Restore(_)
            | Request::SetPosture { .. }
            | Request::Drop { .. }
            | Request::Diff { .. }
            | Request::Review(_)
            | Request::Files { .. }
            | Request::Workflow(_)
            | Request::Backends
            | Request::ImportableServers
            | Request::Agents
            | Request::Config
            | Request::SetConfig { .. }
            | Request::Trust
            | Request::GrantTrust { .. }
            | Request::Doctor
            | Request::Publish(_)
            | Request::Look(_)
            | Request::Plans
            | Request::Queue(_)
            | Request::Repository) => self.desk.perform(request),
        }
        Ok(())
    }

    /// Stops the whole job, as the key would without a face; it goes on here.
    fn suspend(&mut self) -> io::Result<()> {
        if !outside::is_watched() {
            let error = Error::new(ErrorKind::Failed, "no shell waits for this program");
            return self.take(Msg::Reply(Reply::Failed { doing: "go to the background".to_owned(), error }));
        }
        self.screen.suspend();
        outside::suspend()?;
        self.screen.resume()?;
        self.dirty = Dirty::Keys;
        Ok(())
    }

    fn notify(&mut self, news: &notice::Notice) -> io::Result<()> {
        let bytes = notice::bytes(news, &notice::Ways::of(&self.model.world, &self.model.terminal));
        self.screen.send(&bytes)?;
        let command = notice::command(&self.model.world);
        let variables =
            [("COPPICE_SESSION", news.session.as_str()), ("COPPICE_TITLE", &news.title), ("COPPICE_BODY", &news.body)];
        if let Err(error) = outside::tell(&command, &variables) {
            tracing::warn!(%error, "the command for news did not start");
        }
        Ok(())
    }
}

async fn until(moment: Option<Instant>) {
    if let Some(moment) = moment {
        sleep_until(moment).await;
    }
}

/// The time in milliseconds, for ages only: what is stored gets its time from the daemon.
#[expect(clippy::disallowed_methods, reason = "an age is seen from where the person stands")]
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
