//! Files in real directories: which are read, which are refused, and when an edit counts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::files::{Ground, list};
use super::*;
use crate::agent::catalog::LookupError;

/// A home and a checkout of their own.
struct World {
    root: TempDir,
    reader: AgentReader,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let environment = [("HOME".to_owned(), path.join("home").display().to_string())].into_iter().collect();
        let reader = AgentReader::new(&path.join("home/.config/coppice"), &environment);
        Self { root, reader }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(inside)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, place: &str) -> Arc<Agents> {
        self.reader.read(&Ground::Checkout { root: self.path("repo"), place: place.into() }).unwrap()
    }

    /// The file that a name means, or why it means none.
    fn lookup(&self, place: &str, name: &str) -> Result<String, LookupError> {
        let agents = self.read(place);
        let path = agents.catalog.lookup(name, "builder").map(|agent| agent.source.path.clone())?;
        Ok(path.replace(&format!("{}/", self.path("").display().to_string().trim_end_matches('/')), ""))
    }

    #[track_caller]
    fn refused(&self, name: &str, reason: &str) {
        match self.lookup("", name) {
            Err(LookupError::Broken { message, .. }) => assert_eq!(message, reason),
            other => panic!("{other:?}"),
        }
    }
}

const AGENT: &str = "---\ndescription: One\n---\nDo it.\n";

#[test]
fn the_nearest_file_of_the_checkout_wins_and_none_above_it_is_read() {
    let world = World::new();
    for path in [
        ".coppice/agents/one.md",
        "repo/.coppice/agents/one.md",
        "repo/a/.coppice/agents/one.md",
        "repo/a/b/.codex/.agents/one.md",
        "home/.config/coppice/agents/one.md",
        "home/.codex/.agents/two.md",
        "home/.config/kodacode/agents/three.md",
        "home/.claude/agents/four.md",
        "home/.yottacode/agents/five.md",
    ] {
        let stem = Path::new(path).file_stem().unwrap().to_str().unwrap();
        world.write(path, &AGENT.replace("description", &format!("name: {stem}\ndescription")));
    }
    let found = |place, name| world.lookup(place, name).unwrap();
    assert_eq!(found("", "one"), "repo/.coppice/agents/one.md");
    assert_eq!(found("a", "one"), "repo/a/.coppice/agents/one.md");
    assert_eq!(found("a/b", "one"), "repo/a/b/.codex/.agents/one.md");
    assert_eq!(found("a/b/c", "one"), "repo/a/b/.codex/.agents/one.md");
    fs::remove_file(world.path("repo/.coppice/agents/one.md")).unwrap();
    assert_eq!(found("", "one"), "home/.config/coppice/agents/one.md");
    for (name, path) in [
        ("two", "home/.codex/.agents/two.md"),
        ("three", "home/.config/kodacode/agents/three.md"),
        ("four", "home/.claude/agents/four.md"),
        ("five", "home/.yottacode/agents/five.md"),
        ("builder", "builtin:builder.md"),
    ] {
        assert_eq!(found("", name), path);
    }
}

#[test]
fn between_the_two_directories_of_tasks_only_the_first_is_read() {
    let world = World::new();
    world.write("repo/.claude/agents/one.md", &AGENT.replace("description", "name: one\ndescription"));
    assert_eq!(world.lookup("", "one").unwrap(), "repo/.claude/agents/one.md");
    fs::create_dir_all(world.path("repo/.agents/agents")).unwrap();
    assert!(world.lookup("", "one").is_err());
}

#[test]
fn an_edit_counts_at_the_next_look_and_nothing_is_read_twice() {
    let world = World::new();
    world.write("repo/.coppice/agents/one.md", AGENT);
    let prompt = |agents: &Agents| agents.catalog.lookup("one", "").unwrap().prompt.trim().to_owned();
    assert_eq!(prompt(&world.read("")), "Do it.");
    world.write("repo/.coppice/agents/one.md", &AGENT.replace("Do it", "Do be"));
    assert_eq!(prompt(&world.read("")), "Do be.");
    fs::remove_file(world.path("repo/.coppice/agents/one.md")).unwrap();
    assert!(world.lookup("", "one").is_err());
    let [before, after] = [world.read(""), world.read("")];
    assert!(Arc::ptr_eq(&before, &after));
}

#[test]
fn a_file_that_must_not_be_read_keeps_its_place() {
    let world = World::new();
    world.write("secret.md", AGENT);
    world.write("repo/elsewhere.md", AGENT);
    fs::create_dir_all(world.path("repo/.coppice/agents/dir.md")).unwrap();
    let agents = world.path("repo/.coppice/agents");
    symlink(world.path("secret.md"), agents.join("reviewer.md")).unwrap();
    symlink("../../elsewhere.md", agents.join("planner.md")).unwrap();
    symlink("nowhere.md", agents.join("explore.md")).unwrap();
    fs::write(agents.join("general.md"), "x".repeat(1024 * 1024 + 1)).unwrap();
    fs::write(agents.join("worker.md"), b"ab\xff").unwrap();
    world.write("repo/.coppice/agents/real.md", AGENT);
    symlink("real.md", agents.join("alias.md")).unwrap();
    world.refused("reviewer", "the file is a link that leads out of its directory");
    world.refused("planner", "the file is a link that leads out of its directory");
    world.refused("explore", "the file is a link that leads nowhere");
    world.refused("general", "the file is larger than 1048576 bytes");
    world.refused("worker", "the file is not UTF-8: byte 2 is wrong");
    assert_eq!(world.lookup("", "alias").unwrap(), "repo/.coppice/agents/alias.md");
    assert!(matches!(world.lookup("", "dir"), Err(LookupError::Missing { .. })));
}

#[test]
fn a_directory_that_leads_out_of_the_repository_is_not_read() {
    let world = World::new();
    world.write("other/one.md", AGENT);
    fs::create_dir_all(world.path("repo/.coppice")).unwrap();
    symlink(world.path("other"), world.path("repo/.coppice/agents")).unwrap();
    assert!(world.lookup("", "one").is_err());
    let agents = world.read("");
    let said = agents.catalog.entries().iter().find_map(|entry| entry.diagnostics().first()).unwrap();
    assert_eq!(said.message, "the directory is a link that leads out of the repository");
    // What a user links to is the user's own affair.
    fs::create_dir_all(world.path("home/.config/coppice")).unwrap();
    symlink(world.path("other"), world.path("home/.config/coppice/agents")).unwrap();
    assert_eq!(world.lookup("", "one").unwrap(), "home/.config/coppice/agents/one.md");
}

#[test]
fn skills_of_the_project_come_before_those_of_the_user() {
    let world = World::new();
    let skill = |description: &str| format!("---\ndescription: {description}\n---\nDo.\n");
    world.write("repo/.coppice/skills/pdf/SKILL.md", &skill("project"));
    world.write("home/.config/coppice/skills/pdf/SKILL.md", &skill("user"));
    world.write("home/.config/kodacode/skills/csv/SKILL.md", &skill("other"));
    world.write("repo/.coppice/skills/bad/SKILL.md", "---\nname: [\n---\n");
    world.write("repo/.coppice/skills/README.md", "no skill");
    let agents = world.read("");
    let skills: Vec<_> = agents.skills.iter().map(|skill| (&*skill.name, &*skill.description)).collect();
    assert_eq!(skills, [("csv", "other"), ("pdf", "project")]);
    let [(path, _)] = agents.broken_skills.as_slice() else { panic!("{:?}", agents.broken_skills) };
    assert!(path.ends_with("bad/SKILL.md"));
}

#[test]
fn a_repository_without_a_checkout_has_the_files_of_its_commit() {
    let world = World::new();
    let repo = crate::git::testkit::Sandbox::new();
    repo.write("a/.coppice/agents/one.md", AGENT);
    repo.write(".kodacode/agents/two.md", AGENT);
    repo.write(".coppice/skills/pdf/SKILL.md", AGENT);
    let commit = repo.commit_all("agents");
    repo.write("a/.coppice/agents/later.md", AGENT);
    let ground = Ground::Commit { repo: repo.repo(), commit, place: "a".into() };
    let listed = list(&world.reader.homes, &ground).unwrap();
    let found: Vec<_> = listed.iter().map(|file| (file.path.split_once(':').unwrap().1, file.level)).collect();
    let expected =
        [("a/.coppice/agents/one.md", 0), (".kodacode/agents/two.md", 1), (".coppice/skills/pdf/SKILL.md", 1)];
    assert_eq!(found, expected);
    assert_eq!(world.reader.read(&ground).unwrap().catalog.lookup("one", "").unwrap().prompt, "Do it.\n");
}

#[test]
fn a_kept_definition_reads_as_the_one_that_was_kept() {
    let world = World::new();
    world.write("repo/.codex/.agents/one.md", AGENT);
    let agents = world.read("");
    for name in ["one", "explore", "reviewer"] {
        let found = agents.catalog.lookup(name, "").unwrap();
        assert_eq!(role::definition(&agents.keep(found)).as_ref(), Ok(found));
    }
}
