//! In which order sessions stand: groups by what they ask of a person, children below their parents. Pure.
//!
//! Nothing that changes while a session works takes part in the order, so that rows stay where they are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::api::session::{Session, Status, WaitingFor};
use crate::tui::world::World;

/// What a session asks of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    NeedsYou,
    Running,
    Ready,
    Interrupted,
    Drafts,
    Resting,
}

impl Group {
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Group::NeedsYou => "NEEDS YOU",
            Group::Running => "RUNNING",
            Group::Ready => "READY",
            Group::Interrupted => "INTERRUPTED",
            Group::Drafts => "DRAFTS",
            Group::Resting => "RESTING",
        }
    }

    fn of(session: &Session) -> Group {
        if World::needs_you(session) {
            return Group::NeedsYou;
        }
        match session.status {
            Status::Queued
            | Status::Preparing
            | Status::Running
            | Status::Integrating
            | Status::Approval
            | Status::Asking => Group::Running,
            Status::Ready => Group::Ready,
            // Whoever delegated to it was told that it failed, and decides.
            Status::Interrupted | Status::Failed | Status::Conflict => Group::Interrupted,
            Status::Draft => Group::Drafts,
            Status::Merged | Status::Archived => Group::Resting,
        }
    }
}

/// Whether children stand below their parents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    #[default]
    Tree,
    Flat,
}

/// Whether what is merged or archived is seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Resting {
    #[default]
    Hidden,
    Shown,
}

/// One row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    Heading(Group),
    Session(Place),
}

impl Row {
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Row::Heading(_) => None,
            Row::Session(place) => Some(&place.id),
        }
    }
}

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: String,
    /// One for each level above it: whether that branch goes on below this row.
    pub(crate) branches: Vec<Branch>,
    /// How many of its children are folded away.
    pub(crate) folded: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    GoesOn,
    Ends,
}

/// What is shown of the sessions.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) shape: Shape,
    pub(crate) resting: Resting,
    pub(crate) folded: &'a HashSet<String>,
    /// A session whose row is shown although it rests.
    pub(crate) kept: Option<&'a str>,
    /// The sessions that the filter lets through; `None` without a filter.
    pub(crate) matching: Option<&'a HashSet<String>>,
}

/// The rows of the list.
pub(crate) fn rows(sessions: &BTreeMap<String, Session>, choice: &Choice) -> Vec<Row> {
    let forest = Forest::of(sessions, choice);
    let is_shown =
        |(group, root): &(Group, &Session)| choice.shows(*group) || forest.any(root, &|session| choice.keeps(session));
    let mut trees: Vec<(Group, &Session)> =
        forest.roots.iter().map(|root| (forest.group(root), *root)).filter(is_shown).collect();
    let goes_on = |session: &Session| matches!(session.waiting_for, Some(WaitingFor::Approval | WaitingFor::Answer));
    trees.sort_by_key(|(group, root)| {
        // Where nobody's agent goes on when somebody answers, the tree stands below those where one does.
        (*group, *group == Group::NeedsYou && !forest.any(root, &goes_on), rank(root))
    });
    let mut rows = Vec::new();
    let mut last = None;
    for (group, root) in trees {
        let before = rows.len();
        forest.lay(root, &mut Vec::new(), choice, &mut rows);
        if rows.len() > before && last != Some(group) {
            rows.insert(before, Row::Heading(group));
            last = Some(group);
        }
    }
    rows
}

/// The sessions that wait for the person themselves, in the order of the list, but those first whose agent goes on as soon
/// as somebody answers. What a parent only shows for its children is theirs.
pub(crate) fn needs(sessions: &BTreeMap<String, Session>) -> Vec<&str> {
    let (shape, resting) = (Shape::Tree, Resting::Hidden);
    let choice = Choice { shape, resting, folded: &HashSet::new(), kept: None, matching: None };
    let ids = rows(sessions, &choice).into_iter().filter_map(|row| match row {
        Row::Heading(_) => None,
        Row::Session(place) => sessions.get(&place.id),
    });
    let mut needs: Vec<_> = ids.filter(|session| session.needs > 0).collect();
    needs.sort_by_key(|session| !matches!(session.waiting_for, Some(WaitingFor::Approval | WaitingFor::Answer)));
    needs.into_iter().map(|session| session.id.as_str()).collect()
}

/// Whether nothing more is expected of a session.
pub(crate) fn is_resting(session: &Session) -> bool {
    Group::of(session) == Group::Resting
}

/// The latest stand first. What stopped stands behind what goes on as soon as somebody answers; those in line stand behind
/// what runs, in the order of the line.
fn rank(session: &Session) -> (Rank, Reverse<i64>, i64, &str) {
    match session.status {
        Status::Queued => (Rank::Later, Reverse(0), session.updated_at, &session.id),
        Status::Failed | Status::Conflict if session.waiting_for.is_none() => {
            (Rank::Later, Reverse(session.created_at), 0, &session.id)
        }
        Status::Failed
        | Status::Conflict
        | Status::Draft
        | Status::Preparing
        | Status::Running
        | Status::Approval
        | Status::Asking
        | Status::Ready
        | Status::Interrupted
        | Status::Integrating
        | Status::Merged
        | Status::Archived => (Rank::First, Reverse(session.created_at), 0, &session.id),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    First,
    Later,
}

impl Choice<'_> {
    fn shows(&self, group: Group) -> bool {
        group != Group::Resting || self.resting == Resting::Shown
    }

    fn keeps(&self, session: &Session) -> bool {
        self.kept == Some(session.id.as_str())
    }
}

/// Sessions by their parents.
struct Forest<'a> {
    roots: Vec<&'a Session>,
    children: HashMap<&'a str, Vec<&'a Session>>,
}

impl<'a> Forest<'a> {
    fn of(sessions: &'a BTreeMap<String, Session>, choice: &Choice) -> Forest<'a> {
        let mut forest = Forest { roots: Vec::new(), children: HashMap::new() };
        for session in sessions.values() {
            match (choice.shape, parent(session, sessions)) {
                (Shape::Tree, Some(parent)) => forest.children.entry(parent).or_default().push(session),
                (Shape::Tree, None) | (Shape::Flat, _) => forest.roots.push(session),
            }
        }
        for children in forest.children.values_mut() {
            // In the order in which they were begun, as the transcript of the parent tells it.
            children.sort_by_key(|child| (child.created_at, &child.id));
        }
        forest
    }

    fn below(&self, session: &Session) -> &[&'a Session] {
        self.children.get(session.id.as_str()).map_or(&[], Vec::as_slice)
    }

    fn any(&self, session: &Session, holds: &impl Fn(&Session) -> bool) -> bool {
        holds(session) || self.below(session).iter().any(|child| self.any(child, holds))
    }

    /// A tree stands where its root does, unless somebody in it needs the person, or only the root rests.
    fn group(&self, root: &Session) -> Group {
        if self.any(root, &|session| Group::of(session) == Group::NeedsYou) {
            return Group::NeedsYou;
        }
        match Group::of(root) {
            Group::Resting => self.below(root).iter().map(|child| self.group(child)).min().unwrap_or(Group::Resting),
            group => group,
        }
    }

    fn lay(&self, session: &Session, branches: &mut Vec<Branch>, choice: &Choice, rows: &mut Vec<Row>) {
        let is_wanted = |session: &Session| {
            (choice.shows(Group::of(session)) || choice.keeps(session))
                && choice.matching.is_none_or(|matching| matching.contains(&session.id))
        };
        if !self.any(session, &is_wanted) {
            return;
        }
        let is_folded = choice.folded.contains(&session.id) && choice.matching.is_none();
        let wanted = self.below(session).iter().copied().filter(|child| self.any(child, &is_wanted));
        // A fold never hides somebody who waits.
        let is_urgent = |session: &Session| Group::of(session) == Group::NeedsYou;
        let (seen, folded): (Vec<_>, Vec<_>) = wanted.partition(|child| !is_folded || self.any(child, &is_urgent));
        let place = Place { id: session.id.clone(), branches: branches.clone(), folded: folded.len() };
        rows.push(Row::Session(place));
        for (index, child) in seen.iter().enumerate() {
            branches.push(if index + 1 < seen.len() { Branch::GoesOn } else { Branch::Ends });
            self.lay(child, branches, choice, rows);
            branches.pop();
        }
    }
}

/// The parent of a session, where it is listed and is not below the session itself.
fn parent<'a>(session: &'a Session, sessions: &'a BTreeMap<String, Session>) -> Option<&'a str> {
    let parent = session.parent.as_deref().filter(|parent| sessions.contains_key(*parent))?;
    let mut above = Some(parent);
    // No chain is longer than there are sessions; one that is goes around.
    for _ in 0..sessions.len() {
        match above.and_then(|id| sessions.get(id)) {
            None => return Some(parent),
            Some(session) => above = session.parent.as_deref(),
        }
    }
    None
}
