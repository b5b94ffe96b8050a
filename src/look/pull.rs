//! A pull request in lines, with its checks and its diff where they were read.

use super::line::{Line, Tone, one_line, visible};
use crate::api::publish::{CheckOutcome, Pull, PullReview};

pub(crate) fn lines(pull: &Pull) -> Vec<Line> {
    let draft = if pull.draft { ", draft" } else { "" };
    let tone = match pull.state.as_str() {
        "open" => Tone::Good,
        _ => Tone::Dim,
    };
    let mut lines = vec![
        Line::new().strong(format!("#{}", pull.number)).plain(" ").plain(one_line(&pull.title)),
        Line::new().with(tone, format!("{}{draft}", pull.state)).plain(format!("  {} into {}", pull.head, pull.base)),
        Line::new().plain(&pull.url),
    ];
    if !pull.body.is_empty() {
        lines.push(Line::new());
        lines.extend(pull.body.lines().map(|line| Line::new().plain(visible(line))));
    }
    lines.extend(pull.review.iter().flat_map(reviewed));
    lines
}

fn reviewed(review: &PullReview) -> Vec<Line> {
    let mut lines: Vec<_> = review.warnings.iter().map(|text| Line::new().with(Tone::Bad, one_line(text))).collect();
    if !lines.is_empty() {
        lines.insert(0, Line::new());
    }
    let checks = review.checks.as_deref().unwrap_or_default();
    if !checks.is_empty() {
        lines.push(Line::new());
    }
    for check in checks {
        let tone = match check.outcome {
            CheckOutcome::Failing => Tone::Bad,
            CheckOutcome::Pending | CheckOutcome::Other => Tone::Dim,
            CheckOutcome::Passing => Tone::Good,
        };
        lines.push(Line::new().with(tone, check.state.to_lowercase()).plain("  ").plain(one_line(&check.name)));
    }
    if let Some(diff) = &review.diff {
        lines.push(Line::new());
        lines.extend(diff.lines().map(|line| Line::new().plain(visible(line))));
    }
    if review.diff_truncated {
        lines.push(Line::new().with(Tone::Dim, "… the rest of the diff is not shown"));
    }
    lines
}
