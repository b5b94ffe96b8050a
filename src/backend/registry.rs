//! The backends Coppice knows: the built-in rows and those a configuration adds.

use std::path::Path;
use std::time::Duration;

use crate::backend::spec::{
    Carrier, Images, Instructions, Models, NativeTools, Reader, Resume, Rules, Spec, StopLadder, Transport,
};

/// The hidden argument that turns our own program into the demo agent.
pub const DEMO_ENTRY: &str = "demo-agent";

/// The variable that tells the demo agent where it keeps its conversations.
pub const DEMO_STATE_ENV: &str = "COPPICE_DEMO_STATE";

/// Agents answer a cancel within a second; the rest is for a loaded machine.
const STOP: StopLadder = StopLadder { cancel: Duration::from_secs(5), terminate: Duration::from_secs(2) };

/// All backends of one configuration, in the order in which they are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    specs: Vec<Spec>,
}

impl Registry {
    /// The built-in backends and the configured ones; a configured one replaces a built-in one of the same name.
    pub fn new(executable: &Path, configured: Vec<Spec>) -> Self {
        let mut specs = configured;
        let builtin = [demo(executable)];
        for spec in builtin {
            if specs.iter().all(|known| known.name != spec.name) {
                specs.push(spec);
            }
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

/// The scripted agent inside our own executable.
pub fn demo(executable: &Path) -> Spec {
    Spec {
        state_env: Some(DEMO_STATE_ENV.to_owned()),
        scripted: true,
        ..from_config(
            "demo",
            vec![executable.to_string_lossy().into_owned(), DEMO_ENTRY.to_owned()],
            Vec::new(),
            vec!["scripted".to_owned()],
        )
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
        images: Images::Offered,
        instructions: Instructions { file: "AGENTS.md".to_owned(), read_by: Reader::Agent },
        carrier: Carrier::Mcp,
        native_tools: NativeTools::Fixed,
        stop: STOP,
        state_env: None,
        versions: None,
        install: None,
        login: None,
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

    #[test]
    fn the_scripted_agent_is_known_but_not_offered() {
        let registry = Registry::new(Path::new("/bin/coppice"), vec![agent("opencode", &["opencode", "acp"])]);
        assert_eq!(registry.offered().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["opencode"]);
        let demo = registry.get("demo").unwrap();
        assert!(demo.scripted);
        assert_eq!(demo.command, ["/bin/coppice", "demo-agent"]);
        assert_eq!(registry.get("nobody"), None);
    }

    #[test]
    fn a_configured_backend_replaces_the_built_in_one() {
        let registry = Registry::new(Path::new("/bin/coppice"), vec![agent("demo", &["mine"])]);
        assert_eq!(registry.all().map(|spec| spec.command.clone()).collect::<Vec<_>>(), [["mine"]]);
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
