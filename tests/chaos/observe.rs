//! Reads the facts that `model` judges: from git, from the processes, and from the daemon as any client.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::driver::Round;
use crate::model::{Changes, Checkout, Observed, SeenSession, UNFINISHED_UNDO};

/// Uncommitted work of the user: changed, staged and untracked.
pub(crate) const USERS_FILES: [&str; 3] = ["README.md", "staged.txt", "untracked.txt"];

/// What git locks in a git directory, and leaves locked when it is killed.
pub(crate) const LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "refs/heads/main.lock"];

/// Kinds of errors by which a session says that its files are not as its branch.
const DOUBTS: [&str; 2] = ["uncommitted", UNFINISHED_UNDO];

impl Round {
    /// Looks at everything.
    pub(crate) fn observe(&self, sessions: &[Value]) -> Observed {
        let checkout = self.checkout_facts();
        let events = self.read_events();
        let is_lost = |commit: &&str| {
            let arguments = ["merge-base", "--is-ancestor", commit, "refs/heads/main"];
            !self.git_command(&self.checkout, &arguments).status().unwrap().success()
        };
        let merged =
            events.values().filter(|event| event["type"] == "merged").filter_map(|event| event["commit"].as_str());
        Observed {
            lost_merges: merged.filter(is_lost).map(str::to_owned).collect(),
            base_paths: self.paths(&["log", "--name-only", "--format=", "-m", "refs/heads/main"]),
            merged_paths: self.paths(&["diff", "--name-only", &self.known_checkout.tip, &checkout.tip]),
            fsck: self.fsck(),
            panics: self.env.log().lines().filter(|line| line.contains("panicked")).map(str::to_owned).collect(),
            sessions: sessions.iter().map(|session| self.session_facts(session, &events)).collect(),
            daemon: self.env.daemon_pid(),
            checkout,
            events,
        }
    }

    pub(crate) fn checkout_facts(&self) -> Checkout {
        let git = |arguments: &[&str]| self.git(&self.checkout, arguments);
        let git_dir = self.checkout.join(".git");
        let litter = LOCKS.into_iter().chain(["coppice-move"]);
        let mut files: Vec<_> =
            USERS_FILES.iter().map(|path| fs::read_to_string(self.checkout.join(path)).unwrap_or_default()).collect();
        files.push(git(&["--no-optional-locks", "diff", "--cached"]));
        Checkout {
            head: git(&["symbolic-ref", "HEAD"]),
            tip: git(&["rev-parse", "refs/heads/main"]),
            status: git(&["--no-optional-locks", "status", "--porcelain"]),
            files,
            litter: litter.filter(|name| git_dir.join(name).exists()).map(str::to_owned).collect(),
        }
    }

    /// Every stored event by its number.
    pub(crate) fn read_events(&self) -> BTreeMap<u64, Value> {
        let text = self.ask(&["events", "--all", "--json"]);
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let numbered: BTreeMap<_, _> =
            events.iter().map(|event| (event["seq"].as_u64().unwrap(), event.clone())).collect();
        assert_eq!(numbered.len(), events.len(), "an event number comes twice");
        numbered
    }

    fn session_facts(&self, session: &Value, events: &BTreeMap<u64, Value>) -> SeenSession {
        let text = |name: &str| session[name].as_str().unwrap().to_owned();
        let base = session["base"]["commit"].as_str().unwrap();
        let worktree = Path::new(session["worktree"].as_str().unwrap());
        let numbers = self.numbers(base, worktree);
        let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard"];
        let branch = format!("refs/heads/{}", session["branch"].as_str().unwrap());
        let committed =
            self.git_command(&self.checkout, &["diff", "--name-only", "--no-renames", base, &branch]).output().unwrap();
        let committed = String::from_utf8(committed.stdout).unwrap().lines().map(str::to_owned).collect();
        let ignored = if numbers.is_some() { self.paths_in(worktree, &ignored) } else { BTreeSet::new() };
        let shown = &session["changes"];
        let [files, insertions, deletions] =
            ["files", "insertions", "deletions"].map(|name| shown[name].as_u64().unwrap());
        let lines: Vec<Vec<&str>> =
            numbers.iter().flat_map(|text| text.lines()).map(|line| line.split('\t').collect()).collect();
        let sum = |column: usize| lines.iter().filter_map(|line| line[column].parse::<u64>().ok()).sum();
        let real = Changes { files: lines.len().try_into().unwrap(), insertions: sum(0), deletions: sum(1) };
        let has = |kind: &str| events.values().any(|event| event["type"] == kind && event["session"] == session["id"]);
        let kinds = [&session["last_error"]["kind"], &session["uncommitted"]["kind"]];
        let doubt = kinds.iter().filter_map(|kind| kind.as_str()).find(|kind| DOUBTS.contains(kind));
        SeenSession {
            id: text("id"),
            directory: text("title"),
            status: text("status"),
            shown: Changes { files, insertions, deletions },
            // A worktree that no turn began in may be half made, and after a merge only what came since counts.
            real: (numbers.is_some() && has("turn_started") && !has("merged")).then_some(real),
            paths: lines.iter().map(|line| line[2].to_owned()).collect(),
            committed,
            ignored,
            doubt: doubt.map(str::to_owned),
        }
    }

    /// What changed since the base in the worktree; nothing where somebody deleted it, or moved its repository back.
    fn numbers(&self, base: &str, worktree: &Path) -> Option<String> {
        let pointer = fs::read_to_string(worktree.join(".git")).ok()?;
        if !pointer.trim().strip_prefix("gitdir: ").is_some_and(|git_dir| Path::new(git_dir).exists()) {
            return None;
        }
        // An index of our own: neither the session's nor the user's may change by a look.
        let index = tempfile::NamedTempFile::new().unwrap();
        fs::remove_file(index.path()).unwrap();
        let in_worktree = |arguments: &[&str]| {
            let mut command = self.git_command(worktree, arguments);
            let output = command.env("GIT_INDEX_FILE", index.path()).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        in_worktree(&["add", "--all"]);
        Some(in_worktree(&["diff", "--numstat", "--no-renames", "--cached", base]))
    }

    fn paths(&self, arguments: &[&str]) -> BTreeSet<String> {
        self.paths_in(&self.checkout, arguments)
    }

    fn paths_in(&self, directory: &Path, arguments: &[&str]) -> BTreeSet<String> {
        self.git(directory, arguments).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// What is broken in the repository; nothing when it is sound.
    fn fsck(&self) -> String {
        let output = self.git_command(&self.checkout, &["fsck", "--no-dangling", "--no-progress"]).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        if output.status.success() { String::new() } else { String::from_utf8_lossy(&said).into_owned() }
    }
}
