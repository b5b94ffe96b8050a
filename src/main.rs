//! Picks the entry: the hidden ones first, so that the faces stay faces.

use std::env;
use std::process::ExitCode;

use coppice::backend::door::bridge;
use coppice::backend::gemini::call;
use coppice::backend::{demo, registry};
use coppice::sandbox::{hold, supervisor};
use coppice::tools::inside;
use coppice::{cli, server};

/// What the command line does in its own process.
const LOCAL: cli::LocalEntries = cli::LocalEntries {
    daemon: || server::daemon::main(env::args_os().skip(1)),
    diagnose: server::local::diagnose,
    verify: server::local::verify,
    back_up: server::local::back_up,
    rebuild: server::local::rebuild,
};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let first = arguments.next();
    match first.as_deref().and_then(|first| first.to_str()) {
        Some(supervisor::ENTRY) => supervisor::main(arguments),
        Some(hold::ENTRY) => hold::main(arguments),
        Some(registry::DEMO_ENTRY) => demo::main(arguments.map(|argument| argument.to_string_lossy().into_owned())),
        Some(inside::ENTRY) => inside::main(arguments),
        Some(call::ENTRY) => call::main(arguments.map(|argument| argument.to_string_lossy().into_owned())),
        Some(first) if bridge::ENTRY[0] == first && arguments.next().is_some_and(|flag| flag == bridge::ENTRY[1]) => {
            bridge::main()
        }
        _ => cli::run(env::args_os(), LOCAL),
    }
}
