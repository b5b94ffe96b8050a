//! The one place that prints: data goes to stdout, talk to stderr, colours only to a terminal that wants them.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::line::{Line, Tone, escape_json, visible};
use super::report::{Failure, indent_rest};

/// Both streams of the process.
pub(super) struct Output {
    data: Stream,
    talk: Stream,
    /// How many lines of talk the next print replaces.
    passing: usize,
    /// Data ended in the middle of a line.
    line_is_open: bool,
    /// Talk ended that line on the screen, so its own end must not be shown again.
    line_was_ended: bool,
}

struct Stream {
    sink: Box<dyn Write>,
    is_terminal: bool,
    has_colour: bool,
}

/// What a stream is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    Terminal,
    Other,
}

impl Output {
    /// The process's own streams.
    pub(super) fn of_process() -> Output {
        let wanted = Colours::from_environment();
        let stream = |sink: Box<dyn Write>, is_terminal| Stream {
            sink,
            is_terminal,
            has_colour: is_terminal && wanted == Colours::Wanted,
        };
        Output {
            data: stream(Box::new(BufWriter::new(io::stdout())), io::stdout().is_terminal()),
            talk: stream(Box::new(io::stderr()), io::stderr().is_terminal()),
            passing: 0,
            line_is_open: false,
            line_was_ended: false,
        }
    }

    pub(super) fn data_sink(&self) -> Sink {
        self.data.connected_to()
    }

    pub(super) fn talk_sink(&self) -> Sink {
        self.talk.connected_to()
    }

    /// Lines of data.
    pub(super) fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a Line>) -> Result<(), Failure> {
        self.erase()?;
        lines.into_iter().try_for_each(|line| self.data.line(line))?;
        Ok(self.data.sink.flush()?)
    }

    /// A piece of data that was written by an agent: as it is into a pipe, made harmless on a terminal.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        match self.data_sink() {
            Sink::Terminal => {
                let was_ended = std::mem::take(&mut self.line_was_ended);
                let rest = text.strip_prefix('\n').filter(|_| was_ended).unwrap_or(text);
                self.bytes(visible(rest).as_bytes())
            }
            Sink::Other => self.bytes(text.as_bytes()),
        }
    }

    /// Bytes of data as they are.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.erase()?;
        self.data.sink.write_all(bytes)?;
        self.line_is_open = bytes.last().map_or(self.line_is_open, |last| *last != b'\n');
        Ok(self.data.sink.flush()?)
    }

    /// One line of JSON in a stream of records.
    pub(super) fn record(&mut self, text: &str) -> Result<(), Failure> {
        match self.data_sink() {
            Sink::Terminal => self.data.sink.write_all(escape_json(text).as_bytes())?,
            Sink::Other => self.data.sink.write_all(text.as_bytes())?,
        }
        self.bytes(b"\n")
    }

    /// Lines of data that a terminal shows without wrapping.
    pub(super) fn rows(&mut self, lines: &[Line]) -> Result<(), Failure> {
        match self.data_sink() {
            Sink::Terminal => {
                let columns = columns(io::stdout());
                self.lines(&lines.iter().map(|line| line.clone().fit(columns)).collect::<Vec<_>>())
            }
            Sink::Other => self.lines(lines),
        }
    }

    /// One value as JSON: readable on a terminal, on one line elsewhere.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.erase()?;
        match self.data_sink() {
            Sink::Terminal => {
                let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
                self.data.sink.write_all(escape_json(&text).as_bytes())?;
            }
            Sink::Other => serde_json::to_writer(&mut self.data.sink, value).map_err(io::Error::from)?,
        }
        self.bytes(b"\n")
    }

    /// Tells the person something.
    pub(super) fn say(&mut self, line: &Line) -> Result<(), Failure> {
        self.begin_talk()?;
        Ok(self.talk.line(line)?)
    }

    /// Tells the person what went wrong beside an act that worked.
    pub(super) fn warn(&mut self, warnings: &[String]) -> Result<(), Failure> {
        let line = |text: &String| Line::toned(Tone::Warn, "warning:").plain(format!(" {}", indent_rest(text)));
        warnings.iter().try_for_each(|text| self.say(&line(text)))
    }

    pub(super) fn say_all(&mut self, lines: &[Line]) -> Result<(), Failure> {
        lines.iter().try_for_each(|line| self.say(line))
    }

    /// Asks the person something; the answer is typed on the same line.
    pub(super) fn ask(&mut self, line: &Line) -> Result<(), Failure> {
        self.begin_talk()?;
        self.talk.spans(line)?;
        Ok(self.talk.sink.flush()?)
    }

    /// Shows lines that the next print replaces. Only a terminal can do that; elsewhere nothing is shown.
    pub(super) fn passing(&mut self, lines: &[Line]) -> Result<(), Failure> {
        if self.talk_sink() == Sink::Other {
            return Ok(());
        }
        self.begin_talk()?;
        let columns = columns(io::stderr());
        // A wrapped line would take two rows, and erasing would leave one of them behind.
        lines.iter().try_for_each(|line| self.talk.line(&line.clone().fit(columns)))?;
        self.passing = lines.len();
        Ok(self.talk.sink.flush()?)
    }

    /// Talk begins on a line of its own where both streams share a screen.
    fn begin_talk(&mut self) -> io::Result<()> {
        self.erase()?;
        let shared = self.data.is_terminal && self.talk.is_terminal;
        match shared && std::mem::take(&mut self.line_is_open) {
            true => {
                self.line_was_ended = true;
                self.talk.sink.write_all(b"\n")
            }
            false => Ok(()),
        }
    }

    fn erase(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.passing) {
            0 => Ok(()),
            rows => write!(self.talk.sink, "\x1b[{rows}A\x1b[J"),
        }
    }
}

/// The width of the terminal behind a stream.
fn columns(stream: impl AsFd) -> usize {
    match rustix::termios::tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        // A terminal that does not know its size is as wide as they once were.
        Ok(_) | Err(_) => 80,
    }
}

impl Stream {
    fn connected_to(&self) -> Sink {
        if self.is_terminal { Sink::Terminal } else { Sink::Other }
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        self.spans(line)?;
        self.sink.write_all(b"\n")
    }

    fn spans(&mut self, line: &Line) -> io::Result<()> {
        for (tone, text) in line.spans() {
            let style = if self.has_colour { style(tone) } else { Style::new() };
            write!(self.sink, "{style}{}{style:#}", visible(text))?;
        }
        Ok(())
    }
}

/// Whether the person wants colours at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colours {
    Wanted,
    Unwanted,
}

impl Colours {
    /// `NO_COLOR` with any value but the empty one, or a terminal that says it is dumb.
    fn from_environment() -> Colours {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        if refused || dumb { Colours::Unwanted } else { Colours::Wanted }
    }
}

/// How a tone looks; the sixteen colours of the terminal, so that its own theme holds.
fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().bold(),
        Tone::Dim => Style::new().dimmed(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Warn => AnsiColor::Yellow.on_default(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Less => AnsiColor::Red.on_default(),
        Tone::More | Tone::Literal => AnsiColor::Green.on_default(),
        Tone::Accent | Tone::Code | Tone::TypeName => AnsiColor::Cyan.on_default(),
        Tone::Heading => Style::new().bold(),
        Tone::Link | Tone::Function => AnsiColor::Blue.on_default(),
        Tone::Keyword | Tone::Number => AnsiColor::Magenta.on_default(),
        Tone::Comment => Style::new().dimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn stream(sink: Shared, is_terminal: bool, has_colour: bool) -> Stream {
        Stream { sink: Box::new(sink), is_terminal, has_colour }
    }

    #[test]
    fn colours_reach_only_a_stream_that_has_them() {
        for (has_colour, expected) in [(true, "\x1b[1m\x1b[31mx\x1b[0m y\n"), (false, "x y\n")] {
            let sink = Shared::default();
            stream(sink.clone(), true, has_colour).line(&Line::toned(Tone::Bad, "x").plain(" y")).unwrap();
            assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), expected);
        }
    }

    #[test]
    fn an_agent_cannot_drive_the_terminal_but_a_pipe_gets_every_byte() {
        for (is_terminal, expected) in [(true, "\u{fffd}[2Jx"), (false, "\x1b[2Jx")] {
            let sink = Shared::default();
            let data = stream(sink.clone(), is_terminal, false);
            let mut output = Output {
                data,
                talk: stream(Shared::default(), false, false),
                passing: 0,
                line_is_open: false,
                line_was_ended: false,
            };
            output.text("\x1b[2Jx").unwrap();
            assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), expected);
        }
    }

    #[test]
    fn json_of_an_agent_drives_no_terminal_but_a_pipe_gets_every_byte() {
        for (is_terminal, expected) in
            [(true, "\"\\u009b2J\\u202e\"\n[\"\\u009b\"]\n"), (false, "\"\u{9b}2J\u{202e}\"\n[\"\u{9b}\"]\n")]
        {
            let sink = Shared::default();
            let mut output = Output {
                data: stream(sink.clone(), is_terminal, false),
                talk: stream(Shared::default(), false, false),
                passing: 0,
                line_is_open: false,
                line_was_ended: false,
            };
            output.json(&"\u{9b}2J\u{202e}").unwrap();
            output.record("[\"\u{9b}\"]").unwrap();
            assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), expected);
        }
    }

    #[test]
    fn passing_lines_give_way_to_the_next_print() {
        let sink = Shared::default();
        let data = stream(Shared::default(), false, false);
        let mut output = Output {
            data,
            talk: stream(sink.clone(), true, false),
            passing: 0,
            line_is_open: false,
            line_was_ended: false,
        };
        output.passing(&[Line::new().plain("a"), Line::new().plain("b")]).unwrap();
        output.passing(&[Line::new().plain("c")]).unwrap();
        output.say(&Line::new().plain("done")).unwrap();
        let expected = "a\nb\n\x1b[2A\x1b[Jc\n\x1b[1A\x1b[Jdone\n";
        assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), expected);
    }

    #[test]
    fn talk_in_the_middle_of_an_answer_has_its_own_line() {
        let screen = Shared::default();
        let mut output = Output {
            data: stream(screen.clone(), true, false),
            talk: stream(screen.clone(), true, false),
            passing: 0,
            line_is_open: false,
            line_was_ended: false,
        };
        output.text("answer").unwrap();
        output.say(&Line::new().plain("talk")).unwrap();
        output.text("\n").unwrap();
        output.say(&Line::new().plain("end")).unwrap();
        assert_eq!(String::from_utf8(screen.0.lock().unwrap().clone()).unwrap(), "answer\ntalk\nend\n");
    }
}
