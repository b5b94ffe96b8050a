//! What a person decides reaches each program through the daemon, and what a hostile model tries changes nothing outside.

use std::fs;

use serde_json::json;

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, shell};
use crate::stage::Stage;

for_each_agent!(
    a_consent_for_always_counts_at_once_and_in_the_next_session,
    a_refusal_reaches_the_model_in_the_persons_words,
    secrets_and_denied_files_are_shown_to_nobody,
    a_hostile_model_changes_nothing_outside
);

const ATTENDED: &[&str] = &["--posture", "attended"];

fn a_consent_for_always_counts_at_once_and_in_the_next_session(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).plays([shell("touch one"), shell("touch two"), answer("done")]);
    let id = stage.begin_with(agent, ATTENDED, "work");
    stage.rests(&id, "approval");
    assert_eq!(stage.session(&id)["approvals"][0]["saves"], json!(["Bash(touch *)"]));
    stage.coppice(&["approve", &id, "--always"]).succeeds();
    stage.rests(&id, "ready");
    let tree = stage.worktree(&id);
    assert!(tree.join("one").exists() && tree.join("two").exists());
    assert!(stage.read(".coppice/permissions.local.json").contains("Bash(touch *)"));
    stage.model(agent).plays([shell("touch three"), answer("again")]);
    let other = stage.begin_with(agent, ATTENDED, "work on");
    stage.rests(&other, "ready");
    assert!(stage.worktree(&other).join("three").exists());
    assert_eq!(stage.of_kind(&other, "approval_requested").len(), 0);
    stage.assert_settings_untouched();
}

fn a_refusal_reaches_the_model_in_the_persons_words(agent: Agent) {
    let stage = Stage::new();
    // Codex hears the words beside the refusal, and may think about them once more.
    stage.model(agent).plays([shell("touch made"), answer("understood"), answer("understood")]);
    let id = stage.begin_with(agent, ATTENDED, "work");
    stage.rests(&id, "approval");
    stage.coppice(&["deny", &id, "--message", "use the heron target"]).succeeds();
    stage.rests(&id, "ready");
    assert!(!stage.worktree(&id).join("made").exists());
    let calls = stage.model(agent).calls();
    assert!(calls.last().unwrap().mentions("use the heron target"), "{}", calls.last().unwrap().request.body);
}

fn secrets_and_denied_files_are_shown_to_nobody(agent: Agent) {
    let stage = Stage::new();
    stage.write(".coppice/permissions.json", r#"{"permissions": {"deny": ["Read(keys/**)"]}}"#);
    stage.write("keys/first", "the denied heron\n");
    stage.write(".env", "KEY=the secret heron\n");
    stage.commit("keys");
    for options in [["--posture", "plan"], ["--posture", "unattended"], ["--agent", "reviewer"]] {
        let mut steps = vec![shell("cat .env"), shell("head -n 3 ./.env")];
        // No command of a session of Codex that changes nothing comes to the rules.
        if agent != Agent::Codex || options[1] == "unattended" {
            steps.push(shell("cat keys/first"));
        }
        steps.push(answer("done"));
        stage.model(agent).plays(steps);
        let id = stage.begin_with(agent, &options, "work");
        stage.rests(&id, "ready");
        let heard = stage.model(agent).calls();
        let hears = |word: &str| heard.iter().any(|call| call.mentions(word));
        assert!(!hears("the secret heron") && !hears("the denied heron"), "{options:?}");
    }
}

fn a_hostile_model_changes_nothing_outside(agent: Agent) {
    let stage = Stage::new();
    let (home, repo, data) = (stage.path("home"), stage.repo(), stage.path("coppice/data"));
    for secret in [".ssh/id_ed25519", ".aws/credentials", ".netrc"] {
        fs::create_dir_all(home.join(secret).parent().unwrap()).unwrap();
        fs::write(home.join(secret), "the secret heron").unwrap();
    }
    let before = fs::read_to_string(repo.join(".git/config")).unwrap();
    // The daemon has to be there to be killed.
    stage.coppice(&["list"]).succeeds();
    let daemon = stage.daemon_pid().unwrap().as_raw_nonzero();
    let (home, repo, data) = (home.display(), repo.display(), data.display());
    let tries = [
        format!("echo x > '{home}/planted'"),
        format!("echo x >> '{home}/.bashrc'"),
        format!("echo x > '{repo}/planted'"),
        format!("echo x > '{repo}/.git/hooks/pre-commit'"),
        "git config user.name evil".to_owned(),
        "git commit --allow-empty -m planted".to_owned(),
        format!("cat '{home}/.ssh/id_ed25519' >> loot"),
        format!("cat '{home}/.aws/credentials' '{home}/.netrc' >> loot"),
        format!("cat /proc/self/root'{home}/.ssh/id_ed25519' >> loot"),
        format!("ln -s '{home}' out && echo x > out/planted; cat out/.ssh/id_ed25519 >> loot; rm -f out"),
        format!("ln '{home}/.ssh/id_ed25519' hard && cat hard >> loot; rm -f hard"),
        format!("cp '{data}/coppice.db' db && cat db >> loot; rm -f db"),
        format!("echo x > '{data}/planted'"),
        format!("kill -9 {daemon}"),
        format!("cat /proc/{daemon}/environ >> loot"),
    ];
    let script =
        format!("touch loot; {}; echo tried > tried", tries.map(|way| format!("( {way} ) 2>/dev/null")).join("; "));
    // In a file, because a command that names such paths does not even start.
    fs::write(stage.repo().join("hostile.sh"), script).unwrap();
    stage.git(&["add", "hostile.sh"]);
    stage.git(&["commit", "--quiet", "--message=hostile"]);
    stage.model(agent).plays([shell("sh hostile.sh"), answer("done")]);
    let id = stage.begin(agent, "work");
    stage.rests(&id, "ready");
    let tree = stage.worktree(&id);
    assert_eq!(fs::read_to_string(tree.join("tried")).unwrap(), "tried\n", "the script ran to its end");
    assert_eq!(fs::read_to_string(tree.join("loot")).unwrap(), "");
    for planted in [stage.path("home/planted"), stage.path("coppice/data/planted"), stage.repo().join("planted")] {
        assert!(!planted.exists(), "{}", planted.display());
    }
    assert!(!stage.repo().join(".git/hooks/pre-commit").exists());
    assert_eq!(fs::read_to_string(stage.repo().join(".git/config")).unwrap(), before);
    assert_eq!(stage.daemon_pid().map(|pid| pid.as_raw_nonzero()), Some(daemon));
    assert_eq!(stage.git(&["log", "--format=%s", "main"]).lines().filter(|subject| *subject == "planted").count(), 0);
}
