//! Wall and processor time of a piece of work, medians, and what the kernel says about a process.

use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

/// What a piece of work cost, its child processes included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// Does the work and says what it cost.
pub(crate) fn cost<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (cpu, wall) = (processor_time(), Instant::now());
    let result = work();
    (result, Cost { wall: wall.elapsed(), cpu: processor_time().saturating_sub(cpu) })
}

/// Time that this process and its finished children spent on a processor, in steps of 10 ms.
fn processor_time() -> Duration {
    ticks("self", 11..15)
}

/// Time that another process spent on a processor, its children left out, in steps of 10 ms.
pub(crate) fn processor_time_of(pid: u32) -> Duration {
    ticks(&pid.to_string(), 11..13)
}

/// Adds up fields of `stat`, counted behind the program's name.
fn ticks(process: &str, fields: Range<usize>) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The second field may hold spaces; what follows its closing brace does not.
    let all: Vec<_> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    let ticks: u64 = all[fields].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

pub(crate) fn median<T: Copy + Ord>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// The value below which that many hundredths of all values lie.
pub(crate) fn percentile<T: Copy + Ord>(values: &[T], hundredths: usize) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * hundredths / 100).min(sorted.len() - 1)]
}

pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// What a process did so far: time on a processor, and how often it went to sleep by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activity {
    pub(crate) cpu: Duration,
    pub(crate) switches: u64,
}

pub(crate) fn activity(pid: u32) -> Activity {
    let mut total = Activity { cpu: Duration::ZERO, switches: 0 };
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        // A thread may end in between; what it did is then lost to this count.
        let schedstat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let on_processor = schedstat.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or_default();
        total.cpu += Duration::from_nanos(on_processor);
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        total.switches += field(&status, "voluntary_ctxt_switches:").unwrap_or_default();
    }
    total
}

/// Memory of a process that no file backs, in KiB.
pub(crate) fn anonymous_memory(pid: u32) -> u64 {
    field(&fs::read_to_string(format!("/proc/{pid}/status")).unwrap(), "RssAnon:").unwrap()
}

fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse().ok())
}

/// A process and everything below it.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let parent = |process: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pairs: Vec<(u32, u32)> = names.filter_map(|process| Some((process, parent(process)?))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(above) = found.get(next).copied() {
        found.extend(pairs.iter().filter(|(_, parent)| *parent == above).map(|(process, _)| *process));
        next += 1;
    }
    found
}

/// A process's share of the memory in use, in kilobytes; shared pages count in part.
pub(crate) fn memory_of(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    field(&rollup, "Pss:").unwrap_or_default()
}
