//! Rules of the form `Tool(pattern)`, and the files they stand in.

use super::compact::CompactPermission;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The word before the parenthesis, such as `Bash` or `Edit`.
    pub subject: String,
    pub pattern: String,
}

/// The rules of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleFile {
    /// What people call the file.
    pub name: String,
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
}

/// Everything that is written down about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// From the widest to the nearest: the user's, the repository's, the user's own for the repository.
    pub files: Vec<RuleFile>,
    /// The ordered map of the project, in our data.
    pub map: Option<CompactPermission>,
}
