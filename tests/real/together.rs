//! Three sessions on three programs at once in one repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::model::script::{Step, changed, write};
use crate::stage::Stage;

#[test]
fn three_sessions_on_three_backends_leave_exactly_their_own_change() {
    let stage = Stage::new();
    stage.write("by-hand.txt", "not committed\n");
    let before = snapshot(&stage.repo());
    let file = |agent: Agent| format!("{}.txt", agent.name());
    for agent in Agent::ALL {
        let first = write(&file(agent), "mine\n");
        stage.model(agent).plays([Step::Held(Box::new(first)), changed("done", &format!("Add {}", file(agent)))]);
    }
    let ids = Agent::ALL.map(|agent| stage.begin(agent, "add your file"));
    for agent in Agent::ALL {
        stage.model(agent).wait_for_call(1);
    }
    // All three turns are in the middle of a model call.
    for agent in Agent::ALL {
        stage.model(agent).release();
    }
    for (agent, id) in Agent::ALL.into_iter().zip(&ids) {
        stage.rests(id, "ready");
        let branch = stage.session(id)["branch"].as_str().unwrap().to_owned();
        assert_eq!(stage.git(&["diff", "--name-only", "main", &branch]), file(agent));
        assert_eq!(stage.git(&["show", &format!("{branch}:{}", file(agent))]), "mine");
        assert_eq!(stage.git_in(&stage.worktree(id), &["status", "--porcelain"]), "");
    }

    assert_eq!(snapshot(&stage.repo()), before, "the user's checkout and index are as they were");
    stage.assert_settings_untouched();
    stage.assert_only_the_asked_ran();
}

/// Every file of a checkout and its bytes, with the index and the head of its repository.
fn snapshot(repo: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(directory: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != ".git") {
                    walk(&path, found);
                }
            } else {
                found.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(repo, &mut found);
    for file in [".git/index", ".git/HEAD", ".git/config", ".git/refs/heads/main"] {
        let path = repo.join(file);
        found.push((path.clone(), fs::read(path).unwrap()));
    }
    found.sort();
    found
}
