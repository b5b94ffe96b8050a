//! One session out of its traces: what is recorded is taken over, what is assumed is named. Pure.
//!
//! It errs on the side that changes nothing: no grant, no consent and no posture is recovered, nothing counts as untouched,
//! and a session with files is never taken for one that ended.

use std::collections::BTreeMap;

use crate::api::event::PromptAuthor;
use crate::api::session::{Status, TurnState, Usage};
use crate::git::removal;
use crate::git::traces::{CommitTrace, SessionTraces};
use crate::protocol::naming;
use crate::session::{Rest, Session};

use crate::engine::record::{BaseRecord, Body, EngineRecord, Record, State, Tree, TurnBody};

/// What the data directory says about a session.
#[derive(Debug, Clone)]
pub(super) struct SessionPlace {
    pub(super) project: String,
    pub(super) common_dir: String,
    /// Where its worktree belongs.
    pub(super) worktree: String,
    pub(super) tree: FoundTree,
    /// The backends that have kept something for it.
    pub(super) backends: Vec<String>,
    /// Who works where that is not known.
    pub(super) fallback: EngineRecord,
    pub(super) now: i64,
}

/// Where the files of a session are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundTree {
    InPlace,
    InTrash,
    Gone,
}

/// A session as it can be stored again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recovery {
    pub(super) record: Record,
    /// All turns from the first one on.
    pub(super) turns: Vec<TurnBody>,
    /// What is assumed.
    pub(super) uncertain: Vec<&'static str>,
}

/// How a session stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Standing {
    rest: Rest,
    tree: Tree,
    is_removed: bool,
    is_certain: bool,
}

/// Makes a session of its traces; none without a commit to start from in the user's own history.
pub(super) fn recover_session(traces: &SessionTraces, place: &SessionPlace) -> Option<Recovery> {
    let base = traces.base.as_ref()?;
    let mut uncertain = Vec::new();
    let branch = traces.branch.as_ref().map(|branch| branch.name.clone());
    let slug = branch.as_deref().and_then(|name| name.rsplit('/').next()).unwrap_or_default().to_owned();
    let (title, is_exact) = recover_title(&slug, &traces.checkpoints);
    if !is_exact {
        uncertain.push("title");
    }
    if !base.is_recorded {
        uncertain.push("base commit");
    }
    if !base.is_only_branch {
        uncertain.push("base branch");
    }
    let standing = judge_standing(traces, place.tree);
    if !standing.is_certain {
        uncertain.push("state");
    }
    let engine = match place.backends.as_slice() {
        [backend] => EngineRecord { backend: backend.clone(), ..EngineRecord::default() },
        _ => {
            uncertain.push("backend");
            place.fallback.clone()
        }
    };
    // The rules that git does not know: a person is asked about everything.
    uncertain.push("posture attended");
    let last_turn = traces.checkpoints.keys().next_back().copied().unwrap_or_default();
    let times = || traces.checkpoints.values().chain(&traces.salvage).map(|commit| commit.at);
    let created_at = traces.branch.as_ref().and_then(|branch| branch.created_at).or_else(|| times().min());
    let session = Session::Resting(standing.rest);
    let state = State::of(session);
    let saved = traces.salvage.is_some().then(|| removal::salvage_ref(traces.session.as_str()));
    let mut body = Body {
        title,
        common_dir: place.common_dir.clone(),
        base: BaseRecord {
            name: base.base.name.clone(),
            branch: base.base.branch.clone(),
            commit: base.base.commit.to_string(),
        },
        branch: branch.unwrap_or_else(|| format!("coppice/{}/recovered", traces.session)),
        worktree: place.worktree.clone(),
        tree: standing.tree,
        state,
        turns: last_turn,
        salvage: saved.filter(|_| standing.is_removed),
        ..Body::default()
    };
    body.set_engine(engine);
    let record = Record {
        id: traces.session,
        project: place.project.clone(),
        created_at: created_at.unwrap_or(place.now),
        updated_at: times().max().or(created_at).unwrap_or(place.now),
        removed_at: standing.is_removed.then(|| traces.salvage.as_ref().map_or(place.now, |saved| saved.at)),
        status: status_of(standing.rest),
        body,
    };
    let turns = (1..=last_turn).map(|number| recover_turn(&record, traces.checkpoints.get(&number))).collect();
    Some(Recovery { record, turns, uncertain })
}

fn status_of(rest: Rest) -> Status {
    crate::engine::view::status(Session::Resting(rest).status())
}

/// How the session stood, from what is left of it.
fn judge_standing(traces: &SessionTraces, tree: FoundTree) -> Standing {
    let is_merged = traces.branch.as_ref().is_some_and(|branch| branch.is_merged);
    let has_branch = traces.branch.as_ref().is_some_and(|branch| branch.tip.is_some());
    let prepared = if traces.checkpoints.is_empty() { Tree::Unprepared } else { Tree::Ready };
    let standing = |rest, tree, is_certain| Standing { rest, tree, is_removed: false, is_certain };
    match (tree, has_branch, traces.salvage.is_some()) {
        // Its last turn may have been cut short.
        (FoundTree::InPlace, _, _) => standing(Rest::Ready, prepared, false),
        (FoundTree::InTrash | FoundTree::Gone, true, _) if is_merged => standing(Rest::Merged, Tree::Away, true),
        // Or merged as one commit, which does not name the session.
        (FoundTree::InTrash, true, _) | (FoundTree::Gone, true, true) => standing(Rest::Archived, Tree::Away, false),
        // Somebody deleted the files; the next turn brings them back as they were at the last checkpoint.
        (FoundTree::Gone, true, false) => standing(Rest::Ready, Tree::Ready, false),
        (FoundTree::InTrash | FoundTree::Gone, false, true) => {
            Standing { rest: Rest::Ready, tree: Tree::Away, is_removed: true, is_certain: true }
        }
        (FoundTree::InTrash | FoundTree::Gone, false, false) => standing(Rest::Archived, Tree::Away, false),
    }
}

/// The title whose slug the branch has, if a commit names it, else the words of the slug; whether it is the one.
fn recover_title(slug: &str, checkpoints: &BTreeMap<u32, CommitTrace>) -> (String, bool) {
    let subjects = checkpoints.iter().filter_map(|(turn, commit)| {
        let subject = commit.message.lines().next()?;
        Some(subject.strip_suffix(&format!(" (turn {turn})")).unwrap_or(subject))
    });
    let mut titles = subjects.filter(|subject| !slug.is_empty() && naming::slug_from(subject) == slug);
    match titles.next() {
        Some(title) => (title.to_owned(), true),
        None if slug.is_empty() => ("recovered session".to_owned(), false),
        None => (slug.replace('-', " "), false),
    }
}

fn recover_turn(record: &Record, checkpoint: Option<&CommitTrace>) -> TurnBody {
    let at = checkpoint.map_or(record.created_at, |commit| commit.at);
    TurnBody {
        state: TurnState::Completed,
        prompt: String::new(),
        author: PromptAuthor::Person,
        images: Vec::new(),
        backend: record.body.backend.clone(),
        model: None,
        agent: None,
        started_at: at,
        ended_at: Some(at),
        response: None,
        error: None,
        checkpoint: checkpoint.map(|commit| commit.commit.to_string()),
        checkpoint_failed: false,
        undone: false,
        usage: Usage::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Base;
    use crate::git::traces::{BaseTrace, BranchTrace};

    fn commit(digit: char, at: i64, message: &str) -> CommitTrace {
        CommitTrace { commit: digit.to_string().repeat(40).parse().unwrap(), at, message: message.to_owned() }
    }

    fn branch(is_merged: bool) -> Option<BranchTrace> {
        let tip = Some(commit('2', 30, "x"));
        Some(BranchTrace { name: "coppice/aaaaaaaa/fix-the-bug".to_owned(), tip, created_at: Some(10), is_merged })
    }

    fn traces() -> SessionTraces {
        let base = Base {
            name: "main".to_owned(),
            branch: Some("refs/heads/main".to_owned()),
            commit: "1".repeat(40).parse().unwrap(),
        };
        SessionTraces {
            session: "aaaaaaaa".parse().unwrap(),
            branch: branch(false),
            checkpoints: BTreeMap::from([(2, commit('2', 30, "Fix the bug (turn 2)\n\nCoppice-Session: aaaaaaaa\n"))]),
            salvage: None,
            registered: None,
            base: Some(BaseTrace { base, is_recorded: true, is_only_branch: true }),
        }
    }

    fn place(tree: FoundTree) -> SessionPlace {
        SessionPlace {
            project: "p".to_owned(),
            common_dir: "/repo/.git".to_owned(),
            worktree: "/data/worktrees/p/aaaaaaaa".to_owned(),
            tree,
            backends: vec!["agent".to_owned()],
            fallback: EngineRecord { backend: "other".to_owned(), ..EngineRecord::default() },
            now: 99,
        }
    }

    #[test]
    fn what_is_recorded_is_taken_over() {
        let Recovery { record, turns, uncertain } = recover_session(&traces(), &place(FoundTree::InPlace)).unwrap();
        assert_eq!((record.status, record.removed_at), (Status::Ready, None));
        assert_eq!((record.created_at, record.updated_at), (10, 30));
        let Body { title, branch, base, backend, tree, turns: count, is_untouched, grants, .. } = record.body;
        assert_eq!((title.as_str(), branch.as_str()), ("Fix the bug", "coppice/aaaaaaaa/fix-the-bug"));
        assert_eq!((base.name.as_str(), base.commit.as_str()), ("main", "1".repeat(40).as_str()));
        assert_eq!((backend.as_str(), tree, count), ("agent", Tree::Ready, 2));
        assert!(!is_untouched && grants.is_empty());
        let checkpoints: Vec<_> = turns.into_iter().map(|turn| turn.checkpoint).collect();
        assert_eq!(checkpoints, [None, Some("2".repeat(40))]);
        assert_eq!(uncertain, ["state", "posture attended"]);
    }

    #[test]
    fn what_is_assumed_is_named() {
        let mut poor = traces();
        poor.checkpoints.clear();
        poor.base = poor.base.map(|base| BaseTrace { is_recorded: false, is_only_branch: false, ..base });
        let nobody = SessionPlace { backends: Vec::new(), ..place(FoundTree::InPlace) };
        let Recovery { record, uncertain, .. } = recover_session(&poor, &nobody).unwrap();
        assert_eq!(uncertain, ["title", "base commit", "base branch", "state", "backend", "posture attended"]);
        assert_eq!((record.body.title.as_str(), record.body.backend.as_str()), ("fix the bug", "other"));
        assert_eq!(record.body.tree, Tree::Unprepared);
        poor.base = None;
        assert_eq!(recover_session(&poor, &nobody), None);
    }

    #[test]
    fn a_session_stands_as_its_traces_say() {
        let saved = || Some(commit('3', 40, "work of session aaaaaaaa"));
        for (branch, salvage, tree, status, removed_at) in [
            (branch(false), None, FoundTree::InPlace, Status::Ready, None),
            (branch(true), None, FoundTree::InPlace, Status::Ready, None),
            (None, saved(), FoundTree::InPlace, Status::Ready, None),
            (branch(true), saved(), FoundTree::Gone, Status::Merged, None),
            (branch(false), saved(), FoundTree::Gone, Status::Archived, None),
            (branch(false), None, FoundTree::InTrash, Status::Archived, None),
            (branch(false), None, FoundTree::Gone, Status::Ready, None),
            (None, saved(), FoundTree::Gone, Status::Ready, Some(40)),
            (None, saved(), FoundTree::InTrash, Status::Ready, Some(40)),
            (None, None, FoundTree::Gone, Status::Archived, None),
        ] {
            let found = SessionTraces { branch: branch.clone(), salvage, ..traces() };
            let record = recover_session(&found, &place(tree)).unwrap().record;
            assert_eq!((record.status, record.removed_at), (status, removed_at), "{branch:?} {tree:?}");
            let is_gone = matches!(record.body.tree, Tree::Away);
            assert!(tree == FoundTree::Gone || is_gone == (tree == FoundTree::InTrash), "{branch:?} {tree:?}");
        }
    }
}
