//! What a round does: pure functions from a seed to random steps, and to the steps of a directed schedule.

use std::fmt;

use crate::script::{ask, crash, delegate, run, say, steps as script, write};

/// One act of a person, and what strikes while it happens.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) act: Act,
    pub(crate) strike: Option<Strike>,
}

/// Faults that strike during an act.
#[derive(Debug, Clone)]
pub(crate) struct Strike {
    pub(crate) moment: Moment,
    /// Without any, the step waits for the end of its turn.
    pub(crate) faults: Vec<Fault>,
    /// Happens under a fault that lasts.
    pub(crate) act: Option<Act>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// So many milliseconds after the act began, or when it has ended, whichever comes first.
    AfterMs(u64),
    /// When the processes of [`Turn::Background`] are there.
    ToolRuns,
}

/// A number that becomes one of those that are there when it is used.
pub(crate) type Pick = usize;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    New(Turn),
    /// The same, and waits for the end of the turn.
    Run(Turn),
    Send(Pick, Turn),
    /// The same, and waits for the end of the turn.
    SendAndWait(Pick, Turn),
    Stop(Pick),
    Resume(Pick),
    Undo(Pick),
    Rollback(Pick, u32),
    Diff(Pick),
    Merge(Pick, Style),
    /// The user reverts the last merge.
    TakeMergeBack,
    /// The user commits a line to the file that sessions write, too.
    UserCommit,
    Rebase(Pick),
    Archive(Pick),
    Remove(Pick),
    Restore(Pick),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Squash,
    NoFf,
    Rebase,
}

/// What the agent does in a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    /// Writes a file of its own and answers.
    Quick,
    /// Writes files of its own one after the other, by a command.
    Busy,
    /// Writes a file of its own and waits in a command until somebody stops it.
    Endless,
    /// The same, and the command has started a process that left its session.
    Background,
    /// Writes nothing.
    Idle,
    /// Writes the file that others write, too.
    Shared,
    /// Lets a child write a file of its own.
    Delegate,
    Ask,
    Crash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill(Victim, Pick),
    /// Kills one or two processes of the only turn at once; what was below them ends in time without a new daemon.
    KillTurn(Victim, Option<Victim>),
    /// The daemon stands still for so many milliseconds.
    Suspend(u64),
    /// The disk has no more than so many KiB left.
    FullDisk(u64),
    ReadOnlyRepository,
    MovedRepository,
    DeletedWorktree(Pick),
    DeletedBranch(Pick),
    DeletedRuntimeDirectory,
    RepositoryIndexLock,
    WorktreeIndexLock(Pick),
    // The place for a deleted database file, once the daemon notices it.
}

/// The two processes of [`Turn::Background`].
pub(crate) const BACKGROUND: &str = "sleep 3601";
pub(crate) const FOREGROUND: &str = "sleep 3600";

/// Whose process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Daemon,
    Supervisor,
    SecondStage,
    Agent,
    Tool,
    Git,
}

/// Whose processes [`kill_pairs`] kills.
const TURN_VICTIMS: [Victim; 5] =
    [Victim::Daemon, Victim::Supervisor, Victim::SecondStage, Victim::Agent, Victim::Tool];

/// A round for each process of a turn and for each pair of them: they are killed while a tool runs, and a session that is
/// created afterwards finds nothing but the files of its base.
pub(crate) fn kill_pairs() -> Vec<Vec<Step>> {
    let seconds = |first: usize| TURN_VICTIMS[first + 1..].iter().copied().map(Some);
    let pairs = TURN_VICTIMS.into_iter().enumerate().flat_map(|(index, first)| {
        std::iter::once(None).chain(seconds(index)).map(move |second| Fault::KillTurn(first, second))
    });
    let round = |fault| {
        let kill = Strike { moment: Moment::ToolRuns, faults: vec![fault], act: None };
        vec![Step { act: Act::New(Turn::Background), strike: Some(kill) }, undisturbed(Act::New(Turn::Idle))]
    };
    pairs.map(round).collect()
}

/// Fills the disk `count` times, at random moments of the acts that write most: turns and their checkpoints, merges,
/// removals and undos. The log is written during all of them.
pub(crate) fn full_disks(seed: u64, count: usize) -> Vec<Step> {
    let mut random = Random(seed);
    // The second session stays, so that a removal is not the end of all of them.
    let mut steps = vec![undisturbed(Act::New(Turn::Quick)), undisturbed(Act::New(Turn::Quick))];
    for index in 0..count {
        let style = [Style::Squash, Style::NoFf, Style::Rebase][random.below(3)];
        // And about how many milliseconds it takes.
        let (act, time) = match index % 6 {
            0 => (Act::SendAndWait(1, Turn::Busy), 600),
            1 => (Act::SendAndWait(1, Turn::Quick), 160),
            2 => (Act::Undo(1), 60),
            3 => (Act::Merge(1, style), 120),
            4 => (Act::Run(Turn::Quick), 300),
            _ => (Act::Remove(0), 50),
        };
        // A merge, an undo and a removal need work of a turn to start with.
        if let Act::Undo(which) | Act::Merge(which, _) | Act::Remove(which) = act {
            steps.push(undisturbed(Act::Send(which, Turn::Quick)));
        }
        let faults = vec![Fault::FullDisk([0, 4, 16, 64][random.below(4)])];
        let moment = Moment::AfterMs(u64::try_from(random.below(time)).unwrap());
        steps.push(Step { act, strike: Some(Strike { moment, faults, act: None }) });
        if let Act::Remove(_) = act {
            steps.push(undisturbed(Act::Restore(0)));
        }
    }
    steps
}

/// An act that nothing strikes, up to the end of its turn.
fn undisturbed(act: Act) -> Step {
    Step { act, strike: Some(Strike { moment: Moment::AfterMs(0), faults: Vec::new(), act: None }) }
}

/// The steps of a seed.
pub(crate) fn steps(seed: u64, count: usize) -> Vec<Step> {
    let mut random = Random(seed);
    (0..count).map(|index| step(&mut random, index)).collect()
}

fn step(random: &mut Random, index: usize) -> Step {
    let act = if index < 2 { Act::New(turn(random)) } else { act(random) };
    let strike = (random.below(10) < 7).then(|| strike(random));
    Step { act, strike }
}

fn strike(random: &mut Random) -> Strike {
    let moment = Moment::AfterMs([0, 5, 20, 60, 120, 250, 500][random.below(7)]);
    let count = 1 + random.below(4) / 3;
    let faults = (0..count).map(|_| fault(random)).collect();
    let act = (random.below(2) == 0).then(|| act(random));
    Strike { moment, faults, act }
}

fn act(random: &mut Random) -> Act {
    let which = random.below(12);
    match random.below(24) {
        0..5 => Act::New(turn(random)),
        5..10 => Act::Send(which, turn(random)),
        10 => Act::Stop(which),
        11 => Act::Resume(which),
        12 => Act::Undo(which),
        13 => Act::Rollback(which, u32::try_from(random.below(3)).unwrap()),
        14 => Act::Diff(which),
        15..18 => Act::Merge(which, [Style::Squash, Style::NoFf, Style::Rebase][random.below(3)]),
        18 => Act::TakeMergeBack,
        19 => Act::UserCommit,
        20 => Act::Rebase(which),
        21 => Act::Archive(which),
        22 => Act::Remove(which),
        23.. => Act::Restore(which),
    }
}

fn turn(random: &mut Random) -> Turn {
    match random.below(12) {
        0..3 => Turn::Quick,
        3..6 => Turn::Busy,
        6..8 => Turn::Endless,
        8 => Turn::Shared,
        9 => Turn::Delegate,
        10 => Turn::Ask,
        11.. => Turn::Crash,
    }
}

fn fault(random: &mut Random) -> Fault {
    let which = random.below(12);
    match random.below(24) {
        0..4 => Fault::Kill(Victim::Daemon, 0),
        4 | 5 => Fault::Kill(Victim::Supervisor, which),
        6 => Fault::Kill(Victim::SecondStage, which),
        7 => Fault::Kill(Victim::Agent, which),
        8 => Fault::Kill(Victim::Tool, which),
        9 | 10 => Fault::Kill(Victim::Git, which),
        11 => Fault::Suspend([50, 300, 900][random.below(3)]),
        12..16 => Fault::FullDisk([0, 4, 64, 512][random.below(4)]),
        16 => Fault::ReadOnlyRepository,
        17 => Fault::MovedRepository,
        18 | 19 => Fault::DeletedWorktree(which),
        20 => Fault::DeletedBranch(which),
        21 => Fault::DeletedRuntimeDirectory,
        22 => Fault::RepositoryIndexLock,
        23.. => Fault::WorktreeIndexLock(which),
    }
}

impl Fault {
    pub(crate) fn kills_daemon(self) -> bool {
        matches!(
            self,
            Fault::Kill(Victim::Daemon, _)
                | Fault::KillTurn(Victim::Daemon, _)
                | Fault::KillTurn(_, Some(Victim::Daemon))
        )
    }
}

impl Turn {
    /// The prompt of a session's turn: it writes no file but those below the session's own directory, and the shared one.
    pub(crate) fn prompt(self, directory: &str, number: usize) -> String {
        let own = write(&format!("{directory}/{number}.txt"), &format!("{directory} {number}"));
        match self {
            Turn::Quick => script(&[own, say("done")]),
            Turn::Busy => {
                let command = format!(
                    "mkdir -p {directory}; for n in 1 2 3 4 5 6 7 8; do echo $n > {directory}/{number}-$n; sleep 0.05; done"
                );
                script(&[own, run(&command), say("done")])
            }
            Turn::Endless => script(&[own, run("sleep 3600"), say("done")]),
            Turn::Background => {
                // An ignored file, too: no status shows it when it comes into another worktree.
                let command =
                    format!("mkdir build; touch build/left; setsid {BACKGROUND} >/dev/null 2>&1 & {FOREGROUND}");
                script(&[own, run(&command), say("done")])
            }
            Turn::Idle => say("done"),
            Turn::Shared => script(&[own, write("shared.txt", &format!("{directory} {number}")), say("done")]),
            Turn::Delegate => {
                let child = write(&format!("{directory}/{number}-child.txt"), "child");
                script(&[own, delegate("general", &script(&[child, say("done")])), say("done")])
            }
            Turn::Ask => script(&[own, ask("Which one?", &["this", "that"])]),
            Turn::Crash => script(&[own, crash()]),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.act)?;
        let Some(strike) = &self.strike else { return Ok(()) };
        match strike.moment {
            Moment::AfterMs(_) if strike.faults.is_empty() => {}
            Moment::AfterMs(time) => write!(f, ", after {time} ms {:?}", strike.faults)?,
            Moment::ToolRuns => write!(f, ", when its tool runs {:?}", strike.faults)?,
        }
        strike.act.map_or(Ok(()), |act| write!(f, ", then {act:?}"))
    }
}

/// SplitMix64: small, and the same everywhere and for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }
}
