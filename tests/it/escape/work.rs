//! Ordinary work in a cage: each line is a shell command that must end well.

use std::path::PathBuf;
use std::time::Duration;

use coppice::sandbox::cage::{Isolation, Network};
use coppice::sandbox::command::{Limits, run};
use coppice::sandbox::launch::Spawn;

use super::world::{SUPERVISOR, World};

/// The programs that a line needs, and the line; it runs in a directory of its own in the work tree.
const WORK: &[(&str, &str)] = &[
    ("git", "git status --short && git diff && git log --oneline && git show --stat HEAD"),
    ("sort", "printf 'b\\na\\n' | sort | head -n 1 | grep -qx a"),
    ("mktemp", "rm \"$(mktemp)\" && rmdir \"$(mktemp -d)\""),
    ("sh", "echo one > a && mkdir -p d && mv a d/b && ln d/b c && ln -s c l && cat l && cp -r d e && rm -r d e"),
    (
        "sh",
        "echo text > f && chmod 755 f && touch f && : > f && echo to >/dev/null && cat </dev/zero | head -c 9 >/dev/null",
    ),
    ("sh", "trap 'exit 0' TERM; kill -TERM $$; exit 1"),
    ("sh", "sleep 600 & kill $!; wait; true"),
    ("bash", "bash -c 'cat <(echo one) >/dev/stdout && echo two >/dev/stderr' && test -d \"$HOME\" && test -d /tmp"),
    ("make", "printf 'all:\\n\\techo made > out\\n' > Makefile && make && test -s out"),
    ("cc", "echo 'int main(){return 0;}' > m.c && cc m.c -o m && ./m"),
    ("cargo", "cargo new -q hello && cd hello && cargo build -q --offline && ./target/debug/hello"),
    (
        "python3",
        "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname())'",
    ),
    (
        "python3",
        "python3 -c 'import multiprocessing as m; q = m.get_context(\"fork\").Queue(); q.put(1); assert q.get() == 1'",
    ),
    (
        "python3",
        "python3 -c 'import os; f = os.memfd_create(\"m\"); os.write(f, b\"#!/bin/sh\\nexit 0\"); assert os.path.exists(\"/proc/self/fd\")'",
    ),
    (
        "node",
        "node -e 'require(\"child_process\").execSync(\"echo hi\"); new (require(\"worker_threads\").Worker)(\"1\", {eval: true})'",
    ),
    ("node npm", PACK_AND_INSTALL),
    ("python3 pip", INSTALL_A_WHEEL),
    (
        "python3 pytest",
        "printf 'def test_it(tmp_path):\n    (tmp_path / \"f\").write_text(\"x\")\n' > test_it.py && pytest -q",
    ),
];

/// A package that another one uses, scripts of both, and the runner of tests that comes with node; all of it offline.
const PACK_AND_INSTALL: &str = r#"mkdir leaf tree && cd leaf
echo '{"name": "leaf", "version": "1.0.0", "scripts": {"prepack": "echo module.exports = 1 > index.js"}}' > package.json
npm pack --silent || exit
cd ../tree
echo '{"name": "tree", "version": "1.0.0", "scripts": {"test": "node --test"}}' > package.json
echo 'require("node:test")("uses the leaf", () => require("node:assert").equal(require("leaf"), 1))' > it.test.js
npm install --offline --no-audit --no-fund ../leaf/leaf-1.0.0.tgz && npm ls leaf && npm test"#;

/// A wheel is an archive with three files that describe it.
const INSTALL_A_WHEEL: &str = r#"python3 - <<'X' || exit
import zipfile
with zipfile.ZipFile("leaf-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("leaf.py", "VALUE = 1\n")
    wheel.writestr("leaf-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: leaf\nVersion: 1.0\n")
    wheel.writestr("leaf-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("leaf-1.0.dist-info/RECORD", "")
X
pip install --quiet --no-index --target lib ./leaf-1.0-py3-none-any.whl
PYTHONPATH=lib python3 -c 'import leaf; assert leaf.VALUE == 1'"#;

/// Without these a machine cannot run the suite at all.
const MUST_RUN: &[&str] = &["git", "sort", "mktemp", "sh"];

#[tokio::test]
async fn ordinary_work_goes_on() {
    for isolation in super::isolations() {
        work_in(isolation).await;
    }
}

async fn work_in(isolation: Isolation) {
    let world = World::new(isolation).await;
    for (programs, line) in WORK {
        let Some(paths) = programs.split(' ').map(find).collect::<Option<Vec<_>>>() else {
            assert!(!MUST_RUN.contains(programs), "`{programs}` is not installed");
            continue;
        };
        let mut cage = world.cage(Network::Open);
        cage.read.extend(paths.iter().flat_map(|path| toolchains(path)));
        let home = world.map.data("sessions/own");
        let variable = |name: &str, value: &PathBuf| (name.to_owned(), value.display().to_string());
        let mut env = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            variable("HOME", &home),
            variable("TMPDIR", &home),
            variable("CARGO_HOME", &home.join("cargo")),
        ];
        env.extend(rustup().map(|place| variable("RUSTUP_HOME", &place)));
        let spawn = Spawn {
            executable: PathBuf::from(SUPERVISOR),
            argv: ["sh", "-c", line].map(str::to_owned).to_vec(),
            env,
            cwd: world.map.tree(""),
            cage: Some(cage),
            worktree: None,
        };
        let limits = Limits { timeout: Duration::from_secs(120), keep: 4096 };
        let finished = run(spawn, limits, &mut |_| {}).await.unwrap();
        assert!(finished.is_success(), "{line}: {} {}", finished.describe(), finished.output);
    }
}

fn find(program: &str) -> Option<PathBuf> {
    which::which(program).ok()
}

/// Where a program keeps the rest of itself, when that is not the system: the two directories above its `bin`.
fn toolchains(program: &std::path::Path) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(program).unwrap();
    [program, &real].into_iter().filter_map(|path| path.parent()?.parent().map(PathBuf::from)).chain(rustup()).collect()
}

fn rustup() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let place = std::env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
    place.is_dir().then_some(place)
}
