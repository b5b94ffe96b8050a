//! The agent's own interface, in the home of the session's turns and with the same walls against a repository.

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;

use crate::backend::Launch;
use crate::backend::claude::login::Keeper;
use crate::backend::claude::user_settings::UserSettings;
use crate::backend::claude::{argv, home, needs};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::interactive::Interactive;
use crate::backend::transport::spawn::SpawnRequest;

/// Prepares the interface for a person.
pub(crate) async fn prepare(launch: Launch) -> Result<Interactive, Failure> {
    let keeper = Keeper::of(&launch).map(Arc::new);
    if let Some(keeper) = &keeper {
        keeper.clone().settle_aside().await;
    }
    let (own, env, tree) = (home::dir(&launch.state_dir), launch.environment(), launch.cwd.clone());
    let path = own.path().to_owned();
    let furnished = tokio::task::spawn_blocking(move || {
        home::furnish(&own, &env)?;
        home::welcome(&own, &env, &tree)?;
        Ok(UserSettings::read_for_tree(&env, &tree))
    });
    let settings = furnished.await.map_err(io::Error::other).and_then(|done| done).map_err(|error| {
        Failure::new(FailureKind::Setup, format!("failed to prepare the agent's own directory: {error}"))
    })?;
    let login = keeper.as_ref().map(|keeper| keeper.dir().to_owned());
    let request = SpawnRequest {
        argv: arguments(&launch, &settings),
        env: environment(&launch, &path, login.as_deref()),
        cwd: launch.cwd.clone(),
        needs: needs(&launch, login.as_deref()),
    };
    let beside = keeper.clone().map(|keeper| keeper.keep().boxed());
    let after = keeper.map(|keeper| keeper.settle_aside().boxed());
    Ok(Interactive { request, beside, after })
}

/// The mode that asks, in every posture: the person is there to be asked.
fn arguments(launch: &Launch, settings: &UserSettings) -> Vec<String> {
    let mut words = launch.argv.clone();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    if let Some(model) = argv::model(launch) {
        add(&["--model", model]);
    }
    if let Some(level) = launch.reasoning {
        add(&["--effort", argv::effort(level, argv::model(launch))]);
    }
    add(&["--permission-mode", "default"]);
    add(&argv::walls(launch, settings).each_ref().map(String::as_str));
    add(&["--add-dir", &launch.cwd.to_string_lossy()]);
    if let Some(told) = &settings.instructions {
        add(&["--append-system-prompt", told]);
    }
    words.extend(launch.opening());
    words
}

/// The environment of a turn. What runs in the background ends with the interface, so it may.
fn environment(launch: &Launch, home: &Path, login: Option<&Path>) -> Vec<(String, String)> {
    let mut env = argv::environment(launch, home, login);
    env.retain(|(name, _)| name != argv::NO_BACKGROUND);
    // It would be fetched anew for every home, and the person's own has it.
    env.push(("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL".to_owned(), "1".to_owned()));
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::claude::spec;
    use crate::backend::failure::Failure;
    use crate::backend::transport::spawn::{Child, Spawner};

    struct Nobody;

    impl Spawner for Nobody {
        fn spawn(&self, _: SpawnRequest) -> futures_util::future::BoxFuture<'static, Result<Child, Failure>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_person_is_asked_whatever_the_posture_and_a_repository_runs_nothing() {
        for posture in crate::permission::Posture::ALL {
            let bare = Launch::bare("/state".into(), Arc::new(Nobody));
            let launch = Launch { spec: spec(), posture, resume: Some("id".to_owned()), ..bare };
            let words = arguments(&launch, &UserSettings::default()).join(" ");
            assert!(words.contains("--permission-mode default --setting-sources  --settings"), "{words}");
            assert!(words.ends_with("--resume id"), "{words}");
            assert!(!words.contains("-p ") && !words.contains("skip-permissions"), "{words}");
        }
    }
}
