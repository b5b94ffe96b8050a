//! What the processes of a session can reach, through the daemon: the agent's, the project's own and those of a merge.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use serde_json::json;

use crate::env::TestEnv;
use crate::script::{say, steps, write};

fn report(command: &str) -> String {
    format!("@report {command}")
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_session_works_alone_in_its_tree_and_reaches_nothing_else() {
    let env = TestEnv::new();
    let other = env.create_ready(&write("secret.txt", "of another session"));
    fs::write(env.path("home/.netrc"), "secret").unwrap();
    let tries = [
        format!("echo x > '{}'", env.path("home/planted").display()),
        format!("echo x > '{}'", env.repo().join("planted").display()),
        format!("echo x > '{}'", env.path("coppice/data/planted").display()),
        format!("cat '{}'", env.worktree(&other).join("secret.txt").display()),
        format!("cat '{}'", env.path("home/.netrc").display()),
        format!("cat '{}'", env.path("coppice/data/coppice.db").display()),
    ];
    let mut script = vec![write("made.txt", "made"), "@may edit src/own.rs".to_owned()];
    script.extend(tries.iter().map(|way| report(&format!("{way} 2>/dev/null; echo $?"))));
    script.push(report("touch \"$TMPDIR/x\" \"$CARGO_HOME.x\" && git status --short && git log -1 --format=%s"));
    let id = env.create_ready(&steps(&script));
    let answer = env.last_answer(&id);
    assert!(answer.contains("edit src/own.rs: allowed"), "{answer}");
    assert_eq!(answer.matches("\n[exit 0]").count() + usize::from(answer.starts_with("[exit 0]")), 7, "{answer}");
    assert!(!answer.contains("secret") && !answer.contains("SQLite"), "{answer}");
    for planted in [env.path("home/planted"), env.repo().join("planted"), env.path("coppice/data/planted")] {
        assert!(!planted.exists(), "{}", planted.display());
    }
    let session = env.session(&id);
    assert_eq!(session["sandbox"], json!({ "level": "workspace", "enforced": true }));
    assert_eq!(session["posture"], "unattended");
}

#[test]
fn what_a_hook_of_a_merge_runs_reaches_nothing_and_what_it_stages_is_merged() {
    let env = TestEnv::new();
    executable(&env.repo().join(".git/hooks/pre-commit"), "#!/bin/sh\nsh ./lint.sh && git add linted.txt\n");
    let planted = env.path("home/planted");
    let git_dir = "$(git rev-parse --git-dir)";
    let lint = format!("echo x > '{}'\\necho x > {git_dir}/commondir\\necho linted > linted.txt\\n", planted.display());
    let id =
        env.create_ready(&steps(&[format!("@run printf '{}' > lint.sh", lint.replace('\'', "'\\''")), say("done")]));
    env.coppice(&["merge", &id, "--accept-hook-changes"]).succeeds();
    assert!(!planted.exists());
    assert_eq!(env.git(&["show", "main:linted.txt"]), "linted");
}

#[test]
fn a_teardown_command_runs_what_an_agent_wrote_in_a_cage() {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\nteardown = \"sh teardown.sh\"\n");
    env.write("teardown.sh", "true\n");
    env.commit("a teardown command");
    env.trust();
    let planted = env.path("home/planted");
    let id = env.create_ready(&write("teardown.sh", &format!("echo x > '{}'; true", planted.display())));
    env.coppice(&["archive", &id]).succeeds();
    assert!(env.kinds(&id).iter().any(|kind| kind == "setup_output"), "{:?}", env.kinds(&id));
    assert!(!planted.exists());
}

/// A program in the place of git, so that what git could reach is tried out at a moment of its choice.
#[test]
fn git_in_a_work_tree_reaches_no_more_than_the_agent_in_it() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let mut env = TestEnv::new();
    let bin = env.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(env.path("home/.netrc"), "a secret of the user").unwrap();
    let path = std::env::var("PATH").unwrap();
    // What is tried fails; what must work leaves a line in an ignored file of the work tree.
    let tries = "cat \"$HOME/.netrc\" && exit 1
        for place in \"$HOME\" \"$GIT_DIR\" \"$GIT_DIR/../..\" \"$GIT_DIR/../../hooks\" \"$GIT_DIR/../../refs/heads\"; do
          echo x > \"$place/planted\"
        done";
    let git = format!(
        "#!/bin/sh\ncase \" $* \" in *' update-index '*|*' clean '*|*' --reset '*) {{ {tries}; }} >/dev/null 2>&1 ;; esac\n\
         case \" $* \" in *' --reset '*) echo tried >> \"$GIT_WORK_TREE/build\" ;; esac\n\
         PATH='{path}' exec git \"$@\"\n"
    );
    executable(&bin.join("git"), &git);
    env.set("PATH", &format!("{}:{path}", bin.display()));
    let id = env.create_ready(&write("made.txt", "made"));
    env.send_ready(&id, &[], &write("more.txt", "more"));
    env.coppice(&["undo", &id]).succeeds();
    assert!(!env.worktree(&id).join("more.txt").exists());
    let tried = fs::read_to_string(env.worktree(&id).join("build")).unwrap();
    assert_eq!(tried, "tried\ntried\n", "once when the work tree was made, once by the undo");
    let git_dir = env.repo().join(".git");
    let admin = git_dir.join("worktrees").join(&id);
    for place in [env.path("home"), admin, git_dir.join("hooks"), git_dir.join("refs/heads"), git_dir] {
        assert!(!place.join("planted").exists(), "{}", place.display());
    }
}

#[test]
fn a_link_in_the_caches_leads_the_daemon_nowhere() {
    let env = TestEnv::new();
    let precious = env.path("home/precious");
    fs::write(&precious, "mine").unwrap();
    let link = format!("mkdir -p \"$CARGO_HOME\"; ln -sf '{}' \"$CARGO_HOME/config.toml\"", precious.display());
    let id = env.create_ready(&format!("@run {link}"));
    env.send_ready(&id, &[], &say("again"));
    env.create_ready(&say("another"));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
}

#[test]
fn what_a_repository_brings_opens_nothing() {
    let env = TestEnv::new();
    env.configure("default.posture = \"attended\"");
    env.write(".coppice/agents/builder.md", "---\ndescription: x\npermission: {\"*\": allow}\n---\nWork.\n");
    env.write(".coppice/permissions.json", r#"{"permissions":{"allow":["Bash(make *)"],"deny":["Bash(rm *)"]}}"#);
    env.write(".coppice/permissions.local.json", r#"{"permissions":{"allow":["Bash(make *)"]}}"#);
    env.commit("gifts");
    let id = env.create("@may run make install");
    env.wait_for(&id, "approval");
    env.coppice(&["deny", &id]).succeeds();
    env.wait_for(&id, "ready");
    env.send_ready(&id, &[], "@may run rm a");
    assert!(env.last_answer(&id).contains("refused"), "{}", env.last_answer(&id));
}
