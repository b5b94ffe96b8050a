//! A file with conflict marks, cut into its regions and the text between them. Put together again, nothing but the regions
//! is different.

use super::DIVIDER;

/// A longer file is not asked about, in bytes.
pub const FILE_LIMIT: usize = 512 << 10;

/// The names beside the marks, or what they begin with.
#[derive(Debug, Clone, Copy)]
pub struct MarkLabels<'a> {
    pub ours: &'a str,
    pub theirs: &'a str,
}

/// A text with at least one region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedFile<'a> {
    pieces: Vec<Piece<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Region(ConflictRegion<'a>),
}

/// One place that both sides have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConflictRegion<'a> {
    /// The session's version.
    pub ours: &'a str,
    /// The version of the base branch.
    pub theirs: &'a str,
    /// How many signs make a mark.
    pub mark_size: usize,
    /// Everything, marks included.
    marked: &'a str,
}

/// Why a text cannot be cut. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkedFileError {
    #[error("it is larger than {} KiB", FILE_LIMIT >> 10)]
    TooLarge,
    #[error("it is not text")]
    Binary,
    #[error("it has no conflict marks")]
    Unmarked,
    #[error("its conflict marks are incomplete or ambiguous at line {line}")]
    BrokenMarks { line: usize },
    #[error("line {line} begins with `@@@`, as the lines that divide an answer do")]
    Divided { line: usize },
}

/// Finds the regions of a text.
pub fn cut_regions<'a>(bytes: &'a [u8], labels: MarkLabels<'_>) -> Result<MarkedFile<'a>, MarkedFileError> {
    if bytes.len() > FILE_LIMIT {
        return Err(MarkedFileError::TooLarge);
    }
    let text = str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or(MarkedFileError::Binary)?;
    let (mut pieces, mut open): (_, Option<OpenRegion>) = (Vec::new(), None);
    let (mut kept, mut end) = (0, 0);
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        let begin = end;
        end += whole.len();
        let broken = MarkedFileError::BrokenMarks { line };
        if whole.starts_with(DIVIDER) {
            return Err(MarkedFileError::Divided { line });
        }
        let mark = read_mark(without_ending(whole), labels, open.as_ref().map(|region| region.mark_size));
        open = match (mark, open) {
            (None, open) => open,
            // Without a region around it, it is the underline of a heading.
            (Some(Mark::Base | Mark::Middle), None) => None,
            (Some(Mark::Start(mark_size)), None) => {
                pieces.extend((kept < begin).then(|| Piece::Text(&text[kept..begin])));
                Some(OpenRegion { line, begin, mark_size, ours: end, ours_end: None, theirs: None })
            }
            (Some(Mark::Base), Some(region)) if region.theirs.is_none() && region.ours_end.is_none() => {
                Some(OpenRegion { ours_end: Some(begin), ..region })
            }
            (Some(Mark::Middle), Some(region)) if region.theirs.is_none() => {
                Some(OpenRegion { ours_end: region.ours_end.or(Some(begin)), theirs: Some(end), ..region })
            }
            (Some(Mark::End(size)), Some(region)) if size == region.mark_size => {
                let (Some(ours_end), Some(theirs)) = (region.ours_end, region.theirs) else { return Err(broken) };
                pieces.push(Piece::Region(ConflictRegion {
                    ours: &text[region.ours..ours_end],
                    theirs: &text[theirs..begin],
                    mark_size: region.mark_size,
                    marked: &text[region.begin..end],
                }));
                kept = end;
                None
            }
            (Some(Mark::Start(_) | Mark::Base | Mark::Middle | Mark::End(_)), _) => return Err(broken),
        };
    }
    match open {
        Some(OpenRegion { line, .. }) => return Err(MarkedFileError::BrokenMarks { line }),
        None if kept == 0 => return Err(MarkedFileError::Unmarked),
        None => {}
    }
    pieces.extend((kept < text.len()).then(|| Piece::Text(&text[kept..])));
    Ok(MarkedFile { pieces })
}

impl<'a> MarkedFile<'a> {
    pub fn regions(&self) -> impl Iterator<Item = &ConflictRegion<'a>> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Region(region) => Some(region),
        })
    }

    /// Up to so many lines before and after each region, as far as the next one.
    pub fn surroundings(&self, lines: usize) -> Vec<(&'a str, &'a str)> {
        let text = |at: Option<usize>| match at.and_then(|at| self.pieces.get(at)) {
            Some(Piece::Text(text)) => *text,
            Some(Piece::Region(_)) | None => "",
        };
        let around = self.pieces.iter().enumerate().filter_map(|(at, piece)| match piece {
            Piece::Text(_) => None,
            Piece::Region(_) => {
                Some((last_lines(text(at.checked_sub(1)), lines), first_lines(text(Some(at + 1)), lines)))
            }
        });
        around.collect()
    }

    /// The file with these texts in the places of its regions; a region without one stays as it is. Lines end as those of
    /// the region, and where the file ended without a line end, it does so again.
    pub fn with_texts(&self, texts: &[String]) -> String {
        let (mut file, mut texts) = (String::new(), texts.iter());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => file.push_str(text),
                Piece::Region(region) => match texts.next() {
                    Some(text) => region.write(text, &mut file),
                    None => file.push_str(region.marked),
                },
            }
        }
        file
    }
}

impl ConflictRegion<'_> {
    fn write(&self, text: &str, file: &mut String) {
        let first = self.marked.split_inclusive('\n').next().unwrap_or_default();
        let ending = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
        for line in text.lines() {
            file.extend([line, ending]);
        }
        if !text.is_empty() && !self.marked.ends_with('\n') {
            file.truncate(file.len() - ending.len());
        }
    }
}

/// Whether a line would be taken for a mark of this size, whoever's name stands beside it.
pub(super) fn looks_like_mark(line: &str, size: usize) -> bool {
    let signs = |sign: char| line.chars().take_while(|c| *c == sign).count() == size;
    let named = |sign: char| signs(sign) && line[size..].starts_with(' ');
    named('<') || named('>') || named('|') || (signs('=') || signs('|')) && line.trim_end().len() == size
}

struct OpenRegion {
    line: usize,
    begin: usize,
    mark_size: usize,
    ours: usize,
    ours_end: Option<usize>,
    theirs: Option<usize>,
}

enum Mark {
    Start(usize),
    Base,
    Middle,
    End(usize),
}

/// Reads a line as a mark. Those in the middle have no name of ours, so their length must be that of the first.
fn read_mark(line: &str, labels: MarkLabels<'_>, size: Option<usize>) -> Option<Mark> {
    let first = line.chars().next().filter(|c| "<|=>".contains(*c))?;
    let signs = line.chars().take_while(|c| *c == first).count();
    let rest = &line[signs..];
    let is_named = |label: &str| rest.strip_prefix(' ').is_some_and(|name| name.starts_with(label));
    match first {
        '<' if is_named(labels.ours) => Some(Mark::Start(signs)),
        '>' if is_named(labels.theirs) => Some(Mark::End(signs)),
        '|' if Some(signs) == size && (rest.is_empty() || rest.starts_with(' ')) => Some(Mark::Base),
        '=' if Some(signs) == size && rest.is_empty() => Some(Mark::Middle),
        _ => None,
    }
}

fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn first_lines(text: &str, lines: usize) -> &str {
    let length = text.split_inclusive('\n').take(lines).map(str::len).sum();
    &text[..length]
}

fn last_lines(text: &str, lines: usize) -> &str {
    let length: usize = text.split_inclusive('\n').rev().take(lines).map(str::len).sum();
    &text[text.len() - length..]
}
