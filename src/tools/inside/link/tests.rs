//! Both ends of the conversation, over real pipes: the process is a thread of the test.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::thread::{self, JoinHandle};

use tokio::net::unix::pipe;

use super::*;
use crate::tools::command;
use crate::tools::inside::root::Root;
use crate::tools::inside::serve;

/// A conversation with a process that works in `tree`.
fn link(tree: &Path) -> (Link, JoinHandle<io::Result<()>>) {
    let (input, stdin) = io::pipe().unwrap();
    let (stdout, output) = io::pipe().unwrap();
    let root = Root::open(tree, None).unwrap();
    let process = thread::spawn(move || serve::serve(root, input, output));
    let stdin = pipe::Sender::from_owned_fd(stdin.into()).unwrap();
    (Link::new(stdin, pipe::Receiver::from_owned_fd(stdout.into()).unwrap()), process)
}

fn bash(command: &str) -> Request {
    Request::Command(command::Request::Bash { command: command.to_owned() })
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[tokio::test]
async fn calls_run_beside_each_other() {
    let tree = tempfile::tempdir().unwrap();
    make_fifo(&tree.path().join("f"));
    let (link, _process) = link(tree.path());
    // Neither ends before the other has begun.
    let (one, two) = tokio::join!(link.call(bash("echo there > f")), link.call(bash("cat f")));
    assert_eq!(one.unwrap().text, "exit=0\n--- stdout ---\n--- stderr ---\n");
    assert_eq!(two.unwrap().text, "exit=0\n--- stdout ---\nthere\n--- stderr ---\n");
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_command_with_it() {
    let tree = tempfile::tempdir().unwrap();
    let fifo = tree.path().join("f");
    make_fifo(&fifo);
    let (link, _process) = link(tree.path());
    let (started, is_started) = oneshot::channel();
    let watch = tokio::task::spawn_blocking(move || {
        let mut reader = BufReader::new(File::open(fifo).unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        started.send(()).unwrap();
        // Everybody who could write is gone.
        reader.read_to_string(&mut line).unwrap();
        line
    });
    tokio::select! {
        outcome = link.call(bash("exec 3> f; echo begun >&3; sleep 1000 & sleep 1000; echo over >&3")) => {
            panic!("it ended by itself: {outcome:?}")
        }
        started = is_started => started.unwrap(),
    }
    assert_eq!(watch.await.unwrap(), "begun\n");
    assert!(link.call(bash("true")).await.is_ok());
}

#[tokio::test]
async fn the_end_of_the_conversation_ends_what_runs() {
    let tree = tempfile::tempdir().unwrap();
    let fifo = tree.path().join("f");
    make_fifo(&fifo);
    let (link, process) = link(tree.path());
    let call = tokio::spawn(async move { link.call(bash("exec 3> f; sleep 1000")).await });
    let mut reader = tokio::task::spawn_blocking(|| File::open(fifo)).await.unwrap().unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::task::spawn_blocking(|| process.join()).await.unwrap().unwrap().unwrap();
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

#[tokio::test]
async fn a_process_that_is_gone_answers_what_is_open() {
    for last_words in ["", "nonsense\n", "{\"id\":1", "{\"id\":9,\"error\":\"of another call\"}\n"] {
        let (stdin, mut input) = tokio::io::duplex(1024);
        let (mut output, stdout) = tokio::io::duplex(1024);
        let link = Link::new(stdin, stdout);
        let process = async {
            let mut order = [0; 1];
            input.read_exact(&mut order).await.unwrap();
            output.write_all(last_words.as_bytes()).await.unwrap();
            drop(output);
        };
        let (outcome, ()) = tokio::join!(link.call(bash("true")), process);
        assert_eq!(outcome, Err(GONE.to_owned()), "{last_words}");
        assert!(link.is_over());
        assert_eq!(link.call(bash("true")).await, Err(GONE.to_owned()));
    }
}
