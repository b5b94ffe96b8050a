//! Picks the entry: the hidden ones first, so that the faces stay faces.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    match first.as_deref().and_then(|first| first.to_str()) {
        Some(coppice::sandbox::supervisor::ENTRY) => coppice::sandbox::supervisor::main(arguments),
        Some("daemon") if arguments.next().is_some_and(|verb| verb == "run") => {
            coppice::server::daemon::main(arguments)
        }
        _ => ExitCode::from(2),
    }
}
