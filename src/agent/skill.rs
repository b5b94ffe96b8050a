//! Skills: texts that a turn can load by name. They are no tools and say nothing about tools; the agent alone does.

use std::borrow::Cow;

use super::directory::SkillLayout;
use super::frontmatter::{self, Value};
use super::skill_arguments::{ArgumentNumbers, fill_in_arguments};
use super::{Format, dialect};

/// The key of a skill that only a person loads.
const MANUAL: &str = "disable-model-invocation";

/// What a turn is told about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Of its `SKILL.md`.
    pub path: String,
    /// What loading it brings.
    pub text: String,
    pub invoked_by: SkillInvocation,
    pub argument_numbers: ArgumentNumbers,
}

/// A skill that a prompt names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillMention<'a> {
    pub skill: &'a Skill,
    /// What follows its name in the prompt, up to the name of another skill.
    pub arguments: &'a str,
}

impl<'a> SkillMention<'a> {
    /// The text of the skill with its arguments filled in.
    pub fn text(&self) -> Cow<'a, str> {
        fill_in_arguments(&self.skill.text, self.skill.argument_numbers, self.arguments)
    }
}

/// Who loads a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillInvocation {
    PersonOrModel,
    Person,
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

/// Why a skill has no such part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    #[error("skill `{skill}` has no headings; load all of it")]
    NoHeadings { skill: String },
    #[error("skill `{skill}` has no section `{section}`; there are {}", known.join(", "))]
    Unknown { skill: String, section: String, known: Vec<String> },
}

impl Skill {
    /// What stands below a heading of the text, up to the next one that is not below it; the heading comes with it.
    pub fn section(&self, wanted: &str) -> Result<&str, SectionError> {
        let wanted = wanted.trim_start_matches('#').trim();
        let headings = headings(&self.text);
        let is_meant = |heading: &&Heading<'_>| heading.title.to_lowercase() == wanted.to_lowercase();
        let Some(start) = headings.iter().find(is_meant) else {
            let (skill, section) = (self.name.clone(), wanted.to_owned());
            return Err(match headings.is_empty() {
                true => SectionError::NoHeadings { skill },
                false => {
                    let known = headings.iter().map(|heading| heading.title.to_owned()).collect();
                    SectionError::Unknown { skill, section, known }
                }
            });
        };
        let end = headings.iter().find(|next| next.at > start.at && next.level <= start.level);
        Ok(self.text[start.at..end.map_or(self.text.len(), |end| end.at)].trim_end())
    }
}

struct Heading<'a> {
    /// Where its line begins.
    at: usize,
    level: usize,
    title: &'a str,
}

/// The headings of a text, in order. What is between fences is no heading.
fn headings(text: &str) -> Vec<Heading<'_>> {
    let (mut at, mut fence): (usize, Option<&str>) = (0, None);
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| words.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), Some(_) | None) => {}
            (None, None) => {
                let level = line.bytes().take_while(|byte| *byte == b'#').count();
                let title = line[level..].strip_prefix(' ').map(|title| title.trim().trim_end_matches('#').trim_end());
                if let (1..=6, Some(title)) = (level, title) {
                    found.push(Heading { at, level, title });
                }
            }
        }
        at += line.len();
    }
    found
}

/// Reads the file of a skill. `stem` is the name of its directory, or that of a command's file, and the name of a skill that
/// says none.
pub fn parse(path: &str, stem: &str, layout: SkillLayout, text: &str) -> Result<Skill, SkillError> {
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
    let name = said("name").unwrap_or_else(|| stem.to_owned());
    if name.is_empty() || !name.chars().all(is_of_name) {
        return Err(SkillError::Name { name });
    }
    let text = parts.body.trim().to_owned();
    let first_line = || text.lines().next().map(|line| line.trim_start_matches('#').trim().to_owned());
    let description = match layout {
        SkillLayout::Directories | SkillLayout::ClaudeSkills => said("description"),
        SkillLayout::ClaudeCommands | SkillLayout::CodexPrompts => {
            said("description").or_else(first_line).filter(|line| !line.is_empty())
        }
    };
    let argument_numbers = match layout {
        SkillLayout::Directories => ArgumentNumbers::None,
        SkillLayout::ClaudeSkills | SkillLayout::ClaudeCommands => ArgumentNumbers::FromZero,
        SkillLayout::CodexPrompts => ArgumentNumbers::FromOne,
    };
    let description = description.ok_or_else(|| SkillError::Description { name: name.clone() })?;
    let is_manual = header.iter().any(|pair| pair.key == MANUAL && pair.value == Value::Bool(true));
    let invoked_by = if is_manual { SkillInvocation::Person } else { SkillInvocation::PersonOrModel };
    Ok(Skill { name, description, path: path.to_owned(), text, invoked_by, argument_numbers })
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

/// The skills that a prompt names as `$name` or `${name}`, each once, in the order of the prompt. What a line quotes behind
/// `>` names none.
pub fn find_mentions<'a>(prompt: &'a str, skills: impl Iterator<Item = &'a Skill> + Clone) -> Vec<SkillMention<'a>> {
    // Where a name begins and ends, with the skill that it means.
    let mut named: Vec<(usize, usize, &Skill)> = Vec::new();
    let mut start = 0;
    for line in prompt.split_inclusive('\n') {
        let signs = line.match_indices('$').filter(|_| !line.trim_start().starts_with('>'));
        for (at, _) in signs {
            let Some((name, length)) = read_mention(&line[at + 1..]) else { continue };
            // A dash at the end belongs to the sentence.
            let skill = skills.clone().find(|skill| skill.name == name || skill.name == name.trim_end_matches('-'));
            named.extend(skill.map(|skill| (start + at, start + at + 1 + length, skill)));
        }
        start += line.len();
    }
    let mut found: Vec<SkillMention<'_>> = Vec::new();
    for (place, &(_, end, skill)) in named.iter().enumerate() {
        if found.iter().all(|mention| mention.skill != skill) {
            let next = named.get(place + 1).map_or(prompt.len(), |(at, ..)| *at);
            found.push(SkillMention { skill, arguments: prompt[end..next].trim() });
        }
    }
    found
}

/// The name behind a `$`, and how long it is with its braces.
fn read_mention(text: &str) -> Option<(&str, usize)> {
    let inside = text.strip_prefix('{').unwrap_or(text);
    let name = &inside[..inside.find(|letter| !is_of_name(letter)).unwrap_or(inside.len())];
    let is_whole = inside.len() == text.len() || inside[name.len()..].starts_with('}');
    let length = if inside.len() == text.len() { name.len() } else { name.len() + "{}".len() };
    (is_whole && !name.is_empty()).then_some((name, length))
}

/// The skills that a model may load.
pub fn loaded_by_models(skills: &[Skill]) -> impl Iterator<Item = &Skill> + Clone {
    skills.iter().filter(|skill| skill.invoked_by == SkillInvocation::PersonOrModel)
}

/// One line for each skill that a model may load: what a turn knows of those that it has not loaded.
pub fn short_list<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> String {
    skills.into_iter().map(|skill| format!("- ${}: {} ({})\n", skill.name, skill.description, skill.path)).collect()
}

/// The skills for models that have all words of a query in their name or description; those with one in their name first.
pub fn search<'a>(query: &str, skills: &'a [Skill]) -> Vec<&'a Skill> {
    let words: Vec<_> = query.split_whitespace().map(str::to_lowercase).collect();
    let has = |text: &str, word: &String| text.to_lowercase().contains(word);
    let is_found = |skill: &&Skill| words.iter().all(|word| has(&skill.name, word) || has(&skill.description, word));
    let mut found: Vec<_> = loaded_by_models(skills).filter(is_found).collect();
    found.sort_by_key(|skill| !words.iter().any(|word| has(&skill.name, word)));
    found
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-' || letter == '_'
}
