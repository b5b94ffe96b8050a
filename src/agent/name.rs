//! Names of agents: what one may look like, and which differences do not count.

const LONGEST: usize = 64;

/// The names under which people know built-in agents elsewhere.
const ALIASES: &[(&str, &str)] =
    &[("explorer", "explore"), ("general_purpose", "general"), ("plan", "planner"), ("review", "reviewer")];

/// The key of a name as somebody writes it; `None` when it cannot be one.
pub(super) fn id(name: &str) -> Option<String> {
    let id = name.trim().to_lowercase();
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
    ((1..=LONGEST).contains(&id.len()) && id.chars().all(is_plain)).then_some(id)
}

/// The form in which `-` and `_` are one.
pub(super) fn canonical(id: &str) -> String {
    id.replace('-', "_")
}

/// The built-in agent that another name means.
pub(super) fn alias(id: &str) -> Option<&'static str> {
    let id = canonical(id);
    ALIASES.iter().find(|(alias, _)| *alias == id).map(|(_, meant)| *meant)
}

/// What Yotta and Claude Code ask of a name.
pub(super) fn begins_with_letter(name: &str) -> bool {
    id(name).is_some() && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

pub(super) fn invalid(name: &str) -> String {
    format!(
        "invalid agent_type \"{name}\"; expected snake_case or kebab-case like \"worker\", \"my_custom_role\", or \
         \"my-custom-role\""
    )
}
