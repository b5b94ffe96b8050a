//! Starts a language server in its session's cage: the program of the user's PATH, with the caches of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::request::Environment;
use crate::backend::Access;
use crate::config::Config;
use crate::config::confine::Sandbox;
use crate::config::project_env::ProjectEnv;
use crate::lsp::servers::Program;
use crate::lsp::{self, Io, Limits};
use crate::permission::Level;
use crate::sandbox::launch::{self, Spawn};
use crate::tools::inside::root::Root;

use super::super::super::agents::role::Role;
use super::super::super::confine::{self, Scratch, Task};
use super::super::super::record::Record;
use super::super::super::shared::Shared;
use super::super::super::{prepare, settings};
use super::desk::blocking;
use super::keep::Started;
use super::watch;

/// What a server may do. It runs code of the project, so it may do no more than the agent that it works for.
#[derive(Debug)]
pub(super) struct Rights {
    sandbox: Sandbox,
    env: ProjectEnv,
    /// Whether it may write the work tree.
    tree: Access,
    /// Whether its agent is one that only reads: such a one has nothing to fetch and nothing to send.
    agent: Access,
}

impl Rights {
    pub(super) fn of(record: &Record, role: &Role, config: &Config) -> Self {
        let (sandbox, env) = (config.sandbox.clone(), config.env.clone());
        Self { sandbox, env, tree: prepare::access(role, record), agent: role.native.access }
    }

    /// Names them: a server with others is another server.
    pub(super) fn name(&self) -> String {
        settings::hash(&format!("{self:?}"))
    }

    /// What the cage writes of the work tree.
    fn writes(&self, tree: &Path) -> Vec<PathBuf> {
        match self.tree {
            Access::Write => vec![tree.to_owned()],
            Access::ReadOnly => Vec::new(),
        }
    }

    /// The level whose network it has.
    fn level(&self) -> Level {
        match (self.sandbox.level, self.agent) {
            (Level::Workspace, Access::ReadOnly) => Level::Restricted,
            (level @ (Level::Off | Level::Workspace | Level::Restricted), _) => level,
        }
    }
}

/// Where a server works.
pub(super) struct Place {
    pub(super) root: Arc<Root>,
    /// The work tree by the name that servers know.
    pub(super) tree: PathBuf,
}

/// Starts a program for the project in a work tree; where it fails, the words for the model.
pub(super) async fn start(
    shared: Arc<Shared>,
    record: Record,
    rights: Rights,
    program: &'static Program,
    place: Place,
) -> Result<Started, String> {
    let failed = |what: String| format!("language server `{}` did not start: {what}", program.name);
    let looked = blocking(move || {
        let files: Vec<PathBuf> = watch::look(&place.root)?.files.into_keys().collect();
        Ok(program.root(&place.tree, &files))
    });
    let root = looked.await.flatten().map_err(failed)?;
    let repo = prepare::open_repo(&record).await.map_err(|fault| failed(fault.to_string()))?;
    let tree = PathBuf::from(&record.body.worktree);
    let task = Task {
        record: &record,
        repo: &repo,
        level: rights.level(),
        writes: rights.writes(&tree),
        scratch: Scratch::Session,
        env: Some(&rights.env),
    };
    let (mut cage, mut env) = confine::of_program(&shared, task).map_err(|error| failed(error.to_string()))?;
    let path = env.get("PATH").cloned().unwrap_or_default();
    let found = find(program.name, &path, &tree).ok_or_else(|| missing(program))?;
    if let Some(cage) = &mut cage {
        cage.read.push(tree.clone());
        cage.read.extend(places_of(&found, &env));
        cage.read.extend(confine::listed(&rights.sandbox, &env));
    }
    env.insert("COPPICE_WORKTREE".to_owned(), tree.to_string_lossy().into_owned());
    let mut argv = vec![found.to_string_lossy().into_owned()];
    argv.extend(program.arguments.iter().map(|argument| (*argument).to_owned()));
    let env = env.into_iter().collect();
    let (executable, worktree) = (shared.executable.clone(), Some(tree.clone()));
    let spawn = Spawn { executable, argv, env, cwd: tree, cage, worktree };
    let supervised = launch::spawn(spawn).await.map_err(|error| failed(error.to_string()))?;
    let launch::Supervised { stdin, stdout, stderr, process } = supervised;
    // What it says beside the protocol is nobody's; a full pipe would stop it.
    tokio::spawn(async move {
        let mut stderr = stderr;
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await.ok();
    });
    let io = Io { stdin: Box::new(stdin), stdout: Box::new(stdout) };
    match lsp::connect(program, &root, io, Limits::default()).await {
        Ok(server) => Ok(Started { server, process: Some(process) }),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// What a model is told where the program is not installed.
pub(super) fn missing(program: &Program) -> String {
    format!("language server `{}` is not installed; a person can install it: {}", program.name, program.install)
}

/// A program on the PATH. What lies in the work tree is the agent's, and not what the user installed.
fn find(name: &str, path: &str, tree: &Path) -> Option<PathBuf> {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let outside = directories.filter(|directory| !directory.starts_with(tree));
    let joined = std::env::join_paths(outside).ok()?;
    which::which_in(name, Some(joined), "/").ok()
}

/// What a program needs to be read beside itself: a script of a package lies among the packages that it uses.
fn places_of(program: &Path, env: &Environment) -> [PathBuf; 2] {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    [program, &real].map(|program| confine::program_place(program, env))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_server_may_do_what_its_agent_may() {
        let tree = Path::new("/t");
        for (level, access, agent, expected) in [
            (Level::Workspace, Access::Write, Access::Write, (Level::Workspace, 1)),
            // A plan is made by an agent that writes at other times, and reaches what it always does.
            (Level::Workspace, Access::ReadOnly, Access::Write, (Level::Workspace, 0)),
            (Level::Workspace, Access::ReadOnly, Access::ReadOnly, (Level::Restricted, 0)),
            (Level::Restricted, Access::Write, Access::Write, (Level::Restricted, 1)),
            (Level::Off, Access::ReadOnly, Access::ReadOnly, (Level::Off, 0)),
        ] {
            let sandbox = Sandbox { level, hosts: Vec::new(), caches: Vec::new(), read: Vec::new() };
            let rights = Rights { sandbox, env: ProjectEnv::default(), tree: access, agent };
            assert_eq!((rights.level(), rights.writes(tree).len()), expected, "{rights:?}");
        }
    }

    #[test]
    fn a_program_of_the_work_tree_is_not_the_users() {
        let directory = tempfile::tempdir().unwrap();
        let [tree, bin] = ["tree", "bin"].map(|name| directory.path().join(name));
        for place in [&tree, &bin] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("gopls"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(place.join("gopls"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = |places: &[&Path]| std::env::join_paths(places).unwrap().into_string().unwrap();
        assert_eq!(find("gopls", &path(&[&tree, &bin]), &tree), Some(bin.join("gopls")));
        assert_eq!(find("gopls", &path(&[&tree, Path::new("."), Path::new("")]), &tree), None);
        assert_eq!(find("gopls", "", &tree), None);
    }

    #[test]
    fn a_script_is_read_with_the_packages_around_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let script = root.join("lib/node_modules/server/lib/cli.mjs");
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        fs::write(&script, "").unwrap();
        std::os::unix::fs::symlink(&script, root.join("bin/server")).unwrap();
        let env = Environment::from([("HOME".to_owned(), root.display().to_string())]);
        assert_eq!(places_of(&root.join("bin/server"), &env), ["bin", "lib/node_modules"].map(|path| root.join(path)));
        // The home directory is not read for the sake of a program that lies in it.
        fs::write(root.join("plain"), "").unwrap();
        std::os::unix::fs::symlink("../plain", root.join("bin/plain")).unwrap();
        assert_eq!(places_of(&root.join("bin/plain"), &env), ["bin", "plain"].map(|path| root.join(path)));
    }
}
