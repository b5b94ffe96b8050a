//! Whether the daemon answers: a question that costs it nothing, every few moments. One that hangs keeps its socket and its
//! streams open, and nothing else would tell. The same for the user's settings, which nothing tells of either.

use std::path::Path;
use std::time::{Duration, SystemTime};

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
    let mut written = written_at(&daemon.paths.config);
    loop {
        sleep(PAUSE).await;
        let latest = written_at(&daemon.paths.config);
        if latest != written {
            written = latest;
            if inbox.send(Msg::SettingsChanged).await.is_err() {
                return;
            }
        }
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

/// When a file was written; `None` where there is none.
fn written_at(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|file| file.modified()).ok()
}
