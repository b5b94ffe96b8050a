//! `Stage`: a [`TestEnv`] with the three real programs on its `PATH`, a model server for each, and a user's own settings,
//! which must be the same bytes afterwards.
//!
//! It lies outside the temp dir: Codex's sandbox does not work below it.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::thread;

use serde_json::Value;

use crate::agent::{Agent, programs};
use crate::env::TestEnv;
use crate::model::Model;
use crate::model::script::{answer, shell};
use crate::trap::Trap;
use crate::user::{self, TRACES};

/// Where the homes of tests lie: on every Unix, for everybody, with a short name, and no program's temp dir.
const SCRATCH: &str = "/var/tmp";

/// How often a test waits for a session, and the exit code of `coppice wait` that makes it wait again.
const PATIENCE: usize = 3;
const TIMED_OUT: i32 = 124;

/// How much of each model call a failing test shows.
const SHOWN: usize = 600;

/// One test's world with the real programs in it.
pub(crate) struct Stage {
    // Declared first, so that the daemon and the agents are gone before the models are.
    env: TestEnv,
    models: Vec<(Agent, Model)>,
    trap: Trap,
    /// What programs that a test starts by hand see of the environment.
    variables: Vec<(String, String)>,
    /// The user's own files and what they held.
    settings: Vec<(PathBuf, Vec<u8>)>,
}

impl Deref for Stage {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        static PLACE: Once = Once::new();
        PLACE.call_once(|| tempfile::env::override_temp_dir(Path::new(SCRATCH)).expect("set once"));
        let env = TestEnv::new();
        let models = Agent::ALL.map(|agent| (agent, Model::start(agent.dialect()))).into();
        let (trap, home) = (Trap::start(), env.path("home"));
        let mut stage = Self { env, models, trap, variables: Vec::new(), settings: Vec::new() };
        let path = std::env::var("PATH").unwrap_or_default();
        stage.set("PATH", &format!("{}:{path}", programs().display()));
        for agent in Agent::ALL {
            let (name, key) = agent.key();
            stage.set(name, key);
            if let Some(name) = agent.base_url() {
                stage.set(name, &stage.model(agent).url());
            }
        }
        for name in ["HTTPS_PROXY", "HTTP_PROXY"] {
            stage.set(name, &stage.trap.url());
        }
        stage.set("NO_PROXY", "127.0.0.1,localhost");
        user::write(&home, &stage.model(Agent::Codex).url());
        stage.configure(user::COPPICE);
        stage.settings = user::files(&home);
        stage
    }

    /// Sets a variable for the programs that the test starts from here on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.env.set(name, value);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Writes one of the user's own files, from their home directory, before any program starts.
    pub(crate) fn settle(&mut self, path: &str, text: &str) {
        let path = self.path("home").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.settings.retain(|(known, _)| *known != path);
        self.settings.push((path, text.into()));
    }

    /// Takes a variable back.
    pub(crate) fn unset(&mut self, name: &str) {
        self.env.unset(name);
        self.variables.retain(|(known, _)| known != name);
    }

    /// What programs see of the environment, besides the home.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// A program to be driven by hand, with what a session of this user would see.
    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.repo()).env_clear().env("HOME", self.path("home")).env("LANG", "C.UTF-8");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The model server of an agent.
    pub(crate) fn model(&self, agent: Agent) -> &Model {
        &self.models.iter().find(|(known, _)| *known == agent).expect("a model for each").1
    }

    /// A copy of one directory level, for a program that would change the original.
    pub(crate) fn copy_of(&self, directory: &str) -> PathBuf {
        let copy = self.path("copy");
        fs::create_dir_all(&copy).unwrap();
        for entry in fs::read_dir(self.path(directory)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
        copy
    }

    /// Creates a session on an agent; its id.
    #[track_caller]
    pub(crate) fn begin(&self, agent: Agent, prompt: &str) -> String {
        self.begin_with(agent, &[], prompt)
    }

    #[track_caller]
    pub(crate) fn begin_with(&self, agent: Agent, options: &[&str], prompt: &str) -> String {
        self.create_with(&[&["--model", &agent.choice()], options].concat(), prompt)
    }

    /// Runs the session's next turn to its end and requires the status it then has.
    #[track_caller]
    pub(crate) fn send(&self, id: &str, prompt: &str, status: &str) {
        self.coppice(&["send", id, prompt]).succeeds();
        self.rests(id, status);
    }

    /// Runs a first turn with a command that a person approves, and a second turn after the daemon ended; `options` choose the agent. The
    /// session's id.
    #[track_caller]
    pub(crate) fn run_and_resume(&self, model: &Model, options: &[&str]) -> String {
        model.plays([shell("touch made"), answer("one"), answer("two")]);
        let id = self.create_with(&[options, &["--posture", "attended"]].concat(), "the first task");
        self.rests(&id, "approval");
        self.coppice(&["approve", &id]).succeeds();
        self.rests(&id, "ready");
        assert_eq!(self.last_answer(&id), "one");
        assert!(self.worktree(&id).join("made").exists(), "{:#?}", self.of_kind(&id, "tool_finished"));
        self.end_daemon(&[]);
        self.send(&id, "the second task", "ready");
        assert_eq!(self.last_answer(&id), "two");
        assert!(model.calls().last().unwrap().mentions("the first task"), "the conversation goes on");
        self.assert_settings_untouched();
        id
    }

    /// Waits until nothing happens in the session without a person, and requires the status it then has.
    #[track_caller]
    pub(crate) fn rests(&self, id: &str, status: &str) {
        // One command of a test may take a minute; a program that tries a failing service again takes longer.
        for _ in 0..PATIENCE {
            if self.coppice(&["wait", id, "--timeout", "50s"]).status.code() != Some(TIMED_OUT) {
                break;
            }
        }
        let session = self.session(id);
        assert_eq!(session["status"], status, "{session:#}");
    }

    /// The answer that ended the session's last turn.
    #[track_caller]
    pub(crate) fn last_answer(&self, id: &str) -> String {
        let events = self.events(id);
        let completed = events.iter().rev().find(|event| event["type"] == "turn_completed");
        completed.expect("a completed turn")["response"]["answer"].as_str().unwrap_or_default().to_owned()
    }

    /// How each turn's prompt was delivered.
    #[track_caller]
    pub(crate) fn deliveries(&self, id: &str) -> Vec<String> {
        let started = self.of_kind(id, "turn_started").into_iter();
        started.map(|event| event["delivery"].as_str().unwrap().to_owned()).collect()
    }

    /// The session's events of one type.
    #[track_caller]
    pub(crate) fn of_kind(&self, id: &str, kind: &str) -> Vec<Value> {
        self.events(id).into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Hosts beyond this machine that something tried to reach.
    pub(crate) fn strangers(&self) -> Vec<String> {
        self.trap.seen()
    }

    /// That nobody reached for another host, and nothing of the user's own settings was started.
    #[track_caller]
    pub(crate) fn assert_only_the_asked_ran(&self) {
        self.assert_only_the_asked_ran_besides(&[]);
    }

    /// The same where the program cannot be kept from reaching for these.
    #[track_caller]
    pub(crate) fn assert_only_the_asked_ran_besides(&self, hosts: &[&str]) {
        let mut strangers = self.strangers();
        strangers.retain(|stranger| !hosts.contains(&stranger.as_str()));
        assert_eq!(strangers, Vec::<String>::new());
        let traces: Vec<_> = TRACES.iter().filter(|trace| self.path("home").join(trace).exists()).collect();
        assert!(traces.is_empty(), "{traces:?}");
    }

    /// That the user's own settings are the same bytes as before.
    #[track_caller]
    pub(crate) fn assert_settings_untouched(&self) {
        let differing: Vec<_> =
            self.settings.iter().filter(|(path, bytes)| fs::read(path).ok().as_ref() != Some(bytes)).collect();
        let names: Vec<_> = differing.iter().map(|(path, _)| path.display().to_string()).collect();
        assert!(differing.is_empty(), "changed: {names:?}");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if thread::panicking() {
            for (agent, model) in &self.models {
                for call in model.calls() {
                    // What is at its end is the most recent.
                    let said = call.texts().join("\n");
                    let from = said.len().saturating_sub(SHOWN);
                    let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or_default();
                    eprintln!("-- {} was asked with {}: …{}", agent.name(), call.model(), &said[from..]);
                }
            }
        } else {
            self.assert_settings_untouched();
        }
    }
}
