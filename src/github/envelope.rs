//! Answers as texts for a model: `## state` with its flags first, then a section for each thing. Pure.

use super::{Check, Comment, Issue, Outcome, Pull, Review};

/// A longer text of a person is cut.
const BODY: usize = 16 * 1024;
/// Where a text was cut.
const MARK: &str = "…[truncated]";

/// What looking for something came to.
#[derive(Debug)]
pub enum Looked<T> {
    Found(T),
    NotFound,
    /// Nothing can be asked, and why.
    Unavailable(String),
}

/// `gh_pr_read`.
pub fn pull_read(reference: &str, looked: &Looked<Pull>) -> String {
    let (head, found) = state(&[("ref", reference)], looked, &[]);
    match found {
        Some(pull) => format!("{head}\n{}", pull_section(pull)),
        None => head,
    }
}

/// `gh_pr_review_context`: without a pull request there is only the state.
pub fn review(reference: &str, looked: &Looked<Review>) -> String {
    let failing = match looked {
        Looked::Found(Review { checks: Ok(checks), .. }) => failing_names(checks),
        Looked::Found(Review { checks: Err(_), .. }) => "unknown".to_owned(),
        Looked::NotFound | Looked::Unavailable(_) => String::new(),
    };
    let (head, found) = state(&[("ref", reference)], looked, &[("failing_checks", &failing)]);
    let Some(review) = found else { return head };
    let (summary, checks) = match &review.checks {
        Ok(checks) => (summary(checks), listed(checks)),
        Err(reason) => (format!("[unavailable: {reason}]\n"), format!("[unavailable: {reason}]\n")),
    };
    let diff = match &review.diff {
        Ok(diff) if diff.is_cut => format!(
            "{}\n{MARK}\nhint=the diff goes on: compare the files one by one, from {} to {}\n",
            diff.text.trim_end_matches('\n'),
            line(&review.pull.base),
            line(&review.pull.head_commit)
        ),
        Ok(diff) => format!("{}\n", diff.text.trim_end_matches('\n')),
        Err(reason) => format!("[unavailable: {reason}]\n"),
    };
    let pull = pull_section(&review.pull);
    format!("{head}\n{pull}\n## checks.summary\n{summary}\n## checks\n{checks}\n## diff\n{diff}")
}

/// `gh_issue_read`.
pub fn issue_read(number: u64, looked: &Looked<(Issue, Vec<Comment>)>) -> String {
    let number = number.to_string();
    let (total, shown) = match looked {
        Looked::Found((issue, comments)) => (issue.comments.to_string(), comments.len().to_string()),
        Looked::NotFound | Looked::Unavailable(_) => ("0".to_owned(), "0".to_owned()),
    };
    let counts = [("comments_total", total.as_str()), ("comments_shown", shown.as_str())];
    let (head, found) = state(&[("number", &number)], looked, &counts);
    let Some((issue, comments)) = found else { return head };
    let mut text = format!("{head}\n{}\n## comments\n", issue_section(issue));
    for comment in comments {
        let Comment { author, created_at, body, url } = comment;
        let (author, created_at, url) = (line(author), line(created_at), line(url));
        text.push_str(&format!("### {author} at {created_at} {url}\n{}\n", clipped(body)));
    }
    text
}

/// `gh_issue_list`: one line for each issue.
pub fn issue_list(looked: &Looked<(Vec<Issue>, bool)>) -> String {
    let (count, has_more) = match looked {
        Looked::Found((issues, has_more)) => (issues.len().to_string(), *has_more),
        Looked::NotFound | Looked::Unavailable(_) => ("0".to_owned(), false),
    };
    let counts = [("count", count.as_str()), ("has_more", if has_more { "true" } else { "false" })];
    let (head, found) = state(&[], looked, &counts);
    let Some((issues, _)) = found else { return head };
    let row = |issue: &Issue| {
        let Issue { number, title, labels, assignees, milestone, updated_at, .. } = issue;
        let milestone = milestone.as_deref().unwrap_or_default();
        let (labels, assignees) = (labels.join(","), assignees.join(","));
        format!(
            "#{number}\t{}\tlabels={}\tassignees={}\tmilestone={}\tupdated={}\n",
            line(title),
            line(&labels),
            line(&assignees),
            line(milestone),
            line(updated_at)
        )
    };
    format!("{head}\n## issues\n{}", issues.iter().map(row).collect::<String>())
}

/// The section of the flags, and what was found. The reason comes last: it is a sentence.
fn state<'a, T>(first: &[(&str, &str)], looked: &'a Looked<T>, last: &[(&str, &str)]) -> (String, Option<&'a T>) {
    let (not_found, is_unavailable, reason, found) = match looked {
        Looked::Found(found) => ("false", "false", None, Some(found)),
        Looked::NotFound => ("true", "false", None, None),
        Looked::Unavailable(reason) => ("false", "true", Some(reason), None),
    };
    let mut text = "## state\n".to_owned();
    for (name, value) in first.iter().chain(&[("not_found", not_found), ("gh_unavailable", is_unavailable)]).chain(last)
    {
        text.push_str(&format!("{name}={}\n", line(value)));
    }
    if let Some(reason) = reason {
        text.push_str(&format!("reason={}\n", line(reason)));
    }
    (text, found)
}

fn pull_section(pull: &Pull) -> String {
    let size =
        pull.size.map(|(added, removed, files)| format!("additions={added}\ndeletions={removed}\nfiles={files}\n"));
    format!(
        "## pr\nnumber={}\ntitle={}\nurl={}\nstate={}\ndraft={}\nauthor={}\nbase={}\nhead={}\nhead_commit={}\nlabels={}\n\
         created_at={}\nupdated_at={}\n{}\n{}\n",
        pull.number,
        line(&pull.title),
        line(&pull.url),
        line(&pull.state),
        pull.is_draft,
        line(&pull.author),
        line(&pull.base),
        line(&pull.head),
        line(&pull.head_commit),
        line(&pull.labels.join(",")),
        line(&pull.created_at),
        line(&pull.updated_at),
        size.unwrap_or_default(),
        clipped(&pull.body),
    )
}

fn issue_section(issue: &Issue) -> String {
    format!(
        "## issue\nnumber={}\ntitle={}\nurl={}\nstate={}\nis_pull_request={}\nauthor={}\nlabels={}\nassignees={}\n\
         milestone={}\ncreated_at={}\nupdated_at={}\n\n{}\n",
        issue.number,
        line(&issue.title),
        line(&issue.url),
        line(&issue.state),
        issue.is_pull,
        line(&issue.author),
        line(&issue.labels.join(",")),
        line(&issue.assignees.join(",")),
        line(issue.milestone.as_deref().unwrap_or_default()),
        line(&issue.created_at),
        line(&issue.updated_at),
        clipped(&issue.body),
    )
}

/// The checks that fail, by name.
fn failing_names(checks: &[Check]) -> String {
    let failing = checks.iter().filter(|check| check.outcome() == Outcome::Failing);
    failing.map(|check| check.name.as_str()).collect::<Vec<_>>().join(",")
}

fn count(checks: &[Check], outcome: Outcome) -> usize {
    checks.iter().filter(|check| check.outcome() == outcome).count()
}

fn summary(checks: &[Check]) -> String {
    let of = |outcome| count(checks, outcome);
    format!(
        "total={}\nfailing={}\npending={}\npassing={}\nother={}\n",
        checks.len(),
        of(Outcome::Failing),
        of(Outcome::Pending),
        of(Outcome::Passing),
        of(Outcome::Other)
    )
}

/// The checks that fail first.
fn listed(checks: &[Check]) -> String {
    let mut checks: Vec<_> = checks.iter().collect();
    checks.sort_by_key(|check| match check.outcome() {
        Outcome::Failing => 0,
        Outcome::Pending => 1,
        Outcome::Other => 2,
        Outcome::Passing => 3,
    });
    checks
        .iter()
        .map(|check| format!("{}\t{}\t{}\n", line(&check.state), line(&check.name), line(&check.url)))
        .collect()
}

/// A value on one line: what others wrote must not look like a flag of ours.
fn line(text: &str) -> String {
    text.split(|c: char| c.is_control()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What a person wrote; a line of it that would begin a section is moved in.
fn clipped(text: &str) -> String {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= BODY).last().unwrap_or(0);
    let mark = if end < text.len() { format!("\n{MARK}") } else { String::new() };
    let lines = text[..end].lines().map(|line| match line.starts_with("## ") {
        true => format!(" {line}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n") + &mark
}

#[cfg(test)]
mod tests;
