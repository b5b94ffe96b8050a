//! A command of an agent that runs for ever, and proof that it runs and that it ends.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::retry_on_intr;
use rustix::process::{PidfdFlags, pidfd_open};

use crate::model::script::LIMIT;
use crate::stage::Stage;

/// Says through a pipe in the worktree that it runs, and goes on until somebody ends it.
pub(crate) const HOLD: &str = "until [ -p gate ]; do sleep 0.1; done; echo here > gate; tail -f /dev/null";

/// The last program of [`HOLD`].
const TAIL: &str = "tail -f /dev/null";

/// How long a command that must end may take to do so on a loaded machine.
const DEATH: Duration = Duration::from_secs(15);

/// The running command.
pub(crate) struct Gate {
    processes: Vec<OwnedFd>,
}

impl Gate {
    /// Waits until the session's agent runs [`HOLD`].
    #[track_caller]
    pub(crate) fn pass(stage: &Stage, id: &str) -> Self {
        stage.wait_for_event(id, "turn_started", 0);
        let gate = stage.worktree(id).join("gate");
        mknodat(CWD, &gate, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let (sender, opened) = mpsc::channel();
        let path = gate.clone();
        std::thread::spawn(move || {
            let mut word = String::new();
            let read = File::open(path).and_then(|mut file| file.read_to_string(&mut word));
            sender.send(read.map(|_| word)).ok();
        });
        let word = opened.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("the command never ran")).unwrap();
        assert_eq!(word, "here\n");
        // What is left of the gate must not be part of the session's work.
        std::fs::remove_file(gate).unwrap();
        // The shell that said the word, the program it has become since, and what cages them.
        let is_part = |command: &str| command.contains("-p gate") || command.trim_end() == TAIL;
        let running = stage.processes().into_iter().filter(|process| is_part(&process.command));
        let processes: Vec<_> =
            running.filter_map(|process| pidfd_open(process.pid, PidfdFlags::empty()).ok()).collect();
        assert!(!processes.is_empty(), "the command ended by itself");
        Self { processes }
    }

    /// Waits for the end of the command.
    #[track_caller]
    pub(crate) fn assert_command_ends(&self) {
        let limit = Timespec { tv_sec: DEATH.as_secs().cast_signed(), tv_nsec: 0 };
        for process in &self.processes {
            let ended = retry_on_intr(|| poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit))).unwrap();
            assert!(ended > 0, "the command outlived its turn");
        }
    }
}
