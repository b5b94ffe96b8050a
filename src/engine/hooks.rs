//! The user's own commit hooks, run under a supervisor so that nothing they start stays behind.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::git::merge::{HookResult, HookRun};
use crate::sandbox::command::{self, Limits};
use crate::sandbox::launch::Spawn;

use super::record::Record;
use super::shared::Shared;

/// How long a hook may take, and how much it may say.
const LIMITS: Limits = Limits { timeout: Duration::from_secs(30 * 60), keep: 16 * 1024 };

/// A function that runs one hook and waits for it; called on a blocking thread.
pub(super) fn runner(shared: &Arc<Shared>, record: &Record) -> impl Fn(HookRun) -> HookResult + Send + 'static {
    let environment = shared.environment(record.id).unwrap_or_else(|| shared.own_environment.clone());
    let (executable, runtime) = (shared.executable.clone(), Handle::current());
    move |hook| {
        let mut env = environment.clone();
        env.extend(hook.environment.into_iter().map(|(name, value)| (name.to_owned(), text(value))));
        let argv = std::iter::once(hook.program.into_os_string()).chain(hook.arguments).map(text).collect();
        let spawn = Spawn {
            executable: executable.clone(),
            argv,
            env: env.into_iter().collect(),
            cwd: hook.directory,
            cage: None,
        };
        match runtime.block_on(command::run(spawn, LIMITS, &mut |_: &str| {})) {
            Ok(finished) if finished.is_success() => HookResult::Passed,
            Ok(finished) => {
                HookResult::Failed { output: format!("{}\n({})", finished.output.trim_end(), finished.describe()) }
            }
            Err(error) => HookResult::Failed { output: error.to_string() },
        }
    }
}

fn text(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}
