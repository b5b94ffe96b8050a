//! Random acts and faults against a real daemon with the scripted agent: whatever happens, the invariants of `model` hold.
//!
//! `tests/chaos/run` starts it; a plain `cargo test` does not. Each round has a home and a repository of its own and a seed
//! of its own, which decides all of its steps.

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

/// Steps that share one home: enough for sessions to meet, few enough to read when one fails.
const ROUND: usize = 20;

struct Options {
    seed: u64,
    count: usize,
    is_verbose: bool,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { seed: u64::from(std::process::id()), count: 100, is_verbose: false };
        while let Some(name) = arguments.next() {
            let mut number =
                || arguments.next().and_then(|text| text.parse().ok()).ok_or(format!("{name} needs a number"));
            match name.as_str() {
                "--seed" => options.seed = number()?,
                "--count" => options.count = usize::try_from(number()?).map_err(|error| error.to_string())?,
                "--verbose" => options.is_verbose = true,
                other => return Err(format!("unknown option `{other}`; expected --seed, --count or --verbose")),
            }
        }
        Ok(options)
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
    let (begun, mut total) = (Instant::now(), Tally::default());
    let rounds = options.count.div_ceil(ROUND);
    for (round, seed) in (0..rounds).zip(options.seed..) {
        let count = ROUND.min(options.count - round * ROUND);
        let Some(tally) = run_round(seed, count, options.is_verbose) else {
            println!("repeat it with: tests/chaos/run --seed {seed} --count {count}");
            return ExitCode::FAILURE;
        };
        total.add(&tally);
    }
    println!(
        "seed {}: {} steps, {} faults, {} without a target, in {} s; the slowest answer took {} ms",
        options.seed,
        options.count,
        total.faults,
        total.missed,
        begun.elapsed().as_secs(),
        total.slowest.as_millis()
    );
    ExitCode::SUCCESS
}

/// Performs the steps of one seed in a new home; `None` when an invariant was violated.
fn run_round(seed: u64, count: usize, is_verbose: bool) -> Option<Tally> {
    let steps = step::steps(seed, count);
    let mut trace = Vec::new();
    let played = catch_unwind(AssertUnwindSafe(|| {
        let mut round = Round::new();
        for (index, step) in steps.iter().enumerate() {
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
        "\nseed {seed}, step {}: an invariant is violated (see above). The steps so far:",
        trace.len().saturating_sub(1)
    );
    println!("{}", trace.join("\n"));
    None
}
