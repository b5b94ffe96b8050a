//! The user's own commit hooks, run under a supervisor so that nothing they start stays behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::git::Repo;
use crate::git::include;
use crate::git::merge::{HookResult, HookRun};
use crate::sandbox::SandboxError;
use crate::sandbox::command::{self, Limits};
use crate::sandbox::launch::Spawn;

use super::confine::{self, Scratch, Task};
use super::record::Record;
use super::shared::Shared;

/// How long a hook may take, and how much it may say.
const LIMITS: Limits = Limits { timeout: Duration::from_secs(30 * 60), keep: 16 * 1024 };

/// A function that runs one hook and waits for it, or until nobody wants its answer; called on a blocking thread. A hook
/// is the user's, but what it runs on is an agent's, so it reaches no more than an agent does.
pub(super) fn runner(
    shared: &Arc<Shared>,
    record: &Record,
    repo: &Repo,
    config: &Config,
    cancel: &CancellationToken,
) -> impl Fn(HookRun) -> HookResult + Send + 'static {
    let (shared, record, repo, runtime) = (Arc::clone(shared), record.clone(), repo.clone(), Handle::current());
    let (level, links, cancel) = (config.sandbox.level, config.worktree.link.clone(), cancel.clone());
    let project_env = config.env.clone();
    move |hook| {
        let HookRun { program, arguments, directory, scratch, environment, .. } = hook;
        // A session's temporary files and caches are its agent's to write; the hook's are new at each merge.
        let writes = vec![scratch.clone()];
        let (scratch, env) = (Scratch::New(&scratch), Some(&project_env));
        let task = Task { record: &record, repo: &repo, level, writes, scratch, env };
        let (mut cage, env) = match confine::of_command(&shared, task) {
            Ok(confined) => confined,
            Err(error) => return HookResult::Failed { output: format!("failed to confine the hook: {error}") },
        };
        // What hooks run is often installed in a place that git ignores, such as `node_modules`.
        let linked = match include::link_into(&repo, &directory, &links) {
            Ok(linked) => linked,
            Err(error) => return HookResult::Failed { output: error.to_string() },
        };
        if let Some(cage) = &mut cage {
            cage.read.push(confine::program_place(&program, &env));
            cage.read.extend(linked);
        }
        let set = environment.into_iter().map(|(name, value)| (name.to_owned(), text(value)));
        let interpreter = read_interpreter(&program);
        let argv = std::iter::once(program.into_os_string()).chain(arguments).map(text).collect();
        let env = env.into_iter().chain(set).collect();
        // It works on a checkout of its own, while git waits for it.
        let spawn = Spawn { executable: shared.executable.clone(), argv, env, cwd: directory, cage, worktree: None };
        let mut ignore = |_: &str| {};
        let run = cancel.run_until_cancelled(command::run(spawn, LIMITS, &mut ignore));
        let Some(ended) = runtime.block_on(run) else {
            return HookResult::Failed { output: "it was stopped".to_owned() };
        };
        match ended {
            Ok(finished) if finished.is_success() => HookResult::Passed,
            Ok(finished) => {
                HookResult::Failed { output: format!("{}\n({})", finished.output.trim_end(), finished.describe()) }
            }
            Err(error @ SandboxError::NotFound { .. }) => {
                let output = interpreter
                    .map(|interpreter| format!("its interpreter `{interpreter}` was not found in the sandbox"));
                HookResult::Failed { output: output.unwrap_or_else(|| error.to_string()) }
            }
            Err(error) => HookResult::Failed { output: error.to_string() },
        }
    }
}

/// What the first line of a script names to run it. Where that is missing, the kernel says that the script was not found.
fn read_interpreter(program: &Path) -> Option<String> {
    let mut head = [0; 256];
    let read = File::open(program).and_then(|mut file| file.read(&mut head)).ok()?;
    let line = head.get(..read)?.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8_lossy(line).split_whitespace().next().map(str::to_owned)
}

fn text(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}
