//! Sessions as families: children stand under their parents, and those that ended are folded away.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::api::session::{Session, Status};
use crate::cli::status::{Urgency, urgency};

/// Which children are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Fold {
    /// Those that work or wait for a person.
    Ended,
    Nothing,
}

/// A session in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli) struct Branch<'a> {
    pub(in crate::cli) session: &'a Session,
    /// How many sessions it stands under.
    pub(in crate::cli) depth: usize,
    /// How many of its children are folded away.
    pub(in crate::cli) folded: usize,
}

/// The families, those that need a person first; a child whose parent is not there stands for itself.
pub(in crate::cli) fn tree(sessions: &[Session], fold: Fold) -> Vec<Branch<'_>> {
    let mut children: HashMap<&str, Vec<&Session>> = HashMap::new();
    let mut roots = Vec::new();
    for session in sessions {
        match session.parent.as_deref().filter(|parent| sessions.iter().any(|other| other.id == *parent)) {
            Some(parent) => children.entry(parent).or_default().push(session),
            None => roots.push(session),
        }
    }
    let mut families: Vec<_> = roots.into_iter().map(|root| family(root, &mut children, fold, 0)).collect();
    families.sort_by_key(|family| {
        let most_urgent = family.iter().map(|branch| urgency(branch.session.status)).min();
        (most_urgent, Reverse(family.first().map(|branch| branch.session.updated_at)))
    });
    families.into_iter().flatten().collect()
}

/// A session and whoever stands under it; each is taken out, so that rows which name each other end.
fn family<'a>(
    session: &'a Session,
    children: &mut HashMap<&str, Vec<&'a Session>>,
    fold: Fold,
    depth: usize,
) -> Vec<Branch<'a>> {
    let mut own = children.remove(session.id.as_str()).unwrap_or_default();
    own.sort_by_key(|child| child.created_at);
    let mut branches = vec![Branch { session, depth, folded: 0 }];
    for child in own {
        let below = family(child, children, fold, depth + 1);
        match fold == Fold::Nothing || below.len() > 1 || is_going_on(child.status) {
            true => branches.extend(below),
            false => branches[0].folded += 1,
        }
    }
    branches
}

fn is_going_on(status: Status) -> bool {
    match urgency(status) {
        Urgency::Blocked | Urgency::Busy => true,
        // Its parent was told, except of a merge that a person began.
        Urgency::Stopped => status == Status::Conflict,
        Urgency::Reviewable | Urgency::Resting => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, parent: Option<&str>, status: Status) -> Session {
        Session { id: id.into(), parent: parent.map(Into::into), ..crate::look::sample::session(status) }
    }

    fn check(sessions: &[Session], fold: Fold, expected: &str) {
        let line = |branch: &Branch<'_>| format!("{}{}+{}", "-".repeat(branch.depth), branch.session.id, branch.folded);
        assert_eq!(tree(sessions, fold).iter().map(line).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn children_stand_under_their_parents_while_they_matter() {
        let sessions = [
            session("c", Some("b"), Status::Approval),
            session("a", None, Status::Running),
            session("b", Some("r"), Status::Ready),
            session("r", None, Status::Running),
            session("d", Some("r"), Status::Failed),
            session("e", Some("r"), Status::Ready),
            session("o", Some("gone"), Status::Ready),
        ];
        check(&sessions, Fold::Ended, "r+2 -b+0 --c+0 a+0 o+0");
        check(&sessions, Fold::Nothing, "r+0 -b+0 --c+0 -d+0 -e+0 a+0 o+0");
    }

    #[test]
    fn what_needs_a_person_brings_its_family_to_the_top() {
        let sessions = [
            session("f", None, Status::Failed),
            session("p", None, Status::Running),
            session("q", Some("p"), Status::Asking),
        ];
        check(&sessions, Fold::Ended, "p+0 -q+0 f+0");
    }
}
