//! Where the files of agents and skills are. Whoever reads them brings the real directories.

use super::Format;

/// A directory with files of one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directory {
    /// Below its base.
    pub path: &'static str,
    pub base: Base,
    pub format: Format,
}

/// What a directory is below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Each directory of the project from the session's own up to the root, the nearest first.
    Upward,
    /// The root of the project.
    Root,
    /// Where the user's own configuration of Coppice is.
    Own,
    /// `$XDG_CONFIG_HOME`, or what stands for it.
    Config,
    Home,
}

/// The directories of agents, those that win first.
pub const AGENTS: &[Directory] = &[
    Directory { path: ".coppice/agents", base: Base::Upward, format: Format::Unified },
    Directory { path: ".kodacode/agents", base: Base::Root, format: Format::Koda },
    Directory { path: ".codex/.agents", base: Base::Upward, format: Format::Template },
    Directory { path: ".agents/agents", base: Base::Root, format: Format::Task },
    Directory { path: ".claude/agents", base: Base::Root, format: Format::Claude },
    Directory { path: ".yottacode/agents", base: Base::Root, format: Format::Yotta },
    Directory { path: "agents", base: Base::Own, format: Format::Unified },
    Directory { path: "kodacode/agents", base: Base::Config, format: Format::Koda },
    Directory { path: ".codex/.agents", base: Base::Home, format: Format::Template },
    Directory { path: ".claude/agents", base: Base::Home, format: Format::Claude },
    Directory { path: ".yottacode/agents", base: Base::Home, format: Format::Yotta },
];

/// A directory with skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillDirectory {
    /// Below its base.
    pub path: &'static str,
    pub base: Base,
    pub layout: SkillLayout,
}

/// What a directory with skills holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillLayout {
    /// A directory for each skill, with a `SKILL.md`.
    Directories,
    /// The same, written for Claude Code.
    ClaudeSkills,
    /// A Markdown file for each slash command of Claude Code.
    ClaudeCommands,
    /// A Markdown file for each prompt of Codex.
    CodexPrompts,
}

/// The directories of skills, those that win first.
pub const SKILLS: &[SkillDirectory] = &[
    SkillDirectory { path: ".coppice/skills", base: Base::Root, layout: SkillLayout::Directories },
    SkillDirectory { path: ".kodacode/skills", base: Base::Root, layout: SkillLayout::Directories },
    SkillDirectory { path: "skills", base: Base::Own, layout: SkillLayout::Directories },
    SkillDirectory { path: "kodacode/skills", base: Base::Config, layout: SkillLayout::Directories },
    SkillDirectory { path: ".claude/skills", base: Base::Home, layout: SkillLayout::ClaudeSkills },
    SkillDirectory { path: ".codex/skills", base: Base::Home, layout: SkillLayout::Directories },
    SkillDirectory { path: ".gemini/skills", base: Base::Home, layout: SkillLayout::Directories },
    SkillDirectory { path: ".agents/skills", base: Base::Home, layout: SkillLayout::Directories },
    SkillDirectory { path: ".claude/commands", base: Base::Home, layout: SkillLayout::ClaudeCommands },
    SkillDirectory { path: ".codex/prompts", base: Base::Home, layout: SkillLayout::CodexPrompts },
];

/// The directories to read out of those beside each other that exist: between the two of the task format the first
/// one is read and the other is not.
pub fn to_read(existing: &[Directory]) -> Vec<Directory> {
    let has_task = existing.iter().any(|directory| directory.format == Format::Task);
    let is_read = |directory: &&Directory| !(has_task && directory.format == Format::Claude);
    existing.iter().filter(is_read).copied().collect()
}

/// The stem of a file that can define an agent, by its name.
pub fn stem(file_name: &str) -> Option<&str> {
    let (stem, extension) = file_name.rsplit_once('.')?;
    extension.eq_ignore_ascii_case("md").then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_project(path: &str) -> Directory {
        let is_it = |it: &&Directory| it.path == path && matches!(it.base, Base::Upward | Base::Root);
        *AGENTS.iter().find(is_it).unwrap()
    }

    #[test]
    fn between_the_two_directories_of_tasks_the_first_one_is_read() {
        let [coppice, agents, claude] = [".coppice/agents", ".agents/agents", ".claude/agents"].map(in_project);
        assert_eq!(to_read(&[coppice, agents, claude]), [coppice, agents]);
        assert_eq!(to_read(&[coppice, claude]), [coppice, claude]);
    }

    #[test]
    fn only_markdown_files_define_agents() {
        for (name, expected) in [
            ("a.md", Some("a")),
            ("a.b.MD", Some("a.b")),
            (".md", Some("")),
            ("a.txt", None),
            ("md", None),
            ("a.md~", None),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }

    #[test]
    fn directories_beside_each_other_are_in_the_order_of_their_formats() {
        let formats = |bases: &[Base]| -> Vec<Format> {
            AGENTS.iter().filter(|it| bases.contains(&it.base)).map(|it| it.format).collect()
        };
        assert!(formats(&[Base::Upward, Base::Root]).is_sorted());
        assert!(formats(&[Base::Own, Base::Config, Base::Home]).is_sorted());
    }
}
