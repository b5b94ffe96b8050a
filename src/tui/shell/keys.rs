//! Keyboard input, while the interface has the terminal.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use futures_util::task::AtomicWaker;
use tokio::sync::oneshot;

mod spelling;

/// The keyboard input of the interface. Nothing reads the terminal while another program has it.
#[derive(Default)]
pub(super) struct Keys {
    reader: Option<TerminalReader>,
    /// Keys that were typed for the interface but read by somebody else.
    ahead: VecDeque<Event>,
}

struct TerminalReader {
    events: EventStream,
    waker: Arc<ReaderWaker>,
    /// Closes when the last clone of the waker is dropped.
    released: oneshot::Receiver<Infallible>,
}

/// Wakes the interface. The thread behind an `EventStream` holds a clone exactly as long as it may read the terminal.
struct ReaderWaker {
    interface: AtomicWaker,
    _held: oneshot::Sender<Infallible>,
}

impl Wake for ReaderWaker {
    fn wake(self: Arc<Self>) {
        self.interface.wake();
    }
}

impl TerminalReader {
    fn new() -> Self {
        let (held, released) = oneshot::channel();
        let waker = Arc::new(ReaderWaker { interface: AtomicWaker::new(), _held: held });
        Self { events: EventStream::new(), waker, released }
    }

    async fn next(&mut self) -> Option<io::Result<Event>> {
        poll_fn(|context| {
            self.waker.interface.register(context.waker());
            let waker = Waker::from(Arc::clone(&self.waker));
            self.events.poll_next_unpin(&mut Context::from_waker(&waker))
        })
        .await
    }
}

impl Keys {
    /// The next event of the terminal, or nothing when it is gone.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        if let Some(event) = self.ahead.pop_front() {
            return Some(Ok(event));
        }
        self.reader.get_or_insert_with(TerminalReader::new).next().await
    }

    /// Reads nothing from the terminal until the next call of `next`.
    ///
    /// Dropping an `EventStream` only asks its thread to stop. Until the thread does, it may take keys that are typed to
    /// the next program, so this waits for it.
    pub(super) async fn pause(&mut self) {
        let Some(TerminalReader { events, waker, released }) = self.reader.take() else { return };
        drop((events, waker));
        // The channel carries nothing; it closes.
        released.await.ok();
    }

    /// Puts keys, as the terminal spelled them, before all that follow.
    pub(super) fn put_ahead(&mut self, typed: &[u8]) {
        self.ahead.extend(spelling::events(typed));
    }
}
