//! Where paths and commands lead on the disk: a link that a repository brings may lead anywhere.

use std::path::{Path, PathBuf};

use crate::permission::{self, Leads, Place, Reach, Subject, Target};

/// How many directories a command may change to and still be judged.
const MOST_MOVES: usize = 64;

/// What a call is about, with every link on the way followed. The agent knows its tree by the name `tree`; `real_tree`
/// is where that is.
pub(super) fn follow(reach: &Reach, tree: &str, real_tree: &Path) -> Subject {
    let target = |path: &PathBuf| Target { named: path.clone(), real: real(path) };
    match reach {
        Reach::Paths(paths) => Subject::Paths(paths.iter().map(target).collect()),
        Reach::Command { text, cwd } => {
            let renamed = text.replace(tree, &real_tree.to_string_lossy());
            let place = target(cwd);
            let is_inside = leads_inside(&renamed, &place.real, real_tree);
            let leads = if is_inside { Leads::Inside } else { Leads::Elsewhere };
            Subject::Command { text: text.clone(), cwd: place, leads }
        }
        Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => Subject::from(reach),
    }
}

/// Whether all that a command names is in the tree: a link that the repository brings may lead anywhere.
fn leads_inside(text: &str, cwd: &Path, tree: &Path) -> bool {
    let Some(places) = permission::places_below(text, cwd, tree) else { return false };
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
pub(super) fn real(path: &Path) -> PathBuf {
    for known in path.ancestors() {
        if let Ok(found) = known.canonicalize() {
            return match path.strip_prefix(known) {
                Ok(rest) if !rest.as_os_str().is_empty() => found.join(rest),
                Ok(_) | Err(_) => found,
            };
        }
        // A link that leads nowhere is made real by whoever writes through it.
        if known.is_symlink() {
            return PathBuf::new();
        }
    }
    PathBuf::new()
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
