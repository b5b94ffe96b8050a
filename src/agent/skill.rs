//! Skills: texts that a turn can load by name. They are no tools and say nothing about tools; the agent alone does.

use super::frontmatter::{self, Value};
use super::{Format, dialect};

/// What a turn is told about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Of its `SKILL.md`.
    pub path: String,
    /// What loading it brings.
    pub text: String,
}

/// Why a `SKILL.md` is no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    #[error("{message}")]
    Header { message: String, line: u32 },
    #[error("invalid skill name `{name}`: expected letters, digits, `-` and `_`")]
    Name { name: String },
    #[error("skill `{name}` has no description")]
    Description { name: String },
}

/// Reads a `SKILL.md`; `directory` is the name of the directory it is in, and of the skill that says none.
pub fn parse(path: &str, directory: &str, text: &str) -> Result<Skill, SkillError> {
    let text = frontmatter::normalised(text);
    let parts = frontmatter::split(&text).map_err(|damage| {
        let message = dialect::damage(Format::Unified, &damage);
        SkillError::Header { message, line: damage.line() }
    })?;
    let header = parts.header.unwrap_or_default();
    let said = |key: &str| {
        let pair = header.iter().find(|pair| pair.key == key)?;
        let Value::Text(text) = &pair.value else { return None };
        Some(text.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
    };
    let name = said("name").unwrap_or_else(|| directory.to_owned());
    if name.is_empty() || !name.chars().all(is_of_name) {
        return Err(SkillError::Name { name });
    }
    let description = said("description").ok_or_else(|| SkillError::Description { name: name.clone() })?;
    Ok(Skill { name, description, path: path.to_owned(), text: parts.body.trim().to_owned() })
}

/// Leaves the first of each name, and puts the rest in order.
pub fn merged(skills: impl IntoIterator<Item = Skill>) -> Vec<Skill> {
    let mut kept: Vec<Skill> = Vec::new();
    for skill in skills {
        if !kept.iter().any(|other| other.name == skill.name) {
            kept.push(skill);
        }
    }
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    kept
}

/// The skills that a prompt names as `$name` or `${name}`, each once, in the order of the prompt.
pub fn mentioned<'a>(prompt: &str, skills: &'a [Skill]) -> Vec<&'a Skill> {
    let mut found: Vec<&Skill> = Vec::new();
    for (at, _) in prompt.match_indices('$') {
        let rest = &prompt[at + 1..];
        let name = match rest.strip_prefix('{') {
            Some(braced) => braced.split_once('}').map(|(name, _)| name),
            None => Some(rest.split(|letter| !is_of_name(letter)).next().unwrap_or_default()),
        };
        let Some(name) = name else { continue };
        // A dash at the end belongs to the sentence.
        let meant = skills.iter().find(|skill| skill.name == name || skill.name == name.trim_end_matches('-'));
        if let Some(skill) = meant.filter(|skill| !found.contains(skill)) {
            found.push(skill);
        }
    }
    found
}

/// One line for each skill: what a turn knows of those that it has not loaded.
pub fn short_list(skills: &[Skill]) -> String {
    skills.iter().map(|skill| format!("- ${}: {} ({})\n", skill.name, skill.description, skill.path)).collect()
}

/// The skills that have all words of a query in their name or description; those with one in their name first.
pub fn search<'a>(query: &str, skills: &'a [Skill]) -> Vec<&'a Skill> {
    let words: Vec<_> = query.split_whitespace().map(str::to_lowercase).collect();
    let has = |text: &str, word: &String| text.to_lowercase().contains(word);
    let is_found = |skill: &&Skill| words.iter().all(|word| has(&skill.name, word) || has(&skill.description, word));
    let mut found: Vec<_> = skills.iter().filter(is_found).collect();
    found.sort_by_key(|skill| !words.iter().any(|word| has(&skill.name, word)));
    found
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-' || letter == '_'
}
