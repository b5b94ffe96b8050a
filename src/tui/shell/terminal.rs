//! The terminal while the face has it: raw, on the alternate screen, with pastes, clicks and focus reported.
//!
//! Whatever ends the face gives the terminal back as it was: the guard, the panic hook and the signals all come here.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Size;

use crate::tui::model::Model;
use crate::tui::view::{prepare, view};

/// One write per frame, however many cells change.
const BUFFER: usize = 64 * 1024;

/// Whether the terminal is in the face's hands.
static HELD: AtomicBool = AtomicBool::new(false);

type Out = CrosstermBackend<BufWriter<Stdout>>;

/// The terminal, which is given back when this value goes.
pub(super) struct Screen {
    terminal: ratatui::Terminal<Out>,
}

impl Screen {
    pub(super) fn take() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(hook(release, before));
        });
        hold()?;
        let terminal = blank().inspect_err(|_| release())?;
        Ok(Screen { terminal })
    }

    pub(super) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Draws the model; the terminal shows the frame as a whole.
    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        if !HELD.load(Ordering::SeqCst) {
            // A task beside this one panicked, which gave the terminal back; the face goes on.
            self.resume()?;
        }
        // The window may have changed since the last event that tells of it.
        let size = self.terminal.size()?;
        if size != self.terminal.get_frame().area().as_size() {
            // The terminal's own way to another size asks where the cursor is, and the answer comes among the keys.
            self.forget()?;
        }
        model.size = size;
        prepare(model);
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| view(model, frame))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// The next frame is drawn cell by cell: something else has been on the screen.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        // Clearing by the terminal itself would ask where the cursor is, and the answer comes among the keys.
        self.terminal = blank()?;
        Ok(())
    }

    /// Writes what is not part of a frame: a bell, a word to the terminal itself.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        out.write_all(bytes)?;
        Write::flush(out)
    }

    /// Gives the terminal away until `resume`.
    pub(super) fn suspend(&mut self) {
        release();
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        hold()?;
        self.forget()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        release();
    }
}

type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync>;

/// Gives the terminal back before a panic is told, so that its words are read on the usual screen.
fn hook(release: impl Fn() + Send + Sync + 'static, before: Hook) -> Hook {
    Box::new(move |info| {
        release();
        before(info);
    })
}

/// A terminal that is known to show nothing.
fn blank() -> io::Result<ratatui::Terminal<Out>> {
    ratatui::Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout())))
}

fn hold() -> io::Result<()> {
    if HELD.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    terminal::enable_raw_mode()?;
    enter(&mut io::stdout())
}

fn enter(out: &mut impl Write) -> io::Result<()> {
    execute!(out, EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange, EnableMouseCapture)?;
    // Terminals that know it tell Shift+Enter from Enter; the others ignore it.
    execute!(out, PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES))
}

fn leave(out: &mut impl Write) -> io::Result<()> {
    execute!(
        out,
        EndSynchronizedUpdate,
        PopKeyboardEnhancementFlags,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    )
}

/// Gives the terminal back as it was; does nothing a second time.
pub(super) fn release() {
    if !HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    // Nobody is left to tell when the terminal itself is gone.
    leave(&mut io::stdout()).ok();
    terminal::disable_raw_mode().ok();
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_is_switched_on_is_switched_off() {
        let (mut on, mut off) = (Vec::new(), Vec::new());
        enter(&mut on).unwrap();
        leave(&mut off).unwrap();
        let (on, off) = (String::from_utf8(on).unwrap(), String::from_utf8(off).unwrap());
        let modes: Vec<&str> =
            on.split("\x1b[?").filter_map(|part| part.split_once('h')).map(|(mode, _)| mode).collect();
        assert!(modes.len() >= 5, "{on:?}");
        for mode in modes {
            assert!(off.contains(&format!("\x1b[?{mode}l")), "{mode} stays on: {off:?}");
        }
        assert!(on.contains("\x1b[>1u") && off.contains("\x1b[<1u"), "{on:?} {off:?}");
        // An update that is held back would hold back all the rest; the cursor comes last.
        assert!(off.starts_with("\x1b[?2026l") && off.ends_with("\x1b[?25h"), "{off:?}");
    }

    #[test]
    fn a_panic_is_told_on_the_screen_that_was_there_before() {
        static SAID: Mutex<Vec<&str>> = Mutex::new(Vec::new());
        let usual = panic::take_hook();
        let told: Hook = Box::new(|_| SAID.lock().unwrap().push("told"));
        panic::set_hook(hook(|| SAID.lock().unwrap().push("given back"), told));
        let ended = panic::catch_unwind(|| panic!("on purpose"));
        panic::set_hook(usual);
        assert!(ended.is_err());
        assert_eq!(*SAID.lock().unwrap(), ["given back", "told"]);
    }
}
