//! `Seat`: a person in front of a real terminal in which the real binary runs.
//!
//! Waiting is for what the screen shows, never for time.

use std::io::{Read, Write};
use std::num::NonZero;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// Nothing that a test waits for takes this long unless something hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a program may take to show what a key does before it is pressed again.
const AGAIN: Duration = Duration::from_secs(3);

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// A terminal with a program in it.
pub(crate) struct Seat {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    pieces: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// Everything that was ever shown.
    shown: Vec<u8>,
    /// Where the next question of the program may begin.
    asked: usize,
}

/// What programs ask a terminal, and wait for.
const WHERE: &[u8] = b"\x1b[6n";
const WHAT: &[u8] = b"\x1b[c";

impl Seat {
    /// Starts a program on a terminal of 80 by 24.
    pub(crate) fn take(command: &Command) -> Self {
        Self::sized(command, COLUMNS, ROWS)
    }

    pub(crate) fn sized(command: &Command, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        builder.env("TERM", "xterm-256color");
        for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            builder.env(name, value);
        }
        builder.cwd(command.get_current_dir().expect("a directory"));
        let child = pair.slave.spawn_command(builder).unwrap();
        let (mut reader, keys) = (pair.master.try_clone_reader().unwrap(), pair.master.take_writer().unwrap());
        let (sender, pieces) = mpsc::channel();
        thread::spawn(move || {
            let mut piece = vec![0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(some(rows), some(columns), 0);
        Self { child, master: pair.master, keys, pieces, screen, shown: Vec::new(), asked: 0 }
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) {
        self.waits_for(text, |seat| seat.contents().contains(text));
    }

    /// Waits until the screen does not show a text.
    #[track_caller]
    pub(crate) fn hides(&mut self, text: &str) {
        self.waits_for(&format!("end of {text}"), |seat| !seat.screen.screen().contents().contains(text));
    }

    /// Waits until a text was shown, be it gone again.
    #[track_caller]
    pub(crate) fn showed(&mut self, text: &str) {
        self.waits_for(text, |seat| seat.all().contains(text));
    }

    /// Types until the screen shows a text: a program that starts up, or draws, may drop what is typed meanwhile.
    #[track_caller]
    pub(crate) fn insists(&mut self, keys: &str, text: &str) {
        let fits = |seat: &Self| seat.contents().contains(text);
        for _ in 0..LIMIT.as_secs() / AGAIN.as_secs() {
            self.types(keys);
            if self.follows_until(Instant::now() + AGAIN, fits) {
                return;
            }
        }
        self.shows(text);
    }

    #[track_caller]
    fn waits_for(&mut self, what: &str, fits: impl Fn(&Self) -> bool) {
        let is_there = self.follows_until(Instant::now() + LIMIT, fits);
        assert!(is_there, "no `{what}` on the screen:\n{}\n-- all:\n{:?}", self.contents(), self.all());
    }

    /// Follows the program until something fits; whether it did in time.
    fn follows_until(&mut self, deadline: Instant, fits: impl Fn(&Self) -> bool) -> bool {
        while !fits(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.follow(&piece),
                Err(_) => return false,
            }
        }
        true
    }

    fn follow(&mut self, piece: &[u8]) {
        self.screen.process(piece);
        self.shown.extend_from_slice(piece);
        let (row, column) = self.screen.screen().cursor_position();
        let place = format!("\x1b[{};{}R", row + 1, column + 1);
        for question in questions(&self.shown, &mut self.asked) {
            let answer = if question == WHERE { place.as_str() } else { "\x1b[?62;22c" };
            // One that has ended needs no answer.
            self.keys.write_all(answer.as_bytes()).ok();
        }
    }

    /// What the screen shows at this moment.
    pub(crate) fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// The end of what was shown, for the message of a failing test.
    fn last(&self) -> String {
        let begin = self.shown.len().saturating_sub(2_000);
        String::from_utf8_lossy(&self.shown[begin..]).into_owned()
    }

    /// Everything that was ever shown.
    pub(crate) fn all(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.master.resize(size(columns, rows)).unwrap();
        self.screen.screen_mut().set_size(some(rows), some(columns));
    }

    /// Pastes a text as a terminal marks it.
    pub(crate) fn pastes(&mut self, text: &str) {
        self.types(&format!("\x1b[200~{text}\x1b[201~"));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().expect("it runs")
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let pid = self.child.process_id().and_then(|pid| Pid::from_raw(pid.cast_signed())).expect("it runs");
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end of the program; its exit code.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> u32 {
        let deadline = Instant::now() + LIMIT;
        while let Ok(piece) = self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.follow(&piece);
        }
        assert!(Instant::now() < deadline, "still running:\n{}", self.contents());
        self.child.wait().unwrap().exit_code()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The questions from a place on, which moves behind them. One that has only begun is there when its end is.
fn questions(shown: &[u8], from: &mut usize) -> Vec<&'static [u8]> {
    let mut found = Vec::new();
    while *from < shown.len() {
        let rest = &shown[*from..];
        let question = [WHERE, WHAT].into_iter().find(|question| rest.starts_with(question));
        let may_begin = [WHERE, WHAT].iter().any(|question| question.starts_with(rest));
        if may_begin && question.is_none() {
            break;
        }
        *from += question.map_or(1, <[u8]>::len);
        found.extend(question);
    }
    found
}

#[test]
fn a_question_in_two_pieces_is_a_question() {
    for pieces in [&[&b"a\x1b[6nb\x1b[c"[..]][..], &[b"a\x1b[", b"6nb", b"\x1b", b"[", b"c"]] {
        let (mut shown, mut from, mut found) = (Vec::new(), 0, Vec::new());
        for piece in pieces {
            shown.extend_from_slice(piece);
            found.extend(questions(&shown, &mut from));
        }
        assert_eq!(found, [WHERE, WHAT], "{pieces:?}");
    }
}

fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("a terminal has room")
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}
