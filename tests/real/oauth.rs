//! A service that renews tokens, on loopback, behind a proxy: the addresses of the real ones are written into the
//! programs, and only a proxy and a certificate lead elsewhere.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::stage::Stage;

/// The hosts that stand behind the proxy.
const HOSTS: &[&str] =
    &["api.anthropic.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com", "platform.claude.com"];

/// The running service; it ends with the test.
pub(crate) struct OAuth {
    program: Child,
    port: String,
    key: PathBuf,
    certificate: PathBuf,
    seen: Arc<Mutex<Vec<String>>>,
}

impl OAuth {
    pub(crate) fn start(stage: &Stage) -> Self {
        let (key, certificate) = (stage.path("oauth-key.pem"), stage.path("oauth.pem"));
        make_certificate(&key, &certificate);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/oauth.mjs");
        let mut command = Command::new("node");
        command.args([&script, &key, &certificate]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { program, port, key, certificate, seen }
    }

    /// Leads the programs of a stage here.
    pub(crate) fn lead(&self, stage: &mut Stage) {
        stage.set("HTTPS_PROXY", &format!("http://127.0.0.1:{}", self.port));
        stage.set("NODE_EXTRA_CA_CERTS", self.certificate.to_str().unwrap());
    }

    /// The file with its private key.
    pub(crate) fn key(&self) -> &Path {
        &self.key
    }

    /// The requests for a token so far.
    pub(crate) fn renewals(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|line| line.contains("/token ")).cloned().collect()
    }
}

impl Drop for OAuth {
    fn drop(&mut self) {
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

/// A certificate that is its own authority, good for a day.
fn make_certificate(key: &Path, certificate: &Path) {
    let names: Vec<String> = HOSTS.iter().map(|host| format!("DNS:{host}")).collect();
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=coppice"]);
    command.args(["-addext", "basicConstraints=critical,CA:TRUE"]);
    command.args(["-addext", &format!("subjectAltName={}", names.join(","))]);
    command.arg("-keyout").arg(key).arg("-out").arg(certificate);
    assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success(), "openssl");
    assert!(fs::metadata(certificate).unwrap().len() > 0);
}
