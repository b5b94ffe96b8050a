//! Where paths and commands lead on the disk: a link that a repository brings may lead anywhere.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::git::tracked::tracked_files;
use crate::permission::compact::glob;
use crate::permission::{self, Keeper, Kept, Leads, Place, Reach, Subject, Target, guard};

/// How many directories a command may change to and still be judged.
const MOST_MOVES: usize = 64;

/// How many files are looked at for links that a command may reach by its patterns.
const MOST_FILES: usize = 10_000;

/// How many names are followed, each from every directory that the command may be in.
const MOST_PLACES: usize = 10_000;

/// How many files are looked at for what may not be read. The search itself reads each of them.
const MOST_SEARCHED: usize = 100_000;

/// The worktree of the session that makes a call.
#[derive(Clone, Copy)]
pub(super) struct CallerTree<'a> {
    /// The name that the agent knows it by.
    pub(super) name: &'a str,
    pub(super) path: &'a Path,
    pub(super) git_directory: &'a Path,
}

/// What a call is about, with every link on the way followed. `kept` is what may not be read in the tree.
pub(super) fn follow(reach: &Reach, tree: CallerTree<'_>, kept: &Kept) -> Subject {
    let target = |path: &PathBuf| Target { named: path.clone(), real: real(path) };
    match reach {
        Reach::Paths(paths) => Subject::Paths(paths.iter().map(target).collect()),
        Reach::Command { text, cwd } => {
            let renamed = text.replace(tree.name, &tree.path.to_string_lossy());
            let (place, keeper) = (target(cwd), kept.keeper(tree.path));
            let leads = match shows_kept_file(&renamed, tree, &keeper) {
                true => Leads::Kept,
                false => follow_command(&renamed, &place.real, tree.path, &keeper),
            };
            Subject::Command { text: text.clone(), cwd: place, leads }
        }
        Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => Subject::from(reach),
    }
}

/// Whether a command of git shows the content of tracked files, and one of them may not be read.
fn shows_kept_file(text: &str, tree: CallerTree<'_>, keeper: &Keeper) -> bool {
    let mut walk = Walk::new(tree.path, keeper);
    permission::shows_tracked_files(text)
        && tracked_files(tree.git_directory).is_none_or(|files| files.iter().any(|file| walk.keeps_inside(file)))
}

/// Where all that a command names leads: a link that the repository brings may lead anywhere. Git that runs in a directory
/// below must find the repository of the tree.
fn follow_command(text: &str, cwd: &Path, tree: &Path, keeper: &Keeper) -> Leads {
    let mut walk = Walk::new(tree, keeper);
    match (walk.leads_inside(text, cwd), walk.has_kept) {
        (true, _) => Leads::Inside,
        (false, true) => Leads::Kept,
        (false, false) => Leads::Elsewhere,
    }
}

/// Whether git may find a repository between a directory and the root of the tree, by a `.git` or without one.
fn is_in_other_repository(directory: &Path, tree: &Path) -> bool {
    let has = |place: &Path, name: &str| place.join(name).symlink_metadata().is_ok();
    let mut below = directory.ancestors().take_while(|place| *place != tree);
    below.any(|place| has(place, ".git") || has(place, "HEAD"))
}

/// A look at the places of a command.
struct Walk<'a> {
    tree: &'a Path,
    keeper: &'a Keeper,
    /// How many files may yet be looked at for links, and how many for what may not be read; how many names followed.
    links_left: usize,
    files_left: usize,
    places_left: usize,
    /// Whether something was found that may not be read.
    has_kept: bool,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Path, keeper: &'a Keeper) -> Self {
        Self {
            tree,
            keeper,
            links_left: MOST_FILES,
            files_left: MOST_SEARCHED,
            places_left: MOST_PLACES,
            has_kept: false,
        }
    }

    /// Whether all that a command names is in the tree and may be read.
    fn leads_inside(&mut self, text: &str, cwd: &Path) -> bool {
        let Some(mut places) = permission::places_below(text, cwd, self.tree) else { return false };
        let mut seen = HashSet::new();
        places.retain(|place| seen.insert(place.clone()));
        // Quotes in the text may hide the name of a program, and are not in its commands.
        let runs_git = permission::segments(text).is_none_or(|lines| lines.iter().any(|line| line.contains("git")));
        let mut bases = vec![cwd.to_owned()];
        let mut at = 0;
        // A name may be meant against each directory that can be reached by the command's own moves, in any order.
        while let Some(base) = bases.get(at).cloned() {
            let is_seen = |place: &&Place| {
                let (Place::Within { directory, .. } | Place::Searched(directory)) = place else { return false };
                at > 0 && Path::new(directory).is_absolute()
            };
            let mut unseen = places.iter().filter(|place| !is_seen(place));
            let is_foreign = runs_git && is_in_other_repository(&base, self.tree);
            if is_foreign || bases.len() > MOST_MOVES || !unseen.all(|place| self.leads_place_inside(place, &base)) {
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

    fn leads_place_inside(&mut self, place: &Place, base: &Path) -> bool {
        let Some(places_left) = self.places_left.checked_sub(1) else { return false };
        self.places_left = places_left;
        match place {
            Place::File(name) | Place::Move(name) | Place::Program(name) => self.is_free(place, &base.join(name)),
            Place::Searched(directory) => {
                let start = base.join(directory);
                self.is_free(place, &start) && self.finds_nothing_kept(&real(&start))
            }
            Place::Within { directory, pattern } => {
                let start = base.join(directory);
                // A name that begins a word may be an option.
                let is_option = |name: &str| name.starts_with('-') && may_match(pattern, name);
                let has_option = || entries(&start).iter().any(|path| is_option(&file_name(path)));
                self.is_free(place, &start)
                    && !(directory.is_empty() && has_option())
                    && self.leads_pattern_inside(place, real(&start), pattern)
            }
        }
    }

    fn is_free(&mut self, place: &Place, path: &Path) -> bool {
        let real = real(path);
        permission::is_free(place, &real, self.tree) && !(real.exists() && self.keeps(&real))
    }

    /// Whether a file of the tree may not be read.
    fn keeps(&mut self, path: &Path) -> bool {
        path.strip_prefix(self.tree).is_ok_and(|inside| self.keeps_inside(inside))
    }

    fn keeps_inside(&mut self, inside: &Path) -> bool {
        let is_kept = guard::is_tree_secret(inside) || self.keeper.keeps(inside);
        self.has_kept |= is_kept;
        is_kept
    }

    /// Whether a search below a directory reads nothing that may not be read. It follows no links.
    fn finds_nothing_kept(&mut self, start: &Path) -> bool {
        let mut walk = WalkBuilder::new(start);
        // The crate opens ignore files, and a `.git` that names others, whatever they are.
        walk.standard_filters(false).filter_entry(|entry| entry.file_name() != ".git");
        for entry in walk.build().flatten() {
            let Some(files_left) = self.files_left.checked_sub(1) else { return false };
            self.files_left = files_left;
            if entry.file_type().is_some_and(|kind| !kind.is_dir()) && self.keeps(entry.path()) {
                return false;
            }
        }
        true
    }

    /// Whether everything that a pattern may mean is in the tree and may be read: behind its first part, each level is
    /// looked at. Too many files are an answer, too.
    fn leads_pattern_inside(&mut self, place: &Place, start: PathBuf, pattern: &str) -> bool {
        let mut level = vec![start];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let is_literal = !part.contains(['*', '?', '[', '{', '$']);
            // Some shells go on below what they find, where a link may lead back.
            let is_deep = matches!(part, "**" | "***");
            let mut next = Vec::new();
            let mut seen: HashSet<PathBuf> = level.iter().cloned().collect();
            let mut at = 0;
            while let Some(directory) = level.get(at).cloned() {
                at += 1;
                let found = match is_literal {
                    true => vec![directory.join(part)],
                    false => entries(&directory),
                };
                let Some(links_left) = self.links_left.checked_sub(found.len()) else { return false };
                self.links_left = links_left;
                for path in found {
                    let is_link = path.is_symlink();
                    if is_link && !permission::is_free(place, &real(&path), self.tree) {
                        return false;
                    }
                    let is_meant = is_deep || may_match(part, &file_name(&path));
                    if is_meant && self.keeps(&if is_link { real(&path) } else { path.clone() }) {
                        return false;
                    }
                    match is_deep {
                        _ if !path.is_dir() => {}
                        false => next.push(path),
                        true => level.extend(Some(real(&path)).filter(|path| seen.insert(path.clone()))),
                    }
                }
            }
            level = if is_deep { level } else { next };
        }
        true
    }
}

/// Whether a name may be meant by the first part of a pattern of a shell.
fn may_match(pattern: &str, name: &str) -> bool {
    let part = pattern.split('/').next().unwrap_or(pattern);
    let is_hidden = name.starts_with('.') && part.starts_with(['*', '?']);
    !is_hidden && (part.contains('[') || glob::matches(part, name))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    directory.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect()
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
    use crate::permission::rule::RuleFile;

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
    fn names_are_followed_once_and_not_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        let moves: String = (0..20).map(|at| format!("cd d{at}; ")).collect();
        (0..20).for_each(|at| fs::create_dir(tree.join(format!("d{at}"))).unwrap());
        let files: String = (0..2_000).map(|at| format!(" f{at}")).collect();
        for (text, expected) in [
            (format!("{moves}cat{}", " a".repeat(2_000)), true),
            (format!("cat{files}"), true),
            (format!("{moves}cat{files}"), false),
        ] {
            let keeper = Kept::default().keeper(&tree);
            let mut walk = Walk::new(&tree, &keeper);
            assert_eq!(walk.leads_inside(&text, &tree), expected, "{}", &text[..20]);
            assert_eq!(walk.places_left == 0, !expected, "{}", &text[..20]);
        }
    }

    #[test]
    fn a_command_is_judged_by_where_its_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in ["sub/deep", "sub/links", "src", "more", ".git/hooks", "bin", "notes"] {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        symlink(&root, tree.join("sub/deep/out")).unwrap();
        symlink(&root, tree.join("sub/links/docs")).unwrap();
        symlink("../.git", tree.join("more/hidden")).unwrap();
        symlink("../src", tree.join("more/inner")).unwrap();
        symlink("/usr/bin/nice", tree.join("bin/nice")).unwrap();
        symlink("..", tree.join("bin/dot")).unwrap();
        for name in ["notes/a.txt", "cat", "odd,", "sub/odd,", "@odd"] {
            symlink("/proc/self/environ", tree.join(name)).unwrap();
        }
        let own = tree.display();
        for (text, expected) in [
            ("cat src/a sub/new > src/b", true),
            ("cat more/inner/x src/*", true),
            ("cat notes/a.txt", false),
            ("grep -r x //", false),
            ("grep -r x /proc/self/", false),
            ("sed -n '/a/,/b/p' src/a", true),
            ("sed -n '/a/,/b/p' notes/a.txt", false),
            ("bin/nice ls", true),
            ("cd sub && ls deep", true),
            ("find . -name x 2>/dev/null", true),
            ("make -C sub", true),
            ("cat bin/nice", false),
            ("grep -r x bin/dot", false),
            ("ls ./", true),
            (&format!("ls {own}"), true),
            ("echo x > sub/links/docs/new", false),
            (&format!("cat {own}/sub/links/docs/x"), false),
            ("cat 'sub/links/docs/x'", false),
            ("cat --file=sub/links/docs/x", false),
            ("cat -fsub/links/docs/x", false),
            ("grep -nfcat src/a", false),
            ("grep -nHifnotes/a.txt src/a", false),
            ("grep -nHinot src/a", true),
            ("cat sub/links/docs/*", false),
            ("cat sub/links/*", false),
            ("cat sub/links/d*/x", false),
            ("cat s*/*/out", false),
            ("cat s*/deep/o?t/x", false),
            ("cat src/*/x src/**/y", true),
            ("ls sub/**", false),
            ("ls sub/**/x", false),
            ("grep -Rh x sub", false),
            ("grep --dereference-recursive x", false),
            ("rg -L x", false),
            ("rg --follow x", false),
            ("find -L . -name x", false),
            ("diff -r sub src", false),
            ("diff sub/deep src", false),
            ("diff src/a src/b", true),
            ("cat cat", false),
            ("cat < cat", false),
            ("cat head; head cat", false),
            ("cat a.c > cat", false),
            ("cat odd,", false),
            ("cat sub/odd,", false),
            ("cat @odd", false),
            ("tree -l", false),
            ("cd src && grep -R x .", false),
            ("grep -r x sub", true),
            ("rg x sub", true),
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
            assert_eq!(
                follow_command(text, &tree, &tree, &Kept::default().keeper(&tree)) == Leads::Inside,
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn links_inside_the_tree_may_be_followed_and_too_many_files_may_not() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        fs::create_dir_all(tree.join("sub/deep")).unwrap();
        symlink("..", tree.join("sub/up")).unwrap();
        symlink("../../sub", tree.join("sub/deep/back")).unwrap();
        for text in ["grep -R x sub", "rg -L x", "cat */*/x", "ls **/x"] {
            assert!(follow_command(text, &tree, &tree, &Kept::default().keeper(&tree)) == Leads::Inside, "{text}");
        }
        (0..=MOST_FILES).for_each(|number| drop(fs::File::create(tree.join(number.to_string())).unwrap()));
        let leads = |text: &str| follow_command(text, &tree, &tree, &Kept::default().keeper(&tree)) == Leads::Inside;
        assert!(!leads("grep -R x sub") && leads("grep -r x sub"));
    }

    #[test]
    fn a_command_does_not_lead_inside_by_what_may_not_be_read_nor_by_options_nor_into_repositories() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        for name in
            ["config", "src/deep", "opt", "repo/sub", "bare/refs", "git/refs", "odd,/refs", "a@1/refs", "s t/refs"]
        {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        for name in [
            "a.c",
            "config/key.pem",
            "config/a.yml",
            "opt/-f.c",
            "repo/.git",
            "bare/HEAD",
            ".env",
            "git/HEAD",
            "odd,/HEAD",
            "a@1/HEAD",
            "s t/HEAD",
        ] {
            fs::write(tree.join(name), "").unwrap();
        }
        symlink("config/key.pem", tree.join("notes.txt")).unwrap();
        let deny = vec!["Read(**/*.pem)".parse().unwrap()];
        let rules = RuleFile { deny, ..RuleFile::default() };
        let keeper = Kept::of(&[], &[rules]).keeper(&tree);
        for (text, expected) in [
            ("cat config/*", false),
            ("cat conf*/*.pem", false),
            ("cat config/key.pem", false),
            ("cat notes.txt", false),
            ("cat n*", false),
            ("cat config/*.yml", true),
            ("grep x *.c", true),
            ("wc -l * src/*", false),
            ("wc -l *.c src/*", true),
            ("cat missing.pem", true),
            ("cd opt && grep x *.c", false),
            ("cd opt && grep x ./*.c", true),
            ("cd opt && grep x *.h", true),
            ("cd src && git status", true),
            ("cd src/deep && git diff", true),
            ("cd repo && git status", false),
            ("cd repo/sub && git status", false),
            ("cd repo && gi\"\"t status", false),
            ("cd bare && git status", false),
            ("cd bare/refs && git status", false),
            ("cd git && git status", false),
            ("cd odd, && git status", false),
            ("cd a@1 && git status", false),
            ("cd 's t' && git status", false),
            ("cd repo && ls", true),
            ("git show HEAD@{1}", true),
        ] {
            assert_eq!(follow_command(text, &tree, &tree, &keeper) == Leads::Inside, expected, "{text}");
        }
        assert_eq!(follow_command("git status", &tree.join("repo/sub"), &tree, &keeper), Leads::Elsewhere);
    }

    #[test]
    fn a_search_is_judged_by_the_files_that_it_reads() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        for name in ["api", "src", "docs", ".git", "leak", "more/deep"] {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        symlink("/proc/self/environ", tree.join("leak/e")).unwrap();
        symlink("../api", tree.join("more/link")).unwrap();
        for name in ["api/.env", "src/a.rs", "docs/key.pem", "docs/a.md", ".env", ".git/x.pem"] {
            fs::write(tree.join(name), "").unwrap();
        }
        fs::write(tree.join(".gitignore"), "key.pem\n").unwrap();
        let (deny, ask) = (vec!["Read(**/.env)".parse().unwrap()], vec!["Read(**/*.pem)".parse().unwrap()]);
        let rules = RuleFile { deny, ask, ..RuleFile::default() };
        let keeper = Kept::for_commands(&[], &[rules]).keeper(&tree);
        let follow = |text: &str, keeper: &Keeper| follow_command(text, &tree, &tree, keeper);
        for text in [
            "grep -r KEY api",
            "grep -rh '' api/",
            "cd api && grep -r KEY .",
            "cd api; grep -r KEY",
            "grep -r KEY .",
            "grep --recursive KEY ./",
            "grep -r KEY src/..",
            "grep -rm 1 KEY",
            "grep -rn KEY docs",
            "cat docs/*",
            "rg --hidden KEY api",
            "rg -uu KEY",
            "rg -g '*' KEY",
            "rg KEY --iglob='.E*'",
            "diff -r api src",
            "diff fixtures .",
            "cat docs/key.pem",
            "grep -r KEY a*",
            "grep -r KEY ./a*",
            "grep -r KEY */",
            "grep -r KEY ./*/",
            "grep -r KEY src ap?",
            "grep -r KEY more/l*",
            "egrep -r KEY a?i",
            "rg KEY a*",
            "rg -uu KEY ./ap?",
            "ag KEY a*",
            "diff -r a* src",
            "diff -ra src a*",
            "diff -raN l* src",
            "diff --from-file=leak src",
            "diff more/l* src",
        ] {
            assert_ne!(follow(text, &keeper), Leads::Inside, "{text}");
        }
        for text in [
            "grep -rn foo src",
            "grep -rn foo src/*.rs",
            "grep -rn 'a*' src",
            "rg -n foo src",
            "rg -n 'a.*' src/a*",
            "diff -r src more/deep",
            "diff src/a* src/b*",
            "ls -R",
            "ls -R a*",
            "find a* -name x",
            "tree a*",
            "wc src/a*",
            "git status",
            "git diff",
        ] {
            assert_eq!(follow(text, &keeper), Leads::Inside, "{text}");
        }
        // Secrets of the tree need no rule.
        let no_rules = Kept::default().keeper(&tree);
        assert_eq!(follow("grep -r KEY .", &no_rules), Leads::Kept);
        assert_eq!(follow("grep -r KEY api docs", &no_rules), Leads::Inside);
        assert_eq!(follow("rg foo", &keeper), Leads::Kept, "an agent can change what is ignored");
        // Nobody would ever write to it.
        let pipe = tree.join("src/.ignore");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(follow("rg -n foo src", &keeper), Leads::Inside);
    }
}
