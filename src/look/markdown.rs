//! What agents write, laid out: headings, lists, quotes, code, tables, wrapped to a width. Values in, lines out.
//!
//! HTML is text like any other. Nothing in it can drive the terminal.

mod table;

#[cfg(test)]
mod tests;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::highlight;
use super::line::{Line, Tone, columns_of, visible};
use table::Table;

/// Before each line of a quote.
const QUOTE: &str = "▏ ";

/// Before each line of code.
const CODE: &str = "  ";

/// The text as lines of at most so many columns.
pub(crate) fn lines(text: &str, width: u16) -> Vec<Line> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut writer = Writer { width: usize::from(width.max(1)), ..Writer::default() };
    Parser::new_ext(text, options).for_each(|event| writer.event(event));
    writer.finish()
}

#[derive(Default)]
struct Writer {
    width: usize,
    done: Vec<Line>,
    /// The line that is being put together.
    line: Line,
    containers: Vec<Container>,
    /// The number of the next item of each open list; bullets have none.
    lists: Vec<Option<u64>>,
    /// How the words in hand are meant, the innermost last.
    tones: Vec<Tone>,
    link: Option<Link>,
    /// The language and the text of a block of code.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// The next block stands apart from what is above it.
    is_apart: bool,
}

enum Container {
    Quote,
    /// The marker goes before the first row of the item.
    Item {
        marker: Option<String>,
        indent: usize,
    },
}

struct Link {
    target: String,
    words: String,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.inline(Tone::Code, &text),
            Event::Html(text) => {
                for line in text.lines() {
                    self.inline(Tone::Plain, line);
                    self.end_line();
                }
            }
            Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.begin_block();
                self.line = Line::new().dim("─".repeat(self.room()));
                self.end_block();
            }
            Event::TaskListMarker(true) => self.line = std::mem::take(&mut self.line).with(Tone::Good, "[x] "),
            Event::TaskListMarker(false) => self.line = std::mem::take(&mut self.line).dim("[ ] "),
            // Not asked for, so not sent.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.tones.push(Tone::Heading);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                }
                self.end_line();
                self.is_apart = false;
                self.lists.push(first);
            }
            Tag::Item => self.begin_item(),
            Tag::Emphasis | Tag::Strong => self.tones.push(Tone::Strong),
            Tag::Strikethrough => self.tones.push(Tone::Dim),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.tones.push(Tone::Link);
                self.link = Some(Link { target: dest_url.into_string(), words: String::new() });
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.tones.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.write_empty_item();
                self.containers.pop();
                self.is_apart = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.tones.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.lines(self.room()).into_iter().for_each(|line| self.write(line));
                }
                self.is_apart = true;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            _ => {}
        }
    }

    /// A block that follows another one begins after an empty row, but not in a list whose items stand close.
    fn begin_block(&mut self) {
        self.end_line();
        if std::mem::take(&mut self.is_apart) && !self.done.is_empty() {
            self.write(Line::new());
        }
    }

    fn end_block(&mut self) {
        self.end_line();
        self.is_apart = true;
    }

    fn begin_item(&mut self) {
        self.end_line();
        self.is_apart = false;
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => "• ".to_owned(),
        };
        let indent = columns_of(&marker);
        self.containers.push(Container::Item { marker: Some(marker), indent });
    }

    fn write_empty_item(&mut self) {
        if let Some(Container::Item { marker: Some(_), .. }) = self.containers.last() {
            self.write(Line::new());
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => self.inline(self.tones.last().copied().unwrap_or(Tone::Plain), text),
        }
    }

    fn inline(&mut self, tone: Tone, text: &str) {
        // Code in a heading is part of the heading.
        let tone = if self.tones.first() == Some(&Tone::Heading) { Tone::Heading } else { tone };
        if let Some(link) = &mut self.link {
            link.words.push_str(text);
        }
        self.line = std::mem::take(&mut self.line).with(tone, visible(&text.replace('\n', " ")));
    }

    /// The target is told where the words do not tell it.
    fn end_link(&mut self) {
        self.tones.pop();
        let Some(Link { target, words }) = self.link.take() else { return };
        let bare = target.strip_prefix("mailto:").unwrap_or(&target);
        if !target.is_empty() && bare != words && target != words {
            let target = visible(&target.replace('\n', " "));
            self.line = std::mem::take(&mut self.line).dim(format!(" ({target})"));
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let room = self.room().saturating_sub(columns_of(CODE));
        for line in highlight::lines(&code, &language) {
            for row in line.wrap(room) {
                self.write(Line::new().plain(CODE).then(row));
            }
        }
        self.is_apart = true;
    }

    /// Writes the line in hand, if there is one.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.spans().any(|(_, text)| !text.is_empty()) {
            line.wrap(self.room()).into_iter().for_each(|row| self.write(row));
        }
    }

    /// One row behind the marks of the blocks it stands in.
    fn write(&mut self, row: Line) {
        let shown = self.shown();
        let mut prefix = Line::new();
        for container in &mut self.containers[..shown] {
            prefix = match container {
                Container::Quote => prefix.dim(QUOTE),
                Container::Item { marker, indent } => match marker.take() {
                    Some(marker) => prefix.dim(marker),
                    None => prefix.plain(" ".repeat(*indent)),
                },
            };
        }
        let is_blank = row.width() == 0 && prefix.text().trim().is_empty();
        self.done.push(if is_blank { Line::new() } else { prefix.then(row) });
    }

    /// How many of the blocks around are shown: half of the row is left to the words, however deep they stand.
    fn shown(&self) -> usize {
        let mut used = 0;
        let fits = |container: &&Container| {
            used += container.columns();
            used <= self.width / 2
        };
        self.containers.iter().take_while(fits).count()
    }

    /// The columns that are left for words.
    fn room(&self) -> usize {
        let used: usize = self.containers[..self.shown()].iter().map(Container::columns).sum();
        self.width - used
    }

    fn finish(mut self) -> Vec<Line> {
        self.end_line();
        self.done
    }
}

impl Container {
    fn columns(&self) -> usize {
        match self {
            Container::Quote => columns_of(QUOTE),
            Container::Item { indent, .. } => *indent,
        }
    }
}
