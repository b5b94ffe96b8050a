//! The rows of the settings: every key that has a value, every action that has keys, every check of the machine.

use serde_json::Value;

use crate::api::project::{Check, ConfigValue};
use crate::config::key::{Authority, find};
use crate::config::value::Kind;
use crate::tui::keymap::BINDINGS;
use crate::tui::world::World;

/// Something that the cursor can stand on.
#[derive(Debug)]
pub(super) enum Item<'a> {
    Setting(Entry),
    Check(&'a Check),
}

/// Where the person is among the rows: on a name, because a row moves when its value is chosen or taken away.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    name: Option<String>,
    /// Where it was put, for a name that is gone.
    place: usize,
}

impl Cursor {
    /// On the row at this place, or the last one.
    pub(super) fn at(items: &[Item<'_>], place: usize) -> Cursor {
        let place = place.min(items.len().saturating_sub(1));
        Cursor { name: items.get(place).map(|item| item.name().to_owned()), place }
    }

    pub(super) fn place(&self, items: &[Item<'_>]) -> usize {
        let named = self.name.as_ref().and_then(|name| items.iter().position(|item| item.name() == name));
        named.unwrap_or(self.place).min(items.len().saturating_sub(1))
    }
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) origin: String,
    pub(super) about: String,
    pub(super) ignored: Option<String>,
}

/// What a person calls the settings that are asked for most.
const LABELS: &[(&str, &str)] = &[
    ("default.model", "Default Model"),
    ("default.reasoning", "Default Reasoning Level"),
    ("default.agent", "Default Agent"),
    ("default.posture", "Default Posture"),
    ("sandbox.level", "Sandbox Level"),
    ("theme", "Theme"),
    ("merge.style", "Merge Style"),
    ("notify.bell", "Bell"),
    ("notify.desktop", "Desktop Notices"),
];

/// The groups that come first; the others follow in the order of the daemon.
const FIRST: &[&str] = &["default", "sandbox", "theme", "notify", "merge", "limits", "delegation"];

/// All rows, group by group.
pub(super) fn all<'a>(world: &World, checks: &'a [Check]) -> Vec<Item<'a>> {
    let is_key = |value: &&ConfigValue| value.key.starts_with("keys.");
    let entry = |value: &ConfigValue| Entry {
        key: value.key.clone(),
        value: value.value.clone(),
        origin: value.origin.clone(),
        about: value.about.clone(),
        ignored: value.ignored.clone(),
    };
    let mut settings: Vec<_> = world.config.iter().filter(|value| !is_key(value)).map(entry).collect();
    let mut groups: Vec<String> = FIRST.iter().map(|group| (*group).to_owned()).collect();
    for entry in &settings {
        if !groups.contains(&entry.group().to_owned()) {
            groups.push(entry.group().to_owned());
        }
    }
    settings.sort_by_key(|entry| groups.iter().position(|group| group == entry.group()));
    let chosen: Vec<_> = world.config.iter().filter(is_key).map(entry).collect();
    // Before the daemon has said anything there is nothing to change.
    let actions = BINDINGS.iter().filter(|_| !world.config.is_empty()).filter_map(|binding| {
        let key = format!("keys.{}", binding.name);
        let is_chosen = chosen.iter().any(|entry| entry.key == key);
        (!is_chosen).then(|| Entry {
            key,
            value: binding.keys.to_vec().into(),
            origin: "default".to_owned(),
            about: binding.help.to_owned(),
            ignored: None,
        })
    });
    let actions: Vec<_> = actions.collect();
    let settings = settings.into_iter().chain(chosen).chain(actions).map(Item::Setting);
    settings.chain(checks.iter().map(Item::Check)).collect()
}

impl Item<'_> {
    /// What no other row is called.
    pub(super) fn name(&self) -> &str {
        match self {
            Item::Setting(entry) => &entry.key,
            Item::Check(check) => &check.name,
        }
    }

    /// The group that the row stands in.
    pub(super) fn group(&self) -> &str {
        match self {
            Item::Setting(entry) => entry.group(),
            Item::Check(_) => "this machine",
        }
    }
}

impl Entry {
    fn group(&self) -> &str {
        self.key.split('.').next().unwrap_or_default()
    }

    pub(super) fn label(&self) -> &str {
        let known = LABELS.iter().find(|(key, _)| *key == self.key);
        known.map_or(self.key.as_str(), |(_, label)| label)
    }

    /// The value as a person reads it.
    pub(super) fn shown(&self) -> String {
        match &self.value {
            Value::String(text) if text.is_empty() => "-".to_owned(),
            Value::Array(items) if items.is_empty() => "-".to_owned(),
            Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(", "),
            Value::Null => "-".to_owned(),
            value => word(value),
        }
    }

    /// The value as it is typed.
    pub(super) fn spelled(&self) -> String {
        match &self.value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            // A list of strings is spelled the same in JSON and in the file.
            value => value.to_string(),
        }
    }

    /// What can be chosen; empty where it is typed.
    pub(super) fn options(&self, world: &World) -> Vec<String> {
        match find(&self.key).map(|key| key.kind) {
            Some(Kind::Choice(known)) => known.iter().map(|word| (*word).to_owned()).collect(),
            Some(Kind::Model) => match models(world) {
                models if models.is_empty() => Vec::new(),
                models => std::iter::once(String::new()).chain(models).collect(),
            },
            Some(Kind::Text) if self.key == "default.agent" => {
                world.selectable_agents().iter().map(|agent| agent.id.clone()).collect()
            }
            Some(
                Kind::Count { .. }
                | Kind::Duration
                | Kind::AutoDuration
                | Kind::Flag
                | Kind::Text
                | Kind::List
                | Kind::Paths
                | Kind::Command
                | Kind::OptionalCommand
                | Kind::Chords
                | Kind::Variables
                | Kind::ProjectVariables
                | Kind::VariableNames,
            )
            | None => Vec::new(),
        }
    }
}

/// Whether the whole machine has one value for the key, so that no project can have its own.
pub(super) fn is_shared(key: &str) -> bool {
    find(key).is_some_and(|key| key.authority == Authority::Machine)
}

/// Every backend that can be used, alone and with each of its models.
fn models(world: &World) -> Vec<String> {
    let usable = world.backends.iter().flatten().filter(|backend| backend.problem.is_none() && !backend.scripted);
    let named = usable.flat_map(|backend| {
        let models = backend.models.iter().map(|model| format!("{}/{}", backend.name, model.id));
        std::iter::once(backend.name.clone()).chain(models)
    });
    named.collect()
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
