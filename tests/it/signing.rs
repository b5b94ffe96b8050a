//! Commits that are signed with a key of the user's ssh agent.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::env::TestEnv;
use crate::script::write;

/// An ssh agent that ends with the test.
struct SshAgent(Child);

impl SshAgent {
    fn start(env: &TestEnv, socket: &str) -> Self {
        let mut command = env.command("ssh-agent", &env.repo());
        command.args(["-D", "-a", socket]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It names its socket once it listens.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        Self(child)
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_merge_is_signed_by_the_ssh_agent_of_the_shell_and_not_by_that_of_the_daemon() {
    let mut env = TestEnv::new();
    let (key, socket) = (env.path("home/key"), env.path("agent.sock"));
    let (key, socket) = (key.to_str().unwrap(), socket.to_str().unwrap());
    let run = |env: &TestEnv, program: &str, arguments: &[&str]| {
        let output = env.command(program, &env.repo()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&env, "ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", key]);
    // Nobody listens there any more, as after a new login.
    env.set("SSH_AUTH_SOCK", env.path("gone.sock").to_str().unwrap());
    let id = env.create_ready(&write("a.txt", "a"));
    let _agent = SshAgent::start(&env, socket);
    env.set("SSH_AUTH_SOCK", socket);
    run(&env, "ssh-add", &["-q", key]);
    // The agent alone has it.
    fs::remove_file(key).unwrap();
    for (name, value) in [("gpg.format", "ssh"), ("user.signingKey", key), ("commit.gpgSign", "true")] {
        env.git(&["config", name, value]);
    }

    env.unset("SSH_AUTH_SOCK");
    let refused = env.coppice(&["merge", &id]).exits(1).transcript();
    assert!(refused.contains("No private key found"), "{refused}");
    env.set("SSH_AUTH_SOCK", socket);
    env.coppice(&["merge", &id]).succeeds();
    let public = fs::read_to_string(env.path("home/key.pub")).unwrap();
    fs::write(env.path("signers"), format!("tess@example.com {public}")).unwrap();
    let signers = format!("gpg.ssh.allowedSignersFile={}", env.path("signers").display());
    env.git(&["-c", &signers, "verify-commit", "main"]);
}
