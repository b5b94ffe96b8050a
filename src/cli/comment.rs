//! `coppice comment`: a word about one line of a session's changes, kept until it is sent.

use std::ops::Range;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;

use super::line::{Line, Tone, file_name};
use super::{Context, Exit, Failure, Format};
use crate::api::request::DiffQuery;
use crate::api::review::{AddComment, EditComment, Side};

/// Comments on one line of what a session changed.
///
/// A comment is a draft: `coppice review ID --send` sends all of them as one prompt.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "coppice comment [OPTIONS] <ID> <PATH:LINE> <TEXT>\n       coppice comment [OPTIONS] <ID> --edit <N> <TEXT>",
    after_help = "\
Examples:
  coppice comment k3f src/limit.rs:11 \"read it once in new(), not per call\"
  coppice comment k3f src/limit.rs:4 --old \"this check must stay\"
  coppice comment k3f --edit 1 \"read it once, in new()\"
  coppice review k3f --send"
)]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// The file, as `coppice diff` names it, and the number of the line.
    #[arg(value_name = "PATH:LINE", required_unless_present = "edit")]
    place: Option<LineAt>,
    /// What is to be said about it.
    #[arg(value_parser = NonEmptyStringValueParser::new(), required_unless_present = "edit")]
    text: Option<String>,
    /// The line as it was before the changes.
    #[arg(long)]
    old: bool,
    /// Say the draft with this number in other words.
    #[arg(long, num_args = 2, value_names = ["N", "TEXT"], conflicts_with_all = ["place", "text", "old"])]
    edit: Vec<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineAt {
    path: String,
    line: u32,
}

impl FromStr for LineAt {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (path, line) = text.rsplit_once(':').filter(|(path, _)| !path.is_empty()).ok_or("expected PATH:LINE")?;
        let line = line.parse().ok().filter(|line| *line > 0).ok_or("the line must be a number from 1 on")?;
        Ok(Self { path: path.to_owned(), line })
    }
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let Args { id, place, text, old, edit, format } = args;
    let (place, text) = match (edit.as_slice(), place, text) {
        ([number, text], ..) => return reword(&id.id, number, text, format.choice(), context).await,
        (_, Some(place), Some(text)) => (place, text),
        (..) => return Err(Failure::usage("a comment is about PATH:LINE and has a text")),
    };
    let side = if old { Side::Old } else { Side::New };
    let client = context.client().await?;
    let diff = client.diff(&id.id, &DiffQuery::default()).await?;
    if !diff.files.iter().any(|file| file.path == place.path) {
        let failure = Failure::new(Exit::NotFound, format!("`{}` is not among the changed files", place.path));
        return Err(failure.hint(format!("`coppice diff {} --stat` lists them", id.id)));
    }
    // A line that the patch does not show can be meant too; then there is nothing to quote.
    let quote = quote(&diff.patch, &place, side).unwrap_or_default();
    let LineAt { path, line } = place;
    let review = client.comment(&id.id, &AddComment { path, line, side, text, quote }).await?;
    let Some(comment) = review.comments.last() else { return Ok(Exit::Done) };
    match format.choice() {
        Format::Json => context.output.json(comment)?,
        Format::Human => {
            let place = format!("{}:{}", file_name(&comment.path), comment.line);
            let said = Line::new().strong(format!("comment {}", comment.id)).plain(" on ").with(Tone::Accent, place);
            let waits = format!(", a draft; `coppice review {} --send` sends all", id.id);
            context.output.say(&said.dim(waits))?;
        }
    }
    Ok(Exit::Done)
}

/// Says a draft in other words.
async fn reword(id: &str, number: &str, text: &str, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let number: u32 =
        number.parse().map_err(|_| Failure::usage(format!("`{number}` is not the number of a comment")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage("a comment needs a text").hint(format!("`coppice review {id} --drop {number}`")));
    }
    let edit = EditComment { text: text.to_owned() };
    let review = context.client().await?.edit_comment(id, number, &edit).await?;
    let Some(comment) = review.comments.iter().find(|comment| comment.id == number) else { return Ok(Exit::Done) };
    match format {
        Format::Json => context.output.json(comment)?,
        Format::Human => {
            context.output.say(&Line::new().strong(format!("comment {number}")).plain(" has other words"))?;
        }
    }
    Ok(Exit::Done)
}

/// The text of a line, as far as the patch shows it.
fn quote(patch: &str, at: &LineAt, side: Side) -> Option<String> {
    let (mut is_here, mut old, mut new) = (false, 0..0, 0..0);
    for text in patch.lines() {
        if old.is_empty() && new.is_empty() {
            // Outside of a hunk; the length of a hunk is known, so no content can pass for a header.
            if text.starts_with("diff --git ") {
                is_here = false;
            } else if let Some(name) = text.strip_prefix("--- a/").or_else(|| text.strip_prefix("+++ b/")) {
                is_here |= name.trim_end_matches('\t') == at.path;
            } else if let Some(lines) = hunk(text) {
                (old, new) = lines;
            }
            continue;
        }
        let (before, after) = match text.as_bytes().first() {
            Some(b'-') => (old.next(), None),
            Some(b'+') => (None, new.next()),
            Some(b'\\') => (None, None),
            Some(_) | None => (old.next(), new.next()),
        };
        let number = match side {
            Side::Old => before,
            Side::New => after,
        };
        if is_here && number == Some(at.line) {
            return Some(text.get(1..).unwrap_or_default().to_owned());
        }
    }
    None
}

/// The lines of both sides that a hunk shows, from its header.
fn hunk(text: &str) -> Option<(Range<u32>, Range<u32>)> {
    let (old, new) = text.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let lines = |side: &str| {
        let (first, count) = side.split_once(',').unwrap_or((side, "1"));
        let first: u32 = first.parse().ok()?;
        Some(first..first.checked_add(count.parse().ok()?)?)
    };
    Some((lines(old)?, lines(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "\
diff --git a/old.rs b/a b.rs
similarity index 80%
rename from old.rs
rename to a b.rs
--- a/old.rs\t
+++ b/a b.rs\t
@@ -1,3 +1,4 @@ fn x
 one
-two
+2
+--- a/src/c.rs
 three
@@ -10 +11,0 @@
-ten
diff --git a/src/c.rs b/src/c.rs
--- a/src/c.rs
+++ b/src/c.rs
@@ -0,0 +1 @@
+only
\\ No newline at end of file
diff --git a/gone.rs b/gone.rs
deleted file mode 100644
--- a/gone.rs
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
";

    #[test]
    fn a_line_is_quoted_from_its_side() {
        for (path, line, side, expected) in [
            ("a b.rs", 1, Side::New, Some("one")),
            ("a b.rs", 2, Side::Old, Some("two")),
            ("a b.rs", 2, Side::New, Some("2")),
            ("a b.rs", 3, Side::New, Some("--- a/src/c.rs")),
            ("a b.rs", 4, Side::New, Some("three")),
            ("a b.rs", 3, Side::Old, Some("three")),
            ("a b.rs", 10, Side::Old, Some("ten")),
            ("a b.rs", 10, Side::New, None),
            ("src/c.rs", 1, Side::New, Some("only")),
            ("src/c.rs", 1, Side::Old, None),
            ("gone.rs", 1, Side::Old, Some("gone")),
            ("logo.png", 1, Side::New, None),
            ("nothing.rs", 1, Side::New, None),
        ] {
            let at = LineAt { path: path.into(), line };
            assert_eq!(quote(PATCH, &at, side).as_deref(), expected, "{path}:{line} {side:?}");
        }
        assert_eq!(quote("@@ -x +y @@\n@@ -1,4294967295 +4294967295,9 @@\n", &"a:1".parse().unwrap(), Side::New), None);
    }

    #[test]
    fn a_place_is_a_path_and_a_line() {
        let at = |path: &str, line| Ok(LineAt { path: path.into(), line });
        for (text, expected) in [
            ("src/a.rs:11", at("src/a.rs", 11)),
            ("a:b:1", at("a:b", 1)),
            ("src/a.rs", Err("expected PATH:LINE")),
            (":1", Err("expected PATH:LINE")),
            ("a.rs:0", Err("the line must be a number from 1 on")),
            ("a.rs:x", Err("the line must be a number from 1 on")),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
    }
}
