//! The submodules of a session. Git merges nothing of what is in them, so their changes are kept in a ref of their own and reported.

use std::path::Path;

use crate::api::event::Payload;
use crate::api::session::{FileChange, SubmoduleChanges};
use crate::git::submodule::{self, KeptSubmodules, SubmoduleFile, SubmoduleFileKind};

use super::super::fault::Fault;
use super::super::prepare::failure;
use super::Actor;
use super::tree::{blocking, in_quiet_tree};

/// How many files of a submodule are listed.
const LISTED: usize = 100;

/// How many files a sentence names.
const NAMED: usize = 5;

impl Actor {
    /// Keeps what differs in the submodules. A failure is a warning: the files are where they were.
    pub(super) async fn keep_submodules(&mut self) {
        match self.try_keep_submodules().await {
            Ok(KeptSubmodules { changes, left_out }) => {
                let changes: Vec<_> = changes.iter().map(listed).collect();
                if changes != self.record.body.submodules {
                    self.record.body.submodules = changes;
                    self.warn_of_submodules("are not part of the session's commits");
                }
                if !left_out.is_empty() {
                    let left: Vec<_> = left_out.iter().map(|path| format!("`{}`", path.display())).collect();
                    let message = format!("not kept, because they are repositories or unreadable: {}", left.join(", "));
                    self.staged.push(Payload::Warning { message });
                }
            }
            Err(fault) => {
                let message = format!("changes in submodules could not be kept: {}", failure(fault).message);
                self.staged.push(Payload::Warning { message });
            }
        }
    }

    async fn try_keep_submodules(&self) -> Result<KeptSubmodules, Fault> {
        let (tree, session) = (self.tree().await?, self.id);
        let of = tree.clone();
        if !blocking(move || submodule::has_any(&of)).await? {
            return Ok(KeptSubmodules::default());
        }
        self.shared.in_stoppable_tree(session, &tree, move |tree| submodule::keep(&tree, session)).await
    }

    /// Fills submodules that are empty with what was kept of them.
    pub(super) async fn fill_submodules(&mut self) -> Result<(), Fault> {
        let (tree, session) = (self.tree().await?, self.id);
        let fill = move || Ok(submodule::fill_or_warn(&tree, session));
        let warnings = in_quiet_tree(Path::new(&self.record.body.worktree), fill).await?;
        self.staged.extend(warnings.into_iter().map(|message| Payload::Warning { message }));
        Ok(())
    }

    /// Says what an act does not do with changed files of submodules.
    pub(super) fn warn_of_submodules(&mut self, fate: &str) {
        if let Some(message) = self.describe_submodules(fate) {
            self.staged.push(Payload::Warning { message });
        }
    }

    /// The changed files of submodules, and where they are kept.
    pub(super) fn describe_submodules(&self, fate: &str) -> Option<String> {
        let changes = &self.record.body.submodules;
        let all: Vec<_> = changes.iter().flat_map(|one| one.files.iter().map(move |file| (one, file))).collect();
        let named = all.iter().take(NAMED).map(|(one, file)| format!("`{}/{}`", one.path, file.path));
        let mut named = named.collect::<Vec<_>>().join(", ");
        let count: usize = changes.iter().map(|one| one.count as usize).sum();
        if count > NAMED {
            named.push_str(&format!(" and {} more", count - NAMED));
        }
        let kept = submodule::submodules_ref(self.id);
        (count > 0).then(|| {
            format!(
                "changed files in submodules {fate}: {named}; they are kept, and `git archive {kept} | tar -x` in your \
                 checkout puts them there"
            )
        })
    }
}

fn listed(changes: &submodule::SubmoduleChanges) -> SubmoduleChanges {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let file = |file: &SubmoduleFile| FileChange {
        path: file.path.to_string_lossy().into_owned(),
        status: match file.kind {
            SubmoduleFileKind::Added => "A",
            SubmoduleFileKind::Changed => "M",
            SubmoduleFileKind::Deleted => "D",
        }
        .to_owned(),
        insertions: file.lines.map(|(insertions, _)| count(insertions)),
        deletions: file.lines.map(|(_, deletions)| count(deletions)),
        from: None,
    };
    SubmoduleChanges {
        path: changes.path.to_string_lossy().into_owned(),
        count: count(changes.files.len()),
        files: changes.files.iter().take(LISTED).map(file).collect(),
    }
}
