//! What each format calls things, and the words it complains with. Data; the reading is in `draft` and `parse`.

use super::Format::{self, Claude, Koda, Task, Template, Unified, Yotta};
use super::frontmatter::Damage;

/// What a key is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Description,
    Mode,
    Hidden,
    Model,
    Effort,
    Allow(Spelling),
    Deny(Spelling),
    Permission,
    ReadOnly,
    Profile,
    Personas,
    MaxSteps,
    Background,
    Timeout,
    /// Means something to another program and nothing here.
    Foreign,
    FallbackModels,
}

/// How tools may be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    List,
    /// Also as names with commas between them, and `*` is every tool.
    Loose,
}

const ALL: &[Format] = &[Unified, Koda, Template, Task, Claude, Yotta];

const KEYS: &[(&str, Field, &[Format])] = &[
    ("name", Field::Name, &[Unified, Task, Claude, Yotta]),
    ("description", Field::Description, ALL),
    ("mode", Field::Mode, &[Unified, Koda]),
    ("hidden", Field::Hidden, &[Unified, Koda]),
    ("model", Field::Model, &[Unified, Koda, Template, Claude, Yotta]),
    ("reasoning_effort", Field::Effort, &[Unified, Template]),
    ("AllowTools", Field::Allow(Spelling::List), &[Unified, Koda]),
    ("allow_list", Field::Allow(Spelling::List), &[Unified, Template]),
    ("tools", Field::Allow(Spelling::Loose), &[Unified, Claude, Yotta]),
    ("DisallowedTools", Field::Deny(Spelling::List), &[Unified, Koda]),
    ("deny_list", Field::Deny(Spelling::List), &[Unified, Template]),
    ("disallowedTools", Field::Deny(Spelling::Loose), &[Unified, Claude]),
    ("permission", Field::Permission, &[Unified, Task, Claude]),
    ("read_only", Field::ReadOnly, &[Unified, Template]),
    ("profile", Field::Profile, &[Unified]),
    ("agent_names", Field::Personas, &[Unified, Template]),
    ("maxSteps", Field::MaxSteps, &[Unified, Task, Claude]),
    ("max_iterations", Field::MaxSteps, &[Unified, Yotta]),
    ("maxTurns", Field::MaxSteps, &[Unified, Claude]),
    ("background", Field::Background, &[Unified, Yotta]),
    ("timeout", Field::Timeout, &[Unified]),
    ("fallback_models", Field::FallbackModels, ALL),
    ("permissionMode", Field::Foreign, &[Claude]),
    ("skills", Field::Foreign, &[Claude]),
    ("mcpServers", Field::Foreign, &[Claude]),
    ("hooks", Field::Foreign, &[Claude]),
    ("memory", Field::Foreign, &[Claude]),
    ("isolation", Field::Foreign, &[Claude]),
    ("color", Field::Foreign, &[Claude]),
    ("effort", Field::Foreign, &[Claude]),
    ("background", Field::Foreign, &[Claude]),
    ("initialPrompt", Field::Foreign, &[Claude]),
];

/// What a key means in a format.
pub(super) fn field(format: Format, key: &str) -> Option<Field> {
    KEYS.iter().find(|(name, _, formats)| *name == key && formats.contains(&format)).map(|(_, field, _)| *field)
}

/// The key of a format that was probably meant by one that it does not have.
pub(super) fn nearest(format: Format, key: &str) -> Option<&'static str> {
    let plain = |key: &str| key.to_lowercase().replace(['_', '-'], "");
    let distance = |name: &str| strsim::damerau_levenshtein(&plain(name), &plain(key));
    let known = KEYS.iter().filter(|(_, field, formats)| *field != Field::Foreign && formats.contains(&format));
    known.map(|(name, ..)| *name).filter(|name| distance(name) <= 2).min_by_key(|name| distance(name))
}

/// The words for a header that cannot be read.
pub(super) fn damage(format: Format, damage: &Damage) -> String {
    match damage {
        Damage::Unterminated => match format {
            Unified | Koda | Template | Task => "front matter is missing closing delimiter".to_owned(),
            Claude | Yotta => "unterminated frontmatter block (expected closing `---`)".to_owned(),
        },
        Damage::Yaml { detail, .. } => undecodable(format, detail),
    }
}

/// The words for a value that a key cannot have.
pub(super) fn undecodable(format: Format, detail: &str) -> String {
    match format {
        Koda => format!("decode front matter: {detail}"),
        Unified | Template | Task | Claude | Yotta => format!("invalid YAML: {detail}"),
    }
}
