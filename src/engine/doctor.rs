//! Whether everything that must work does, and what helps if not.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::PoisonError;

use futures_util::future::join_all;
use jiff::Timestamp;

use crate::api::daemon::{CRASH_FILE, CrashKind, CrashReport};
use crate::api::error::Error;
use crate::api::project::{Check, CheckState, ConfigQuery, RunDoctor};
use crate::api::request::Environment;
use crate::backend;
use crate::backend::discovery::{Found, Verdict};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::login::{ConfigError, ConfigErrorEffect};
use crate::backend::spec::Spec;
use crate::config::Config;
use crate::config::project_env::RegistryTokens;
use crate::git;
use crate::permission::Hold;
use crate::sandbox::support::Support;
use crate::store::{self, Depth, Removed};

use super::backends::{install_command, problem, warning};
use super::choice;
use super::confine::{self, RegistryFile};
use super::fault::Fault;
use super::worktrees;
use super::{DATABASE, Engine};

/// How much is written to see whether the disk takes it.
const WRITTEN_BYTES: usize = 64 * 1024;
/// A few worktrees need more than this.
const LOW_BYTES: u64 = 500_000_000;

/// Whether anybody counts on a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The configuration names its program.
    Configured,
    /// One of those that are known anyway.
    Optional,
}

impl Engine {
    /// One check for each thing that must work, as it is for whoever asks.
    pub async fn doctor(&self, request: RunDoctor) -> Result<Vec<Check>, Error> {
        let RunDoctor { cwd, environment } = request;
        let environment = self.accept_environment(environment);
        let mut checks = vec![self.check_git().await, self.check_data(), self.check_database().await];
        match self.config_at(ConfigQuery { cwd: cwd.clone() }).await {
            Ok(config) => {
                checks.push(good("configuration", self.shared.settings.user_file.display().to_string()));
                checks.extend(self.check_backends(&config, &environment).await);
                let files = confine::find_registry_files(&environment);
                checks.extend(describe_registries(&files, config.env.registry_tokens));
                match self.check_setups(cwd, &environment).await {
                    Ok(setups) => checks.extend(setups),
                    Err(fault) => checks.push(bad("set-up", fault)),
                }
            }
            Err(fault) => checks.push(bad("configuration", fault)),
        }
        checks.push(sandbox(&self.shared.support));
        checks.extend(self.check_last_crash());
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
        // A full disk still takes an empty file.
        let written = tempfile::NamedTempFile::new_in(data).and_then(|mut file| file.write_all(&[0; WRITTEN_BYTES]));
        let free = rustix::fs::statvfs(data).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        data_directory(data, written, free)
    }

    async fn check_database(&self) -> Check {
        let (data, path) = (self.shared.data.clone(), self.shared.data.join(DATABASE));
        let shown = path.display().to_string();
        let admitted = super::actor::blocking(move || {
            let admitted = store::admit(&path, worktrees::find_all(&data).len(), Depth::Start, store::PATIENCE);
            Ok(admitted.and_then(|()| store::require_writable(&path)))
        });
        match admitted.await {
            Ok(Ok(())) => good("database", shown),
            Ok(Err(error)) => bad("database", error.into()),
            Err(fault) => bad("database", fault),
        }
    }

    fn check_last_crash(&self) -> Option<Check> {
        let path = self.shared.data.join(CRASH_FILE);
        let report = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok())?;
        Some(describe_crash(&report, &path))
    }

    async fn check_backends(&self, config: &Config, environment: &Environment) -> Vec<Check> {
        let registry = self.shared.settings.registry(config);
        let env: Vec<_> = environment.clone().into_iter().collect();
        let looks = registry.offered().map(|spec| {
            let env = &env;
            async move { (spec, self.shared.catalog.look(&self.shared, spec, env).await) }
        });
        let found = join_all(looks).await;
        let opened = self.find_opened_backends().await;
        let is_named = |spec: &Spec| config.backends.get(&spec.name).is_some_and(|backend| backend.command.is_some());
        let need = |spec: &Spec| if is_named(spec) { Need::Configured } else { Need::Optional };
        let checked = found.iter().map(|(spec, found)| self.check_found(spec, found, need(spec), &env));
        let mut checks = join_all(checked).await;
        for (check, (spec, found)) in checks.iter_mut().zip(&found) {
            // That its file is there says nothing about a program without a version to judge.
            if check.state == CheckState::Good && found.version.is_none() && !opened.contains(&spec.name) {
                *check = untried(spec, &check.detail);
            }
        }
        if !found.iter().any(|(_, found)| found.verdict.is_usable()) {
            checks.push(bad("backends", Fault::NoBackend(choice::no_backend(&registry))));
        }
        checks
    }

    /// The backends that have opened a session, or did when they were checked.
    async fn find_opened_backends(&self) -> HashSet<String> {
        let mut opened = self.shared.checked_backends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let records = self.records(Removed::Without).await.unwrap_or_default();
        opened.extend(records.into_iter().filter_map(|record| Some(record.body.conversation?.engine.backend)));
        opened
    }

    async fn check_found(&self, spec: &Spec, found: &Found, need: Need, env: &[(String, String)]) -> Check {
        if !found.verdict.is_usable() {
            return check(spec, found, need);
        }
        if let Some(error) = backend::login::find_config_error(spec, env) {
            return broken_config(spec, error);
        }
        let refusal = self.find_refusal(spec, found, env).await;
        refusal.map_or_else(|| check(spec, found, need), |refusal| refused_setup(spec, refusal))
    }

    /// Why a program that judges its configuration begins no conversation, in the words that `coppice models` gets.
    async fn find_refusal(&self, spec: &Spec, found: &Found, env: &[(String, String)]) -> Option<Failure> {
        let program = found.program.as_ref().filter(|_| backend::login::checks_config(spec))?;
        let offer = self.shared.catalog.offer(&self.shared, spec, program, found.version, env).await;
        // A service that is out of reach is nothing that stays.
        offer.err().filter(|failure| failure.kind == FailureKind::Setup)
    }
}

/// A program of which nobody knows whether it works.
fn untried(spec: &Spec, place: &str) -> Check {
    let detail = format!("{place}: it is there, and has opened no session so far");
    let hint = Some(format!("`coppice backends check {}` tries it in the sandbox", spec.name));
    Check { name: format!("backend {}", spec.name), state: CheckState::Warning, detail, hint }
}

/// A program that begins no conversation.
fn refused_setup(spec: &Spec, Failure { message, hint, .. }: Failure) -> Check {
    Check { name: format!("backend {}", spec.name), state: CheckState::Bad, detail: message, hint: Some(hint) }
}

/// Which settings for package registries sessions get.
fn describe_registries(files: &[RegistryFile], tokens: RegistryTokens) -> Option<Check> {
    let withheld = tokens == RegistryTokens::Withheld;
    let listed: Vec<_> = files
        .iter()
        .map(|RegistryFile { path, has_secrets }| {
            let note = if *has_secrets && withheld { " (without its logins)" } else { "" };
            format!("{}{note}", path.display())
        })
        .collect();
    let is_partial = withheld && files.iter().any(|file| file.has_secrets);
    let hint = is_partial.then(|| {
        "`coppice config set sandbox.registry_tokens true` lets agents use the logins, for private packages".to_owned()
    });
    let check = Check { hint, ..good("registries", format!("sessions use {}", listed.join(", "))) };
    (!files.is_empty()).then_some(check)
}

/// What is known of the last crash.
fn describe_crash(report: &CrashReport, path: &Path) -> Check {
    let CrashReport { kind, pid, at, what, log, .. } = report;
    let time = Timestamp::from_millisecond(*at).unwrap_or_default().strftime("%Y-%m-%d %H:%M:%S UTC");
    let detail = match kind {
        CrashKind::Ended => format!("the daemon (pid {pid}) ended unexpectedly, last seen {time}: {what}"),
        CrashKind::TaskPanicked => format!("a task of the daemon (pid {pid}) failed at {time}: {what}"),
    };
    let hint = format!("its log is `{log}`; delete `{}` to clear this", path.display());
    Check { name: "last crash".to_owned(), state: CheckState::Warning, detail, hint: Some(hint) }
}

/// Whether the data directory can be written, and for how long.
fn data_directory(data: &Path, written: io::Result<()>, free: u64) -> Check {
    let (name, place) = ("data directory", data.display());
    let hint = Some("free some space on that disk; nothing needs to be started again".to_owned());
    match written {
        Ok(()) if free >= LOW_BYTES => good(name, place.to_string()),
        Ok(()) => {
            let detail = format!("{place}: {} MB are left on its disk", free / 1_000_000);
            Check { name: name.to_owned(), state: CheckState::Warning, detail, hint }
        }
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            let detail = format!("{place}: its disk is full, so no work is saved");
            Check { name: name.to_owned(), state: CheckState::Bad, detail, hint }
        }
        Err(source) => bad(name, Fault::File { act: "write to", path: data.to_owned(), source }),
    }
}

fn check(spec: &Spec, found: &Found, need: Need) -> Check {
    let place = found.program.as_ref().map(|program| program.display().to_string()).unwrap_or_default();
    let here = match found.version {
        Some(version) => format!("{version}, {place}"),
        None => place.clone(),
    };
    let trouble = || format!("{place}: {}", problem(spec, found).unwrap_or_default());
    let install = |otherwise: &str| match install_command(spec, found) {
        Some(install) if matches!(found.verdict, Verdict::TooOld { .. }) => format!("run `{install}`"),
        Some(install) => format!("install it with `{install}`"),
        None => otherwise.to_owned(),
    };
    let (state, detail, hint) = match (&found.verdict, need) {
        (Verdict::Good, _) => (CheckState::Good, here, None),
        (Verdict::Untested { tested, .. }, _) => {
            let detail = format!("{place}: {}", warning(found).unwrap_or_default());
            let hint = format!("if it misbehaves, update coppice or go back to {tested}");
            (CheckState::Warning, detail, Some(hint))
        }
        (Verdict::TooOld { .. }, _) => {
            (CheckState::Bad, trouble(), Some(install("update it the way you installed it")))
        }
        (Verdict::Broken { .. }, _) => (CheckState::Bad, trouble(), Some(install("install it again"))),
        (Verdict::Missing, Need::Optional) => (CheckState::Absent, "not installed".to_owned(), spec.install.clone()),
        (Verdict::Missing, Need::Configured) => {
            let hint = "install it, or correct its `command` in the configuration";
            (CheckState::Bad, problem(spec, found).unwrap_or_default(), Some(hint.to_owned()))
        }
    };
    Check { name: format!("backend {}", spec.name), state, detail, hint }
}

/// A program whose own configuration cannot be read.
fn broken_config(spec: &Spec, ConfigError { message, effect }: ConfigError) -> Check {
    let (state, hint) = match effect {
        ConfigErrorEffect::Refused => (CheckState::Bad, "correct the file; no session works with this backend before"),
        ConfigErrorEffect::Ignored => {
            (CheckState::Warning, "correct the file; sessions work without its login, model and rules until then")
        }
    };
    Check { name: format!("backend {}", spec.name), state, detail: message, hint: Some(hint.to_owned()) }
}

/// What the kernel gives, and what is missing.
fn sandbox(support: &Support) -> Check {
    let lines = support.lines().join("\n");
    // The check is called so already.
    let detail = lines.strip_prefix("sandbox: ").unwrap_or(&lines).to_owned();
    let (state, hint) = match support.hold() {
        Hold::Enforced => (CheckState::Good, None),
        Hold::Advisory => {
            let hint = "sessions begin as `attended`: what no rule decides waits for you";
            (CheckState::Warning, Some(hint.to_owned()))
        }
    };
    Check { name: "sandbox".to_owned(), state, detail, hint }
}

fn good(name: &str, detail: String) -> Check {
    Check { name: name.to_owned(), state: CheckState::Good, detail, hint: None }
}

fn bad(name: &str, fault: Fault) -> Check {
    let Error { message, causes, hint, .. } = fault.into();
    let detail = [&[message][..], &causes].concat().join(": ");
    Check { name: name.to_owned(), state: CheckState::Bad, detail, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::registry;
    use crate::backend::spec::Version;

    #[test]
    fn a_full_disk_is_no_good_place_for_data() {
        let check = |written, free| {
            let Check { state, detail, .. } = data_directory(Path::new("/data"), written, free);
            (state, detail)
        };
        assert_eq!(check(Ok(()), LOW_BYTES), (CheckState::Good, "/data".to_owned()));
        let low = "/data: 12 MB are left on its disk".to_owned();
        assert_eq!(check(Ok(()), 12_500_000), (CheckState::Warning, low));
        let full = "/data: its disk is full, so no work is saved".to_owned();
        assert_eq!(check(Err(ErrorKind::StorageFull.into()), 0), (CheckState::Bad, full));
        assert_eq!(check(Err(ErrorKind::PermissionDenied.into()), 0).0, CheckState::Bad);
    }

    #[test]
    fn settings_for_registries_are_listed_with_what_is_withheld() {
        let file = |path: &str, has_secrets| RegistryFile { path: path.into(), has_secrets };
        let files = [file("/h/.npmrc", true), file("/h/.cargo/config.toml", false)];
        let describe = |files: &[RegistryFile], tokens| {
            describe_registries(files, tokens).map(|check| (check.detail, check.hint.is_some()))
        };
        let withheld = "sessions use /h/.npmrc (without its logins), /h/.cargo/config.toml".to_owned();
        assert_eq!(describe(&files, RegistryTokens::Withheld), Some((withheld, true)));
        let passed = "sessions use /h/.npmrc, /h/.cargo/config.toml".to_owned();
        assert_eq!(describe(&files, RegistryTokens::Passed), Some((passed, false)));
        assert_eq!(describe(&[], RegistryTokens::Withheld), None);
    }

    #[test]
    fn a_crash_says_when_what_and_where_the_log_is() {
        let report = CrashReport {
            kind: CrashKind::Ended,
            pid: 7,
            started_at: 0,
            at: 1_700_000_000_000,
            what: "panicked at src/x.rs:1:2: oh".to_owned(),
            log: "/d/log/daemon.log".to_owned(),
        };
        let told = |report: &CrashReport| {
            let Check { detail, hint, .. } = describe_crash(report, Path::new("/d/crash.json"));
            format!("{detail} | {}", hint.unwrap_or_default())
        };
        let task = CrashReport { kind: CrashKind::TaskPanicked, ..report.clone() };
        insta::assert_snapshot!([told(&report), told(&task)].join("\n"), @r"
        the daemon (pid 7) ended unexpectedly, last seen 2023-11-14 22:13:20 UTC: panicked at src/x.rs:1:2: oh | its log is `/d/log/daemon.log`; delete `/d/crash.json` to clear this
        a task of the daemon (pid 7) failed at 2023-11-14 22:13:20 UTC: panicked at src/x.rs:1:2: oh | its log is `/d/log/daemon.log`; delete `/d/crash.json` to clear this
        ");
    }

    #[test]
    fn a_backend_is_good_doubtful_bad_or_not_there() {
        let spec = Spec {
            install: Some("npm i agent".to_owned()),
            ..registry::from_config("agent", vec!["agent".to_owned()], Vec::new(), Vec::new())
        };
        let (old, new) = (Version(1, 0, 0), Version(2, 0, 0));
        let told = |verdict: Verdict, version, need| {
            let program = (verdict != Verdict::Missing).then(|| "/bin/agent".into());
            let Check { state, detail, hint, .. } = check(&spec, &Found { program, version, verdict }, need);
            format!("{state:?} | {detail} | {}", hint.unwrap_or_default())
        };
        let broken = Verdict::Broken { said: "exit status 1: no node".to_owned() };
        let rows = [
            told(Verdict::Good, Some(new), Need::Optional),
            told(Verdict::Good, None, Need::Configured),
            told(Verdict::Untested { found: new, tested: old }, Some(new), Need::Optional),
            told(Verdict::TooOld { found: old, minimum: new }, Some(old), Need::Optional),
            told(broken, None, Need::Optional),
            told(Verdict::Missing, None, Need::Optional),
            told(Verdict::Missing, None, Need::Configured),
        ];
        insta::assert_snapshot!(rows.join("\n"), @r"
        Good | 2.0.0, /bin/agent | 
        Good | /bin/agent | 
        Warning | /bin/agent: version 2.0.0 is newer than 1.0.0, the newest tested | if it misbehaves, update coppice or go back to 1.0.0
        Bad | /bin/agent: version 1.0.0 is too old: it takes 2.0.0 or newer | update it the way you installed it
        Bad | /bin/agent: `agent --version` does not work: exit status 1: no node | install it with `npm i agent`
        Absent | not installed | npm i agent
        Bad | there is no `agent` on PATH | install it, or correct its `command` in the configuration
        ");
    }
}
