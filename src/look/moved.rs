//! What a person reads about sessions whose repository is not where it was. Pure: whoever calls it looks at the disk.

use std::collections::BTreeMap;

use super::line::{Line, Tone, one_line};
use super::status;
use crate::api::project::MovedProject;
use crate::api::session::Session;

/// Sessions of the repository that the person stands in, which was elsewhere when they were made.
pub(crate) fn moved_here(moved: &[MovedProject]) -> Vec<Line> {
    let line = |MovedProject { project, sessions }: &MovedProject| {
        let (sessions, directory) = (status::count(*sessions as usize, "session"), one_line(checkout(project)));
        let head = Line::new().dim(format!("{sessions} of this repository when it was at `{directory}`: "));
        head.with(Tone::Accent, "coppice project relink").dim(" makes them usable here")
    };
    moved.iter().map(line).collect()
}

/// Sessions whose repository is not where it was.
pub(crate) fn moved_away(sessions: &[Session], exists: impl Fn(&str) -> bool) -> Vec<Line> {
    let mut gone = BTreeMap::<&str, usize>::new();
    for session in sessions.iter().filter(|session| !exists(&session.project)) {
        *gone.entry(checkout(&session.project)).or_default() += 1;
    }
    let line = |(directory, number): (&str, usize)| {
        let (sessions, directory) = (status::count(number, "session"), one_line(directory));
        let head = Line::new().dim(format!("{sessions} of `{directory}`, which is gone; if you moved it, "));
        head.with(Tone::Accent, "coppice project relink").dim(" in its new place makes them usable")
    };
    gone.into_iter().map(line).collect()
}

/// The directory that holds `.git`, or a bare repository's own.
pub(crate) fn checkout(common_dir: &str) -> &str {
    common_dir.trim_end_matches('/').trim_end_matches("/.git")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Status;
    use crate::look::sample::session;

    #[test]
    fn sessions_of_a_repository_that_is_gone_are_mentioned() {
        let there = Session { project: "/srv/tools.git".into(), ..session(Status::Ready) };
        let lines =
            moved_away(&[session(Status::Merged), there, session(Status::Ready)], |path| path == "/srv/tools.git");
        insta::assert_snapshot!(lines.iter().map(Line::text).collect::<Vec<_>>().join("\n"), @"2 sessions of `/src/app`, which is gone; if you moved it, coppice project relink in its new place makes them usable");
    }

    #[test]
    fn sessions_of_a_repository_that_was_moved_are_offered_in_its_new_place() {
        let moved = [MovedProject { project: "/src/app/.git".into(), sessions: 1 }];
        insta::assert_snapshot!(moved_here(&moved)[0].text(), @"1 session of this repository when it was at `/src/app`: coppice project relink makes them usable here");
    }
}
