//! One file to one definition, by the rules of its format.
//!
//! A file that breaks a rule defines nothing; what it would have been called stays taken, so that no wider agent of
//! that name steps in. One that is skipped, as it has no description, takes no name.

use sha2::{Digest, Sha256};

use super::draft::{self, Draft};
use super::frontmatter::{self, Parts};
use super::{Access, Definition, Diagnostic, Format, Mode, Scope, Severity, Source, ToolLists};
use super::{dialect, name, persona, surface};
use crate::permission::Profile;
use crate::permission::compact::{Action, CompactPermission, Form};
use crate::tool::Tool;

/// A file as somebody found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    pub scope: Scope,
    /// How many directories above the nearest one it was found; counts within a project only.
    pub level: u32,
    pub format: Format,
    pub path: String,
    /// The name without its extension.
    pub stem: String,
    pub text: String,
}

/// A file that defines nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub source: Source,
    /// What it would have been called, as far as that can be told; none for a file that nobody could name.
    pub ids: Vec<String>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Broken {
    /// The first reason of the worst kind.
    pub fn message(&self) -> &str {
        let worst = self.diagnostics.iter().map(|it| it.severity).max();
        let first = self.diagnostics.iter().find(|it| Some(it.severity) == worst);
        first.map_or("the file defines no agent", |it| &it.message)
    }
}

/// The steps that a file of the task format may take if it does not say.
const TASK_STEPS: u32 = 10;

/// Reads a file.
pub fn parse(file: &FileText) -> Result<Definition, Broken> {
    let text = frontmatter::normalised(&file.text);
    let broken = |ids, diagnostics| Broken { source: source(file), ids, diagnostics };
    let unreadable = |message: String, line| {
        broken(guessed_ids(file, &text), vec![Diagnostic::error("invalid_front_matter", message, Some(line))])
    };
    let Parts { header, body } =
        frontmatter::split(&text).map_err(|damage| unreadable(dialect::damage(file.format, &damage), damage.line()))?;
    if header.is_none()
        && let Some(key) = lost_key(file.format, body)
    {
        return Err(unreadable(format!("front matter is missing opening delimiter: `{key}` is a key"), 1));
    }
    let presence = if header.is_some() { Header::Present } else { Header::Absent };
    let draft = draft::read(file.format, &header.unwrap_or_default());
    let name = draft.name.as_deref().and_then(name::id);
    assemble(file, draft, presence, body).map_err(|diagnostics| {
        // A file that is merely skipped leaves its name to others.
        let is_mistake = diagnostics.iter().any(|it| it.severity == Severity::Error);
        let id = name.or_else(|| name::id(&file.stem)).filter(|_| is_mistake);
        broken(id.into_iter().collect(), diagnostics)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    Present,
    Absent,
}

pub(super) fn source(file: &FileText) -> Source {
    let digest = Sha256::digest(file.text.as_bytes());
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Source { scope: file.scope, format: file.format, path: file.path.clone(), sha256 }
}

/// Every name that a file with an unreadable header may have been meant for.
fn guessed_ids(file: &FileText, text: &str) -> Vec<String> {
    let has_name = dialect::field(file.format, "name").is_some();
    let named = text.lines().find_map(|line| line.strip_prefix("name:")).filter(|_| has_name);
    let bare = named.map(|value| value.trim().trim_matches(['"', '\'']));
    let mut ids: Vec<_> = [file.stem.as_str()].into_iter().chain(bare).filter_map(name::id).collect();
    ids.dedup();
    ids
}

/// A key above the line that should close a block, in a file where no line opens one.
fn lost_key(format: Format, text: &str) -> Option<&str> {
    let end = text.lines().position(|line| line.trim_end() == "---")?;
    let mut keys = text.lines().take(end).filter_map(|line| line.split_once(':')).map(|(key, _)| key);
    keys.find(|key| dialect::field(format, key).is_some())
}

fn assemble(file: &FileText, mut draft: Draft, header: Header, body: &str) -> Result<Definition, Vec<Diagnostic>> {
    let mut diagnostics = std::mem::take(&mut draft.diagnostics);
    diagnostics.extend(complaints(file, &draft, header, body));
    let display_name = draft.name.clone().unwrap_or_else(|| file.stem.trim().to_owned());
    let id = name::id(&display_name);
    let (prompt, personas) = match file.format {
        Format::Unified | Format::Template => {
            let blocks = persona::split(body);
            let (personas, found) = persona::join(&file.stem, draft.personas.take(), blocks.named);
            diagnostics.extend(found);
            (blocks.default, personas)
        }
        Format::Koda | Format::Task | Format::Claude | Format::Yotta => (body.to_owned(), Vec::new()),
    };
    if file.format == Format::Template {
        diagnostics.extend(unlisted(file, &draft, &prompt));
    }
    // Without an id there is a complaint that says so.
    let Some(id) = id.filter(|_| !diagnostics.iter().any(is_fatal)) else {
        return Err(diagnostics);
    };
    let is_task = reads_as_task(file.format, &draft);
    let everything = || CompactPermission::new([("*".to_owned(), Form::Simple(Action::Allow))]);
    let mut definition = Definition {
        description: draft.description.unwrap_or_else(|| match file.format {
            Format::Yotta => format!("Subagent: {display_name}"),
            Format::Unified | Format::Koda | Format::Template | Format::Task | Format::Claude => id.clone(),
        }),
        mode: draft.mode.unwrap_or(match file.format {
            Format::Unified | Format::Koda => Mode::Primary,
            Format::Template | Format::Task | Format::Claude | Format::Yotta => Mode::Subagent,
        }),
        hidden: draft.hidden.unwrap_or(false),
        prompt,
        personas,
        model: draft.model,
        effort: draft.effort,
        tools: ToolLists { allow: draft.allow, deny: draft.deny.unwrap_or_default() },
        permission: draft.permission.or_else(|| is_task.then(everything)),
        access: match draft.profile {
            Some(Profile::ReadOnly) => Access::ReadOnly,
            Some(Profile::Native | Profile::Enforced) | None => draft.access.unwrap_or_default(),
        },
        profile: draft.profile,
        max_steps: draft.max_steps.or_else(|| is_task.then_some(TASK_STEPS)),
        timeout: draft.timeout,
        background: draft.background,
        source: source(file),
        diagnostics,
        id,
        display_name,
    };
    if file.format == Format::Yotta && definition.background == Some(true) && may_write(&definition) {
        definition.background = None;
        let message = "`background` counts only for an agent that cannot change files";
        definition.diagnostics.push(Diagnostic::warning("background_ignored", message, None));
    }
    Ok(definition)
}

/// Files in the directory of Claude Code that use the keys of the task format are meant for it.
fn reads_as_task(format: Format, draft: &Draft) -> bool {
    match format {
        Format::Task => true,
        Format::Claude => draft.name.is_none() && draft.permission.is_some(),
        Format::Unified | Format::Koda | Format::Template | Format::Yotta => false,
    }
}

/// Whether a diagnostic keeps a file from defining an agent. That a file is skipped need not be a mistake.
fn is_fatal(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error || diagnostic.code == "skipped"
}

/// What a format demands of name, description and body.
fn complaints(file: &FileText, draft: &Draft, header: Header, body: &str) -> Vec<Diagnostic> {
    let wrong = |code, message: String| Diagnostic::error(code, message, None);
    let skipped = |message: &str| Diagnostic::warning("skipped", message, None);
    let mut found = Vec::new();
    let named = draft.name.as_deref().unwrap_or(file.stem.trim());
    let is_invalid = name::id(named).is_none();
    match file.format {
        Format::Koda if named.is_empty() => found.push(wrong("missing_id", "agent id is required".to_owned())),
        Format::Template if is_invalid => found.push(skipped(&name::invalid(named))),
        Format::Claude | Format::Yotta if header == Header::Present => {
            let is_task = reads_as_task(file.format, draft);
            match draft.name.as_deref() {
                None if file.format == Format::Claude && is_invalid => {
                    found.push(wrong("invalid_id", name::invalid(named)))
                }
                None if is_task || file.format == Format::Claude => {}
                None => found.push(wrong("missing_name", "frontmatter missing `name`".to_owned())),
                Some(name) if !name::begins_with_letter(name) => found.push(wrong("invalid_name", invalid_name(name))),
                Some(_) => {}
            }
            if body.trim().is_empty() {
                let message = "body is empty (expected the child's system prompt below the frontmatter)";
                found.push(wrong("empty_body", message.to_owned()));
            }
        }
        Format::Yotta => {
            let message = "missing frontmatter block (expected `---` on line 1)";
            found.push(wrong("missing_front_matter", message.to_owned()));
        }
        Format::Unified | Format::Koda | Format::Task | Format::Claude if is_invalid => {
            found.push(wrong("invalid_id", name::invalid(named)));
        }
        Format::Unified | Format::Koda | Format::Template | Format::Task | Format::Claude => {}
    }
    if matches!(file.format, Format::Task | Format::Claude) && draft.description.is_none() {
        found.push(skipped("Agent missing description, skipping"));
    }
    if file.format == Format::Template && draft.allow.as_ref().is_some_and(Vec::is_empty) {
        let message = "`allow_list` is empty: the agent has no tools";
        found.push(Diagnostic::warning("allow_list_empty", message, None));
    }
    found
}

fn invalid_name(name: &str) -> String {
    format!(
        "invalid `name` \"{name}\" (allowed: letters, digits, underscore, hyphen; max 64; must start with a letter)"
    )
}

/// What keeps a template out of a list of agents, though it can work.
fn unlisted(file: &FileText, draft: &Draft, default: &str) -> Vec<Diagnostic> {
    let warning = |code, what: &str| {
        let message = format!("invalid agent template \"{}\": missing required {what}", file.stem);
        Diagnostic::warning(code, message, None)
    };
    let mut found = Vec::new();
    if draft.description.is_none() {
        found.push(warning("missing_description", "frontmatter description"));
    }
    if default.trim().is_empty() {
        found.push(warning("missing_default_block", "default prompt block"));
    }
    found
}

fn may_write(definition: &Definition) -> bool {
    definition.access == Access::Inherit && surface::resolve(definition, Tool::all(), &[]).is_mutating()
}
