//! What a question of the face says: the act, and its exact consequence.

use super::About;
use crate::api::error::{HookChanges, UnseenChanges};
use crate::api::project::{Trust, TrustState};
use crate::api::request::{MergeHooks, MergeStyle, MergeUnseen};
use crate::api::resolution::{ProposedFile, ResolutionProposal};
use crate::api::session::Session;
use crate::look::line::{Line, Tone, file_name, one_line, visible};
use crate::look::status::{count, title};
use crate::tui::keymap::{Action, Context};
use crate::tui::model::Model;
use crate::tui::msg::Publish;
use crate::tui::sessions::changes;

pub(super) struct Said {
    pub(super) title: String,
    /// Loud where something is at stake.
    pub(super) tone: Tone,
    pub(super) lines: Vec<Line>,
    pub(super) keys: Vec<Key>,
}

/// A key of the question, and what it does.
pub(super) struct Key {
    pub(super) press: Press,
    name: String,
    act: &'static str,
}

/// What is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Press {
    Agree,
    Leave,
    Move,
    Letter(char),
}

impl Key {
    pub(super) fn line(&self) -> Line {
        Line::toned(Tone::Accent, self.name.as_str()).plain(format!(" {}", self.act))
    }
}

/// Between two keys.
pub(super) const GAP: &str = "  ";

pub(super) fn of(model: &Model, about: &About) -> Said {
    let session = |id: &String| model.world.sessions.get(id);
    match about {
        About::Merge { session: id, style, hooks, unseen } => merge(model, session(id), *style, hooks, unseen),
        About::HookChanges { session: id, changes, .. } => hook_changes(model, session(id), changes),
        About::UnseenChanges { session: id, changes } => unseen_changes(model, session(id), changes),
        About::Stop { session: id } => stop(model, session(id)),
        About::Undo { session: id, to } => undo(model, session(id), *to),
        About::UndoMerge { session: id, commit: _ } => undo_merge(model, session(id)),
        About::Rebase { session: id } => rebase(model, session(id)),
        About::Resolution(proposal) => resolution(model, session(&proposal.session), proposal),
        About::Integrate { session: id } => integrate(model, session(id)),
        About::Remove { session: id } => remove(model, session(id)),
        About::Publish(publish) => publishing(model, model.world.sessions.get(publish.session()), publish),
        About::Yolo { session: id } => yolo(model, id.as_ref().and_then(session)),
        About::Trust { trust, .. } => trusting(model, trust),
    }
}

/// The beginning of a commit's name.
pub(super) fn commit(name: &str) -> String {
    one_line(name).chars().take(10).collect()
}

fn merge(
    model: &Model,
    session: Option<&Session>,
    style: MergeStyle,
    hooks: &MergeHooks,
    unseen: &MergeUnseen,
) -> Said {
    let base = session.map(|session| one_line(&session.base.name)).unwrap_or_default();
    let size = match session {
        Some(session) if session.changes.files > 0 => {
            changes(session.changes).plain(format!(" in {}", count(session.changes.files as usize, "file")))
        }
        Some(_) | None => Line::toned(Tone::Warn, "nothing changed yet"),
    };
    let (style, means) = match style {
        MergeStyle::Squash => ("squash", "one commit with the session's title and summary"),
        MergeStyle::NoFf => ("no-ff", "a merge commit; the session's own commits stay"),
        MergeStyle::Rebase => ("rebase", "the session's own commits on top, no merge commit"),
    };
    let (toggle, warning) = match hooks {
        MergeHooks::Skip => ("hooks on", Some(Line::toned(Tone::Warn, "Your commit hooks do not run."))),
        MergeHooks::Fix => (
            "hooks off",
            Some(Line::toned(
                Tone::Warn,
                "If a commit hook fails, the agent is asked to fix that, twice at most, and the fixes are merged unseen.",
            )),
        ),
        MergeHooks::Check | MergeHooks::AcceptChanges | MergeHooks::AcceptOnly(_) => ("hooks off", None),
    };
    let mut lines = vec![size, Line::new().strong(style).plain(format!(": {means}"))];
    lines.extend(warning);
    let is_unmarked = session.is_some_and(|session| session.unmarked_conflict.is_some());
    lines.extend(match unseen {
        MergeUnseen::Accept | MergeUnseen::AcceptOnly(_) => {
            Some(Line::toned(Tone::Warn, "Files in conflict without marks are merged as they are in the worktree."))
        }
        MergeUnseen::Refuse if is_unmarked => {
            Some(Line::new().plain("Binary and deleted files have no marks: a takes them as they are."))
        }
        MergeUnseen::Refuse => None,
    });
    lines.push(Line::new());
    lines.push(Line::new().dim(format!(
        "Your checkout moves only where nothing of yours would be lost. At a conflict nothing is merged, and {base} \
         stays as it is."
    )));
    Said {
        title: format!("Merge \"{}\" into {base}?", name(session)),
        tone: Tone::Accent,
        lines,
        keys: keys(
            model,
            &[
                (Press::Letter('y'), "merges"),
                (Press::Letter('s'), "squash"),
                (Press::Letter('n'), "no-ff"),
                (Press::Letter('r'), "rebase"),
                if is_unmarked { (Press::Letter('a'), "as they are") } else { (Press::Letter('v'), toggle) },
                (Press::Letter('f'), "fixes"),
                (Press::Leave, "not yet"),
            ],
        ),
    }
}

fn hook_changes(model: &Model, session: Option<&Session>, changes: &HookChanges) -> Said {
    let mut lines = vec![Line::new().plain("Nothing is merged yet. Your commit hooks changed the reviewed work:")];
    lines.push(Line::new());
    lines.extend(changes.files.iter().map(|file| {
        let size = format!("  +{} -{}", file.insertions, file.deletions);
        Line::new().plain(format!("  {} ", one_line(&file.kind))).strong(one_line(&file.path)).dim(size)
    }));
    lines.push(Line::new());
    lines.extend(visible(&changes.patch).lines().map(|line| Line::toned(patch_tone(line), format!("  {line}"))));
    lines.push(Line::new());
    lines.push(Line::new().dim("You agree to exactly these changes; if the hooks make others, you are asked again."));
    Said {
        title: format!("Merge \"{}\" with the changes of your hooks?", name(session)),
        tone: Tone::Warn,
        lines,
        keys: keys(
            model,
            &[
                (Press::Letter('y'), "merges with them"),
                (Press::Letter('a'), "with any changes"),
                (Press::Letter('v'), "without hooks"),
                (Press::Move, "scroll"),
                (Press::Leave, "not yet"),
            ],
        ),
    }
}

fn unseen_changes(model: &Model, session: Option<&Session>, changes: &UnseenChanges) -> Said {
    let mut lines =
        vec![Line::new().plain("Nothing was merged. No turn ran since you last looked, but these files changed:")];
    lines.push(Line::new());
    lines.extend(changes.files.iter().map(|path| Line::new().plain("  ").strong(one_line(path))));
    let more = (changes.count as usize).saturating_sub(changes.files.len());
    if more > 0 {
        lines.push(Line::new().dim(format!("  and {more} more")));
    }
    lines.push(Line::new());
    lines.push(Line::new().dim("A process that the agent left running can have written them. Look again, then merge."));
    Said {
        title: format!("\"{}\" changed after you looked at it", name(session)),
        tone: Tone::Warn,
        lines,
        keys: keys(model, &[(Press::Agree, "looks again"), (Press::Leave, "not yet")]),
    }
}

fn stop(model: &Model, session: Option<&Session>) -> Said {
    Said {
        title: format!("Stop \"{}\"?", name(session)),
        tone: Tone::Warn,
        lines: vec![Line::new().plain("The turn ends as it is; what it changed is kept.")],
        keys: keys(model, &[(Press::Letter('y'), "stops"), (Press::Leave, "lets it go on")]),
    }
}

fn undo(model: &Model, session: Option<&Session>, to: Option<u32>) -> Said {
    let here = session.map_or(0, Session::stands_at);
    let turns = |first: u32, last: u32| match first == last {
        true => format!("turn {first}"),
        false => format!("turns {first} to {last}"),
    };
    let (does, back) = match (to, session) {
        (Some(to), _) if to > here => {
            ("brings it back", format!("Brings {} back: the files are as after turn {to}.", turns(here + 1, to)))
        }
        (None, _) => ("takes it back", "Takes back the last turn that changed something.".to_owned()),
        (Some(0), Some(session)) => {
            let (base, at) = (one_line(&session.base.name), commit(&session.base.commit));
            ("takes it back", format!("Takes back {}: the files are as on {base} at {at}.", turns(1, here)))
        }
        (Some(to), _) => {
            ("takes it back", format!("Takes back {}: the files are as after turn {to}.", turns(to + 1, here)))
        }
    };
    Said {
        title: format!("Undo in \"{}\"?", name(session)),
        tone: Tone::Warn,
        lines: vec![
            Line::new().strong(back),
            Line::new(),
            Line::new().dim(
                "The conversation is not rewound; the next prompt tells the agent what was taken back. What is there is \
                 kept, and a later turn brings it back.",
            ),
        ],
        keys: keys(
            model,
            &[(Press::Letter('y'), does), (Press::Move, "an earlier or a later turn"), (Press::Leave, "leaves it")],
        ),
    }
}

/// More of a merge's files than these are counted.
const NAMED_FILES: usize = 12;

fn undo_merge(model: &Model, session: Option<&Session>) -> Said {
    let merge = session.and_then(|session| session.undoable_merge.as_ref());
    let base = merge.map(|merge| one_line(&merge.target)).unwrap_or_default();
    let named = merge.map(|merge| commit(&merge.commit)).unwrap_or_default();
    let files = merge.map(|merge| merge.files.as_slice()).unwrap_or_default();
    let mut lines = vec![Line::new().strong(format!("Takes the merge {named} out of {base}.")), Line::new()];
    lines.extend(files.iter().take(NAMED_FILES).map(|file| Line::new().plain(file_name(file))));
    let count = merge.map_or(0, |merge| merge.file_count as usize);
    if let more @ 1.. = count.saturating_sub(NAMED_FILES) {
        lines.push(Line::new().dim(format!("and {more} more")));
    }
    lines.push(Line::new());
    lines.push(Line::new().dim(format!(
        "{base} goes back to where it was. If it has more commits since, or another branch, a tag or a remote has the \
         merge, a new commit reverts it. The session keeps the work."
    )));
    Said {
        title: format!("Undo the merge of \"{}\"?", name(session)),
        tone: Tone::Warn,
        lines,
        keys: keys(model, &[(Press::Letter('y'), "takes it back"), (Press::Leave, "leaves it")]),
    }
}

fn rebase(model: &Model, session: Option<&Session>) -> Said {
    let base = session.map(|session| one_line(&session.base.name)).unwrap_or_default();
    let branch = session.map(|session| one_line(&session.branch)).unwrap_or_default();
    Said {
        title: format!("Rebase \"{}\" onto {base}?", name(session)),
        tone: Tone::Accent,
        lines: vec![
            Line::new().plain(format!("The commits of {branch} are written again on top of {base}.")),
            Line::new(),
            Line::new().dim(format!("{base} stays as it is.")),
        ],
        keys: keys(model, &[(Press::Letter('y'), "rebases"), (Press::Leave, "not yet")]),
    }
}

fn resolution(model: &Model, session: Option<&Session>, proposal: &ResolutionProposal) -> Said {
    let file = |file: &ProposedFile| {
        Line::new().plain(one_line(&file.path)).dim(format!("  {}", count(file.regions as usize, "region")))
    };
    let mut lines: Vec<_> = proposal.files.iter().map(file).collect();
    lines.extend(proposal.left_out.iter().map(|file| {
        Line::toned(Tone::Warn, format!("{} stays as it is", one_line(&file.path)))
            .dim(format!(": {}", one_line(&file.reason)))
    }));
    lines.push(Line::new());
    lines.extend(visible(&proposal.patch).lines().map(|line| Line::toned(patch_tone(line), line)));
    Said {
        title: format!("Resolve the conflict of \"{}\" like this?", name(session)),
        tone: Tone::Warn,
        lines,
        keys: keys(model, &[(Press::Letter('y'), "applies it"), (Press::Move, "scroll"), (Press::Leave, "not yet")]),
    }
}

fn integrate(model: &Model, session: Option<&Session>) -> Said {
    let parent = session.and_then(|session| session.parent.as_ref()).and_then(|id| model.world.sessions.get(id));
    let into = match parent {
        Some(parent) => format!("\"{}\"", title(parent)),
        None => "its parent session".to_owned(),
    };
    let size = session.map(|session| changes(session.changes)).filter(|size| size.width() > 0);
    let size = size.map(|size| Line::new().plain(" (").then(size).plain(")")).unwrap_or_default();
    Said {
        title: format!("Integrate \"{}\"?", name(session)),
        tone: Tone::Accent,
        lines: vec![Line::new().plain("Its changes").then(size).plain(format!(" are applied to the files of {into}."))],
        keys: keys(model, &[(Press::Letter('y'), "integrates"), (Press::Leave, "not yet")]),
    }
}

fn remove(model: &Model, session: Option<&Session>) -> Said {
    let kept = model.world.text_setting("store.keep_removed").unwrap_or("30d");
    let mut lines = vec![match session {
        Some(session) if session.changes.files > 0 => Line::new()
            .plain("Its worktree and branch go, with ")
            .then(changes(session.changes))
            .plain(format!(" in {}; a ref keeps what is not merged.", count(session.changes.files as usize, "file"))),
        Some(_) | None => Line::new().plain("Its worktree and branch go; it changed nothing."),
    }];
    if session.is_some_and(|session| session.status.is_busy()) {
        lines.push(Line::toned(Tone::Warn, "It works at this moment: the turn is stopped."));
    }
    let children = session.map_or(0, |session| session.children.len());
    if children > 0 {
        lines.push(Line::toned(Tone::Warn, format!("It has {}.", count(children, "child session"))));
    }
    lines.push(Line::new());
    lines.push(Line::new().dim(format!("`/restore` brings it back within {}.", one_line(kept))));
    Said {
        title: format!("Remove \"{}\"?", name(session)),
        tone: Tone::Bad,
        lines,
        keys: keys(model, &[(Press::Letter('y'), "removes"), (Press::Leave, "keeps it")]),
    }
}

fn publishing(model: &Model, session: Option<&Session>, publish: &Publish) -> Said {
    let fact = |name: &str, value: Line| Line::new().dim(format!("{name:<7}")).then(value);
    let said = |text: &Option<String>, usual: &str| match text {
        Some(text) => Line::new().plain(one_line(text)),
        None => Line::new().plain(usual),
    };
    let (title, lines, does) = match publish {
        Publish::Push { branch, .. } => {
            let own = session.map(|session| one_line(&session.branch)).unwrap_or_default();
            let lines = vec![
                fact("branch", Line::new().plain(own)),
                fact("as", said(branch, "its own name at `origin`, or the one it has there")),
                Line::new(),
                Line::new().dim("Nothing is forced and no hook runs. What a turn in progress does is not part of it."),
            ];
            (format!("Push \"{}\" to origin?", name(session)), lines, "pushes")
        }
        Publish::Create { create, .. } => {
            let base = session.map(|session| one_line(&session.base.name)).unwrap_or_default();
            let draft = if create.draft { ", as a draft" } else { "" };
            let lines = vec![
                fact("title", said(&create.title, &name(session))),
                fact("into", said(&create.base, &base).plain(draft)),
                fact("text", said(&create.body, "the session's summary and its commits")),
                Line::new(),
                Line::new().dim("Everybody who can see the repository at GitHub sees it. `/push` comes first."),
            ];
            (format!("Open a pull request for \"{}\"?", name(session)), lines, "opens it")
        }
        Publish::Update { update, .. } => {
            let lines = vec![
                fact("title", said(&update.title, "stays")),
                fact("text", said(&update.body, "stays")),
                Line::new(),
                Line::new().dim("A text takes the place of the one that is there."),
            ];
            (format!("Change the pull request of \"{}\"?", name(session)), lines, "changes it")
        }
    };
    Said {
        title,
        tone: Tone::Accent,
        lines,
        keys: keys(model, &[(Press::Letter('y'), does), (Press::Leave, "not yet")]),
    }
}

fn yolo(model: &Model, session: Option<&Session>) -> Said {
    let held = match session {
        Some(session) if session.sandbox.enforced => Line::new().plain(format!(
            "The sandbox ({}) still holds what its commands can reach.",
            one_line(&session.sandbox.level)
        )),
        Some(session) if !session.sandbox.is_known() => {
            Line::new().plain("How far the sandbox holds it is seen once it runs.")
        }
        Some(_) => Line::toned(Tone::Bad, "The sandbox is not enforced: nothing but its own manners holds the agent."),
        None => Line::new().plain("How far the sandbox holds it is seen once it runs."),
    };
    Said {
        title: match session {
            Some(session) => format!("YOLO for \"{}\"?", title(session)),
            None => "YOLO for the next task?".to_owned(),
        },
        tone: Tone::Bad,
        lines: vec![
            Line::toned(
                Tone::Bad,
                "Every call goes ahead that no rule forbids or asks about. Nobody looks at it first.",
            ),
            held,
            Line::new(),
            Line::new().dim(
                "Rules that deny, secrets and commands that would wreck the machine stay refused. /yolo takes it back.",
            ),
        ],
        keys: keys(model, &[(Press::Letter('y'), "lets everything go ahead"), (Press::Leave, "leaves it as it is")]),
    }
}

fn trusting(model: &Model, trust: &Trust) -> Said {
    let at = commit(&trust.commit);
    let (text, head) = match (&trust.difference, trust.state) {
        (Some(difference), _) => (difference.as_str(), format!("What changed since you trusted it, at {at}:")),
        (None, TrustState::Changed | TrustState::Untrusted | TrustState::Trusted | TrustState::NothingToTrust) => (
            trust.grants.as_deref().unwrap_or_default(),
            format!("What the repository's own files would run or allow, at {at}:"),
        ),
    };
    let tone: fn(&str) -> Tone = if trust.difference.is_some() { patch_tone } else { |_: &str| Tone::Plain };
    let mut lines = vec![Line::new().plain(head), Line::new()];
    lines.extend(visible(text).lines().map(|line| Line::toned(tone(line), format!("  {line}"))));
    lines.push(Line::new());
    lines.push(Line::new().dim("You agree to exactly this text; when it changes you are asked again."));
    Said {
        title: "Trust this repository?".to_owned(),
        tone: Tone::Warn,
        lines,
        keys: keys(model, &[(Press::Letter('y'), "trusts"), (Press::Move, "scroll"), (Press::Leave, "not yet")]),
    }
}

fn patch_tone(line: &str) -> Tone {
    match line.as_bytes().first() {
        Some(b'+') => Tone::More,
        Some(b'-') => Tone::Less,
        Some(_) | None => Tone::Plain,
    }
}

fn name(session: Option<&Session>) -> String {
    session.map(title).unwrap_or_default()
}

fn keys(model: &Model, keys: &[(Press, &'static str)]) -> Vec<Key> {
    let named = |action| model.keymap.key(Context::Confirm, action).unwrap_or("-").to_owned();
    let name = |press| match press {
        Press::Agree => named(Action::Open),
        Press::Leave => named(Action::Back),
        Press::Move => format!("{}/{}", named(Action::Up), named(Action::Down)),
        Press::Letter(letter) => letter.to_string(),
    };
    keys.iter().map(|(press, act)| Key { press: *press, name: name(*press), act }).collect()
}
