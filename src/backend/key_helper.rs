//! A command of the user's that prints the key of a service. It runs with the user's own rights, as it does outside of
//! Coppice: it is named by their own settings, and key chains and logins of other programs are out of reach in a cage.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::backend::discovery::{ProgramOutput, run_program, summarize_output};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::transport::spawn::{Exit, Needs, SpawnRequest, Spawner};

/// How long a helper may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How long a key is used unless the variable says otherwise, in milliseconds: as long as Claude Code uses one by itself.
const KEY_LIFETIME_MS: i64 = 5 * 60 * 1000;
const LIFETIME_VARIABLE: &str = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS";

/// A helper that the user's settings of a program name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHelper {
    pub command: String,
    /// The name of the setting, and the file that it is in.
    pub setting: &'static str,
    pub file: PathBuf,
    /// The variable by which the program gets the key.
    pub variable: &'static str,
}

impl KeyHelper {
    /// The period that a moment lies in; a process that was started in another one has a key that may have run out.
    pub fn period(env: &[(String, String)], now_ms: i64) -> i64 {
        let named = env.iter().rev().find(|(name, _)| name == LIFETIME_VARIABLE);
        let lifetime = named.and_then(|(_, value)| value.parse().ok()).filter(|lifetime| *lifetime > 0);
        now_ms / lifetime.unwrap_or(KEY_LIFETIME_MS)
    }

    /// Runs the helper; the key that it prints.
    pub async fn run(&self, spawn: &dyn Spawner, env: Vec<(String, String)>, cwd: &Path) -> Result<String, Failure> {
        let argv = ["/bin/sh", "-c", &self.command].map(str::to_owned).to_vec();
        let request = SpawnRequest { argv, env, cwd: cwd.to_owned(), needs: Needs::default() };
        // Dropping the process ends it, so one that hangs is gone when this returns.
        match tokio::time::timeout(LIMIT, run_program(spawn, request)).await {
            Ok(output) => read_key(&output.map_err(|message| self.fail(&message))?).map_err(|why| self.fail(&why)),
            Err(_) => Err(self.fail(&format!("it did not end within {} seconds", LIMIT.as_secs()))),
        }
    }

    fn fail(&self, why: &str) -> Failure {
        let Self { command, setting, file, .. } = self;
        let message = format!("`{setting}` in `{}` gives no key: {why}", file.display());
        let hint =
            format!("run `{command}` in a shell until it prints one line with the key, then run `coppice resume`");
        Failure::new(FailureKind::Auth, message).with_hint(hint)
    }
}

/// The key in what a helper printed: its only line.
fn read_key(output: &ProgramOutput) -> Result<String, String> {
    let ProgramOutput { stdout, stderr, exit } = output;
    let lines: Vec<_> = stdout.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match (exit, lines.as_slice()) {
        (Exit::Code(0), [key]) => Ok((*key).to_owned()),
        (Exit::Code(0), []) => Err("it printed nothing".to_owned()),
        (Exit::Code(0), lines) => Err(format!("it printed {} lines", lines.len())),
        (Exit::Code(_) | Exit::Signal(_) | Exit::Lost(_), _) => Err(match summarize_output(stderr) {
            Some(said) => format!("{exit}: {said}"),
            None => exit.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;
    use crate::backend::transport::spawn::{Child, Control, Signal};

    #[test]
    fn a_key_lasts_for_a_period() {
        let env = |value: &str| vec![(LIFETIME_VARIABLE.to_owned(), value.to_owned())];
        assert_eq!([0, 299_999, 300_000].map(|now| KeyHelper::period(&[], now)), [0, 0, 1]);
        assert_eq!([0, 999, 1_000].map(|now| KeyHelper::period(&env("1000"), now)), [0, 0, 1]);
        for odd in ["", "0", "-1", "soon"] {
            assert_eq!(KeyHelper::period(&env(odd), 300_000), 1, "{odd}");
        }
    }

    /// Starts a program that neither prints nor ends; dropping its control tells.
    struct Hanging(mpsc::Sender<()>);

    struct Ends(mpsc::Sender<()>);

    impl Control for Ends {
        fn signal(&mut self, _: Signal) {}
    }

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.try_send(()).unwrap();
        }
    }

    impl Spawner for Hanging {
        fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
            assert_eq!(request.argv, ["/bin/sh", "-c", "vault read key"]);
            let (ours, theirs) = tokio::io::duplex(64);
            let control = Box::new(Ends(self.0.clone()));
            let exit = async move {
                // Its output stays open for as long as it runs.
                let _open = theirs;
                std::future::pending().await
            };
            let child = Child {
                pid: None,
                stdin: Box::new(tokio::io::sink()),
                stdout: Box::new(ours),
                stderr: Box::new(tokio::io::empty()),
                exec_at_ms: 0,
                exit: exit.boxed(),
                control,
            };
            std::future::ready(Ok(child)).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_helper_that_hangs_is_ended_after_ten_seconds_and_named() {
        let helper = KeyHelper {
            command: "vault read key".to_owned(),
            setting: "apiKeyHelper",
            file: "/home/ada/.claude/settings.json".into(),
            variable: "KEY",
        };
        let (sender, mut ended) = mpsc::channel(1);
        let begun = Instant::now();
        let failure = helper.run(&Hanging(sender), Vec::new(), Path::new("/")).await.unwrap_err();
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
        assert!(ended.try_recv().is_ok(), "the process is ended");
        let message =
            "`apiKeyHelper` in `/home/ada/.claude/settings.json` gives no key: it did not end within 10 seconds";
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Auth, message));
        let hint = "run `vault read key` in a shell until it prints one line with the key, then run `coppice resume`";
        assert_eq!(failure.hint, hint);
    }

    #[test]
    fn a_key_is_the_only_line() {
        for (code, stdout, stderr, expected) in [
            (0, "sk-1\n", "", Ok("sk-1")),
            (0, "\n  sk-1  \n\n", "warning", Ok("sk-1")),
            (0, "", "", Err("it printed nothing")),
            (0, "a\nb\n", "", Err("it printed 2 lines")),
            (3, "sk-1\n", "no such vault\n", Err("exit status 3: no such vault")),
            (3, "", "", Err("exit status 3")),
        ] {
            let output = ProgramOutput { stdout: stdout.to_owned(), stderr: stderr.to_owned(), exit: Exit::Code(code) };
            assert_eq!(read_key(&output), expected.map(str::to_owned).map_err(str::to_owned), "{stdout:?}");
        }
    }
}
