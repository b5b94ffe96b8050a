//! Faults: how each strikes, and how those that last are taken back.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::disk;
use crate::driver::{Client, Round};
use crate::env::{Process, family};
use crate::step::{Fault, Pick, Victim};

/// How often the daemon looks whether its socket is still there.
const SOCKET_CHECK: Duration = Duration::from_secs(2);

/// What takes a fault back.
pub(crate) enum Remedy {
    FreeDisk,
    Unprotect(PathBuf),
    MoveBack,
    RemoveFile(PathBuf),
}

/// What a fault did.
pub(crate) enum Struck {
    /// There was nothing to strike.
    Nothing,
    Done,
    /// Until it is taken back.
    Lasting(Remedy),
    /// These processes have to be gone when the daemon answers again.
    Doomed(Vec<Process>),
}

impl Round {
    /// Lets a fault happen, while a client may wait for its answer.
    pub(crate) fn strike(&mut self, fault: Fault, client: Option<&mut Client>) -> Struck {
        match fault {
            Fault::Kill(victim, which) => self.kill(victim, which),
            Fault::KillTurn(first, second) => self.kill_turn(&[first].into_iter().chain(second).collect::<Vec<_>>()),
            Fault::Suspend(milliseconds) => self.suspend(Duration::from_millis(milliseconds), client),
            Fault::FullDisk(_) | Fault::ReadOnlyRepository if !disk::is_own() => Struck::Nothing,
            Fault::FullDisk(spare_kib) => {
                disk::fill(&self.env.path(""), spare_kib);
                Struck::Lasting(Remedy::FreeDisk)
            }
            Fault::ReadOnlyRepository => {
                let protected = self.checkout.clone();
                if disk::protect(&protected) { Struck::Lasting(Remedy::Unprotect(protected)) } else { Struck::Nothing }
            }
            Fault::MovedRepository => {
                let moved = self.env.path("moved");
                if fs::rename(&self.checkout, &moved).is_err() {
                    return Struck::Nothing;
                }
                self.checkout = moved;
                Struck::Lasting(Remedy::MoveBack)
            }
            Fault::DeletedWorktree(which) => {
                self.expect_committed(which);
                let Some(session) = self.session(which) else { return Struck::Nothing };
                // What an agent writes meanwhile may stay.
                if fs::remove_dir_all(session["worktree"].as_str().unwrap()).is_ok() {
                    Struck::Done
                } else {
                    Struck::Nothing
                }
            }
            Fault::DeletedBranch(which) => {
                let Some(session) = self.session(which) else { return Struck::Nothing };
                let branch = format!("refs/heads/{}", session["branch"].as_str().unwrap());
                let deleted = self.git_command(&self.checkout, &["update-ref", "-d", &branch]).output().unwrap();
                if deleted.status.success() { Struck::Done } else { Struck::Nothing }
            }
            Fault::DeletedRuntimeDirectory => {
                fs::remove_dir_all(self.env.path("coppice/run")).ok();
                self.grace = SOCKET_CHECK;
                Struck::Done
            }
            Fault::RepositoryIndexLock => leave_lock(&self.checkout.join(".git/index.lock")),
            Fault::WorktreeIndexLock(which) => {
                let Some(session) = self.session(which) else { return Struck::Nothing };
                let pointer = Path::new(session["worktree"].as_str().unwrap()).join(".git");
                let Ok(text) = fs::read_to_string(pointer) else { return Struck::Nothing };
                let Some(git_dir) = text.trim().strip_prefix("gitdir: ") else { return Struck::Nothing };
                leave_lock(&Path::new(git_dir).join("index.lock"))
            }
        }
    }

    pub(crate) fn apply(&mut self, remedy: Remedy) {
        match remedy {
            Remedy::FreeDisk => disk::free(&self.env.path("")),
            Remedy::Unprotect(directory) => disk::unprotect(&directory),
            Remedy::MoveBack => {
                fs::rename(&self.checkout, self.env.repo()).expect("nothing may take the place of a moved repository");
                self.checkout = self.env.repo();
            }
            // It may have gone together with the worktree.
            Remedy::RemoveFile(path) => drop(fs::remove_file(path)),
        }
    }

    fn kill(&self, victim: Victim, which: Pick) -> Struck {
        let victims: Vec<_> = self.env.processes().into_iter().filter(|process| is_victim(process, victim)).collect();
        if victims.is_empty() {
            return Struck::Nothing;
        }
        let pid = victims[which % victims.len()].pid;
        let below = match victim {
            Victim::Daemon | Victim::Supervisor | Victim::SecondStage => family(&[pid]),
            // Whoever is above it decides what becomes of the rest.
            Victim::Agent | Victim::Tool | Victim::Git => vec![pid],
        };
        let doomed = below.into_iter().filter_map(Process::of).collect();
        if kill_process(pid, Signal::KILL).is_err() {
            return Struck::Nothing;
        }
        Struck::Doomed(doomed)
    }

    /// Kills processes of a turn at once, and waits until everything that cannot live without them has ended.
    fn kill_turn(&mut self, victims: &[Victim]) -> Struck {
        self.end_follower();
        let processes = self.env.processes();
        let targets: Option<Vec<_>> =
            victims.iter().map(|victim| processes.iter().find(|process| is_victim(process, *victim))).collect();
        // Without namespaces, the second stage has become the agent.
        let Some(targets) = targets else { return Struck::Nothing };
        // Who is stopped does not end the others before they are killed.
        for target in &targets {
            kill_process(target.pid, Signal::STOP).unwrap();
        }
        let killed_at = Instant::now();
        for target in targets.iter().rev() {
            kill_process(target.pid, Signal::KILL).unwrap();
        }
        let kills_agent = victims.iter().any(|victim| *victim != Victim::Tool);
        let kills_daemon = victims.contains(&Victim::Daemon);
        let is_doomed = |process: &Process| {
            let is_one_of = |kinds: &[Victim]| kinds.iter().any(|victim| is_victim(process, *victim));
            let is_agent = is_one_of(&[Victim::Supervisor, Victim::SecondStage, Victim::Agent]);
            kills_daemon || is_one_of(&[Victim::Tool]) || (kills_agent && is_agent)
        };
        let has_namespaces = processes.iter().any(|process| is_victim(process, Victim::SecondStage));
        let doomed: Vec<_> = processes.into_iter().filter(is_doomed).collect();
        // Without namespaces, nobody is left who could end the processes of an agent before the next daemon.
        if !has_namespaces && kills_daemon && victims.contains(&Victim::Supervisor) {
            return Struck::Doomed(doomed);
        }
        self.await_ends_alone(&doomed, killed_at);
        Struck::Done
    }

    fn suspend(&self, time: Duration, client: Option<&mut Client>) -> Struck {
        let daemons: Vec<_> =
            self.env.processes().into_iter().filter(|process| is_victim(process, Victim::Daemon)).collect();
        let (Some(daemon), Some(client)) = (daemons.first(), client) else { return Struck::Nothing };
        if kill_process(daemon.pid, Signal::STOP).is_err() {
            return Struck::Nothing;
        }
        client.wait_at_most(time);
        kill_process(daemon.pid, Signal::CONT).ok();
        Struck::Done
    }
}

pub(crate) fn is_victim(process: &Process, victim: Victim) -> bool {
    let command = process.command.trim_end();
    match victim {
        Victim::Daemon => command.contains(" daemon run"),
        Victim::Supervisor => command.ends_with(" supervise"),
        Victim::SecondStage => command.contains(" supervise --stage"),
        Victim::Agent => command.contains(" demo-agent"),
        Victim::Tool => command.starts_with("sh -c") || command.starts_with("sleep"),
        Victim::Git => command.starts_with("git ") || command.contains("/git "),
    }
}

fn leave_lock(path: &Path) -> Struck {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => Struck::Lasting(Remedy::RemoveFile(path.to_owned())),
        Err(_) => Struck::Nothing,
    }
}
