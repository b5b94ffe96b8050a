//! A call that waits for a person, as a card: what would happen, what to look at twice, why it is asked, what "always"
//! would save, and the commands that answer it.

use super::age::age;
use super::line::{Line, Tone, one_line};
use super::status::count;
use crate::api::session::Approval;
use crate::look::card::approval_head;
use crate::look::verdict::{rules, warning};

/// A short card has so many lines of preview.
const SHORT: usize = 10;

/// How much of a preview is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Whole,
    Short,
}

/// One request and what would happen.
pub(super) fn lines(approval: &Approval, length: Length, now: i64) -> Vec<Line> {
    let expired = if approval.expired { ", from before the daemon restarted" } else { "" };
    let agent = approval.agent.as_ref().map(|agent| format!("{}, ", one_line(agent))).unwrap_or_default();
    let mut lines = vec![
        Line::new()
            .strong(&approval.id)
            .plain("  ")
            .then(approval_head(&approval.tool, &approval.title))
            .dim(format!("  ({agent}{} ago{expired})", age(now, approval.requested_at))),
    ];
    lines.extend(preview(approval, length));
    lines.extend(approval.warnings.iter().map(|text| Line::new().plain("  ").then(warning(text))));
    lines.extend(why(approval));
    if !approval.saves.is_empty() {
        lines.push(Line::new().dim("  always saves: ").plain(rules(&approval.saves)));
    }
    lines
}

/// What to type about a request, a command on each line; `request` where the session has several.
pub(super) fn commands(session: &str, request: Option<&str>, approval: &Approval) -> Vec<Line> {
    let target = request.map_or_else(|| session.to_owned(), |request| format!("{session} {request}"));
    let approve = Line::toned(Tone::Accent, format!("coppice approve {target}"));
    let deny = Line::toned(Tone::Accent, format!("coppice deny {target}"));
    let options = "approve takes --session and --always, deny takes --message and --never";
    let options = (!approval.saves.is_empty()).then(|| Line::new().dim(options));
    [approve, deny].into_iter().chain(options).collect()
}

fn preview(approval: &Approval, length: Length) -> Vec<Line> {
    let text = approval.preview.as_deref().unwrap_or_default();
    let whole: Vec<_> = text.trim().lines().map(|line| Line::new().dim("  | ").plain(line)).collect();
    match length {
        Length::Short if whole.len() > SHORT => {
            let more = format!("  … {}", count(whole.len() - SHORT, "more line"));
            whole.into_iter().take(SHORT).chain([Line::new().dim(more)]).collect()
        }
        Length::Short | Length::Whole => whole,
    }
}

/// Why a person is asked; requests of earlier versions do not say.
fn why(approval: &Approval) -> Option<Line> {
    if approval.reason.is_empty() {
        return None;
    }
    let by = match (&approval.rule, approval.layer.as_str()) {
        (Some(rule), "") => format!("  ({})", one_line(rule)),
        (Some(rule), layer) => format!("  ({}: {})", one_line(layer), one_line(rule)),
        (None, "") => String::new(),
        (None, layer) => format!("  ({})", one_line(layer)),
    };
    Some(Line::new().dim("  why: ").plain(one_line(&approval.reason)).dim(by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample::{self, NOW};

    fn text(approval: &Approval, length: Length) -> String {
        lines(approval, length, NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn destructive_flags_are_a_row_of_their_own_in_bold_red() {
        let push = sample::push();
        insta::assert_snapshot!(text(&push, Length::Whole), @r"
        r1  Bash(git push --force origin main)  (12s ago)
          | git push --force origin main
          ⚠ DESTRUCTIVE FLAG(S): --force
          why: nothing decides about it  (tool class)
        ");
        let row = lines(&push, Length::Short, NOW).into_iter().find(|line| line.text().contains('⚠')).unwrap();
        assert_eq!(row.spans().nth(1), Some((Tone::Bad, "⚠ DESTRUCTIVE FLAG(S): --force")));
        let pasted: Vec<_> = commands("abcd2345", None, &push).iter().map(Line::text).collect();
        assert_eq!(pasted, ["coppice approve abcd2345", "coppice deny abcd2345"]);
    }

    #[test]
    fn what_always_saves_is_shown_before_it_is_saved() {
        let fetch = Approval { warnings: vec![], saves: vec!["Bash(git fetch *)".into()], ..sample::push() };
        let fetch = Approval { rule: Some("Bash(git *) in permissions.json".into()), ..fetch };
        insta::assert_snapshot!(text(&fetch, Length::Whole), @r"
        r1  Bash(git push --force origin main)  (12s ago)
          | git push --force origin main
          why: nothing decides about it  (tool class: Bash(git *) in permissions.json)
          always saves: Bash(git fetch *)
        ");
        let pasted: Vec<_> = commands("abcd2345", Some("r1"), &fetch).iter().map(Line::text).collect();
        let options = "approve takes --session and --always, deny takes --message and --never";
        assert_eq!(pasted, ["coppice approve abcd2345 r1", "coppice deny abcd2345 r1", options]);
    }

    #[test]
    fn a_long_preview_is_cut_where_the_card_is_short() {
        let diff = (1..=13).map(|line| format!("+{line}\n")).collect();
        let approval = Approval { preview: Some(diff), ..sample::approval().approvals.remove(0) };
        assert_eq!(text(&approval, Length::Whole).lines().count(), 14);
        let short = text(&approval, Length::Short);
        assert!(short.ends_with("  | +10\n  … 3 more lines"), "{short}");
    }

    #[test]
    fn nothing_that_an_agent_wrote_drives_the_terminal() {
        let approval = Approval {
            title: "\u{1b}[2Jrun".into(),
            reason: "\u{7}why".into(),
            warnings: vec!["\u{1b}look".into()],
            ..sample::push()
        };
        let shown = text(&approval, Length::Whole);
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown}");
    }
}
