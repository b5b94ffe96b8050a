//! Names of agents: what one may look like, and which differences do not count.

const LONGEST: usize = 64;

/// The key of a name as somebody writes it; `None` when it cannot be one.
pub(super) fn id(name: &str) -> Option<String> {
    let id = name.trim().to_lowercase();
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
    ((1..=LONGEST).contains(&id.len()) && id.chars().all(is_plain)).then_some(id)
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
