//! How a process ends: its exit, and the last of what it said.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tracing::trace;

use crate::backend::transport::lines::Tail;
use crate::backend::transport::spawn::Exit;

/// How much of what a process wrote to stderr is kept.
const STDERR_TAIL: usize = 4 * 1024;

/// How long the last output of a dead process is waited for: a stray child may hold the pipe open.
const DRAIN: Duration = Duration::from_secs(1);

/// The end of a process, waited for.
pub(crate) struct Ending {
    exit: BoxFuture<'static, Exit>,
    /// The status, and how long more output is waited for.
    exited: Option<(String, Instant)>,
    has_output: bool,
    /// `None` when stderr is read to its end.
    stderr_ended: Option<oneshot::Receiver<()>>,
    stderr_tail: Arc<Mutex<Tail>>,
}

impl Ending {
    /// The ending, and the task that reads stderr.
    pub(crate) fn new(
        exit: BoxFuture<'static, Exit>,
        stderr: Box<dyn AsyncRead + Send + Unpin>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let stderr_tail = Arc::new(Mutex::new(Tail::new(STDERR_TAIL)));
        let (end, stderr_ended) = oneshot::channel();
        let task = drain(stderr, Arc::clone(&stderr_tail), end);
        (Self { exit, exited: None, has_output: true, stderr_ended: Some(stderr_ended), stderr_tail }, task)
    }

    pub(crate) fn has_output(&self) -> bool {
        self.has_output
    }

    /// Output came: there may be more.
    pub(crate) fn on_output(&mut self) {
        if let Some((_, until)) = &mut self.exited {
            *until = Instant::now() + DRAIN;
        }
    }

    pub(crate) fn on_output_closed(&mut self) {
        self.has_output = false;
    }

    /// Ends when the process has, with its status and the last of its stderr: at once if all it said is read, else
    /// when nothing came for a while. May be dropped and called again.
    pub(crate) async fn wait(&mut self) -> (String, String) {
        loop {
            let until = match &self.exited {
                Some((status, _)) if !self.has_output && self.stderr_ended.is_none() => {
                    return (status.clone(), self.tail());
                }
                Some((_, until)) => Some(*until),
                None => None,
            };
            tokio::select! {
                biased;
                () = ended(self.stderr_ended.as_mut()) => self.stderr_ended = None,
                exit = &mut self.exit, if until.is_none() => {
                    self.exited = Some((exit.to_string(), Instant::now() + DRAIN));
                }
                () = wait_until(until) => {
                    let status = self.exited.as_ref().map(|(status, _)| status.clone()).unwrap_or_default();
                    return (status, self.tail());
                }
            }
        }
    }

    fn tail(&self) -> String {
        self.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

async fn ended(stderr: Option<&mut oneshot::Receiver<()>>) {
    match stderr {
        // Nothing is ever sent: the sender is dropped.
        Some(ended) => drop(ended.await),
        None => std::future::pending().await,
    }
}

pub(crate) async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Reads stderr to its end: an agent that finds it full would stop. `_end` is dropped then, which is the signal.
async fn drain(mut stderr: Box<dyn AsyncRead + Send + Unpin>, tail: Arc<Mutex<Tail>>, _end: oneshot::Sender<()>) {
    let mut chunk = vec![0; 8 * 1024];
    loop {
        match stderr.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                trace!(bytes = read, "agent wrote to stderr");
                tail.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..read]);
            }
        }
    }
}
