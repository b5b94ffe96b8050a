//! What a person configured for the agent programs and Coppice can take over: MCP servers, and rules that allow something.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::request::Environment;

/// `POST /v1/import/servers/list`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListServers {
    /// With what the programs keep for the repository of this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Says where the programs have their settings; none: the daemon's own.
    #[serde(default)]
    pub environment: Environment,
}

/// `POST /v1/import/servers`: writes servers to the user's own configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportServers {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Says where the programs have their settings; none: the daemon's own.
    #[serde(default)]
    pub environment: Environment,
    /// Names as the programs have them; none for all that are `ready`.
    #[serde(default)]
    pub names: Vec<String>,
    /// Only from the configuration of this backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// What the one server that is named is called in the user's own configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import_as: Option<String>,
}

/// The servers that were found, or those that were asked for. No value of a variable is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerImport {
    /// The user's own configuration.
    pub target: String,
    pub servers: Vec<ImportableServer>,
    /// Files that cannot be read, as `PATH:LINE:COLUMN: why`.
    pub broken: Vec<String>,
}

/// One MCP server in the configuration of an agent program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportableServer {
    pub name: String,
    /// What it is called in the user's own configuration.
    pub import_as: String,
    pub backend: String,
    pub file: String,
    /// The program and its arguments; what looks like a secret is replaced by `…`.
    pub command: Vec<String>,
    /// The names of its variables.
    pub variables: Vec<String>,
    pub state: ImportState,
    /// Why it is in that state, or what to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Whether something can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    Ready,
    /// Only where a person names it.
    ByName,
    /// Written by this request.
    Imported,
    /// It is in the user's own configuration already.
    Present,
    /// Something else has its name there.
    Clash,
    Unusable,
}

/// `POST /v1/import/rules/list`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRules {
    /// Says where the program has its settings; none: the daemon's own.
    #[serde(default)]
    pub environment: Environment,
}

/// `POST /v1/import/rules`: adds rules to what the user's own file allows in all repositories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRules {
    /// Says where the program has its settings; none: the daemon's own.
    #[serde(default)]
    pub environment: Environment,
    /// As the program spells them; none for all that are `ready`.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// What a program's settings allow, or those of these rules that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleImport {
    /// The settings of the program.
    pub source: String,
    /// The user's own file.
    pub target: String,
    pub rules: Vec<ImportableRule>,
    /// Why the settings cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportableRule {
    pub rule: String,
    /// The rules of Coppice that mean the same.
    pub means: Vec<String>,
    pub state: ImportState,
    /// Why it is in that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
