//! Stops every process of a work tree and lets them continue, by signals that are sent from outside.
//!
//! Signals, because the daemon of an ordinary user has no cgroup that it could freeze. In namespaces the init process stops
//! all others in one step, so that nobody escapes by starting others and ending at once; elsewhere they are stopped one by
//! one until no more are found. A stopped process can be continued by a timer of its own, so the kernel's count of its runs
//! is compared when it is let go. Supervisors, keepers and init processes are never stopped: they notice when the daemon
//! dies, and a kill reaches what is stopped.

#![expect(clippy::disallowed_methods, reason = "the kernel does not report when a process of others has stopped")]

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::cage::Isolation;
use super::namespace::STOP_OTHERS;
use super::supervisors::StartedSupervisor;
use super::tree::{self, ProcessStat};

/// How long processes may take to stop before they are killed, and to be gone before nothing can be done about them.
const STOP_LIMIT: Duration = Duration::from_secs(8);
const KILL_LIMIT: Duration = Duration::from_secs(12);
/// How much of a round between two looks counts towards these limits. Where the processors are busy with others, neither
/// this thread nor the processes run for a while, which does not show that they cannot be stopped.
const LONGEST_ROUND: Duration = Duration::from_millis(100);
/// How long a process may be busy in the kernel before its children are continued for a moment: it may wait for one of
/// them to execute its program, where the kernel does not say so.
const FORK_LIMIT: Duration = Duration::from_millis(20);
/// How long a process may be busy in the kernel if it hides what it does there. It is likely to have made that wait.
const HIDDEN_LIMIT: Duration = Duration::from_millis(250);
/// Where the kernel waits for a child that shares the memory of its parent to execute its program or to end (`vfork`),
/// in its various versions.
const FORK_WAITS: [&str; 4] = ["kernel_clone", "wait_for_vfork_done", "_do_fork", "do_fork"];
/// The pauses between two looks.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(4);
/// How long a child is continued for at first; each time it takes twice as long, since others may keep the processors busy.
const FIRST_MOMENT: Duration = Duration::from_millis(1);
/// How often a process may be found running after it had stopped.
const LIVES: u8 = 3;

/// One process, also after its pid has passed to another.
#[derive(Debug)]
pub(super) struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// The process with that pid, if it is still the one that started at that time.
    pub(super) fn open(pid: Pid, started: u64) -> Option<Self> {
        let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        (ProcessStat::read(pid)?.started == started).then_some(Self(process))
    }

    /// The process that connected a socket. It fails once that process has ended, or where the kernel has no such handles.
    #[expect(unsafe_code, reason = "rustix has no call for this option")]
    pub(super) fn of_peer(connection: BorrowedFd<'_>) -> io::Result<Self> {
        let mut handle: libc::c_int = -1;
        let mut size = size_of_val(&handle) as libc::socklen_t;
        // SAFETY: the pointers are to the value and to its size, and the descriptor is borrowed, so it is open.
        let answer = unsafe {
            let (value, size) = ((&raw mut handle).cast(), &raw mut size);
            libc::getsockopt(connection.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERPIDFD, value, size)
        };
        match answer {
            // SAFETY: the kernel made the descriptor for this call, and nobody else has it.
            0 => Ok(Self(unsafe { OwnedFd::from_raw_fd(handle) })),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// A process that is gone needs no signal.
    pub(super) fn send(&self, signal: Signal) {
        pidfd_send_signal(&self.0, signal).ok();
    }

    /// Waits for its end; whether that came.
    pub(super) fn wait_for_end(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).unwrap_or_default();
        // The end of any child interrupts a call.
        let ended = retry_on_intr(|| poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit)));
        matches!(ended, Ok(1..))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whose processes are meant.
#[derive(Debug)]
pub(super) struct Scope {
    worktree: PathBuf,
    roots: Vec<Root>,
}

/// A process of ours with all that is below it.
#[derive(Debug)]
struct Root {
    pid: Pid,
    /// See `ProcessStat::started`.
    started: u64,
    reach: Reach,
    /// The process itself, if it is the first one in its namespaces and can stop all others there.
    init: Option<ProcessHandle>,
}

/// Why a process is in the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It is below a supervisor that was started for the work tree.
    Own,
    /// It works in the work tree, below a server that several sessions share.
    Shared,
}

/// Processes that cannot run. Dropping it lets them continue.
#[derive(Debug)]
pub(super) struct Frozen {
    scope: Scope,
    /// What somebody else had stopped before, and stays so.
    stopped_before: HashSet<(Pid, u64)>,
    /// Parents first.
    members: Vec<Member>,
    /// The last look before everything was still.
    seen: Vec<Sighting>,
}

/// Processes could not be stopped, nor killed.
#[derive(Debug)]
pub(super) struct Unstoppable;

/// Stops everything in the scope; returns when two looks in a row have found the same processes, none of which ran.
pub(super) fn freeze(scope: Scope) -> Result<Frozen, Unstoppable> {
    let mut rounds = Rounds { spent: Duration::ZERO, last: Instant::now() };
    let stopped_before = scope.look().iter().filter(|seen| seen.is_stopped()).map(Sighting::key).collect();
    let mut frozen = Frozen { scope, stopped_before, members: Vec::new(), seen: Vec::new() };
    let mut pause = FIRST_PAUSE;
    loop {
        frozen.scope.stop_at_once();
        let seen = frozen.scope.look();
        let is_still = seen.iter().all(Sighting::is_still);
        if is_still && seen == frozen.seen {
            return Ok(frozen);
        }
        let spent = rounds.count(Instant::now());
        if spent > KILL_LIMIT {
            // Better no process of the work tree than one that nobody can stop.
            frozen.scope.own_inits().for_each(|(_, init)| init.send(Signal::KILL));
            return Err(Unstoppable);
        }
        frozen.stop(&seen, spent);
        frozen.seen = seen;
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The time spent on stopping processes.
struct Rounds {
    spent: Duration,
    last: Instant,
}

impl Rounds {
    /// The time spent so far, now that another round is over.
    fn count(&mut self, now: Instant) -> Duration {
        self.spent += now.saturating_duration_since(self.last).min(LONGEST_ROUND);
        self.last = now;
        self.spent
    }
}

impl Frozen {
    /// Lets everything continue; how many processes had run although they were stopped. Those are killed.
    pub(super) fn thaw(self) -> usize {
        let before: HashMap<_, _> = self.seen.iter().map(|seen| (seen.key(), seen)).collect();
        let now = self.scope.look();
        let has_run = |now: &&Sighting| match (before.get(&now.key()), now.reach) {
            (Some(before), _) => *before != *now,
            (None, Reach::Own) => true,
            // A server that others use too is not stopped, and may start commands at any time.
            (None, Reach::Shared) => false,
        };
        let ran: Vec<_> = now.iter().filter(|now| !now.is_dead()).filter(has_run).collect();
        for process in ran.iter().filter_map(|ran| ProcessHandle::open(ran.pid, ran.started)) {
            process.send(Signal::KILL);
        }
        let there: HashSet<_> = now.iter().filter(|now| !now.is_dead()).map(Sighting::key).collect();
        let gone = self.seen.iter().filter(|seen| !seen.is_dead() && !there.contains(&seen.key()));
        // Nobody ends who is stopped, unless somebody kills him: a server that others use too may do that to its commands.
        ran.len() + gone.filter(|seen| seen.reach == Reach::Own).count()
    }

    /// Kills what was left behind by a process that ended: everything whose parent is a supervisor or a stage, except for
    /// the program that these were started for. Whether it is gone.
    pub(super) fn kill_orphans(&self) -> bool {
        let mut doomed = self.scope.list_orphans();
        doomed.retain(|orphan| self.seen.iter().any(|seen| seen.pid == *orphan));
        for seen in &self.seen {
            // Parents come first.
            if doomed.contains(&seen.parent) {
                doomed.insert(seen.pid);
            }
        }
        self.kill(|member| doomed.contains(&member.pid))
    }

    /// Kills everything; whether it is gone.
    pub(super) fn kill_all(&self) -> bool {
        self.scope.own_inits().for_each(|(_, init)| init.send(Signal::KILL));
        self.kill(|_| true)
    }

    fn kill(&self, is_meant: impl Fn(&Member) -> bool) -> bool {
        let meant = || self.members.iter().filter(|member| is_meant(member));
        meant().for_each(|member| member.process.send(Signal::KILL));
        let deadline = Instant::now() + KILL_LIMIT;
        meant().all(|member| member.process.wait_for_end(deadline.saturating_duration_since(Instant::now())))
    }

    /// Stops what is new, and deals with what did not stop.
    fn stop(&mut self, seen: &[Sighting], elapsed: Duration) {
        let now: HashMap<_, _> = seen.iter().map(|seen| (seen.key(), seen)).collect();
        self.members.retain(|member| now.contains_key(&member.key()));
        for member in &mut self.members {
            if let Some(seen) = now.get(&member.key()) {
                member.follow(seen, elapsed);
            }
        }
        if (FORK_LIMIT..STOP_LIMIT).contains(&elapsed) {
            let blocked: HashSet<Pid> = seen.iter().filter(|seen| seen.is_blocked()).map(|seen| seen.pid).collect();
            let waited_for =
                |member: &&mut Member| now.get(&member.key()).is_some_and(|seen| blocked.contains(&seen.parent));
            self.members.iter_mut().filter(waited_for).for_each(Member::continue_for_a_moment);
        }
        let known: HashSet<_> = self.members.iter().map(Member::key).collect();
        let new = seen.iter().filter(|seen| !known.contains(&seen.key()));
        self.members.extend(new.filter_map(|seen| Member::stop(seen, self.stopped_before.contains(&seen.key()))));
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Children first: a shell that runs again must not find one of its jobs stopped.
        for member in self.members.iter().rev().filter(|member| !member.was_stopped) {
            member.process.send(Signal::CONT);
        }
    }
}

/// A process that was sent a stop signal.
#[derive(Debug)]
struct Member {
    pid: Pid,
    started: u64,
    process: ProcessHandle,
    /// Somebody else stopped it before, and it stays so.
    was_stopped: bool,
    /// It was seen to stand still.
    is_settled: bool,
    /// Until when it may run, and how long it may the next time.
    runs_until: Option<Instant>,
    moment: Duration,
    lives: u8,
}

impl Member {
    fn stop(seen: &Sighting, was_stopped: bool) -> Option<Self> {
        if seen.is_dead() {
            return None;
        }
        let process = ProcessHandle::open(seen.pid, seen.started)?;
        let is_settled = seen.is_stopped();
        if !is_settled {
            process.send(Signal::STOP);
        }
        let (pid, started) = (seen.pid, seen.started);
        let (runs_until, moment) = (None, FIRST_MOMENT);
        Some(Self { pid, started, process, was_stopped, is_settled, runs_until, moment, lives: LIVES })
    }

    fn key(&self) -> (Pid, u64) {
        (self.pid, self.started)
    }

    fn follow(&mut self, seen: &Sighting, elapsed: Duration) {
        if seen.is_still() {
            self.is_settled = true;
            return;
        }
        if elapsed < STOP_LIMIT && self.runs_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        if std::mem::take(&mut self.is_settled) {
            self.lives -= 1;
        }
        let is_given_up = self.lives == 0 || elapsed > seen.stop_limit();
        self.lives = self.lives.max(1);
        self.was_stopped = false;
        self.process.send(if is_given_up { Signal::KILL } else { Signal::STOP });
    }

    fn continue_for_a_moment(&mut self) {
        let now = Instant::now();
        if self.runs_until.is_none_or(|until| until < now) {
            self.runs_until = Some(now + self.moment);
            self.moment *= 2;
            self.is_settled = false;
            self.process.send(Signal::CONT);
        }
    }
}

/// A process as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sighting {
    pid: Pid,
    started: u64,
    parent: Pid,
    reach: Reach,
    threads: Vec<ThreadSighting>,
    visibility: Visibility,
}

/// Whether this process may know what another one does in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Visible,
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ThreadSighting {
    id: std::ffi::OsString,
    state: ThreadState,
    /// How long and how often it has run; empty where the kernel does not count.
    runs: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    Dead,
    Stopped,
    Traced,
    /// It waits in `vfork`. A stop signal does not wake it, but takes effect before it runs any code of its program.
    WaitsForFork,
    /// It waits for something else that no signal interrupts.
    Blocked,
    /// It runs, or any signal wakes it.
    Awake,
}

impl ThreadState {
    /// The letter is that of the kernel; `wait_place` reads the kernel's function in which the thread waits.
    fn parse(letter: u8, wait_place: impl FnOnce() -> String) -> Self {
        match letter {
            b'Z' | b'X' => Self::Dead,
            b'T' => Self::Stopped,
            b't' => Self::Traced,
            b'D' if FORK_WAITS.contains(&wait_place().as_str()) => Self::WaitsForFork,
            b'D' => Self::Blocked,
            _ => Self::Awake,
        }
    }
}

impl Sighting {
    /// Reads what the threads do of a process that is known by its stat.
    fn read(pid: Pid, stat: &ProcessStat, reach: Reach) -> Option<Self> {
        let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
        let threads = tasks.flatten().filter_map(|task| {
            let letter = ProcessStat::parse(&fs::read(task.path().join("stat")).ok()?)?.state;
            let state =
                ThreadState::parse(letter, || fs::read_to_string(task.path().join("wchan")).unwrap_or_default());
            let runs = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            Some(ThreadSighting { id: task.file_name(), state, runs })
        });
        let threads = threads.collect();
        let (started, parent) = (stat.started, stat.parent);
        let visibility = read_visibility(pid);
        is_same(pid, started).then_some(Self { pid, started, parent, reach, threads, visibility })
    }

    fn key(&self) -> (Pid, u64) {
        (self.pid, self.started)
    }

    fn is_still(&self) -> bool {
        self.threads.iter().all(|thread| match thread.state {
            ThreadState::Dead | ThreadState::Stopped | ThreadState::Traced | ThreadState::WaitsForFork => true,
            ThreadState::Blocked | ThreadState::Awake => false,
        })
    }

    fn is_stopped(&self) -> bool {
        self.threads.iter().all(|thread| thread.state == ThreadState::Stopped)
    }

    fn is_dead(&self) -> bool {
        self.threads.iter().all(|thread| thread.state == ThreadState::Dead)
    }

    fn is_blocked(&self) -> bool {
        self.threads.iter().any(|thread| thread.state == ThreadState::Blocked)
    }

    /// How long it may take to stop.
    fn stop_limit(&self) -> Duration {
        match self.visibility {
            Visibility::Hidden if self.is_blocked() => HIDDEN_LIMIT,
            Visibility::Hidden | Visibility::Visible => STOP_LIMIT,
        }
    }
}

/// The files of a process that gave up being inspected (`PR_SET_DUMPABLE`) belong to the superuser.
fn read_visibility(pid: Pid) -> Visibility {
    match fs::metadata(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
        Ok(file) if file.uid() != geteuid().as_raw() => Visibility::Hidden,
        Ok(_) | Err(_) => Visibility::Visible,
    }
}

impl Scope {
    /// The processes of a work tree: all below its own supervisors, and those below others that work there.
    pub(super) fn new(worktree: PathBuf, own: &[StartedSupervisor], shared: &[StartedSupervisor]) -> Self {
        let own = own.iter().filter_map(|supervisor| Root::find(supervisor, Reach::Own));
        let roots = own.chain(shared.iter().filter_map(|supervisor| Root::find(supervisor, Reach::Shared))).collect();
        Self { worktree, roots }
    }

    /// Whether every process that ends leaves its children to an init process of ours, which can stop them in one step.
    pub(super) fn stops_at_once(&self) -> bool {
        self.own_inits().next().is_some()
    }

    /// What was left behind by a process that ended, in this work tree or in another: all children of our own processes
    /// except for the program that these were started for.
    pub(super) fn list_orphans(&self) -> HashSet<Pid> {
        let left_behind = |root: &Root| {
            let children = tree::read_children(root.pid);
            let program = find_eldest(&children);
            children.into_iter().map(|(child, _)| child).filter(move |child| Some(*child) != program)
        };
        self.roots.iter().flat_map(left_behind).collect()
    }

    /// The init processes of namespaces that belong to the work tree alone.
    fn own_inits(&self) -> impl Iterator<Item = (Pid, &ProcessHandle)> {
        let own = self.roots.iter().filter(|root| root.reach == Reach::Own);
        own.filter_map(|root| Some((root.pid, root.init.as_ref()?)))
    }

    /// Has init processes stop all others of their namespaces, and waits until they have.
    fn stop_at_once(&self) {
        self.own_inits().for_each(|(_, init)| init.send(STOP_OTHERS));
        let deadline = Instant::now() + STOP_LIMIT;
        for (pid, _) in self.own_inits() {
            while tree::has_work_for(pid, STOP_OTHERS) && Instant::now() < deadline {
                std::thread::sleep(FIRST_PAUSE);
            }
        }
    }

    /// Every process in the scope, parents before their children.
    fn look(&self) -> Vec<Sighting> {
        let mut found = Vec::new();
        let mut known = HashSet::new();
        for root in &self.roots {
            let is_meant = |pid| match root.reach {
                Reach::Own => true,
                Reach::Shared => works_in(pid, &self.worktree),
            };
            let mut parents = VecDeque::from([(root.pid, root.started, false)]);
            while let Some((parent, started, is_inside)) = parents.pop_front() {
                let children = tree::read_children(parent);
                if !is_same(parent, started) {
                    continue;
                }
                for (child, stat) in children {
                    // One that changes its parent meanwhile is met twice.
                    if !known.insert(child) {
                        continue;
                    }
                    let is_inside = is_inside || is_meant(child);
                    if is_inside {
                        found.extend(Sighting::read(child, &stat, root.reach));
                    }
                    parents.push_back((child, stat.started, is_inside));
                }
            }
        }
        found
    }
}

impl Root {
    /// The innermost process of ours around a command; `None` where the command has ended.
    fn find(supervisor: &StartedSupervisor, reach: Reach) -> Option<Self> {
        match supervisor.isolation {
            Isolation::RulesOnly => {
                let (pid, started) = (supervisor.pid, supervisor.started);
                Some(Self { pid, started, reach, init: None })
            }
            Isolation::Namespaces => {
                let keeper = find_eldest(&tree::read_children(supervisor.pid))?;
                let pid = find_eldest(&tree::read_children(keeper))?;
                let started = ProcessStat::read(pid)?.started;
                Some(Self { pid, started, reach, init: Some(ProcessHandle::open(pid, started)?) })
            }
        }
    }
}

/// Whether a process stands in the work tree, or has a view of the file system that was made for it.
fn works_in(pid: Pid, worktree: &Path) -> bool {
    let of = |name: &str| PathBuf::from(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
    let stands = ["cwd", "root"].iter().any(|name| fs::read_link(of(name)).is_ok_and(|at| at.starts_with(worktree)));
    stands || fs::read(of("mountinfo")).is_ok_and(|mounts| mounts_below(&mounts, worktree))
}

/// Whether something is mounted at a directory or below.
fn mounts_below(mountinfo: &[u8], directory: &Path) -> bool {
    let points = mountinfo.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.map(unescape).any(|point| point.starts_with(directory))
}

/// Undoes the octal escapes with which the kernel writes blanks and backslashes.
fn unescape(text: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        path.push(match (first, after) {
            (b'\\', [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', after @ ..]) => {
                rest = after;
                (high - b'0') * 64 + (middle - b'0') * 8 + (low - b'0')
            }
            _ => *first,
        });
    }
    std::ffi::OsString::from_vec(path).into()
}

/// The child that a process has had for longest: what it was started for.
fn find_eldest(children: &[(Pid, ProcessStat)]) -> Option<Pid> {
    children.iter().min_by_key(|(child, stat)| (stat.started, child.as_raw_nonzero())).map(|(child, _)| *child)
}

/// Whether a pid is still that of the process that started at that time. Where many processes start and end, it soon passes
/// to another, whose children are none of ours.
fn is_same(pid: Pid, started: u64) -> bool {
    ProcessStat::read(pid).is_some_and(|stat| stat.started == started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_look_is_no_reason_to_give_up() {
        let begin = Instant::now();
        let mut rounds = Rounds { spent: Duration::ZERO, last: begin };
        let short = Duration::from_millis(4);
        assert_eq!(rounds.count(begin + short), short);
        let long = begin + short + KILL_LIMIT * 10;
        assert_eq!(rounds.count(long), short + LONGEST_ROUND);
        assert_eq!(rounds.count(long + short), short * 2 + LONGEST_ROUND);
    }

    #[test]
    fn a_thread_is_still_once_it_cannot_run_code_of_its_program() {
        let limits = |letter, place: &str| {
            let state = ThreadState::parse(letter, || place.to_owned());
            let sighting = |visibility| {
                let (pid, reach) = (Pid::INIT, Reach::Own);
                let threads = vec![ThreadSighting { id: "1".into(), state, runs: String::new() }];
                Sighting { pid, started: 0, parent: pid, reach, threads, visibility }
            };
            let (visible, hidden) = (sighting(Visibility::Visible), sighting(Visibility::Hidden));
            (!visible.is_still()).then(|| (visible.stop_limit(), hidden.stop_limit()))
        };
        for (letter, place, expected) in [
            (b'T', "", None),
            (b't', "", None),
            (b'Z', "", None),
            (b'D', "kernel_clone", None),
            (b'D', "wait_for_vfork_done", None),
            (b'D', "copy_process", Some((STOP_LIMIT, HIDDEN_LIMIT))),
            // A process that hides, or a kernel without names.
            (b'D', "0", Some((STOP_LIMIT, HIDDEN_LIMIT))),
            (b'S', "kernel_clone", Some((STOP_LIMIT, STOP_LIMIT))),
            (b'R', "0", Some((STOP_LIMIT, STOP_LIMIT))),
        ] {
            assert_eq!(limits(letter, place), expected, "{} in `{place}`", char::from(letter));
        }
    }

    #[test]
    fn a_view_of_the_file_system_tells_for_which_work_tree_it_was_made() {
        let line = |point: &str| format!("36 35 98:0 /mnt1 {point} rw,noatime master:1 - ext3 /dev/root rw\n");
        for (points, expected) in [
            (&["/", "/proc"][..], false),
            (&["/", "/data/w/one"], true),
            (&["/data/w/one/src"], true),
            (&["/data/w"], false),
            (&["/data/w/one-more"], false),
        ] {
            let mounts: String = points.iter().map(|point| line(point)).collect();
            assert_eq!(mounts_below(mounts.as_bytes(), Path::new("/data/w/one")), expected, "{points:?}");
        }
        assert!(mounts_below(line(r"/data/a\040b\134c").as_bytes(), Path::new("/data/a b\\c")));
    }
}
