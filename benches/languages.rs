//! A real language server behind the served tools: how fast it answers once it runs, and that nothing of it stays.
//!
//! Runs when `COPPICE_REAL_BIN` names the directory of the installed program. Waits until the server is idle long enough to
//! be ended, which takes five minutes.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;

use crate::home::Home;
use crate::measure::{descendants, memory_of, milliseconds};
use crate::repo::prepare;
use crate::tools::{one_call, tree};
use crate::turn::Ours;
use crate::{Bar, Options, Report};

/// How many calls are added to a turn, and how many files the server knows.
const CALLS: u32 = 20;
const FILES: usize = 200;

pub(crate) fn run(options: &Options, report: &mut Report) {
    let Some(programs) = env::var_os("COPPICE_REAL_BIN").map(PathBuf::from) else {
        return report.note("no `COPPICE_REAL_BIN`: no language server is measured");
    };
    let mut home = Home::new(options, prepare(&options.root, 20));
    let path = env::var_os("PATH").unwrap_or_default();
    home.set("PATH", env::join_paths([programs].into_iter().chain(env::split_paths(&path))).unwrap());
    let mut session = Ours::start(&home, "demo", "@answer ready");
    let tree = tree(&home, &session);
    fs::write(tree.join("tsconfig.json"), r#"{"compilerOptions": {"strict": true, "noEmit": true}}"#).unwrap();
    for file in 0..FILES {
        let text = format!("export function greet{file}(name: string): string {{\n  return name;\n}}\n");
        fs::write(tree.join(format!("greet{file}.ts")), text).unwrap();
    }
    let took = one_call(options, &mut session, "symbols", &json!({"query": "greet7"}), CALLS);
    report.add("`symbols` of a project of 200 files, warm", milliseconds(took), Bar::AtMost(150.0, "ms"));

    let servers: Vec<u32> = descendants(home.daemon()).into_iter().filter(|pid| is_server(*pid)).collect();
    assert!(!servers.is_empty(), "the server runs");
    let heavy: u64 = servers.iter().copied().map(memory_of).sum();
    let idle = Instant::now();
    servers.iter().copied().for_each(wait_for_end);
    report.note(&format!("{} MiB in {} processes, gone after {:.0?}", heavy / 1_024, servers.len(), idle.elapsed()));
    let left: u64 = servers.into_iter().filter(|pid| is_server(*pid)).map(memory_of).sum();
    report.add("memory of language servers that nobody asks", left as f64, Bar::AtMost(0.0, "KiB"));
}

fn is_server(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    ["typescript-language-server", "tsserver", "typingsInstaller"].iter().any(|name| line.contains(name))
}

fn wait_for_end(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // One that is gone already cannot be opened.
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    poll(&mut [PollFd::new(&handle, PollFlags::IN)], None).unwrap();
}
