//! Random acts and faults against a real daemon with the scripted agent: whatever happens, the invariants of `model` hold.
//!
//! `tests/chaos/run` starts it; a plain `cargo test` does not. Each round has a home and a repository of its own. A seed of
//! its own decides all of its steps, or a directed schedule does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what it expects by failing, and starts whatever it needs"
)]

mod disk;
mod driver;
#[path = "../it/env.rs"]
#[allow(dead_code, reason = "shared with the integration crate, which uses more of it")]
mod env;
mod fault;
mod model;
mod observe;
#[path = "../it/script.rs"]
#[allow(dead_code, reason = "shared with the integration crate, which uses more of it")]
mod script;
mod step;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use driver::{Round, Tally};
use step::Step;

/// Steps that share one home: enough for sessions to meet, few enough to read when one fails.
const ROUND: usize = 20;

/// How many times the disk is full in one home.
const FULL_DISK_ROUND: usize = 10;

enum Schedule {
    Random,
    KillPairs,
    FullDisks(usize),
}

/// The steps of one home.
struct Plan {
    steps: Vec<Step>,
    /// The arguments that repeat them.
    arguments: String,
}

struct Options {
    schedule: Schedule,
    seed: u64,
    count: usize,
    is_verbose: bool,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let seed = u64::from(std::process::id());
        let mut options = Self { schedule: Schedule::Random, seed, count: 100, is_verbose: false };
        while let Some(name) = arguments.next() {
            let mut number =
                || arguments.next().and_then(|text| text.parse().ok()).ok_or(format!("{name} needs a number"));
            match name.as_str() {
                "--seed" => options.seed = number()?,
                "--count" => options.count = usize::try_from(number()?).map_err(|error| error.to_string())?,
                "--kill-pairs" => options.schedule = Schedule::KillPairs,
                "--full-disks" => {
                    let count = usize::try_from(number()?).map_err(|error| error.to_string())?;
                    options.schedule = Schedule::FullDisks(count);
                }
                "--verbose" => options.is_verbose = true,
                other => {
                    let expected = "--seed, --count, --kill-pairs, --full-disks or --verbose";
                    return Err(format!("unknown option `{other}`; expected {expected}"));
                }
            }
        }
        Ok(options)
    }

    fn plans(&self) -> Vec<Plan> {
        let split = |count: usize, size: usize| {
            let sizes = (0..count.div_ceil(size)).map(move |round| size.min(count - round * size));
            sizes.zip(self.seed..)
        };
        match self.schedule {
            Schedule::Random => {
                let plan = |(count, seed)| Plan {
                    steps: step::steps(seed, count),
                    arguments: format!("--seed {seed} --count {count}"),
                };
                split(self.count, ROUND).map(plan).collect()
            }
            Schedule::KillPairs => {
                let plan = |steps| Plan { steps, arguments: "--kill-pairs".to_owned() };
                step::kill_pairs().into_iter().map(plan).collect()
            }
            Schedule::FullDisks(count) => {
                let plan = |(count, seed)| Plan {
                    steps: step::full_disks(seed, count),
                    arguments: format!("--full-disks {count} --seed {seed}"),
                };
                split(count, FULL_DISK_ROUND).map(plan).collect()
            }
        }
    }
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    // A disk of its own can be filled. Where nothing can be mounted, those faults are left out.
    if let Some(code) = disk::run_again_on_own_disk() {
        return code;
    }
    let (begun, mut total, mut count) = (Instant::now(), Tally::default(), 0);
    for plan in options.plans() {
        let Some(tally) = run_round(&plan, options.is_verbose) else {
            println!("repeat it with: tests/chaos/run {}", plan.arguments);
            return ExitCode::FAILURE;
        };
        total.add(&tally);
        count += plan.steps.len();
    }
    println!(
        "seed {}: {count} steps, {} faults, {} without a target, in {} s; the slowest answer took {} ms",
        options.seed,
        total.faults,
        total.missed,
        begun.elapsed().as_secs(),
        total.slowest.as_millis()
    );
    if let Schedule::KillPairs = options.schedule {
        println!("nothing survived; the last process ended {} ms after a kill", total.slowest_end.as_millis());
    }
    ExitCode::SUCCESS
}

/// Performs steps in a new home; `None` when an invariant was violated.
fn run_round(plan: &Plan, is_verbose: bool) -> Option<Tally> {
    let mut trace = Vec::new();
    let played = catch_unwind(AssertUnwindSafe(|| {
        let mut round = Round::new();
        for (index, step) in plan.steps.iter().enumerate() {
            trace.push(format!("{index:>3}  {step}"));
            if is_verbose {
                println!("{}", trace.last().unwrap());
            }
            let outcome = round.perform(step);
            trace.last_mut().unwrap().push_str(&format!("  => {outcome}"));
            if is_verbose {
                println!("       => {outcome}");
            }
        }
        round.finish()
    }));
    if let Ok(tally) = played {
        return Some(tally);
    }
    println!(
        "\n{}, step {}: an invariant is violated (see above). The steps so far:",
        plan.arguments,
        trace.len().saturating_sub(1)
    );
    println!("{}", trace.join("\n"));
    None
}
