//! `coppice diff`: the patch of a session or of one of its turns, as `git apply` takes it.

use super::line::{Line, Tone, file_name, table};
use super::output::Sink;
use super::status::{self, count};
use super::{Context, Exit, Failure, Format};
use crate::api::request::DiffQuery;
use crate::api::session::{Diff, FileChange, Session, Status, SubmoduleChanges};

/// Shows what a session changed since its base, uncommitted work included.
///
/// The patch goes to stdout as it is, so that it can be piped into `git apply`; on a terminal it is coloured.
///
/// Without `--stat` and `--turn` this counts as your review: if files change afterwards although no turn runs, `coppice merge`
/// is refused until you look again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice diff k3f
  coppice diff k3f --stat
  coppice diff k3f --turn 2 | git apply --check")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// Only how much changed in each file.
    #[arg(long)]
    stat: bool,
    /// Only what this turn changed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    turn: Option<u32>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let query = DiffQuery { turn: args.turn, review: !args.stat };
    let diff = context.client().await?.diff(&args.id.id, &query).await?;
    match (args.format.choice(), args.stat) {
        (Format::Json, _) => context.output.json(&diff)?,
        (Format::Human, true) => context.output.lines(&stat(&diff))?,
        (Format::Human, false) => match context.output.data_sink() {
            Sink::Terminal => context.output.lines(&diff.patch.lines().map(patch_line).collect::<Vec<_>>())?,
            Sink::Other => context.output.bytes(diff.patch.as_bytes())?,
        },
    }
    if args.format.choice() == Format::Human {
        context.output.say_all(&submodules(&diff.submodules))?;
    }
    if diff.files.is_empty() && diff.submodules.is_empty() {
        let session = context.client().await?.session(&args.id.id).await?;
        context.output.say(&Line::new().dim(nothing(&session, args.turn)))?;
    }
    Ok(Exit::Done)
}

/// What changed in submodules, which no patch of the session holds.
pub(super) fn submodules(changes: &[SubmoduleChanges]) -> Vec<Line> {
    let lines = changes.iter().flat_map(|one| {
        let head = Line::toned(Tone::Warn, format!("submodule {}", file_name(&one.path)));
        let head = head.dim(format!("  {}, kept and not merged", count(one.count as usize, "file")));
        let rows = table(&one.files.iter().map(stat_row).collect::<Vec<_>>());
        std::iter::once(head).chain(rows.into_iter().map(|row| Line::new().plain("  ").then(row)))
    });
    lines.collect()
}

/// What an empty diff means.
fn nothing(session: &Session, turn: Option<u32>) -> String {
    match (session.status, turn) {
        (Status::Merged, None) => format!("all of it is merged; `coppice diff {} --turn N` shows a turn", session.id),
        (_, _) => "nothing changed".to_owned(),
    }
}

/// One line per file and a total of several, like `git diff --stat` without its bars.
pub(super) fn stat(diff: &Diff) -> Vec<Line> {
    let mut lines = table(&diff.files.iter().map(stat_row).collect::<Vec<_>>());
    if diff.files.len() > 1 {
        lines.push(Line::new().dim(count(diff.files.len(), "file")).plain("  ").then(status::changes(diff.changes)));
    }
    lines
}

fn stat_row(file: &FileChange) -> Vec<Line> {
    let tone = match file.status.as_str() {
        "A" => Tone::Good,
        "D" => Tone::Less,
        _ => Tone::Accent,
    };
    let path = match &file.from {
        Some(from) => format!("{} → {}", file_name(from), file_name(&file.path)),
        None => file_name(&file.path),
    };
    let size = match (file.insertions, file.deletions) {
        (None, None) => Line::new().dim("binary"),
        (insertions, deletions) => Line::toned(Tone::Good, format!("+{}", insertions.unwrap_or(0)))
            .plain(" ")
            .with(Tone::Less, format!("-{}", deletions.unwrap_or(0))),
    };
    vec![Line::toned(tone, &file.status), Line::new().plain(path), size]
}

/// A line of a unified patch with its meaning.
pub(super) fn patch_line(line: &str) -> Line {
    const HEADS: &[&str] = &[
        "diff ",
        "index ",
        "--- ",
        "+++ ",
        "new file",
        "deleted file",
        "rename ",
        "similarity ",
        "old mode",
        "new mode",
    ];
    let tone = match line.as_bytes().first() {
        _ if HEADS.iter().any(|head| line.starts_with(head)) => Tone::Strong,
        Some(b'+') => Tone::Good,
        Some(b'-') => Tone::Less,
        Some(b'@') => Tone::Accent,
        Some(_) | None => Tone::Plain,
    };
    Line::toned(tone, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Changes;

    #[test]
    fn a_stat_has_one_line_per_file_and_a_total() {
        let file = |status: &str, path: &str, size: Option<(u32, u32)>| FileChange {
            path: path.into(),
            status: status.into(),
            insertions: size.map(|size| size.0),
            deletions: size.map(|size| size.1),
            from: None,
        };
        let renamed = FileChange { from: Some("old.rs".into()), ..file("R", "new.rs", Some((0, 0))) };
        let files = vec![file("M", "src/parser.rs", Some((10, 4))), renamed, file("A", "logo.png", None)];
        let diff = Diff {
            changes: Changes { files: 3, insertions: 10, deletions: 4 },
            files,
            patch: String::new(),
            submodules: vec![],
        };
        let text = stat(&diff).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        M  src/parser.rs    +10 -4
        R  old.rs → new.rs  +0 -0
        A  logo.png         binary
        3 files  +10 -4
        ");
    }

    #[test]
    fn a_patch_line_is_coloured_by_what_it_does() {
        for (line, tone) in [
            ("diff --git a/x b/x", Tone::Strong),
            ("--- a/x", Tone::Strong),
            ("+++ b/x", Tone::Strong),
            ("@@ -1 +1 @@", Tone::Accent),
            ("+added", Tone::Good),
            ("-removed", Tone::Less),
            (" kept", Tone::Plain),
            ("", Tone::Plain),
        ] {
            assert_eq!(patch_line(line), Line::toned(tone, line));
        }
    }
}
