//! Whether everything that must work does, and what helps if not.

use crate::api::error::Error;
use crate::api::project::{Check, CheckState, ConfigQuery};
use crate::config::Config;
use crate::git;

use super::Engine;
use super::fault::Fault;

impl Engine {
    /// One check for each thing that must work.
    pub async fn doctor(&self, query: ConfigQuery) -> Result<Vec<Check>, Error> {
        let mut checks = vec![self.check_git().await, self.check_data()];
        match self.config_at(query).await {
            Ok(config) => {
                checks.push(good("configuration", self.shared.settings.user_file.display().to_string()));
                checks.extend(self.check_backends(&config));
            }
            Err(fault) => checks.push(bad("configuration", fault)),
        }
        checks.push(Check {
            name: "sandbox".to_owned(),
            state: CheckState::Warning,
            detail: "agents are not confined; every call that an agent asks about waits for you".to_owned(),
            hint: None,
        });
        Ok(checks)
    }

    async fn check_git(&self) -> Check {
        match super::actor::blocking(git::command::version).await {
            Ok(version) => good("git", version),
            Err(fault) => bad("git", fault),
        }
    }

    fn check_data(&self) -> Check {
        let data = &self.shared.data;
        match tempfile::NamedTempFile::new_in(data) {
            Ok(_) => good("data directory", data.display().to_string()),
            Err(source) => bad("data directory", Fault::File { act: "write to", path: data.clone(), source }),
        }
    }

    fn check_backends(&self, config: &Config) -> Vec<Check> {
        let backends = self.backend_views(config);
        let real = backends.iter().filter(|backend| !backend.scripted);
        let mut checks: Vec<_> = real
            .map(|backend| Check {
                name: format!("backend {}", backend.name),
                state: if backend.problem.is_none() { CheckState::Good } else { CheckState::Bad },
                detail: backend.program.clone().or(backend.problem.clone()).unwrap_or_default(),
                hint: backend.problem.as_ref().map(|_| "install it, or correct its `command`".to_owned()),
            })
            .collect();
        if checks.is_empty() {
            checks.push(Check {
                name: "backends".to_owned(),
                state: CheckState::Warning,
                detail: "none is configured".to_owned(),
                hint: Some("name an agent in `[backends.NAME]`, or try `coppice demo`".to_owned()),
            });
        }
        checks
    }
}

fn good(name: &str, detail: String) -> Check {
    Check { name: name.to_owned(), state: CheckState::Good, detail, hint: None }
}

fn bad(name: &str, fault: Fault) -> Check {
    let Error { message, causes, hint, .. } = fault.into();
    let detail = [&[message][..], &causes].concat().join(": ");
    Check { name: name.to_owned(), state: CheckState::Bad, detail, hint }
}
