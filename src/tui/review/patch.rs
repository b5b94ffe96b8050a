//! A unified patch as files, hunks and lines with their numbers. Pure; what cannot be read is left out, not guessed.

use sha2::{Digest, Sha256};

/// One file of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: String,
    /// The name before a rename, or what it is a copy of.
    pub(super) from: Option<String>,
    pub(super) fate: Fate,
    /// What else is to be known: other modes, how similar a renamed file is.
    pub(super) notes: Vec<String>,
    pub(super) hunks: Vec<Hunk>,
    pub(super) more: usize,
    pub(super) less: usize,
    /// Names this patch of the file.
    pub(super) digest: String,
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Fate {
    Added,
    Deleted,
    Renamed,
    Copied,
    #[default]
    Modified,
}

impl Fate {
    /// As git says it.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Fate::Added => "A",
            Fate::Deleted => "D",
            Fate::Renamed => "R",
            Fate::Copied => "C",
            Fate::Modified => "M",
        }
    }
}

/// Lines that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Where it begins on the old and on the new side.
    pub(super) old: u32,
    pub(super) new: u32,
    /// The function or section that it is in, as far as git can tell.
    pub(super) heading: String,
    pub(super) lines: Vec<Text>,
}

impl Hunk {
    /// The lines as a patch has them.
    pub(super) fn written(&self) -> String {
        let line = |line: &Text| {
            let mark = match line.kind {
                Kind::Same => ' ',
                Kind::Less => '-',
                Kind::More => '+',
            };
            format!("{mark}{}\n", line.text)
        };
        self.lines.iter().map(line).collect()
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) kind: Kind,
    /// Its numbers: a line that goes has only an old one, a line that comes only a new one.
    pub(super) old: Option<u32>,
    pub(super) new: Option<u32>,
    pub(super) text: String,
    pub(super) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Same,
    Less,
    More,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Newline,
    /// The file ends with it, without a newline.
    Bare,
}

/// Reads a patch as git writes it.
pub(super) fn read(patch: &str) -> Vec<File> {
    let mut starts: Vec<usize> = patch.match_indices("diff --git ").map(|(at, _)| at).collect();
    starts.retain(|at| *at == 0 || patch.as_bytes()[at - 1] == b'\n');
    starts.push(patch.len());
    starts.windows(2).filter_map(|ends| read_file(&patch[ends[0]..ends[1]])).collect()
}

fn read_file(section: &str) -> Option<File> {
    let mut lines = section.strip_suffix('\n').unwrap_or(section).split('\n');
    let mut file = File { path: named(lines.next()?.strip_prefix("diff --git ")?)?, ..File::default() };
    let digest = Sha256::digest(section.as_bytes());
    file.digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut open: Option<Open> = None;
    for line in lines {
        match &mut open {
            Some(hunk) if hunk.takes(line) => hunk.take(line),
            _ => {
                file.close(open.take());
                open = Open::read(line);
                if open.is_none() {
                    file.header(line);
                }
            }
        }
    }
    file.close(open);
    Some(file)
}

/// Stands for lines that nobody can read.
const BINARY: &str = "binary file";

impl File {
    pub(super) fn is_binary(&self) -> bool {
        self.notes.iter().any(|note| note == BINARY)
    }

    fn header(&mut self, line: &str) {
        let is_named = |path: &str| path != "/dev/null";
        if line.starts_with("new file mode ") {
            self.fate = Fate::Added;
        } else if line.starts_with("deleted file mode ") {
            self.fate = Fate::Deleted;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            (self.fate, self.from) = (Fate::Renamed, Some(unquoted(from)));
        } else if let Some(from) = line.strip_prefix("copy from ") {
            (self.fate, self.from) = (Fate::Copied, Some(unquoted(from)));
        } else if let Some(to) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to ")) {
            self.path = unquoted(to);
        } else if let Some(path) = line.strip_prefix("+++ ").map(side).filter(|path| is_named(path)) {
            self.path = path;
        } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
            self.notes.push(BINARY.to_owned());
        } else if ["old mode ", "new mode ", "similarity index "].iter().any(|start| line.starts_with(start)) {
            self.notes.push(line.to_owned());
        }
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(Open { hunk, .. }) = open else { return };
        let count = |kind| hunk.lines.iter().filter(|line| line.kind == kind).count();
        self.more += count(Kind::More);
        self.less += count(Kind::Less);
        self.hunks.push(hunk);
    }
}

/// A hunk of which lines are still to come. They are counted, because a line of a file may look like anything.
struct Open {
    hunk: Hunk,
    /// The numbers of the next lines, and how many follow.
    old: (u32, u32),
    new: (u32, u32),
}

impl Open {
    /// `@@ -10,2 +10,3 @@ fn name()`
    fn read(line: &str) -> Option<Open> {
        let (ranges, heading) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        };
        let (old, new): ((u32, u32), (u32, u32)) = (range(old)?, range(new)?);
        let hunk = Hunk { old: old.0, new: new.0, heading: heading.trim().to_owned(), lines: Vec::new() };
        Some(Open { hunk, old, new })
    }

    fn takes(&self, line: &str) -> bool {
        match line.as_bytes().first() {
            Some(b'\\') => true,
            Some(b'-') => self.old.1 > 0,
            Some(b'+') => self.new.1 > 0,
            // Whoever passes a patch on may have trimmed the blank of an empty line.
            Some(b' ') | None => self.old.1 > 0 && self.new.1 > 0,
            Some(_) => false,
        }
    }

    fn take(&mut self, line: &str) {
        let kind = match line.as_bytes().first() {
            Some(b'\\') => {
                if let Some(last) = self.hunk.lines.last_mut() {
                    last.end = End::Bare;
                }
                return;
            }
            Some(b'-') => Kind::Less,
            Some(b'+') => Kind::More,
            Some(_) | None => Kind::Same,
        };
        let old = (kind != Kind::More).then(|| step(&mut self.old));
        let new = (kind != Kind::Less).then(|| step(&mut self.new));
        let text = line.get(1..).unwrap_or_default().to_owned();
        self.hunk.lines.push(Text { kind, old, new, text, end: End::Newline });
    }
}

fn step((next, left): &mut (u32, u32)) -> u32 {
    let number = *next;
    *next = next.saturating_add(1);
    *left -= 1;
    number
}

/// The name in `a/name b/name`, where both are the same; a patch that has other names tells them again.
fn named(names: &str) -> Option<String> {
    if let Some(open) = names.strip_suffix('"') {
        let start = open.rfind(" \"")?;
        return Some(side(&names[start + 1..]));
    }
    let half = names.len().checked_sub(1)? / 2;
    match (names.get(..half), names.get(half + 1..)) {
        (Some(old), Some(new)) if old.get(2..) == new.get(2..) => Some(side(new)),
        _ => names.rsplit_once(" b/").map(|(_, path)| path.to_owned()),
    }
}

/// A name behind its `a/` or `b/`.
fn side(name: &str) -> String {
    // A name with a blank in it is followed by a tab.
    let name = unquoted(name.strip_suffix('\t').unwrap_or(name));
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).map(str::to_owned).unwrap_or(name)
}

/// A name as it is on the disk: git quotes those with odd characters as C does.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else { return name.to_owned() };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let octal = rest
                    .by_ref()
                    .take(2)
                    .fold(u32::from(digit - b'0'), |sum, digit| sum * 8 + u32::from(digit.saturating_sub(b'0') & 7));
                bytes.push(u8::try_from(octal & 0xff).unwrap_or(b'?'));
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'f') => bytes.push(12),
            Some(b'v') => bytes.push(11),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file in a few words: its fate, names and notes, then its lines with their numbers.
    fn told(file: &File) -> Vec<String> {
        let from = file.from.as_ref().map(|from| format!("{from} → ")).unwrap_or_default();
        let head = format!("{} {from}{} +{} −{} {:?}", file.fate.letter(), file.path, file.more, file.less, file.notes);
        let number = |number: Option<u32>| number.map_or_else(|| "·".to_owned(), |number| number.to_string());
        let line = |line: &Text| {
            let end = if line.end == End::Bare { "¶" } else { "" };
            format!("{} {} {:?} {}{end}", number(line.old), number(line.new), line.kind, line.text)
        };
        let hunk = |hunk: &Hunk| {
            std::iter::once(format!("@ {} {} {}", hunk.old, hunk.new, hunk.heading))
                .chain(hunk.lines.iter().map(line))
                .collect::<Vec<_>>()
        };
        std::iter::once(head).chain(file.hunks.iter().flat_map(hunk)).collect()
    }

    #[track_caller]
    fn check(patch: &str, expected: &[&str]) {
        let files = read(patch);
        assert_eq!(files.iter().flat_map(told).collect::<Vec<_>>(), expected);
        assert!(files.iter().all(|file| file.digest.len() == 64));
    }

    #[test]
    fn lines_have_their_numbers() {
        let patch = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
            @@ -10,3 +10,3 @@ fn allow()\n one\n-two\n+TWO\n\n@@ -40 +40,2 @@\n-x\n\\ No newline at end of file\n+x\n+y\n";
        check(
            patch,
            &[
                "M src/a.rs +3 −2 []",
                "@ 10 10 fn allow()",
                "10 10 Same one",
                "11 · Less two",
                "· 11 More TWO",
                "12 12 Same ",
                "@ 40 40 ",
                "40 · Less x¶",
                "· 40 More x",
                "· 41 More y",
            ],
        );
    }

    #[test]
    fn files_come_go_move_and_change_their_modes() {
        let patch = "diff --git a/new b/new\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n\
            diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
            diff --git a/x y.txt b/z.txt\nsimilarity index 100%\nrename from x y.txt\nrename to z.txt\n\
            diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
            diff --git a/p.png b/p.png\nindex 1..2\nBinary files a/p.png and b/p.png differ\n\
            diff --git \"a/a\\tb\\303\\244\" \"b/a\\tb\\303\\244\"\nnew file mode 100644\n";
        check(
            patch,
            &[
                "A new +1 −0 []",
                "@ 0 1 ",
                "· 1 More a",
                "D old +0 −1 []",
                "@ 1 0 ",
                "1 · Less a",
                "R x y.txt → z.txt +0 −0 [\"similarity index 100%\"]",
                "M run +0 −0 [\"old mode 100644\", \"new mode 100755\"]",
                "M p.png +0 −0 [\"binary file\"]",
                "A a\tbä +0 −0 []",
            ],
        );
    }

    #[test]
    fn lines_that_look_like_a_patch_are_lines() {
        let patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- a/g\n+++ b/g\n @@ -1 +1 @@\n+extra\n";
        check(patch, &["M f +1 −1 []", "@ 1 1 ", "1 · Less -- a/g", "· 1 More ++ b/g", "2 2 Same @@ -1 +1 @@"]);
    }

    #[test]
    fn another_patch_of_a_file_has_another_digest() {
        let patch = |line: &str| format!("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+{line}\n");
        let digest = |line: &str| read(&patch(line))[0].digest.clone();
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }

    proptest! {
        #[test]
        fn no_patch_is_too_odd(text in any::<String>(), patch in "(diff --git [ab/ \"\\\\]{0,6}|@@ -[0-9],[0-9] \\+[0-9] @@|[-+ \\\\][a ]{0,3}|rename to a|\n){0,40}") {
            read(&text);
            for file in read(&patch) {
                for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
                    prop_assert_eq!(line.old.is_none(), line.kind == Kind::More);
                    prop_assert_eq!(line.new.is_none(), line.kind == Kind::Less);
                }
            }
        }

        #[test]
        fn what_a_hunk_says_is_what_it_has(lines in proptest::collection::vec("[-+ ][-+@ a]{0,4}", 1..20), start in 1u32..50) {
            let count = |other: char| lines.iter().filter(|line| !line.starts_with(other)).count();
            let (old, new) = (count('+'), count('-'));
            let patch = format!("diff --git a/f b/f\n@@ -{start},{old} +{start},{new} @@\n{}\n", lines.join("\n"));
            let files = read(&patch);
            let read: Vec<String> = files[0].hunks[0].lines.iter().map(|line| {
                let mark = match line.kind { Kind::Same => ' ', Kind::Less => '-', Kind::More => '+' };
                format!("{mark}{}", line.text)
            }).collect();
            prop_assert_eq!(read, lines);
        }
    }
}
