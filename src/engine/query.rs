//! Reading: sessions, turns, diffs, the inbox. Everything comes from the store, so no answer waits for a session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::api::Page;
use crate::api::error::Error;
use crate::api::request::{DiffQuery, ListSessions, ListTurns};
use crate::api::session::{Diff, FileChange, InboxItem, Session, Turn, WaitingFor};
use crate::git::capture::Kept;
use crate::git::diff::{self, Kind, ReviewedWork, Target};
use crate::git::{Oid, Repo, Worktree, history, removal};
use crate::session::Session as SessionState;
use crate::store::Removed;

use super::Engine;
use super::actor::{blocking, changes};
use super::attach::Asker;
use super::fault::Fault;
use super::record::{Record, Tree, TurnBody};
use super::shown_work::current_turn;
use super::standing::Standing;
use super::{prepare, review, view};

/// How much of a patch is shown.
const PATCH_LIMIT: usize = 32 << 20;

/// How many sessions a page holds unless the client says otherwise, and at most.
const PAGE: (usize, usize) = (500, 1000);

impl Engine {
    /// The sessions, those that need a person first, then the latest.
    pub async fn sessions(&self, query: ListSessions) -> Result<Page<Session>, Error> {
        Ok(self.list(query).await?)
    }

    pub async fn session(&self, id: &str) -> Result<Session, Error> {
        let record = self.record(id).await?;
        Ok(self.in_family(view::session(&self.shared, &record)).await?)
    }

    pub async fn turns(&self, id: &str, query: ListTurns) -> Result<Vec<Turn>, Error> {
        Ok(self.list_turns(id, query).await?)
    }

    pub async fn inbox(&self) -> Result<Vec<InboxItem>, Error> {
        let mut items = Vec::new();
        for record in self.records(Removed::Without).await? {
            items.extend(view::inbox_items(&record));
        }
        items.sort_by_key(|item| item.since);
        Ok(items)
    }

    /// What a session or one of its turns changed. A review by a person is remembered: a merge compares with it.
    pub async fn diff(&self, id: &str, query: DiffQuery, asker: Asker) -> Result<Diff, Error> {
        Ok(self.read_diff(id, query, asker).await?)
    }

    /// How many sessions there are.
    pub async fn count(&self) -> Result<usize, Error> {
        let count = self.shared.store.count_sessions().await.map_err(Fault::from)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) async fn records(&self, removed: Removed) -> Result<Vec<Record>, Fault> {
        let rows = self.shared.store.sessions(removed).await?;
        rows.into_iter().map(|row| Ok(Record::read(self.shared.latest_row(row))?)).collect()
    }

    pub(super) async fn record(&self, id: &str) -> Result<Record, Fault> {
        let id = super::find(&self.shared, id).await?;
        let row = self.shared.store.session(id).await?.ok_or(Fault::SessionGone { id })?;
        Ok(Record::read(self.shared.latest_row(row))?)
    }

    async fn list(&self, query: ListSessions) -> Result<Page<Session>, Fault> {
        let ListSessions { cwd, removed, cursor, limit } = query;
        let common_dir = match cwd {
            Some(cwd) => {
                let here = Standing::find(&self.shared, PathBuf::from(cwd)).await?;
                Some(here.repo.common_dir().to_owned())
            }
            None => None,
        };
        let which = if removed { Removed::Only } else { Removed::Without };
        let mut records = self.records(which).await?;
        if let Some(common_dir) = common_dir {
            records = in_repository(records, common_dir).await?;
        }
        let family = self.family(&records, std::iter::empty()).await?;
        let seen = records.iter().map(|record| {
            let mut session = view::session(&self.shared, record);
            family.complete(record.id, &mut session);
            session
        });
        let mut sessions: Vec<_> = seen.collect();
        let waits = |session: &Session| match session.waiting_for {
            Some(WaitingFor::Approval | WaitingFor::Answer) => true,
            Some(WaitingFor::Children) | None => false,
        };
        sessions.sort_by_key(|session| (!waits(session), std::cmp::Reverse(session.updated_at)));
        let from = match cursor {
            Some(text) => text.parse::<usize>().map_err(|_| Fault::BadCursor { text })?,
            None => 0,
        };
        let limit = limit.map_or(PAGE.0, |limit| (limit as usize).clamp(1, PAGE.1));
        let next = (from + limit < sessions.len()).then(|| (from + limit).to_string());
        let items = sessions.into_iter().skip(from).take(limit).collect();
        Ok(Page { items, next })
    }

    async fn list_turns(&self, id: &str, query: ListTurns) -> Result<Vec<Turn>, Fault> {
        let id = super::find(&self.shared, id).await?;
        let rows = self.shared.turns(id).await?;
        rows.into_iter()
            .map(|row| {
                let body = TurnBody::read(&row)?;
                Ok(view::turn(row.number, body, row.raw.filter(|_| query.raw)))
            })
            .collect()
    }

    async fn read_diff(&self, id: &str, query: DiffQuery, asker: Asker) -> Result<Diff, Fault> {
        let record = self.record(id).await?;
        let repo = prepare::open_repo(&record).await?;
        let tree = prepare::tree_of(&record, &repo)?;
        let (from, to) = match query.turn {
            Some(turn) => self.turn_range(&record, turn).await?,
            None => (record.body.measured_from().parse()?, whole(&record, &repo)?),
        };
        let is_review = query.review && query.turn.is_none() && asker == Asker::Person && is_reviewable(&record);
        let read = move |tree: Worktree| match is_review {
            true => {
                let ReviewedWork { content, files, patch } = diff::review_work(&tree, &from, PATCH_LIMIT)?;
                // Nobody has seen what is left out of a patch that is cut.
                let seen = (!patch.is_cut).then_some(content);
                Ok((files, patch, seen))
            }
            false => {
                let (files, patch) = diff::files_and_patch(&tree, &from, to, PATCH_LIMIT)?;
                Ok((files, patch, None))
            }
        };
        let (files, patch, shown) = self.shared.in_stoppable_tree(record.id, &tree, read).await?;
        if let Some(content) = shown {
            let turn = current_turn(&record.body);
            review::alter_shown(&self.shared, record.id, |shown| shown.remember(turn, content)).await?;
        }
        Ok(Diff {
            changes: changes(diff::total(&files)),
            files: files.into_iter().map(file_change).collect(),
            patch: patch_text(patch, &record),
            submodules: if query.turn.is_none() { record.body.submodules } else { Vec::new() },
        })
    }

    /// From the checkpoint before a turn to its own; a turn that changed nothing has an empty range.
    async fn turn_range(&self, record: &Record, turn: u32) -> Result<(Oid, Target), Fault> {
        let rows = self.shared.turns(record.id).await?;
        let mut before: Oid = record.body.base.commit.parse()?;
        for row in rows {
            let body = TurnBody::read(&row)?;
            let checkpoint = body.checkpoint.as_deref().map(str::parse::<Oid>).transpose()?;
            if row.number == turn {
                return Ok((before, Target::Commit(checkpoint.unwrap_or(before))));
            }
            if let Some(checkpoint) = checkpoint
                && !body.undone
            {
                before = checkpoint;
            }
        }
        Err(Fault::NoTurn { id: record.id, turn })
    }
}

/// The sessions of a repository; also those that know it by a link that leads to where it was moved.
async fn in_repository(mut records: Vec<Record>, common_dir: PathBuf) -> Result<Vec<Record>, Fault> {
    blocking(move || {
        let mut known = HashMap::new();
        let leads_here = |path: &Path| path == common_dir || path.canonicalize().is_ok_and(|path| path == common_dir);
        records.retain(|record| {
            let path = &record.body.common_dir;
            *known.entry(path.clone()).or_insert_with(|| leads_here(Path::new(path)))
        });
        Ok(records)
    })
    .await
}

/// Whether a look at the work says something about a later merge. While a turn runs or a merge is made, it does not.
fn is_reviewable(record: &Record) -> bool {
    let is_at_rest = match record.found() {
        SessionState::Resting(_) | SessionState::Attached(_) => true,
        SessionState::Turning(_) | SessionState::Integrating(_) => false,
    };
    let has_tree = match record.body.tree {
        Tree::Ready | Tree::Unprepared => true,
        Tree::Absent | Tree::Away | Tree::Creating => false,
    };
    is_at_rest && has_tree && record.removed_at.is_none()
}

/// The session's work: the tree while there is one, else what was saved of it.
pub(super) fn whole(record: &Record, repo: &Repo) -> Result<Target, Fault> {
    let (branch, tip) = (format!("refs/heads/{}", record.body.branch), history::tip_ref(record.id));
    let sources = match record.body.tree {
        Tree::Ready | Tree::Unprepared if Path::new(&record.body.worktree).is_dir() => return Ok(Target::WorkTree),
        // Somebody has deleted the files; the next act brings back what is committed.
        Tree::Ready | Tree::Unprepared => [branch, tip],
        Tree::Absent | Tree::Away | Tree::Creating => [removal::salvage_ref(record.id.as_str()), branch],
    };
    for source in sources {
        if let Some(commit) = repo.find_ref(&source)? {
            return Ok(Target::Commit(commit));
        }
    }
    Ok(Target::Commit(record.body.base.commit.parse()?))
}

/// The patch as text. One that is cut ends with a line that says so, in the form of git's own remarks.
fn patch_text(patch: Kept, record: &Record) -> String {
    let Kept { mut bytes, is_cut } = patch;
    if is_cut {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        bytes.truncate(end);
        let (id, base, branch) = (record.id, record.body.measured_from(), &record.body.branch);
        let remark = format!(
            "\\ The patch is longer than {} MiB; the rest is left out. `coppice diff {id} --stat` lists all files, \
             `git diff {base} {branch} -- PATH` in your repository shows what is committed of one.\n",
            PATCH_LIMIT >> 20
        );
        bytes.extend_from_slice(remark.as_bytes());
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn file_change(file: diff::FileChange) -> FileChange {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let (status, from) = match &file.kind {
        Kind::Added => ("A", None),
        Kind::Modified => ("M", None),
        Kind::Deleted => ("D", None),
        Kind::TypeChanged => ("T", None),
        Kind::Renamed { from } => ("R", Some(path(from))),
        Kind::Copied { from } => ("C", Some(path(from))),
    };
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    FileChange {
        path: path(&file.path),
        status: status.to_owned(),
        insertions: file.lines.map(|lines| count(lines.insertions)),
        deletions: file.lines.map(|lines| count(lines.deletions)),
        from,
    }
}
