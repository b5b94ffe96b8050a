//! What git does not show of some files to whoever calls it with words of their own: it tells that they differ.
//!
//! Attributes do that for every kind of patch, whatever the words are but for those that order otherwise; a search looks
//! into files all the same, and takes paths to leave out. The content of a blob that is named by itself has no path, so
//! such words are found before git sees them.

use git2::{ErrorCode, FileMode, ObjectType};

use super::{GitError, Oid, Worktree};

/// A tree of attributes like that of a worktree, in which no patch shows the files with these names at the top.
pub fn attributes(tree: &Worktree, names: &[&str]) -> Result<Oid, GitError> {
    const SOURCE: &str = ".gitattributes";
    let repo = tree.repo.open()?;
    let veiled = || {
        let base = repo.find_object(tree.attributes.raw(), None)?.peel_to_tree()?;
        let said = match base.get_name(SOURCE).filter(|entry| entry.kind() == Some(ObjectType::Blob)) {
            Some(entry) => repo.find_blob(entry.id())?.content().to_vec(),
            None => Vec::new(),
        };
        // The last line about a file counts.
        let lines: String = names.iter().map(|name| format!("\n/{name} -diff\n/{name}/** -diff")).collect();
        let blob = repo.blob(&[said.as_slice(), lines.as_bytes(), b"\n"].concat())?;
        let mut builder = repo.treebuilder(Some(&base))?;
        builder.insert(SOURCE, blob, FileMode::Blob.into())?;
        builder.write()
    };
    veiled().map(Oid::from).map_err(GitError::library("prepare attributes"))
}

/// The paths that make a search leave out the files with these names at the top. Each comes twice: an option at the end
/// of the words that wants a value takes the first.
pub(super) fn left_out(names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| [*name, *name]).map(|name| format!(":(exclude,top,literal){name}")).collect()
}

/// The first of some words that names the content of a file by itself, and not by a commit and a path.
pub fn bare_content<'a>(tree: &Worktree, words: &'a [String]) -> Result<Option<&'a str>, GitError> {
    let repo = tree.repo.open()?;
    let is_blob = |name: &str| match repo.revparse_single(name.trim_start_matches('^')) {
        Ok(object) => Ok(object.kind() == Some(ObjectType::Blob)),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(false),
        // What begins several objects names none.
        Err(error) if error.code() == ErrorCode::Ambiguous => Ok(false),
        Err(error) => Err(GitError::library("look at what is named")(error)),
    };
    for word in words.iter().filter(|word| !word.starts_with('-') && !word.contains(':')) {
        for name in word.split("..").map(|name| name.trim_matches('.')).filter(|name| !name.is_empty()) {
            // What is peeled off an object names the same content.
            let name = name.split("^{").next().unwrap_or(name);
            if is_blob(name)? {
                return Ok(Some(word));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testkit::{Sandbox, run_git, write};

    const NAMES: &[&str] = &[".env", ".env.local"];

    fn veiled(sandbox: &Sandbox, tree: &Worktree) -> String {
        let oid = attributes(tree, NAMES).unwrap();
        assert_eq!(attributes(tree, NAMES).unwrap(), oid);
        sandbox.git(&["cat-file", "-p", &format!("{oid}:.gitattributes")])
    }

    #[test]
    fn no_patch_shows_what_is_veiled_whatever_the_repository_says() {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", "* diff\n.env diff=x");
        sandbox.write(".env", "SECRET=1\n");
        sandbox.write("sub/.env", "PLAIN=1\n");
        sandbox.commit_all("second");
        let tree = sandbox.session("abcdefgh");
        assert!(veiled(&sandbox, &tree).starts_with("* diff\n.env diff=x\n/.env -diff\n"));
        write(&tree.path.join(".env"), "SECRET=2\n");
        let source = format!("--attr-source={}", attributes(&tree, NAMES).unwrap());
        for words in [
            &["diff"][..],
            &["diff", "HEAD~1"],
            &["log", "--patch", "--format=%s"],
            &["show", "--format=%s"],
            &["status", "-vv"],
            &["log", "--cc", "--word-diff"],
            &["diff-files", "-p"],
        ] {
            let said = run_git(&tree.path, &[&[source.as_str()], words].concat());
            assert!(said.contains(".env") && !said.contains("SECRET"), "{words:?}: {said}");
        }
        assert!(run_git(&tree.path, &[&source, "show"]).contains("PLAIN=1"));
    }

    #[test]
    fn attributes_of_nobody_are_veiled_too() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        assert!(veiled(&sandbox, &tree).contains("\n/.env.local -diff\n"));
    }

    #[test]
    fn content_is_named_by_a_commit_and_a_path() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let blob = sandbox.oid("HEAD:README").to_string();
        let bare = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            bare_content(&tree, &words).unwrap().map(str::to_owned)
        };
        let (range, peeled) = (format!("{blob}..{blob}"), format!("{blob}^{{}}"));
        for word in [blob.as_str(), &blob[..9], &range, &peeled] {
            assert_eq!(bare(&["show", word]).as_deref(), Some(word));
        }
        let tree_oid = sandbox.oid("HEAD^{tree}").to_string();
        let fine =
            ["show", "HEAD:README", "HEAD", "main..HEAD", "..", "...", "HEAD~1", "HEAD^{tree}", &tree_oid, "a b", "*"];
        assert_eq!(bare(&fine), None);
        assert_eq!(bare(&["log", "-Sx", "--format=%s", "^HEAD"]), None);
    }
}
