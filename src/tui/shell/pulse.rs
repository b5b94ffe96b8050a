//! Whether the daemon answers: a question that costs it nothing, every few moments. One that hangs keeps its socket and its
//! streams open, and nothing else would tell.

use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use super::now;
use crate::client::start::{Absent, Daemon};
use crate::tui::msg::Msg;

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(1500);
/// An answer that takes longer is told to be missing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks until the face has gone.
pub(super) async fn run(daemon: Daemon, inbox: Sender<Msg>) {
    let daemon = Daemon { absent: Absent::Fail, ..daemon };
    loop {
        sleep(PAUSE).await;
        let asked = now();
        // That there is no daemon at all is an answer too; the stream tells that.
        let question = daemon.connect();
        tokio::pin!(question);
        if timeout(PATIENCE, &mut question).await.is_ok() {
            continue;
        }
        if inbox.send(Msg::Silent { since: asked }).await.is_err() {
            return;
        }
        drop(question.await);
        if inbox.send(Msg::Answers).await.is_err() {
            return;
        }
    }
}
