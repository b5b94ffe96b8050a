//! Which `.lfsconfig` git-lfs obeys when it can reach other machines: none that an agent wrote. It could name a host of the
//! agent's choice, to which git-lfs would send the user's credentials.
//!
//! Git-lfs looks for the file in its work tree, then in the index and in `HEAD`. So its filters get another work tree, which
//! holds nothing but the trusted version of the file.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::command::Git;
use super::{GitError, Repo, driver};

const FILE: &str = ".lfsconfig";

/// Largest file that is read from a checkout.
const LARGEST: u64 = 1 << 20;

/// Names the work tree of git-lfs. A variable needs no quotes of a shell.
const WORK_TREE: &str = "COPPICE_LFS_WORK_TREE";

/// Where the trusted version comes from.
pub(super) enum LfsConfigSource<'a> {
    /// What the user's checkout is at. A session may be based on an agent's commit.
    Head(&'a Repo),
    /// The files of the user's checkout, as they are before the run.
    Checkout(&'a Path),
}

/// The work tree of git-lfs; gone with the value.
pub(super) struct LfsWorkTree {
    dir: TempDir,
    /// The settings of its filters, and their commands.
    filters: Vec<(String, String)>,
}

impl LfsWorkTree {
    /// Makes it in a git directory, where no agent can write; none where no filter is one of git-lfs. `config` is a run of
    /// `config` there.
    pub(super) fn create(git_dir: &Path, config: Git, source: &LfsConfigSource<'_>) -> Result<Option<Self>, GitError> {
        let filters = driver::list_lfs_filters(config)?;
        if filters.is_empty() {
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("coppice-").tempdir_in(git_dir);
        let dir = dir.map_err(GitError::io("create a directory in", git_dir))?;
        let path = dir.path().join(FILE);
        // Without one, an empty file: git-lfs must not look further.
        fs::write(&path, source.read()?).map_err(GitError::io("write", &path))?;
        Ok(Some(Self { dir, filters }))
    }

    /// The variables by which the filters of a run of git work there.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let settings = self.filters.iter().enumerate().flat_map(|(number, (key, command))| {
            let command = format!("GIT_WORK_TREE=\"${WORK_TREE}\" {command}");
            [(format!("GIT_CONFIG_KEY_{number}"), key.clone()), (format!("GIT_CONFIG_VALUE_{number}"), command)]
        });
        let work_tree = self.dir.path().to_string_lossy().into_owned();
        let others =
            [(WORK_TREE.to_owned(), work_tree), ("GIT_CONFIG_COUNT".to_owned(), self.filters.len().to_string())];
        settings.chain(others).collect()
    }
}

impl LfsConfigSource<'_> {
    fn read(&self) -> Result<Vec<u8>, GitError> {
        match self {
            Self::Head(repo) => {
                let repo = repo.open()?;
                let read = || {
                    let tree = match repo.head() {
                        Ok(head) => head.peel_to_tree()?,
                        Err(_) => return Ok(Vec::new()),
                    };
                    // The content of a link is a path, and no settings.
                    let Some(entry) = tree.get_name(FILE).filter(|entry| entry.filemode() & 0o170_000 == 0o100_000)
                    else {
                        return Ok(Vec::new());
                    };
                    Ok(repo.find_blob(entry.id())?.content().to_owned())
                };
                read().map_err(GitError::library(format!("read `{FILE}` of the checkout")))
            }
            Self::Checkout(files) => {
                let path = files.join(FILE);
                match path.metadata() {
                    Ok(found) if found.is_file() && found.len() <= LARGEST => {
                        fs::read(&path).map_err(GitError::io("read", &path))
                    }
                    Ok(_) | Err(_) => Ok(Vec::new()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;
    use crate::git::testkit::{Sandbox, run_git, write, write_script};

    /// A repository with large-file storage, whose program writes the settings that it finds into every file.
    fn with_lfs() -> (Sandbox, String) {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", "*.bin filter=lfs\n");
        sandbox.write("a.bin", "pointer\n");
        sandbox.commit_all("a large file");
        for (key, command) in [("clean", "git-lfs clean -- %f"), ("smudge", "git-lfs smudge -- %f")] {
            sandbox.git(&["config", &format!("filter.lfs.{key}"), command]);
        }
        fs::create_dir(sandbox.main().join(".git/lfs")).unwrap();
        let programs = sandbox.root().join("programs");
        write_script(&programs.join("git-lfs"), "echo settings; cat \"$GIT_WORK_TREE/.lfsconfig\"");
        let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap());
        (sandbox, path)
    }

    /// A tree with the attributes of the base and the settings of an agent.
    fn agents_tree(files: &Path) -> String {
        run_git(files, &["update-index", "--add", ".lfsconfig"]);
        let tree = run_git(files, &["write-tree"]);
        run_git(files, &["rm", "--quiet", "--cached", ".lfsconfig"]);
        tree.trim().to_owned()
    }

    #[test]
    fn git_lfs_in_a_worktree_obeys_the_settings_of_the_users_checkout() {
        let (sandbox, search) = with_lfs();
        for base in ["", "[lfs]\n\turl = https://lfs.example.com\n"] {
            let id = if base.is_empty() { "abcdefgh" } else { "hgfedcba" };
            if !base.is_empty() {
                sandbox.write(".lfsconfig", base);
                // The name alone: its program is not on the path of the test.
                sandbox.git(&["add", ".lfsconfig"]);
                sandbox.git(&["commit", "--quiet", "--message", "settings"]);
            }
            let path = sandbox.root().join("trees").join(id);
            let branch = format!("coppice/{id}/work");
            sandbox.git(&["worktree", "add", "--quiet", "--no-checkout", "-b", &branch, path.to_str().unwrap()]);
            let repo = sandbox.repo();
            let admin = repo.common_dir().join("worktrees").join(id);
            let tree =
                crate::git::Worktree { base: sandbox.head(), attributes: sandbox.head(), repo, path, admin, branch };
            write(&tree.path.join(".lfsconfig"), "[lfs]\n\turl = https://agent.example.com\n");
            let git = |verb| Git::in_tree(&tree, verb).env("PATH", &search).writes(&tree.path).online();
            git("read-tree").arg("HEAD").run().unwrap();
            // An agent's own commit, on which another session may be based, decides as little as its files.
            let agents = run_git(&tree.path, &["commit-tree", "-m", "agent", &agents_tree(&tree.path)]);
            let tree = crate::git::Worktree { attributes: agents.trim().parse().unwrap(), ..tree.clone() };
            let git = |verb| Git::in_tree(&tree, verb).env("PATH", &search).writes(&tree.path).online();
            git("checkout-index").args(["--force", "a.bin"]).run().unwrap();
            assert_eq!(fs::read_to_string(tree.path.join("a.bin")).unwrap(), format!("settings\n{base}"));
            assert!(
                fs::read_dir(&tree.admin)
                    .unwrap()
                    .flatten()
                    .all(|entry| { !entry.file_name().to_string_lossy().starts_with("coppice-") })
            );
        }
    }

    #[test]
    fn git_lfs_in_a_checkout_of_the_user_obeys_the_settings_from_before_the_run() {
        let (sandbox, search) = with_lfs();
        let main = sandbox.main();
        fs::remove_file(main.join("a.bin")).unwrap();
        // Git writes the settings of the new commit before the large file.
        let blob = sandbox.root().join("blob");
        write(&blob, "[lfs]\n\turl = https://agent.example.com\n");
        let blob = sandbox.git(&["hash-object", "-w", blob.to_str().unwrap()]);
        sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},.lfsconfig", blob.trim())]);
        let git = Git::in_checkout(&main.join(".git"), &main, "checkout-index").env("PATH", &search);
        git.writes(&main).online().args(["--force", ".lfsconfig", "a.bin"]).run().unwrap();
        assert_eq!(fs::read_to_string(main.join("a.bin")).unwrap(), "settings\n");
        assert!(main.join(".lfsconfig").exists());
    }
}
