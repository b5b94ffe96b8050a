//! A private registry of packages: the commands of an agent find it by the user's own settings, and look nowhere else.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, shell};
use crate::stage::Stage;

for_each_agent!(a_package_of_a_private_scope_is_installed_from_its_registry);

/// The name is free in public, where anybody could take it.
const PACKAGE: &str = "@heron-of-the-test/words";

fn a_package_of_a_private_scope_is_installed_from_its_registry(agent: Agent) {
    let mut stage = Stage::new();
    let registry = NpmRegistry::start(pack(&stage));
    let settings = format!(
        "@heron-of-the-test:registry=http://{0}/\n//{0}/:_authToken=token-of-the-user\naudit=false\nupdate-notifier=false\n",
        registry.address
    );
    stage.settle(".npmrc", &settings);
    let install = format!("npm install --no-save {PACKAGE} && node -e 'console.log(require(\"{PACKAGE}\"))'");
    let model = stage.model(agent);
    model.plays([shell(&format!("npm view {PACKAGE} version")), shell(&install), answer("done")]);
    let id = stage.begin(agent, "use the package");
    stage.rests(&id, "ready");
    let calls = model.calls();
    assert!(calls[1].mentions("4.7.11"), "{}", calls[1].request.body);
    assert!(calls[2].mentions("the word is heron"), "{}", calls[2].request.body);
    let requests = registry.requests();
    assert!(requests.iter().any(|request| request.contains("words-4.7.11.tgz")), "{requests:?}");
    // Its login stays behind, unless the person says so.
    assert!(!requests.iter().any(|request| request.contains("token-of-the-user")), "{requests:?}");
    assert_eq!(stage.strangers(), Vec::<String>::new());

    stage.coppice(&["config", "set", "sandbox.registry_tokens", "true"]).succeeds();
    model.plays([shell(&format!("npm view --prefer-online {PACKAGE} version")), answer("done")]);
    stage.send(&id, "look again", "ready");
    assert!(registry.requests().iter().any(|request| request.contains("Bearer token-of-the-user")));
    assert_eq!(stage.strangers(), Vec::<String>::new());
}

/// The package as the registry has it.
fn pack(stage: &Stage) -> Vec<u8> {
    let package = stage.path("package");
    fs::create_dir(&package).unwrap();
    fs::write(package.join("package.json"), json!({"name": PACKAGE, "version": "4.7.11"}).to_string()).unwrap();
    fs::write(package.join("index.js"), "module.exports = 'the word is heron';\n").unwrap();
    let mut command = Command::new("tar");
    command.arg("-C").arg(stage.path("")).args(["-czf", "-", "package"]).stderr(Stdio::inherit());
    let output = command.output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// A registry with one package. Its thread ends with the test process.
struct NpmRegistry {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl NpmRegistry {
    fn start(package: Vec<u8>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away has lost nothing.
                serve_request(stream, address, &package, &seen).ok();
            }
        });
        Self { address, requests }
    }

    /// The head of every request, in order.
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve_request(
    mut stream: TcpStream,
    address: SocketAddr,
    package: &[u8],
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines();
    let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(head.join("\n"));
    let tarball = format!("http://{address}/words-4.7.11.tgz");
    let version = json!({"name": PACKAGE, "version": "4.7.11", "dist": {"tarball": tarball}});
    let about =
        json!({"name": PACKAGE, "dist-tags": {"latest": "4.7.11"}, "versions": {"4.7.11": version}}).to_string();
    let (status, kind, body) = match path.replace("%2f", "/").trim_start_matches('/') {
        PACKAGE => ("200 OK", "application/json", about.as_bytes()),
        "words-4.7.11.tgz" => ("200 OK", "application/octet-stream", package),
        _ => ("404 Not Found", "application/json", &b"{}"[..]),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}
