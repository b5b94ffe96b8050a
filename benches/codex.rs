//! The real Codex beside Coppice: one app-server driven by hand, and sessions of the daemon that share one.
//!
//! Runs when `COPPICE_REAL_BIN` names the directory of the installed program; the model is one of ours.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::home::Home;
use crate::measure::{descendants, memory_of};
use crate::model;
use crate::peer::Peer;
use crate::repo::prepare;
use crate::{Bar, Options, Report};

const MODEL: &str = "gpt-5.5";
const SESSIONS: u32 = 20;

/// Codex, a home with its configuration, and the model that it talks to.
pub(crate) struct Stage {
    pub(crate) home: Home,
    program: PathBuf,
}

impl Stage {
    /// Nothing without the program.
    pub(crate) fn new(options: &Options) -> Option<Self> {
        let directory = PathBuf::from(env::var_os("COPPICE_REAL_BIN")?);
        let mut home = Home::new(options, prepare(&options.root, 20));
        configure(home.path(), model::start());
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([directory.clone()].into_iter().chain(env::split_paths(&path))).unwrap();
        home.set("PATH", path);
        home.set("OPENAI_API_KEY", OsString::from("scripted"));
        Some(Self { home, program: directory.join("codex") })
    }

    /// The model's name as Coppice takes it.
    pub(crate) fn model() -> String {
        format!("codex/{MODEL}")
    }

    /// The program's own server and a thread in it, which has answered once.
    pub(crate) fn raw(&self) -> Raw {
        let mut command = Command::new(&self.program);
        command.args(["app-server", "--disable", "plugins", "--disable", "apps"]).envs(self.home.environment());
        let mut peer = Peer::start(command.current_dir(&self.home.repo));
        let client = json!({"name": "bench", "title": "Bench", "version": "1"});
        peer.ask("initialize", &json!({"clientInfo": client, "capabilities": {"experimentalApi": true}}));
        peer.notify("initialized");
        let settings = json!({
            "cwd": self.home.repo, "model": MODEL, "approvalPolicy": "on-request", "sandbox": "workspace-write",
        });
        let thread = peer.ask("thread/start", &settings)["thread"]["id"].as_str().unwrap().to_owned();
        let mut raw = Raw { peer, thread };
        raw.turn("get ready");
        raw
    }
}

pub(crate) struct Raw {
    peer: Peer,
    thread: String,
}

impl Raw {
    pub(crate) fn turn(&mut self, text: &str) -> Duration {
        let input = json!([{"type": "text", "text": text}]);
        let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
        let began = Instant::now();
        self.peer.ask("turn/start", &json!({"threadId": self.thread, "input": input, "outputSchema": schema}));
        let end = self.peer.read_until(|message| message["method"] == "turn/completed");
        assert_eq!(end["params"]["turn"]["status"], "completed");
        began.elapsed()
    }
}

/// What twenty sessions take, each after its first turn, beside one server after one turn.
pub(crate) fn memory(options: &Options, report: &mut Report) {
    let Some(stage) = Stage::new(options) else {
        return report.note("no `COPPICE_REAL_BIN`: the memory of Codex is not measured");
    };
    let raw = stage.raw();
    // The program itself: an installed script that starts it is not what is compared.
    let one = descendants(raw.peer.pid()).into_iter().map(memory_of).max().unwrap();
    drop(raw);
    let home = &stage.home;
    let ids: Vec<_> = (0..SESSIONS)
        .map(|_| home.coppice(&["new", "--model", &Stage::model(), "say hello"]).trim().to_owned())
        .collect();
    ids.iter().for_each(|id| drop(home.coppice(&["wait", id])));
    let all: u64 = descendants(home.daemon()).into_iter().map(memory_of).sum();
    let megabytes = |kilobytes: u64| kilobytes as f64 / 1_024.0;
    report.note(&format!("one app-server {:.1} MiB, 20 sessions {:.1} MiB", megabytes(one), megabytes(all)));
    let bar = 1.5 * megabytes(one) + 5.0 * f64::from(SESSIONS);
    report.add("memory of 20 Codex sessions, the daemon included", megabytes(all), Bar::AtMost(bar.round(), "MiB"));
}

/// A user's Codex that leads to the model.
fn configure(home: &Path, model: SocketAddr) {
    let config = format!(
        "model = \"{MODEL}\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"Scripted\"\n\
         base_url = \"http://{model}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n"
    );
    fs::create_dir_all(home.join(".codex")).unwrap();
    fs::write(home.join(".codex/config.toml"), config).unwrap();
}
