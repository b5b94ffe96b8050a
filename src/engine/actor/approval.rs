//! Calls that a person must decide: asked, taken back, decided, and remembered across a restart.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::api::event::Payload;
use crate::backend::Access;
use crate::backend::event::{ApprovalRequest, Command as BackendCommand, Decision, ToolKind};
use crate::config::family::BackgroundApprovals;
use crate::permission::compact::{Action, CompactPermission};
use crate::permission::{self, Leads, Place, Reach};
use crate::session::{Event, Wait};
use crate::store::Durability;

use super::super::record::{ApprovalRecord, ChildHold, DecisionRecord, Record};
use super::super::settings::hex;
use super::super::{clock, view};
use super::Actor;
use super::turn::tool_name;

/// What a background child is told instead of being allowed something.
const NOBODY: &str = "nobody is there to allow this to a background agent; find another way inside the work tree, or say \
                      in your report what is left to do";

impl Actor {
    pub(super) async fn approval_asked(&mut self, request: ApprovalRequest) {
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let ended = turn.blocks.interlude();
        self.store_blocks(number, ended).await;
        if self.turn.is_none() {
            return; // The store refused, and the turn is over.
        }
        let call_hash = call_hash(&request);
        if let Some(message) = self.refusal(&request) {
            let decision = DecisionRecord::Deny { message: Some(message) };
            return self.decide_at_once(request.request, decision).await;
        }
        if let Some(decision) = self.carried(&call_hash) {
            return self.decide_at_once(request.request, decision).await;
        }
        if self.is_allowed(&request.reach) {
            return self.decide_at_once(request.request, DecisionRecord::Allow).await;
        }
        let id = self.approval_id();
        self.record.body.approvals.push(ApprovalRecord {
            id,
            request: request.request,
            tool: tool_name(request.kind).to_owned(),
            title: request.title,
            preview: (!request.preview.is_empty()).then_some(request.preview),
            reason: String::new(),
            layer: String::new(),
            rule: None,
            saves: Vec::new(),
            warnings: Vec::new(),
            call: None,
            requested_at: clock::now(),
            call_hash,
            expired: false,
            decision: None,
        });
        if let Some(asked) = self.record.body.approvals.last() {
            self.staged.push(Payload::ApprovalRequested { turn: number, approval: view::approval(asked) });
        }
        self.step(Event::Waits(Wait::Approval)).await;
    }

    /// Why nobody is asked about a call: the agent may not make it, or nobody is there to ask.
    fn refusal(&self, request: &ApprovalRequest) -> Option<String> {
        let turn = self.turn.as_ref()?;
        let reads_only = turn.role.as_ref().is_some_and(|role| role.native.access == Access::ReadOnly);
        let changes = match request.kind {
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute => true,
            ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch | ToolKind::Other => false,
        };
        if reads_only && changes {
            return Some("this agent only reads; report what should change instead".to_owned());
        }
        if let Some(message) =
            turn.role.as_ref().and_then(|role| vetoed(role.permission.as_ref()?, request, &self.record))
        {
            return Some(message);
        }
        let is_background = self.record.body.child.as_ref().is_some_and(|child| child.hold == ChildHold::Background);
        let denies = turn.config.delegation.background_approvals == BackgroundApprovals::Deny;
        (is_background && denies && !self.is_allowed(&request.reach)).then(|| NOBODY.to_owned())
    }

    /// Approvals are numbered within their session: short enough to type. No number comes twice, so that a decision
    /// never meets another call than the one that was looked at.
    fn approval_id(&mut self) -> String {
        self.record.body.asked += 1;
        self.record.body.asked.to_string()
    }

    /// Whether the call stays in the session's own work tree, with every link on the way followed.
    fn is_allowed(&self, reach: &Reach) -> bool {
        let Ok(tree) = Path::new(&self.record.body.worktree).canonicalize() else { return false };
        let reach = match reach {
            Reach::Paths(paths) => Reach::Paths(paths.iter().map(|path| real(path)).collect()),
            Reach::Command { text, cwd } => {
                // The agent knows its tree by the name it was given.
                let text = text.replace(&self.record.body.worktree, &tree.to_string_lossy());
                let cwd = real(cwd);
                if !leads_inside(&text, &cwd, &tree) {
                    return false;
                }
                Reach::Command { text, cwd }
            }
            Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => Reach::Elsewhere,
        };
        permission::leads(&reach, &tree) == Leads::Inside
    }

    /// A decision on the same call that could not be delivered before; it is used once.
    fn carried(&mut self, call_hash: &str) -> Option<DecisionRecord> {
        let approvals = &mut self.record.body.approvals;
        let at =
            approvals.iter().position(|old| old.expired && old.decision.is_some() && old.call_hash == call_hash)?;
        approvals.remove(at).decision
    }

    async fn decide_at_once(&mut self, request: String, decision: DecisionRecord) {
        if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
            return self.give_up(&error).await;
        }
        self.tell_backend(BackendCommand::Decide { request, decision: backend_decision(decision) }).await;
    }

    pub(super) async fn approval_gone(&mut self, request: &str) {
        let approvals = &mut self.record.body.approvals;
        let Some(at) = approvals.iter().position(|open| open.request == request && !open.expired) else { return };
        let gone = approvals.remove(at);
        if gone.decision.is_none() {
            let outcome = "cancelled".to_owned();
            self.staged.push(Payload::ApprovalResolved { approval: gone.id, outcome, message: None });
            self.step(Event::Withdrawn(Wait::Approval)).await;
        }
    }
}

/// What the agent's own map of permissions forbids about a call. Other verdicts of the map are not its to give.
fn vetoed(map: &CompactPermission, request: &ApprovalRequest, record: &Record) -> Option<String> {
    // A backend tells what a call does, not which of our names for it a map uses.
    let tools: &[&str] = match request.kind {
        ToolKind::Read => &["read"],
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => &["edit", "write", "patch"],
        ToolKind::Search => &["search"],
        ToolKind::Execute => &["bash"],
        ToolKind::Fetch => &["web_fetch"],
        ToolKind::Think | ToolKind::Other => return None,
    };
    let from_tree =
        |path: &PathBuf| path.strip_prefix(&record.body.worktree).unwrap_or(path).to_string_lossy().into_owned();
    let targets: Vec<String> = match &request.reach {
        Reach::Paths(paths) => paths.iter().map(from_tree).collect(),
        Reach::Command { text, .. } => vec![text.clone()],
        Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => Vec::new(),
    };
    let calls = tools.iter().flat_map(|tool| targets.iter().map(move |target| (tool, target)));
    let denies = |(tool, target): &(&&str, &String)| map.evaluate(tool, Some(target)) == Some(Action::Deny);
    let (tool, pattern) = calls.into_iter().find(denies)?;
    Some(format!("Tool \"{tool}\" denied by policy for pattern: {pattern}"))
}

/// How many directories a command may change to and still be judged.
const MOST_MOVES: usize = 64;

/// Whether all that a command names is in the tree: a link that the repository brings may lead anywhere.
fn leads_inside(text: &str, cwd: &Path, tree: &Path) -> bool {
    let Some(places) = permission::places(text) else { return false };
    let mut bases = vec![cwd.to_owned()];
    let mut at = 0;
    // A name may be meant against each directory that can be reached by the command's own moves, in any order.
    while let Some(base) = bases.get(at).cloned() {
        if bases.len() > MOST_MOVES || !places.iter().all(|place| leads_place_inside(place, &base, tree)) {
            return false;
        }
        for place in &places {
            let Place::Move(to) = place else { continue };
            let next = real(&base.join(to));
            if next.is_dir() && !bases.contains(&next) {
                bases.push(next);
            }
        }
        at += 1;
    }
    true
}

fn leads_place_inside(place: &Place, base: &Path, tree: &Path) -> bool {
    let is_free = |path: &Path| permission::is_free(place, &real(path), tree);
    match place {
        Place::File(name) | Place::Move(name) | Place::Program(name) => is_free(&base.join(name)),
        Place::Within(name) => {
            let entries = base.join(name).read_dir().into_iter().flatten().flatten();
            let mut links = entries.map(|entry| entry.path()).filter(|path| path.is_symlink());
            is_free(&base.join(name)) && links.all(|path| is_free(&path))
        }
    }
}

/// A path with the links of its existing part followed; what does not exist cannot be a link.
fn real(path: &Path) -> PathBuf {
    for known in path.ancestors() {
        if let Ok(found) = known.canonicalize() {
            return path.strip_prefix(known).map_or(found.clone(), |rest| found.join(rest));
        }
        // A link that leads nowhere is made real by whoever writes through it.
        if known.is_symlink() {
            return PathBuf::new();
        }
    }
    PathBuf::new()
}

/// The backend's form of a stored decision.
pub(super) fn backend_decision(decision: DecisionRecord) -> Decision {
    match decision {
        DecisionRecord::Allow => Decision::Once,
        DecisionRecord::Deny { message } => Decision::Deny { message },
    }
}

/// Names a call by what it would do, so that the same call is known again after a restart.
fn call_hash(request: &ApprovalRequest) -> String {
    let input = request.input.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [tool_name(request.kind), &request.title, &input, &request.preview] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_where_its_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("tree")).unwrap();
        symlink(&root, root.join("tree/out")).unwrap();
        symlink("nowhere", root.join("tree/broken")).unwrap();
        for (path, expected) in [
            ("tree/a/b", root.join("tree/a/b")),
            ("tree/out/a", root.join("a")),
            ("tree/out/tree/c", root.join("tree/c")),
            ("tree/broken", PathBuf::new()),
        ] {
            assert_eq!(real(&root.join(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_command_is_judged_by_where_its_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in ["sub/deep", "sub/links", "src", "more", ".git/hooks", "bin"] {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        symlink(&root, tree.join("sub/deep/out")).unwrap();
        symlink(&root, tree.join("sub/links/docs")).unwrap();
        symlink("../.git", tree.join("more/hidden")).unwrap();
        symlink("../src", tree.join("more/inner")).unwrap();
        symlink("/usr/bin/env", tree.join("bin/env")).unwrap();
        let own = tree.display();
        for (text, expected) in [
            ("cat src/a sub/new > src/b", true),
            ("cat more/inner/x src/*", true),
            ("bin/env ls", true),
            ("cd sub && ls deep", true),
            ("find . -name x 2>/dev/null", true),
            ("make -C sub", true),
            ("cat bin/env", false),
            ("echo x > sub/links/docs/new", false),
            (&format!("cat {own}/sub/links/docs/x"), false),
            ("cat 'sub/links/docs/x'", false),
            ("cat --file=sub/links/docs/x", false),
            ("cat -fsub/links/docs/x", false),
            ("cat sub/links/docs/*", false),
            ("cat sub/links/*", false),
            ("cat sub/links/d*/x", false),
            ("cd sub && cat deep/out/x", false),
            ("cd sub && cd deep && cat out/x", false),
            ("f() { cd deep; cat out/x; }; cd sub; f", false),
            ("cd sub/links/docs", false),
            ("bash -c 'cd sub/deep && cat out/x'", false),
            ("make -C sub/deep out/x", false),
            ("make -Csub/deep out/x", false),
            ("tar --directory=sub/deep -xf a out/x", false),
            ("echo x > more/hidden/hooks/a", false),
            ("sub/links/docs/run", false),
            ("echo 'open", false),
        ] {
            assert_eq!(leads_inside(text, &tree, &tree), expected, "{text}");
        }
    }
}
