//! Slash commands: the acts of the keymap that have a word, some with an argument.

use super::Target;
use super::choice::in_force;
use crate::api::error::{Error, ErrorKind};
use crate::api::request::{Merge, MergeHooks, MergeStyle, MergeUnseen};
use crate::permission::Posture;
use crate::tui::keymap::{Action, BINDINGS};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Request;
use crate::tui::{act, notice, order};

/// A word behind a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) word: &'static str,
    pub(super) help: &'static str,
    does: Does,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Act(Action),
    /// The posture in which nobody is asked about what stays inside.
    GoAlone,
}

const AUTO: Command = Command { word: "auto", help: "all that stays in the work tree goes ahead", does: Does::GoAlone };

/// Every command, in the order of the keymap.
pub(super) fn all() -> impl Iterator<Item = Command> {
    let acts = BINDINGS.iter().filter_map(|binding| {
        binding.command.map(|word| Command { word, help: binding.help, does: Does::Act(binding.action) })
    });
    acts.chain([AUTO])
}

impl Command {
    pub(super) fn named(word: &str) -> Option<Command> {
        all().find(|command| command.word == word)
    }

    /// What can stand behind the word; `None` when nothing can.
    pub(super) fn arguments(self, model: &Model) -> Option<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self.does {
            Does::Act(Action::Model) => Some(engines(model)),
            Does::Act(Action::Reasoning) => Some(levels(model)),
            Does::Act(Action::Agent) => Some(agents(model)),
            Does::Act(Action::Posture) => Some(words(&Posture::ALL.map(Posture::as_str))),
            Does::Act(Action::Merge) => Some(words(&STYLES.map(|(word, _)| word))),
            Does::Act(Action::Undo) => Some(words(&["redo"])),
            // A text: there is nothing to choose from.
            Does::Act(Action::Plan) => Some(Vec::new()),
            Does::Act(Action::Order(order)) => order.arguments(),
            Does::Act(_) | Does::GoAlone => None,
        }
    }
}

const STYLES: [(&str, MergeStyle); 3] =
    [("squash", MergeStyle::Squash), ("no-ff", MergeStyle::NoFf), ("rebase", MergeStyle::Rebase)];

/// `BACKEND` and `BACKEND/MODEL` for all that can run.
pub(super) fn engines(model: &Model) -> Vec<String> {
    let backends = model.world.backends.iter().flatten().filter(|backend| backend.problem.is_none());
    let names = backends.flat_map(|backend| {
        let models = backend.models.iter().map(|model| format!("{}/{}", backend.name, model.id));
        std::iter::once(backend.name.clone()).chain(models)
    });
    names.collect()
}

/// The levels that the model in force takes; all of them where it does not tell.
pub(crate) fn levels(model: &Model) -> Vec<String> {
    let all = || ["low", "medium", "high", "xhigh"].map(ToOwned::to_owned).to_vec();
    let engines = in_force(model, &super::target(model)).engines;
    let [engine] = engines.as_slice() else { return all() };
    let (name, id) = engine.split_once('/').map_or((engine.as_str(), None), |(name, id)| (name, Some(id)));
    let backend = model.world.backends.iter().flatten().find(|backend| backend.name == name);
    let chosen =
        backend.and_then(|backend| backend.models.iter().find(|model| id.map_or(model.default, |id| model.id == id)));
    match chosen.map(|model| model.reasoning.as_slice()) {
        None | Some([]) => all(),
        Some(levels) => levels.to_vec(),
    }
}

/// `AGENT` and `AGENT:PERSONA` for all that a person can choose.
fn agents(model: &Model) -> Vec<String> {
    let agents = model.world.selectable_agents().into_iter().flat_map(|agent| {
        let personas = agent.personas.iter().map(|persona| format!("{}:{}", agent.id, persona.name));
        std::iter::once(agent.id.clone()).chain(personas)
    });
    agents.collect()
}

/// Does what a text that begins with a slash says; what cannot be understood stays written.
pub(super) fn run(model: &mut Model, text: &str) -> Vec<Request> {
    match understand(text).and_then(|(command, argument)| obey(model, command, argument)) {
        Ok(requests) => requests,
        Err(error) => notice::fail(model, "", &error),
    }
}

/// The command and what stands behind it.
fn understand(text: &str) -> Result<(Command, &str), Error> {
    let text = text.trim_end();
    let (word, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if text.contains('\n') {
        return Err(refusal(format!("`{word}` begins a text of several lines")).with_hint(ESCAPE));
    }
    let word = word.trim_start_matches('/');
    match Command::named(word) {
        Some(command) => Ok((command, argument.trim())),
        None => Err(refusal(format!("no command is called `/{word}`")).with_hint(nearest(word))),
    }
}

/// How a text that begins with a slash is sent as it is.
const ESCAPE: &str = "a space before `/` makes it a prompt";

fn refusal(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

fn nearest(word: &str) -> String {
    let near = all().map(|command| (strsim::damerau_levenshtein(word, command.word), command.word)).min();
    match near {
        Some((distance, near)) if distance <= 3 => format!("did you mean `/{near}`? Otherwise {ESCAPE}"),
        Some(_) | None => ESCAPE.to_owned(),
    }
}

/// Whether a value is one of those that can be chosen; nothing is known of what was not listed yet.
fn one_of(what: &str, value: &str, known: &[String]) -> Result<String, Error> {
    if known.is_empty() || known.iter().any(|known| known == value) {
        return Ok(value.to_owned());
    }
    let known = known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
    Err(refusal(format!("no {what} is called `{value}`")).with_hint(format!("known are {known}")))
}

fn obey(model: &mut Model, command: Command, argument: &str) -> Result<Vec<Request>, Error> {
    if !argument.is_empty() && command.arguments(model).is_none() {
        return Err(refusal(format!("`/{}` takes nothing behind it", command.word)));
    }
    let known = command.arguments(model).unwrap_or_default();
    let action = match command.does {
        Does::Act(action) => action,
        Does::GoAlone => return Ok(super::choose_posture(cleared(model), Posture::Unattended)),
    };
    Ok(match (action, argument) {
        (Action::Model, name) if !name.is_empty() => {
            // A model that no agent lists may still be one that it takes.
            let backend = name.split_once('/').map_or(name, |(backend, _)| backend);
            one_of("agent that can run", backend, &backends(&known))?;
            super::choose_models(cleared(model), vec![name.to_owned()])
        }
        (Action::Reasoning, level) if !level.is_empty() => {
            let level = one_of("level", level, &known)?;
            super::choose_reasoning(cleared(model), level)
        }
        (Action::Agent, agent) if !agent.is_empty() => {
            let agent = one_of("agent", agent, &known)?;
            super::choose_agent(cleared(model), agent)
        }
        (Action::Posture, word) if !word.is_empty() => {
            let posture = word.parse::<Posture>().map_err(|error| refusal(error.to_string()))?;
            super::choose_posture(cleared(model), posture)
        }
        (Action::Merge, word) if !word.is_empty() => {
            let Merge { style, hooks, unseen, ssh_agent: _ } = parse_merge(word)?;
            let session = session(model)?;
            cleared(model).focus = Focus::Main;
            vec![Request::Merge { session, style, hooks, unseen }]
        }
        (Action::Undo, "redo") => {
            let session = session(model)?;
            cleared(model).focus = Focus::Main;
            vec![Request::Redo(session)]
        }
        (Action::Undo, number) if !number.is_empty() => {
            let to = number
                .parse()
                .map_err(|_| refusal(format!("`{number}` is neither the number of a turn nor `redo`")))?;
            let session = session(model)?;
            cleared(model).focus = Focus::Main;
            vec![Request::Undo { session, to: Some(to), merge: None }]
        }
        (Action::Plan, text) => {
            let requests = super::choose_posture(cleared(model), Posture::Plan);
            super::draft(model).set(text);
            requests
        }
        (Action::Order(order), words) => {
            let requests = order::run(model, order, words)?;
            cleared(model);
            if leaves(action) {
                model.focus = Focus::Main;
            }
            requests
        }
        (action, _) => {
            cleared(model);
            if leaves(action) {
                model.focus = Focus::Main;
            }
            act::perform(model, action)
        }
    })
}

/// What `/merge` is given: a style, with or without dashes, and the options of `coppice merge`.
fn parse_merge(words: &str) -> Result<Merge, Error> {
    let mut merge = Merge::default();
    for word in words.split_whitespace() {
        let style = STYLES.iter().find(|(known, _)| *known == word.trim_start_matches("--"));
        match (word.split_once('='), style) {
            (None, Some((_, style))) => merge.style = Some(*style),
            (Some(("--accept-hook-changes", id)), _) => merge.hooks = MergeHooks::AcceptOnly(id.to_owned()),
            (None, None) if word == "--accept-hook-changes" => merge.hooks = MergeHooks::AcceptChanges,
            (None, None) if word == "--no-verify" => merge.hooks = MergeHooks::Skip,
            (None, None) if word == "--fix-hooks" => merge.hooks = MergeHooks::Fix,
            (None, None) if word == "--accept-unseen-changes" => merge.unseen = MergeUnseen::Accept,
            (Some(("--accept-unseen-changes", id)), _) => match &mut merge.unseen {
                MergeUnseen::AcceptOnly(ids) => ids.push(id.to_owned()),
                MergeUnseen::Refuse => merge.unseen = MergeUnseen::AcceptOnly(vec![id.to_owned()]),
                MergeUnseen::Accept => {}
            },
            (Some(_) | None, _) => {
                return Err(refusal(format!(
                    "unknown option `{word}`; expected `squash`, `no-ff`, `rebase`, `--no-verify`, \
                     `--fix-hooks`, `--accept-hook-changes` or `--accept-unseen-changes`"
                )));
            }
        }
    }
    Ok(merge)
}

fn backends(engines: &[String]) -> Vec<String> {
    engines.iter().filter(|engine| !engine.contains('/')).cloned().collect()
}

/// Acts about what is written leave the person there; after all others letters are acts again.
pub(crate) fn leaves(action: Action) -> bool {
    if let Action::Order(order) = action {
        return !order.is_of_task();
    }
    !matches!(
        action,
        Action::Command
            | Action::Send
            | Action::SendNow
            | Action::Newline
            | Action::NextAgent
            | Action::PreviousAgent
            | Action::HistoryBack
            | Action::HistoryForward
            | Action::PasteImage
            | Action::ClearDraft
            | Action::Model
            | Action::Reasoning
            | Action::Agent
            | Action::Posture
            | Action::Plan
            | Action::Yolo
            | Action::EditDraft
    )
}

/// The command is understood, so its words have done their work.
fn cleared(model: &mut Model) -> &mut Model {
    super::draft(model).set("");
    model
}

fn session(model: &Model) -> Result<String, Error> {
    match (super::target(model), model.current_id()) {
        (Target::Session(id), _) => Ok(id),
        (Target::Task, Some(id)) => Ok(id.to_owned()),
        (Target::Task, None) => Err(refusal("no session is selected".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::project;
    use crate::look::sample::backend;
    use crate::tui::sample;

    fn model() -> Model {
        let mut model = sample::model(sample::WIDE, sample::sessions());
        let opus = project::Model {
            id: "opus".into(),
            name: None,
            default: true,
            from_settings: false,
            reasoning: vec!["low".into(), "high".into()],
        };
        let broken = project::Backend { problem: Some("not installed".into()), ..backend("gemini") };
        let claude = project::Backend { default: true, models: vec![opus], ..backend("claude") };
        model.world.backends = Some(vec![claude, broken]);
        model
    }

    #[test]
    fn what_cannot_be_done_is_told_with_what_could_be_meant() {
        let slip =
            "no command is called `/modle`: did you mean `/model`? Otherwise a space before `/` makes it a prompt";
        for (text, expected) in [
            ("/modle", slip),
            ("/usr/local/bin is full", "no command is called `/usr/local/bin`: a space before `/` makes it a prompt"),
            ("/diff\nthis", "`/diff` begins a text of several lines: a space before `/` makes it a prompt"),
            ("/stop now", "`/stop` takes nothing behind it"),
            ("/model gemini/pro", "no agent that can run is called `gemini`: known are `claude`"),
            ("/reasoning medium", "no level is called `medium`: known are `low`, `high`"),
            ("/posture alone", "`alone` is none of `plan`, `attended`, `edits`, `unattended`"),
            (
                "/merge squash octopus",
                "unknown option `octopus`; expected `squash`, `no-ff`, `rebase`, `--no-verify`, \
                 `--fix-hooks`, `--accept-hook-changes` or `--accept-unseen-changes`",
            ),
            ("/undo all", "`all` is neither the number of a turn nor `redo`"),
        ] {
            let mut model = model();
            let said = understand(text).and_then(|(command, argument)| obey(&mut model, command, argument));
            let error = said.unwrap_err();
            let said = error.message + &error.hint.map(|hint| format!(": {hint}")).unwrap_or_default();
            assert_eq!(said, expected, "{text}");
        }
    }

    #[test]
    fn a_merge_takes_the_options_of_the_command_line() {
        let merge = Merge::default;
        for (words, expected) in [
            ("no-ff", Merge { style: Some(MergeStyle::NoFf), ..merge() }),
            ("--rebase --no-verify", Merge { style: Some(MergeStyle::Rebase), hooks: MergeHooks::Skip, ..merge() }),
            ("--fix-hooks", Merge { hooks: MergeHooks::Fix, ..merge() }),
            ("--accept-unseen-changes", Merge { unseen: MergeUnseen::Accept, ..merge() }),
            (
                "--accept-unseen-changes=0a1b --accept-unseen-changes=2c3d",
                Merge { unseen: MergeUnseen::AcceptOnly(vec!["0a1b".into(), "2c3d".into()]), ..merge() },
            ),
            ("--accept-hook-changes", Merge { hooks: MergeHooks::AcceptChanges, ..merge() }),
            ("--accept-hook-changes=0a1b", Merge { hooks: MergeHooks::AcceptOnly("0a1b".into()), ..merge() }),
        ] {
            assert_eq!(parse_merge(words).unwrap(), expected, "{words}");
        }
    }

    #[test]
    fn every_command_of_the_keymap_has_a_word_here() {
        let words: Vec<_> = all().map(|command| command.word).collect();
        for word in ["model", "reasoning", "agent", "plan", "auto", "yolo", "undo", "diff", "merge", "help"] {
            assert!(words.contains(&word), "{word}");
        }
        assert!(BINDINGS.iter().filter_map(|binding| binding.command).all(|word| Command::named(word).is_some()));
    }
}
