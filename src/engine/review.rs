//! A person's review of a session's changes: comments on lines, and the files that were looked at.
//!
//! It is read, changed by a pure function and stored under a lock of its own, so that a comment never waits for what the
//! session does. Only the sending is the session's: there the comments become a prompt.

use serde::{Deserialize, Serialize};

use crate::api::error::Error;
use crate::api::review::{AddComment, Comment, EditComment, FileReview, LookAt, PreparedReview, Review, Side};
use crate::api::session::Session;
use crate::id::SessionId;
use crate::protocol::findings::Finding;
use crate::protocol::prompt;
use crate::store::{Change, Durability, ReviewRow, Write};

use super::actor::{Command, blocking};
use super::fault::Fault;
use super::record::{Unreadable, json};
use super::shared::Shared;
use super::shown_work::ShownWork;
use super::{Engine, clock, prepare};

/// How much of a line is quoted: enough to know it by, also where a file has only one.
const QUOTE_CHARS: usize = 400;
/// More than any digest has.
const DIGEST_BYTES: usize = 256;

/// A review as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReviewRecord {
    /// The number of the last comment that was made.
    last: u32,
    /// What a person was shown of the whole work.
    #[serde(default)]
    pub(super) shown: ShownWork,
    #[serde(flatten)]
    review: Review,
}

impl Engine {
    /// What a person said about a session's changes, and looked at.
    pub async fn review(&self, id: &str) -> Result<Review, Error> {
        let record = self.record(id).await?;
        Ok(read(&self.shared, record.id).await?.review)
    }

    pub async fn comment(&self, id: &str, request: AddComment) -> Result<Review, Error> {
        self.refuse_beyond_end(id, &request).await?;
        self.alter_review(id, |review, _| review.add(request, clock::now())).await
    }

    pub async fn edit_comment(&self, id: &str, comment: u32, request: EditComment) -> Result<Review, Error> {
        self.alter_review(id, |review, session| review.edit(session, comment, &request.text)).await
    }

    pub async fn drop_comment(&self, id: &str, comment: u32) -> Result<Review, Error> {
        self.alter_review(id, |review, session| review.drop(session, comment)).await
    }

    /// Remembers that a file was looked at, or that it was not.
    pub async fn look_at(&self, id: &str, request: LookAt) -> Result<Review, Error> {
        self.alter_review(id, |review, _| review.look_at(request)).await
    }

    /// Sends all comments that were not sent, as one prompt.
    pub async fn send_review(&self, id: &str) -> Result<Session, Error> {
        self.refuse_while_draining()?;
        self.tell(self.find(id).await?, Command::SendReview).await
    }

    /// Refuses a line that the file does not have. A line that is quoted was seen, also in a file that grows meanwhile.
    async fn refuse_beyond_end(&self, id: &str, request: &AddComment) -> Result<(), Fault> {
        if !request.quote.is_empty() {
            return Ok(());
        }
        let record = self.record(id).await?;
        let repo = prepare::open_repo(&record).await?;
        let from = record.body.measured_from().parse()?;
        let (branch, path, side) = (format!("refs/heads/{}", record.body.branch), request.path.clone(), request.side);
        let content = blocking(move || {
            let commit = match side {
                Side::Old => from,
                Side::New => repo.find_ref(&branch)?.unwrap_or(from),
            };
            repo.file_at(&commit, &path)
        })
        .await?;
        let lines = content.map(|content| content.split_inclusive(|byte| *byte == b'\n').count());
        match lines {
            Some(1) if request.line > 1 => Err(bad(format!("`{}` has 1 line", request.path))),
            Some(lines) if request.line as usize > lines => Err(bad(format!("`{}` has {lines} lines", request.path))),
            Some(_) | None => Ok(()),
        }
    }

    async fn alter_review(
        &self,
        id: &str,
        act: impl FnOnce(&mut ReviewRecord, SessionId) -> Result<(), Fault>,
    ) -> Result<Review, Error> {
        Ok(alter(&self.shared, self.find(id).await?, act).await?)
    }
}

/// Puts the findings of a model among the comments.
pub(super) async fn alter_prepared(
    shared: &Shared,
    id: SessionId,
    findings: Vec<Finding>,
    prepared: PreparedReview,
) -> Result<Review, Fault> {
    let take = |record: &mut ReviewRecord, _| {
        record.take_findings(findings, prepared, clock::now());
        Ok(())
    };
    alter(shared, id, take).await
}

/// Changes what a person is known to have been shown.
pub(super) async fn alter_shown(shared: &Shared, id: SessionId, act: impl FnOnce(&mut ShownWork)) -> Result<(), Fault> {
    let alter_record = |record: &mut ReviewRecord, _| {
        act(&mut record.shown);
        Ok(())
    };
    alter(shared, id, alter_record).await.map(drop)
}

async fn alter(
    shared: &Shared,
    id: SessionId,
    act: impl FnOnce(&mut ReviewRecord, SessionId) -> Result<(), Fault>,
) -> Result<Review, Fault> {
    let lock = shared.review_lock(id);
    let _held = lock.lock().await;
    let session = shared.store.session(id).await?.ok_or(Fault::SessionGone { id })?;
    if session.removed_at.is_some() {
        return Err(Fault::Removed { id });
    }
    let mut record = read(shared, id).await?;
    let before = record.clone();
    act(&mut record, id)?;
    if record == before {
        return Ok(record.review);
    }
    shared.store.write(Write { durability: Durability::Full, changes: vec![change(id, &record)] }).await?;
    Ok(record.review)
}

/// The review of a session, empty when there is none.
pub(super) async fn read(shared: &Shared, id: SessionId) -> Result<ReviewRecord, Fault> {
    let Some(row) = shared.store.review(id).await? else { return Ok(ReviewRecord::default()) };
    let record = serde_json::from_str(&row.record);
    Ok(record.map_err(|source| Unreadable { what: "review", id, source })?)
}

/// What the store gets for a review that changed.
pub(super) fn change(id: SessionId, record: &ReviewRecord) -> Change {
    Change::Review(ReviewRow { session: id, record: json(record) })
}

impl ReviewRecord {
    fn add(&mut self, request: AddComment, now: i64) -> Result<(), Fault> {
        let AddComment { path, line, side, text, quote } = request;
        if line == 0 {
            return Err(bad("lines are counted from 1"));
        }
        self.last += 1;
        self.review.comments.push(Comment {
            id: self.last,
            path: checked_path(path)?,
            line,
            side,
            text: checked_text(&text)?,
            quote: quoted(&quote),
            created_at: now,
            sent_at: None,
            suggested: false,
        });
        Ok(())
    }

    /// Takes what a model found in the place of what it found before, except what a person made their own or sent.
    fn take_findings(&mut self, findings: Vec<Finding>, mut prepared: PreparedReview, now: i64) {
        self.review.comments.retain(|comment| !comment.suggested || comment.sent_at.is_some());
        for Finding { path, line, quote, text } in findings {
            // One that no person could make is none.
            if self.add(AddComment { path, line, side: Side::New, text, quote }, now).is_ok()
                && let Some(comment) = self.review.comments.last_mut()
            {
                comment.suggested = true;
                prepared.findings += 1;
            }
        }
        self.review.prepared = Some(prepared);
    }

    fn edit(&mut self, session: SessionId, id: u32, text: &str) -> Result<(), Fault> {
        let found = self.review.comments.iter_mut().find(|comment| comment.id == id);
        let comment = found.ok_or(Fault::NoComment { id: session, comment: id })?;
        if comment.sent_at.is_some() {
            return Err(Fault::CommentSent { id: session, comment: id });
        }
        comment.text = checked_text(text)?;
        comment.suggested = false;
        Ok(())
    }

    fn drop(&mut self, session: SessionId, id: u32) -> Result<(), Fault> {
        let before = self.review.comments.len();
        self.review.comments.retain(|comment| comment.id != id);
        match self.review.comments.len() < before {
            true => Ok(()),
            false => Err(Fault::NoComment { id: session, comment: id }),
        }
    }

    fn look_at(&mut self, request: LookAt) -> Result<(), Fault> {
        let path = checked_path(request.path)?;
        self.review.files.retain(|file| file.path != path);
        if let Some(digest) = request.digest {
            if digest.trim().is_empty() || digest.len() > DIGEST_BYTES {
                return Err(bad("a digest has between 1 and 256 bytes"));
            }
            self.review.files.push(FileReview { path, digest });
            self.review.files.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(())
    }

    /// Marks all drafts as sent and returns the prompt that carries them; `None` when there are none.
    pub(super) fn send(&mut self, now: i64) -> Option<String> {
        let drafts = self.review.comments.iter_mut().filter(|comment| comment.sent_at.is_none());
        let told: Vec<_> = drafts
            .map(|comment| {
                comment.sent_at = Some(now);
                told(comment)
            })
            .collect();
        (!told.is_empty()).then(|| prompt::comments(told))
    }
}

fn told(comment: &Comment) -> prompt::Comment {
    prompt::Comment {
        path: comment.path.clone(),
        line: comment.line,
        side: match comment.side {
            Side::Old => prompt::Side::Old,
            Side::New => prompt::Side::New,
        },
        quote: comment.quote.clone(),
        text: comment.text.clone(),
    }
}

fn bad(reason: impl Into<String>) -> Fault {
    Fault::BadComment { reason: reason.into() }
}

fn checked_text(text: &str) -> Result<String, Fault> {
    match text.trim() {
        "" => Err(bad("it says nothing")),
        text => Ok(text.to_owned()),
    }
}

fn checked_path(path: String) -> Result<String, Fault> {
    let is_usable = !path.is_empty() && !path.starts_with('/');
    if is_usable { Ok(path) } else { Err(bad("its path is not one of a file in the work tree")) }
}

/// The beginning of one line, with a mark when something is missing.
fn quoted(line: &str) -> String {
    let line = line.lines().next().unwrap_or_default();
    match line.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionId {
        SessionId::from_random([1, 2, 3, 4, 5])
    }

    fn comment(path: &str, line: u32, text: &str) -> AddComment {
        AddComment { path: path.into(), line, text: text.into(), quote: "let a = 1;".into(), ..AddComment::default() }
    }

    fn reviewed(comments: &[(&str, u32, &str)]) -> ReviewRecord {
        let mut record = ReviewRecord::default();
        for (path, line, text) in comments {
            record.add(comment(path, *line, text), 5).unwrap();
        }
        record
    }

    fn ids(record: &ReviewRecord) -> Vec<(u32, Option<i64>)> {
        record.review.comments.iter().map(|comment| (comment.id, comment.sent_at)).collect()
    }

    #[test]
    fn a_number_is_never_given_twice() {
        let mut record = reviewed(&[("a.rs", 1, "one"), ("a.rs", 2, "two")]);
        record.drop(session(), 2).unwrap();
        record.add(comment("a.rs", 3, "three"), 6).unwrap();
        assert_eq!(ids(&record), [(1, None), (3, None)]);
        assert_eq!(
            record.drop(session(), 2).unwrap_err().to_string(),
            format!("session `{}` has no comment 2", session())
        );
    }

    #[test]
    fn what_is_sent_is_sent_once_and_stays_as_it_was() {
        let mut record = reviewed(&[("b.rs", 7, "two"), ("a.rs", 1, "one")]);
        let text = record.send(9).unwrap();
        assert!(text.starts_with("2 comments") && text.find("a.rs:1") < text.find("b.rs:7"), "{text}");
        assert_eq!(record.send(10), None);
        record.add(comment("c.rs", 1, "three"), 11).unwrap();
        let text = record.send(12).unwrap();
        assert!(text.contains("c.rs:1") && !text.contains("a.rs:1"), "{text}");
        assert_eq!(ids(&record), [(1, Some(9)), (2, Some(9)), (3, Some(12))]);
        assert_eq!(
            record.edit(session(), 1, "other").unwrap_err().to_string(),
            format!("comment 1 of session `{}` was sent and cannot be changed", session())
        );
        record.drop(session(), 1).unwrap();
    }

    #[test]
    fn a_comment_that_says_nothing_or_points_nowhere_is_refused() {
        for (request, reason) in [
            (comment("a.rs", 0, "x"), "lines are counted from 1"),
            (comment("a.rs", 1, " \n"), "it says nothing"),
            (comment("", 1, "x"), "its path is not one of a file in the work tree"),
            (comment("/etc/passwd", 1, "x"), "its path is not one of a file in the work tree"),
        ] {
            let error = ReviewRecord::default().add(request, 5).unwrap_err().to_string();
            assert_eq!(error, format!("the comment cannot be taken: {reason}"));
        }
        let mut record = reviewed(&[("a.rs", 1, "one")]);
        assert!(record.edit(session(), 1, "").is_err());
        record.edit(session(), 1, " better ").unwrap();
        assert_eq!(record.review.comments[0].text, "better");
    }

    #[test]
    fn findings_replace_those_that_nobody_took_over() {
        let finding =
            |line, text: &str| Finding { path: "a.rs".into(), line, quote: "let a = 1;".into(), text: text.into() };
        let prepared = || PreparedReview { focus: None, findings: 0, text: "Good.".into(), prepared_at: 5 };
        let mut record = reviewed(&[("a.rs", 1, "mine")]);
        let found = vec![finding(2, "two"), finding(3, "three"), finding(0, "nowhere"), finding(4, " ")];
        record.take_findings(found, prepared(), 6);
        assert_eq!(record.review.prepared.as_ref().map(|prepared| prepared.findings), Some(2));
        record.edit(session(), 3, "three, but mine").unwrap();
        record.take_findings(vec![finding(5, "five")], prepared(), 7);
        let seen = |record: &ReviewRecord| {
            let comments = record.review.comments.iter();
            comments.map(|comment| format!("{} {} {}", comment.id, comment.text, comment.suggested)).collect::<Vec<_>>()
        };
        assert_eq!(seen(&record), ["1 mine false", "3 three, but mine false", "5 five true"]);
        record.send(8);
        record.take_findings(Vec::new(), prepared(), 9);
        assert_eq!(seen(&record), ["1 mine false", "3 three, but mine false", "5 five true"]);
        assert_eq!(serde_json::from_str::<ReviewRecord>(&json(&record)).unwrap(), record);
    }

    #[test]
    fn a_quote_is_the_beginning_of_one_line() {
        for (line, expected) in [
            ("let a = 1;", "let a = 1;".to_owned()),
            ("one\ntwo", "one".to_owned()),
            ("", String::new()),
            (&"é".repeat(QUOTE_CHARS), "é".repeat(QUOTE_CHARS)),
            (&"é".repeat(1000), "é".repeat(QUOTE_CHARS) + "…"),
        ] {
            assert_eq!(quoted(line), expected);
        }
    }

    #[test]
    fn a_file_counts_as_looked_at_with_its_last_digest() {
        let mut record = ReviewRecord::default();
        let mut look = |path: &str, digest: Option<&str>| {
            record.look_at(LookAt { path: path.into(), digest: digest.map(str::to_owned) }).map(|()| {
                record.review.files.iter().map(|file| format!("{} {}", file.path, file.digest)).collect::<Vec<_>>()
            })
        };
        assert_eq!(look("b.rs", Some("1")).unwrap(), ["b.rs 1"]);
        assert_eq!(look("a.rs", Some("2")).unwrap(), ["a.rs 2", "b.rs 1"]);
        assert_eq!(look("b.rs", Some("3")).unwrap(), ["a.rs 2", "b.rs 3"]);
        assert_eq!(look("a.rs", None).unwrap(), ["b.rs 3"]);
        assert_eq!(look("a.rs", None).unwrap(), ["b.rs 3"]);
        assert!(look("a.rs", Some("")).is_err() && look("", Some("1")).is_err());
    }

    #[test]
    fn a_review_is_stored_and_found_again_whole() {
        let mut record = reviewed(&[("a.rs", 1, "one")]);
        record.send(9);
        record.add(comment("a.rs", 2, "two"), 10).unwrap();
        record.look_at(LookAt { path: "a.rs".into(), digest: Some("d".into()) }).unwrap();
        assert_eq!(serde_json::from_str::<ReviewRecord>(&json(&record)).unwrap(), record);
    }
}
