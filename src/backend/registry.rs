//! The backends Coppice knows: the built-in rows, what a configuration changes in them, and those it adds.

use std::path::Path;
use std::time::Duration;

use crate::backend::spec::{
    Carrier, ConfinedBy, Images, Instructions, KnownModel, Models, NativeTools, Reader, Resume, Rules, Spec,
    StopLadder, Todos, ToolList, Transport,
};
use crate::backend::{claude, codex, gemini, preset};

/// The hidden argument that turns our own program into the demo agent.
pub const DEMO_ENTRY: &str = "demo-agent";

/// The argument that has the demo agent talk with a person about a conversation.
pub const DEMO_PERSON: &str = "--person";

/// The variable that tells the demo agent where it keeps its conversations.
pub const DEMO_STATE_ENV: &str = "COPPICE_DEMO_STATE";

/// Agents answer a cancel within a second; the rest is for a loaded machine.
const STOP: StopLadder = StopLadder { cancel: Duration::from_secs(5), terminate: Duration::from_secs(2) };

/// All backends of one configuration, in the order in which they are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    specs: Vec<Spec>,
}

/// What a configuration says about one backend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configured {
    pub name: String,
    pub transport: Option<Transport>,
    pub command: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
    pub models: Vec<String>,
}

impl Registry {
    /// The built-in backends as the configuration changes them, then those that it adds, then the scripted one. Of the
    /// presets, those that the configuration names.
    pub fn new(executable: &Path, configured: Vec<Configured>) -> Self {
        Self::merge(built_in(), &preset::specs(), configured, demo(executable))
    }

    fn merge(built_in: Vec<Spec>, presets: &[Spec], configured: Vec<Configured>, scripted: Spec) -> Self {
        let of = |name: &str| configured.iter().find(|configured| configured.name == name);
        let is_built_in = |name: &str| built_in.iter().any(|row| row.name == name);
        let rows = built_in.iter().map(|row| of(&row.name).map_or_else(|| row.clone(), |over| over.over(row)));
        let preset = |name: &str| presets.iter().find(|row| row.name == name);
        let added = configured.iter().filter(|other| !is_built_in(&other.name));
        let added = added.filter_map(|other| match preset(&other.name) {
            Some(row) => Some(other.over(row)),
            None => other.agent(),
        });
        let mut specs: Vec<_> = rows.chain(added).collect();
        if specs.iter().all(|known| known.name != scripted.name) {
            specs.push(scripted);
        }
        Self { specs }
    }

    /// Exactly these, for tests.
    #[cfg(test)]
    pub(crate) fn of(specs: Vec<Spec>) -> Self {
        Self { specs }
    }

    /// The backend of that name, scripted or not.
    pub fn get(&self, name: &str) -> Option<&Spec> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// The backends a person may choose from.
    pub fn offered(&self) -> impl Iterator<Item = &Spec> {
        self.specs.iter().filter(|spec| !spec.scripted)
    }

    /// Every backend, the scripted ones too.
    pub fn all(&self) -> impl Iterator<Item = &Spec> {
        self.specs.iter()
    }
}

/// The agents that need no configuration, in the order in which they are offered.
fn built_in() -> Vec<Spec> {
    vec![claude::spec(), codex::spec(), gemini::spec()]
}

impl Configured {
    /// An agent of its own; nothing without a command.
    fn agent(&self) -> Option<Spec> {
        Some(from_config(&self.name, self.command.clone()?, self.env.clone(), self.models.clone()))
    }

    /// A built-in row with what the configuration says about it.
    fn over(&self, row: &Spec) -> Spec {
        if self.transport.is_some_and(|transport| transport != row.transport) {
            // The program speaks another language than the row describes, so nothing of the row holds for it.
            return self.agent().unwrap_or_else(|| row.clone());
        }
        let mut spec = row.clone();
        if let Some(command) = &self.command {
            // With arguments of its own the program may be a launcher, whose version is not the agent's.
            spec.versions = spec.versions.filter(|_| command.get(1..) == row.command.get(1..));
            spec.command.clone_from(command);
        }
        spec.env.retain(|(name, _)| self.env.iter().all(|(other, _)| other != name));
        spec.env.extend(self.env.iter().cloned());
        if !self.models.is_empty() {
            spec.models = self.only(&row.models);
        }
        spec
    }

    /// The models that the configuration lists, with what the row knows about them.
    fn only(&self, row: &Models) -> Models {
        let is_listed = |id: &String| self.models.contains(id);
        let known = |id: &String| {
            let known = row.known.iter().find(|known| known.id == *id).cloned();
            known.unwrap_or_else(|| KnownModel { id: id.clone(), reasoning: row.levels() })
        };
        Models {
            known: self.models.iter().map(known).collect(),
            fallback: row.fallback.clone().filter(is_listed).or_else(|| self.models.first().cloned()),
            small: row.small.clone().filter(is_listed),
            renamed: row.renamed.iter().filter(|(_, new)| is_listed(new)).cloned().collect(),
        }
    }
}

/// The scripted agent inside our own executable.
pub fn demo(executable: &Path) -> Spec {
    let command = vec![executable.to_string_lossy().into_owned(), DEMO_ENTRY.to_owned()];
    let small = "scripted-small".to_owned();
    let models = Models { small: Some(small.clone()), ..Models::named(vec!["scripted".to_owned(), small]) };
    Spec {
        state_env: Some(DEMO_STATE_ENV.to_owned()),
        models,
        native_tools: NativeTools::Removable,
        interactive: Some(vec![DEMO_PERSON.to_owned()]),
        confined_by: ConfinedBy::Coppice,
        keys: Vec::new(),
        hosts: Vec::new(),
        scripted: true,
        ..from_config("demo", command, Vec::new(), Vec::new())
    }
}

/// Any ACP agent that a configuration names.
pub fn from_config(name: &str, command: Vec<String>, env: Vec<(String, String)>, models: Vec<String>) -> Spec {
    Spec {
        name: name.to_owned(),
        vendors: Vec::new(),
        transport: Transport::Acp,
        command,
        env,
        models: Models::named(models),
        rules: Rules::InPrompt,
        schema: None,
        resume: Resume::Offered,
        interactive: None,
        images: Images::Offered,
        instructions: Instructions { file: "AGENTS.md".to_owned(), read_by: Reader::Agent },
        carrier: Carrier::Mcp,
        native_tools: NativeTools::Fixed,
        confined_by: ConfinedBy::Coppice,
        keys: Vec::new(),
        hosts: Vec::new(),
        hold: Duration::from_secs(8 * 60),
        tool_list: ToolList::PerStart,
        todos: Todos::Served,
        stop: STOP,
        state_env: None,
        state_directories: Vec::new(),
        state_files: Vec::new(),
        paths: Vec::new(),
        versions: None,
        install: None,
        update: None,
        login: None,
        key: None,
        scripted: false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::backend::spec::{ResolveError, resolve};

    fn agent(name: &str, command: &[&str]) -> Spec {
        from_config(name, command.iter().map(|&word| word.to_owned()).collect(), Vec::new(), Vec::new())
    }

    fn configured(name: &str, command: &[&str]) -> Configured {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Configured { name: name.to_owned(), command: Some(command), ..Configured::default() }
    }

    #[test]
    fn the_scripted_agent_is_known_but_not_offered() {
        let registry = Registry::merge(
            Vec::new(),
            &[],
            vec![configured("opencode", &["opencode", "acp"])],
            demo(Path::new("/bin/coppice")),
        );
        assert_eq!(registry.offered().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["opencode"]);
        let demo = registry.get("demo").unwrap();
        assert!(demo.scripted);
        assert_eq!(demo.command, ["/bin/coppice", "demo-agent"]);
        assert_eq!(registry.get("nobody"), None);
    }

    #[test]
    fn an_agent_of_the_same_name_replaces_the_scripted_one() {
        let registry = Registry::merge(Vec::new(), &[], vec![configured("demo", &["mine"])], demo("/coppice".as_ref()));
        assert_eq!(registry.all().map(|spec| spec.command.clone()).collect::<Vec<_>>(), [["mine"]]);
    }

    #[test]
    fn a_configuration_changes_a_built_in_row_and_keeps_the_rest() {
        use crate::backend::spec::{Reasoning, Version, Versions};
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let known = |id: &str, reasoning: &[Reasoning]| KnownModel { id: id.into(), reasoning: reasoning.to_vec() };
        let row = Spec {
            env: vec![pair("A", "row"), pair("B", "row")],
            models: Models {
                known: vec![known("large", &[Reasoning::Low, Reasoning::High]), known("small", &[])],
                fallback: Some("large".into()),
                small: Some("small".into()),
                renamed: vec![("old".into(), "large".into())],
            },
            versions: Some(Versions { minimum: Version(1, 0, 0), tested: Version(2, 0, 0) }),
            install: Some("npm install -g agent".into()),
            ..agent("agent", &["agent", "serve"])
        };
        let merged = |over: Configured| {
            let other = configured("aaa", &["aaa"]);
            let registry = Registry::merge(vec![row.clone()], &[], vec![other, over], demo("/coppice".as_ref()));
            assert_eq!(registry.all().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["agent", "aaa", "demo"]);
            registry.get("agent").unwrap().clone()
        };
        let named = || Configured { name: "agent".into(), ..Configured::default() };
        assert_eq!(merged(named()), row);
        let env = Configured { env: vec![pair("B", "mine"), pair("C", "mine")], ..named() };
        assert_eq!(merged(env).env, [pair("A", "row"), pair("B", "mine"), pair("C", "mine")]);
        let elsewhere = Spec { command: vec!["/opt/agent".into(), "serve".into()], ..row.clone() };
        assert_eq!(merged(configured("agent", &["/opt/agent", "serve"])), elsewhere);
        let launcher = Spec { command: vec!["npx".into(), "agent".into()], versions: None, ..row.clone() };
        assert_eq!(merged(configured("agent", &["npx", "agent"])), launcher);
        let models = merged(Configured { models: vec!["small".into(), "newest".into()], ..named() }).models;
        let expected = Models {
            known: vec![known("small", &[]), known("newest", &[Reasoning::Low, Reasoning::High])],
            fallback: Some("small".into()),
            small: Some("small".into()),
            renamed: Vec::new(),
        };
        assert_eq!(models, expected);
    }

    #[test]
    fn a_program_is_found_on_the_given_path_only() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("an-agent");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let spec = agent("x", &["an-agent", "--acp"]);
        assert_eq!(resolve(&spec, Some(dir.path().as_os_str()), Path::new("/")), Ok(program.clone()));
        assert_eq!(resolve(&agent("x", &[program.to_str().unwrap()]), None, Path::new("/")), Ok(program));
        let missing = resolve(&agent("x", &["y"]), Some(dir.path().as_os_str()), Path::new("/")).unwrap_err();
        assert_eq!(missing.to_string(), "backend `x`: command `y` not found on PATH");
        let empty = resolve(&agent("x", &[]), None, Path::new("/"));
        assert_eq!(empty, Err(ResolveError::NoCommand { name: "x".to_owned() }));
    }
}
