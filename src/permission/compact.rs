//! The ordered permission map of an agent's file: which calls of a tool are allowed, asked about or denied.

/// Rules in the order of the file; the last one that matches decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactPermission {
    pub rules: Vec<Rule>,
}

/// One line of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// A tool's name or a pattern of names.
    pub tool: String,
    /// What the call is about: a path, a command, a name.
    pub pattern: String,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Allow,
    Ask,
    Deny,
}
