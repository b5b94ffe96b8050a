//! Things of a repository or of the machine: trust, configuration, models, health.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error::{Error, ErrorKind};
use super::request::Environment;

/// Names a repository by a directory inside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub cwd: String,
}

/// `GET /v1/project`: the repository around a directory, and what is checked out there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    /// The common git directory, as in the `project` of a session.
    pub project: String,
    /// The root of the work tree that the directory is in; the git directory of a bare repository.
    pub root: String,
    /// The name of the directory that people know the repository by.
    pub name: String,
    /// Absent when the head is detached.
    pub branch: Option<String>,
    /// How many commits the branch has that its upstream has not; absent when it follows none.
    pub ahead: Option<u32>,
    pub behind: Option<u32>,
    /// Without one, no session can start.
    pub has_commits: bool,
}

/// `GET /v1/project/moved`: a repository that is not where its sessions know it, and whose session branches the repository
/// of the request has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MovedProject {
    /// The common git directory that the sessions name.
    pub project: String,
    pub sessions: u32,
}

/// `POST /v1/project/relink`: the repository around `cwd` was moved there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Relink {
    pub cwd: String,
    /// Where it was before; absent: wherever the sessions were whose branches it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What a relink came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Relinked {
    /// The common git directory that the sessions name from now on.
    pub project: String,
    pub moved: Vec<MovedProject>,
}

/// `GET /v1/files`: whose files; exactly one of the two is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct FilesQuery {
    /// Those of the work tree that this directory is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Those of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The files of a work tree that git does not ignore, tracked or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Files {
    /// Where they are; absent when they are only in a commit.
    pub root: Option<String>,
    /// Paths from the root, sorted; bytes that are not UTF-8 are replaced.
    pub paths: Vec<String>,
    /// There are more than a reply holds.
    pub truncated: bool,
}

/// `GET /v1/trust`: what the repository asks for, and what the user agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trust {
    pub project: String,
    pub state: TrustState,
    /// The commit that the text was read from.
    pub commit: String,
    /// The granting part of the repository's files, and what the user's `permissions.local.json` allows; absent when that is
    /// nothing.
    pub grants: Option<String>,
    /// A unified difference to what was trusted before.
    pub difference: Option<String>,
    /// Identifies exactly this text.
    pub hash: Option<String>,
    /// The branches on whose commits a trusted setup command runs outside of the sandbox.
    #[serde(default)]
    pub branches: Vec<String>,
    /// The branch that is checked out, where agreeing to the text would add it to these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addable_branch: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustState {
    /// The repository grants nothing.
    NothingToTrust,
    Untrusted,
    Trusted,
    /// Trusted once, and the text changed since.
    Changed,
}

/// `POST /v1/trust`: agrees to exactly the text with this hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantTrust {
    pub cwd: String,
    pub hash: String,
}

/// `GET /v1/config`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ConfigQuery {
    /// With the layers of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// One effective value and where it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigValue {
    pub key: String,
    #[schema(value_type = Object)]
    pub value: serde_json::Value,
    /// `default`, or the file that set it.
    pub origin: String,
    pub about: String,
    /// Set when a layer's value does not count, with the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
}

/// `PUT /v1/config`: writes one key of a file that is the user's own. The reply has the effective value afterwards; it is
/// null for a key without a default that nobody sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    pub key: String,
    /// As it would stand in the file, or a bare word; absent takes the key out of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(default)]
    pub scope: ConfigScope,
    /// Names the project by a directory inside it; the effective value is the one that holds there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Whom a setting is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigScope {
    /// The user, in all projects.
    #[default]
    User,
    /// The user, in one project.
    Project,
}

/// `GET /v1/models`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct BackendQuery {
    /// With the settings of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where programs are looked for, instead of the daemon's own `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only the backend of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(default)]
    #[param(inline)]
    pub detail: Detail,
}

/// `POST /v1/models`: the backends as they are with an environment of the caller's, which may hold logins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListModels {
    /// With the settings of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agents may see of the environment of whoever asks; none: the daemon's own.
    #[serde(default)]
    pub environment: Environment,
    /// Only the backend of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(default)]
    pub detail: Detail,
}

/// How much is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Whether the programs are there; none of them is started.
    Programs,
    /// Versions and models too, as far as the agents tell.
    #[default]
    Models,
}

/// One agent that sessions can run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backend {
    pub name: String,
    /// Where its program was found.
    pub program: Option<String>,
    /// What the program says; absent when it was not asked or nobody tests its versions.
    pub version: Option<String>,
    /// Why it cannot be used.
    pub problem: Option<String>,
    /// What to know about it although it can be used.
    pub warning: Option<String>,
    /// The command that installs it, or brings a version that works.
    pub install: Option<String>,
    /// The command that logs a person in; it wants a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Plays scripts instead of asking a model.
    pub scripted: bool,
    /// Sessions that name no backend run on it.
    pub default: bool,
    pub listed_by: ListedBy,
    /// Why the agent itself did not list its models, when it was asked.
    pub note: Option<String>,
    pub models: Vec<Model>,
}

/// Whose list of models it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListedBy {
    /// The installed agent's.
    Agent,
    /// Built into this program; the agent may know others.
    Table,
    /// The user's: no other model is taken.
    Configuration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Model {
    pub id: String,
    pub name: Option<String>,
    /// Sessions that name only the backend get it.
    pub default: bool,
    /// Your settings choose it, and not the agent; the agent need not offer it.
    #[serde(default)]
    pub from_settings: bool,
    /// The levels that `--reasoning` takes.
    pub reasoning: Vec<String>,
}

/// `POST /v1/doctor`: with an environment of the caller's, which may hold logins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunDoctor {
    /// With the settings of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agents may see of the environment of whoever asks; none: the daemon's own.
    #[serde(default)]
    pub environment: Environment,
}

/// One thing that must work, and whether it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    pub name: String,
    pub state: CheckState,
    pub detail: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Good,
    /// It is not there, and need not be.
    Absent,
    Warning,
    Bad,
}

/// What everybody is told where no agent is installed; `known` are the names of agents and the commands that install
/// them.
pub fn no_backend<'a>(known: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Error {
    let (names, commands): (Vec<_>, Vec<_>) = known.into_iter().unzip();
    let quoted = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let commands: Vec<_> = commands.into_iter().flatten().collect();
    let message = match names.as_slice() {
        [] => "no agent is configured".to_owned(),
        [name] => format!("`{name}` is not installed, and no other agent is configured"),
        names => format!("none of {} is installed", quoted(names)),
    };
    let advice = match (names.as_slice(), commands.as_slice()) {
        ([], _) => "name an agent in `[backends.NAME]` of the configuration (`coppice config path`)".to_owned(),
        (_, []) => "install one, or correct its `command` in the configuration (`coppice config path`)".to_owned(),
        (_, commands) => format!("install one: {}", quoted(commands)),
    };
    Error::new(ErrorKind::Failed, message)
        .with_hint(format!("{advice}; or try `coppice demo`, or the model `demo`: they need none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_agent_everybody_is_told_which_there_are() {
        let told = |known: &[(&'static str, Option<&'static str>)]| {
            let Error { message, hint, .. } = no_backend(known.iter().copied());
            format!("{message}\n{}", hint.unwrap_or_default())
        };
        assert_eq!(
            told(&[("claude", Some("npm i claude")), ("codex", Some("npm i codex")), ("mine", None)]),
            "none of `claude`, `codex`, `mine` is installed\n\
             install one: `npm i claude`, `npm i codex`; or try `coppice demo`, or the model `demo`: they need none"
        );
        assert_eq!(
            told(&[("mine", None)]),
            "`mine` is not installed, and no other agent is configured\n\
             install one, or correct its `command` in the configuration (`coppice config path`); \
             or try `coppice demo`, or the model `demo`: they need none"
        );
        assert_eq!(
            told(&[]),
            "no agent is configured\n\
             name an agent in `[backends.NAME]` of the configuration (`coppice config path`); \
             or try `coppice demo`, or the model `demo`: they need none"
        );
    }
}
