//! Drafts and prompts between two runs, and between two faces of one repository: each writes only what it changed itself,
//! and shows what the other one wrote where it changed nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Content, Draft};
use super::send::Sent;
use super::{Target, history};
use crate::tui::model::Model;
use crate::tui::state::Saved;
use crate::tui::{decide, review};

/// Brings the saved drafts and prompts back, in front of what was written since.
pub(crate) fn restore(model: &mut Model, saved: Saved) {
    let Saved { task, sessions, history, answers, comments } = saved;
    decide::restore(model, &answers);
    review::restore(model, &comments);
    let sessions = sessions.into_iter().map(|(id, content)| (Target::Session(id), content));
    for (target, content) in std::iter::once((Target::Task, task)).chain(sessions) {
        if !content.is_empty() {
            model.composer.drafts.entry(target).or_default().take_back(content);
        }
    }
    model.composer.history.splice(..0, history);
}

/// What is kept for the next run.
pub(crate) fn saved(model: &Model) -> Saved {
    let state = &model.composer;
    let mut kept: BTreeMap<&Target, Content> =
        state.drafts.iter().map(|(target, draft)| (target, draft.content())).collect();
    // What is on its way would be lost with the face, as long as nobody said that it arrived.
    for Sent { target, content, .. } in state.sent.values() {
        let mut draft = Draft::of(kept.remove(target).unwrap_or_default());
        draft.take_back(content.clone());
        kept.insert(target, draft.content());
    }
    let (answers, comments) = (decide::begun(model), review::unsaved(model));
    let mut saved = Saved { history: state.history.clone(), answers, comments, ..Saved::default() };
    for (target, content) in kept.into_iter().filter(|(_, content)| !content.is_empty()) {
        match target {
            Target::Task => saved.task = content,
            Target::Session(id) => {
                saved.sessions.insert(id.clone(), content);
            }
        }
    }
    saved
}

/// Takes over what another face wrote: `merged` is what became of `ours`, which is what this one has.
pub(crate) fn adopt(model: &mut Model, ours: &Saved, merged: &Saved) {
    if ours == merged {
        return;
    }
    decide::forget(model, &gone(&ours.answers, &merged.answers));
    decide::restore(model, &changed(&ours.answers, &merged.answers));
    review::forget(model, &gone(&ours.comments, &merged.comments));
    review::restore(model, &changed(&ours.comments, &merged.comments));
    let state = &mut model.composer;
    state.history.clone_from(&merged.history);
    let ids = ours.sessions.keys().chain(merged.sessions.keys());
    for target in std::iter::once(Target::Task).chain(ids.map(|id| Target::Session(id.clone()))) {
        let content = of(merged, &target);
        if content == of(ours, &target) {
            continue;
        }
        match content.is_empty() {
            true => drop(state.drafts.remove(&target)),
            false => drop(state.drafts.insert(target, Draft::of(content.clone()))),
        }
    }
}

/// What there is to keep when this face knew `base`, has `ours`, and finds `theirs`. Where both wrote, the other's words
/// are found by going back.
pub(crate) fn merge(base: &Saved, ours: &Saved, theirs: Saved) -> Saved {
    let mut merged = Saved {
        history: theirs.history.clone(),
        answers: each(&base.answers, &ours.answers, &theirs.answers),
        comments: each(&base.comments, &ours.comments, &theirs.comments),
        ..Saved::default()
    };
    for sent in unseen(&base.history, &ours.history) {
        history::put_aside(&mut merged.history, sent.clone());
    }
    let ids = ours.sessions.keys().chain(theirs.sessions.keys());
    for target in std::iter::once(Target::Task).chain(ids.map(|id| Target::Session(id.clone()))) {
        let (known, own, other) = (of(base, &target), of(ours, &target), of(&theirs, &target));
        let content = if own == known { other } else { own };
        if content != other && other != known {
            history::put_aside(&mut merged.history, other.clone());
        }
        match target {
            Target::Task => merged.task = content.clone(),
            Target::Session(id) if !content.is_empty() => drop(merged.sessions.insert(id, content.clone())),
            Target::Session(_) => {}
        }
    }
    merged
}

/// Of two faces' entries those that this one changed, else the other's.
fn each<T: Clone + PartialEq>(
    base: &BTreeMap<String, T>,
    ours: &BTreeMap<String, T>,
    theirs: &BTreeMap<String, T>,
) -> BTreeMap<String, T> {
    let kept = |name: &String| match ours.get(name) == base.get(name) {
        true => theirs.get(name),
        false => ours.get(name),
    };
    let names = ours.keys().chain(theirs.keys());
    names.filter_map(|name| Some((name.clone(), kept(name)?.clone()))).collect()
}

/// The names of what is not there any more.
fn gone<T>(before: &BTreeMap<String, T>, after: &BTreeMap<String, T>) -> BTreeSet<String> {
    before.keys().filter(|name| !after.contains_key(*name)).cloned().collect()
}

/// The entries that are there and were not as they are.
fn changed<T: Clone + PartialEq>(before: &BTreeMap<String, T>, after: &BTreeMap<String, T>) -> BTreeMap<String, T> {
    let is_changed = |(name, entry): &(&String, &T)| before.get(*name) != Some(*entry);
    after.iter().filter(is_changed).map(|(name, entry)| (name.clone(), entry.clone())).collect()
}

fn of<'a>(saved: &'a Saved, target: &Target) -> &'a Content {
    static NOTHING: Content = Content::NOTHING;
    match target {
        Target::Task => &saved.task,
        Target::Session(id) => saved.sessions.get(id).unwrap_or(&NOTHING),
    }
}

/// The end of a history that was not there before: one that is sent again has left its place and stands at the end.
fn unseen<'a>(before: &[Content], after: &'a [Content]) -> &'a [Content] {
    let mut known = before.iter();
    let kept = after.iter().take_while(|prompt| known.any(|earlier| earlier == *prompt)).count();
    &after[kept..]
}

#[cfg(test)]
mod tests {
    use super::super::draft::{Paste, Picture};
    use super::*;
    use crate::api::image::Image;

    fn content(text: &str) -> Content {
        Content { text: text.into(), ..Content::default() }
    }

    fn kept(task: &str, session: &str, history: &[&str]) -> Saved {
        let sessions =
            [("aaaaaaaa".to_owned(), content(session))].into_iter().filter(|_| !session.is_empty()).collect();
        Saved {
            task: content(task),
            sessions,
            history: history.iter().map(|text| content(text)).collect(),
            ..Saved::default()
        }
    }

    #[test]
    fn only_what_was_changed_here_is_written() {
        let base = kept("old", "to a", &["one", "two"]);
        for (what, ours, theirs, expected) in [
            ("neither", base.clone(), base.clone(), base.clone()),
            ("here", kept("mine", "to a", &["one", "two"]), base.clone(), kept("mine", "to a", &["one", "two"])),
            ("there", base.clone(), kept("theirs", "", &["one", "two"]), kept("theirs", "", &["one", "two"])),
            (
                "each its own",
                kept("old", "mine", &["one", "two"]),
                kept("theirs", "to a", &["one", "two"]),
                kept("theirs", "mine", &["one", "two"]),
            ),
            (
                "both the same",
                kept("mine", "to a", &["one", "two"]),
                kept("theirs", "to a", &["one", "two"]),
                kept("mine", "to a", &["one", "two", "theirs"]),
            ),
            (
                "sent here, sent there",
                kept("", "to a", &["two", "one"]),
                kept("old", "to a", &["one", "two", "three"]),
                kept("", "to a", &["two", "three", "one"]),
            ),
            (
                "sent there",
                base.clone(),
                kept("", "to a", &["one", "two", "old"]),
                kept("", "to a", &["one", "two", "old"]),
            ),
        ] {
            assert_eq!(merge(&base, &ours, theirs), expected, "{what}");
        }
    }

    #[test]
    fn what_the_other_face_wrote_is_put_aside_whole() {
        let picture = Picture { number: 1, image: Image { name: None, data: "R0lG".into() } };
        let long = Paste { number: 1, text: "line\n".repeat(9_000) };
        let text = format!("{} {}", picture.token(), long.token());
        let theirs = Content { text, images: vec![picture], pastes: vec![long], ..Content::default() };
        let merged =
            merge(&Saved::default(), &kept("mine", "", &[]), Saved { task: theirs.clone(), ..Saved::default() });
        assert_eq!((merged.task, merged.history), (content("mine"), vec![theirs]));
    }

    #[test]
    fn what_another_face_wrote_is_shown_here() {
        let mut model = Model::default();
        restore(&mut model, kept("old", "to a", &["one"]));
        let ours = saved(&model);
        adopt(&mut model, &ours, &kept("theirs", "", &["one", "two"]));
        assert_eq!(saved(&model), kept("theirs", "", &["one", "two"]));
    }
}
