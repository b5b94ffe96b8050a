//! The process inside a cage: reads calls, performs each on a thread of its own, answers in the order in which they end.
//!
//! The end of its input is the end of everything that it does. It logs nothing; what goes wrong with a call is its answer.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::halt::Halt;
use super::root::Root;
use super::wire::{Order, Reply, Request};
use crate::tools::{Answer, command, files};

/// The argument that selects this entry.
pub const ENTRY: &str = "work-inside";

/// What the process is started with, after its program.
pub fn arguments(tree: &Path, plan: Option<&Path>) -> Vec<String> {
    let paths = std::iter::once(tree).chain(plan).map(|path| path.to_string_lossy().into_owned());
    std::iter::once(ENTRY.to_owned()).chain(paths).collect()
}

/// Runs as that process: the work tree, and the file of the plan while one is made.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(tree) = arguments.next().map(PathBuf::from) else { return ExitCode::FAILURE };
    let plan = arguments.next().map(PathBuf::from);
    let served = Root::open(&tree, plan.as_deref()).and_then(|root| serve(root, io::stdin(), io::stdout()));
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Answers calls until the input ends.
pub(super) fn serve(root: Root, input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    let desk = Arc::new(Desk { root, running: Mutex::default(), output: Mutex::new(Box::new(output)) });
    let ended = read(&desk, input);
    lock(&desk.running).values().for_each(|halt| halt.stop());
    ended
}

fn read(desk: &Arc<Desk>, input: impl Read) -> io::Result<()> {
    for line in BufReader::new(input).lines() {
        match serde_json::from_str(&line?)? {
            Order::Call { id, request } => {
                let halt = Arc::new(Halt::default());
                lock(&desk.running).insert(id, Arc::clone(&halt));
                let work = Arc::clone(desk);
                let thread = thread::Builder::new().name(format!("call-{id}"));
                if let Err(error) = thread.spawn(move || work.work(id, &halt, &request)) {
                    desk.answer(id, Err(format!("there is no room for another call: {error}")));
                }
            }
            Order::Cancel { id } => {
                if let Some(halt) = lock(&desk.running).remove(&id) {
                    halt.stop();
                }
            }
        }
    }
    Ok(())
}

/// What the threads share.
struct Desk {
    root: Root,
    running: Mutex<HashMap<u64, Arc<Halt>>>,
    output: Mutex<Box<dyn Write + Send>>,
}

impl Desk {
    fn work(&self, id: u64, halt: &Halt, request: &Request) {
        // A call is a wall: what breaks in one is told to its caller, and the others go on.
        let performed = panic::catch_unwind(AssertUnwindSafe(|| self.perform(halt, request)));
        self.answer(id, performed.unwrap_or_else(|_| Err("the tool broke at this call; try another way".to_owned())));
    }

    fn perform(&self, halt: &Halt, request: &Request) -> Result<Answer, String> {
        match request {
            Request::Files(request) => files::act::perform(&self.root, request),
            Request::Command(request) => command::act::perform(self.root.path(), halt, request),
        }
    }

    fn answer(&self, id: u64, outcome: Result<Answer, String>) {
        lock(&self.running).remove(&id);
        let Ok(mut line) = serde_json::to_vec(&Reply { id, outcome: outcome.into() }) else { return };
        line.push(b'\n');
        let mut output = lock(&self.output);
        // Nobody reads any more: the end of the input says so too.
        output.write_all(&line).and_then(|()| output.flush()).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
