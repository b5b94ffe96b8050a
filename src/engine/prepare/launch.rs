//! A backend started for a turn: confined, furnished, and told what it needs to know.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::event::{Event as BackendEvent, Started};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::install;
use crate::backend::login::instruction_files;
use crate::backend::refusal::{Sandbox, explain_refusal};
use crate::backend::spec::{self, ConfinedBy, Reader, Reasoning, Rules, Spec};
use crate::backend::{Access, Confines, Conversation, Launch, Purpose};
use crate::config::Config;
use crate::git::Worktree;
use crate::permission::Posture;
use crate::protocol;
use crate::protocol::prompt;
use crate::tools::Planning;
use crate::tools::inside::root::Root;

use super::super::agents::role::Role;
use super::super::confine::{self, Confined, Subject};
use super::super::external::Servers;
use super::super::fault::Fault;
use super::super::plan_mode;
use super::super::record::{EngineRecord, Record};
use super::super::settings::Settings;
use super::super::shared::Shared;
use super::super::spawn::Supervised;
use super::{captured_environment, failure, not_found};

/// How much of an instruction file is handed over, in bytes.
const INSTRUCTIONS_LIMIT: u64 = 32 * 1024;

/// Tells a child's processes what the delegating agent noted about it.
const NOTE_VARIABLE: &str = "COPPICE_THREAD_NOTE";

/// Who is to work, where and by which settings.
pub(in super::super) struct Start<'a> {
    pub(in super::super) record: &'a Record,
    pub(in super::super) engine: &'a EngineRecord,
    pub(in super::super) role: &'a Role,
    pub(in super::super) settings: &'a Settings,
    pub(in super::super) tree: &'a Worktree,
    /// They are kept as long as the process that knows their tools.
    pub(in super::super) servers: Option<&'a Arc<Servers>>,
}

/// Starts the backend of a session and waits until it takes prompts.
pub(super) async fn launch(
    shared: &Shared,
    start: Start<'_>,
    spec: Spec,
    resume: Option<String>,
) -> Result<(Conversation, Started, Surroundings), Failure> {
    let config = &start.settings.config;
    let (launch, _) = furnished(shared, start, spec, resume).await?;
    let surroundings = Surroundings::new(&launch, config);
    let mut conversation = shared.backends.start(launch);
    loop {
        match conversation.events.recv().await {
            Some(BackendEvent::Started(started)) => return Ok((conversation, started, surroundings)),
            Some(BackendEvent::Failed(failure)) => return Err(surroundings.explain(failure)),
            Some(BackendEvent::Exited { stderr_tail, .. }) => {
                let message = format!("the backend ended before it was ready: {}", stderr_tail.trim_end());
                return Err(surroundings.explain(Failure::new(FailureKind::Crashed, message)));
            }
            // Nothing else means anything before the start.
            Some(_) => {}
            None => return Err(Failure::new(FailureKind::Crashed, "the backend ended before it was ready")),
        }
    }
}

/// What is known about the sandbox of a program when it fails.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Surroundings {
    backend: String,
    confines: Confines,
    /// Whether the agent only reads, which restricts its network.
    access: Access,
    worktree: PathBuf,
    home: PathBuf,
    paths: Vec<String>,
    read: Vec<String>,
}

impl Surroundings {
    pub(in super::super) fn new(launch: &Launch, config: &Config) -> Self {
        let home = launch.env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
        let configured = config.backends.get(&launch.spec.name);
        // A program that confines its own commands is not confined itself.
        let mut confines = match launch.spec.confined_by {
            ConfinedBy::Coppice => launch.confines.clone(),
            ConfinedBy::Agent => Confines::default(),
        };
        if let Some(limits) = &mut confines.limits {
            // A script names itself before what was refused to it.
            limits.read.extend(install::needs(launch).read);
        }
        Self {
            backend: launch.spec.name.clone(),
            confines,
            access: launch.native.access,
            worktree: launch.cwd.clone(),
            home: home.unwrap_or_default(),
            paths: configured.map(|own| own.paths.clone()).unwrap_or_default(),
            read: config.sandbox.read.clone(),
        }
    }

    /// The failure of a program, or what the sandbox refused behind it.
    pub(in super::super) fn explain(&self, failure: Failure) -> Failure {
        // Some agents report their own failures as those of a service.
        let can_be_refusal =
            matches!(failure.kind, FailureKind::Crashed | FailureKind::Protocol | FailureKind::Transport);
        let Some(limits) = self.confines.limits.as_ref().filter(|_| can_be_refusal) else { return failure };
        let Self { backend, access, worktree, home, paths, read, .. } = self;
        let sandbox = Sandbox { backend, limits, access: *access, worktree, home, paths, read };
        explain_refusal(&failure.message, sandbox, &|path| path.exists()).unwrap_or(failure)
    }
}

/// Everything that the start of a session's program needs, and who starts it.
pub(in super::super) async fn furnished(
    shared: &Shared,
    start: Start<'_>,
    spec: Spec,
    resume: Option<String>,
) -> Result<(Launch, Arc<Supervised>), Failure> {
    let Start { record, engine, role, settings, tree, servers } = start;
    let env = captured_environment(shared, record);
    let (access, plan) = (access(role, record), plan_file(shared, record, role)?);
    let subject = Subject {
        record,
        settings,
        spec: &spec,
        tree,
        access,
        role: role.native.access,
        plan: plan.as_deref(),
        servers,
    };
    let Confined { confines, mut env, project_env, spawn } = confine::compose(shared, &subject, env).await?;
    if let Some(note) = role.note() {
        env.insert(NOTE_VARIABLE.to_owned(), note.to_owned());
    }
    let path = env.get("PATH").map(std::ffi::OsString::from);
    let state_dir = shared.state_dir(record.id, &spec.name);
    let neutral_dir = shared.neutral_dir();
    // A relative entry of PATH must not find a program that the repository brings.
    let program = spec::resolve(&spec, path.as_deref(), &neutral_dir).map_err(|error| not_found(&spec, &error))?;
    for path in [&state_dir, &neutral_dir] {
        std::fs::create_dir_all(path)
            .map_err(|source| failure(Fault::File { act: "create", path: path.clone(), source }))?;
    }
    let mut argv = spec.command.clone();
    if let Some(first) = argv.first_mut() {
        *first = program.to_string_lossy().into_owned();
    }
    let env: Vec<_> = env.into_iter().collect();
    let files = instruction_files(&spec, &env);
    let rules = match spec.rules {
        Rules::InSystem => Some(prompt::beside(&role.told().as_role())),
        Rules::InPrompt => None,
    };
    let launch = Launch {
        argv,
        cwd: tree.path.clone(),
        env,
        project_env: project_env.into_keys().collect(),
        purpose: Purpose::Session,
        resume,
        model: engine.model.as_deref().map(|model| spec.models.current(model).to_owned()),
        reasoning: engine.reasoning.as_deref().and_then(Reasoning::parse),
        mode: None,
        rules,
        instructions: read_instructions(spec.instructions.read_by, &files, &tree.path),
        schema: spec.schema.map(protocol::transport_schema),
        roots: tree.repo.checkout().map(Path::to_owned).into_iter().collect(),
        tools: role.carried(),
        native: role.native.clone(),
        posture: record.body.posture.posture(),
        plan_file: plan,
        confines,
        state_dir,
        login_dir: shared.login_dir(&spec.name),
        neutral_dir,
        bridge: crate::backend::door::bridge::command(&shared.executable),
        spawn: spawn.clone(),
        spec,
    };
    Ok((launch, spawn))
}

/// Whether the agent may change the work tree: a plan is made by looking.
pub(in super::super) fn access(role: &Role, record: &Record) -> Access {
    match record.body.posture.posture() {
        Posture::Plan => Access::ReadOnly,
        Posture::Attended | Posture::Edits | Posture::Unattended => role.native.access,
    }
}

/// The file that a turn in plan mode writes; its directory is there.
pub(in super::super) fn plan_file(shared: &Shared, record: &Record, role: &Role) -> Result<Option<PathBuf>, Failure> {
    match role.planning {
        Planning::Off => return Ok(None),
        Planning::On => {}
    }
    let file = plan_mode::file(shared, record);
    // A directory of its own: what may be written must not hold the plans of others.
    let path = file.parent().unwrap_or(&file).to_owned();
    std::fs::create_dir_all(&path).map_err(|source| failure(Fault::File { act: "create", path, source }))?;
    Ok(Some(file))
}

/// The project's instructions, where the backend does not look for them itself. A link that leads out of the work tree
/// is not followed: its text would go to the model.
fn read_instructions(read_by: Reader, files: &[String], worktree: &Path) -> Option<String> {
    match read_by {
        Reader::Agent => None,
        Reader::Coppice => {
            let root = Root::open(worktree, None).ok()?;
            let (file, _) = files.iter().find_map(|file| root.read(file).ok())?;
            let mut text = Vec::new();
            // A disk image need not be read to its end.
            file.take(INSTRUCTIONS_LIMIT).read_to_end(&mut text).ok()?;
            let text = String::from_utf8_lossy(&text).into_owned();
            (!text.trim().is_empty()).then_some(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn instructions_come_from_files_of_the_worktree_alone() {
        let place = tempfile::tempdir().unwrap();
        let worktree = place.path().join("tree");
        std::fs::create_dir(&worktree).unwrap();
        std::fs::write(place.path().join("secret"), "secret").unwrap();
        std::fs::write(worktree.join("PLAIN.md"), "plain").unwrap();
        std::fs::write(worktree.join("EMPTY.md"), " \n").unwrap();
        symlink("PLAIN.md", worktree.join("INSIDE.md")).unwrap();
        symlink("../secret", worktree.join("OUT.md")).unwrap();
        symlink(place.path(), worktree.join("up")).unwrap();
        for (file, expected) in [
            ("PLAIN.md", Some("plain")),
            ("INSIDE.md", Some("plain")),
            ("EMPTY.md", None),
            ("MISSING.md", None),
            ("OUT.md", None),
            ("up/secret", None),
        ] {
            let files = ["NONE.md", file].map(str::to_owned);
            assert_eq!(read_instructions(Reader::Coppice, &files, &worktree).as_deref(), expected, "{file}");
        }
        let files = ["EMPTY.md", "PLAIN.md"].map(str::to_owned);
        assert_eq!(
            read_instructions(Reader::Coppice, &files, &worktree),
            None,
            "the first one counts, also without text"
        );
    }
}
