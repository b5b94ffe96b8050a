//! The files of agents and skills: which there are, and what they say.
//!
//! Those of a project come from the user's checkout, or from a commit where there is none; never from a worktree in
//! which an agent works. A file that must not be read is told like one that cannot be understood.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::agent::directory::{self, AGENTS, Base, Directory, SKILLS, SkillDirectory, SkillLayout};
use crate::agent::{Format, Scope};
use crate::git::{GitError, Oid, Repo};

/// No definition is longer; what is, is something else.
const LARGEST: u64 = 1024 * 1024;

/// The file in the directory of a skill.
const SKILL_FILE: &str = "SKILL.md";

/// Where the files of a project are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Ground {
    /// There is no project.
    Nowhere,
    /// Below the user's checkout; `place` is where the session was begun in it.
    Checkout { root: PathBuf, place: PathBuf },
    /// In a repository that nobody has checked out.
    Commit { repo: Repo, commit: Oid, place: PathBuf },
}

/// Where the user's own files are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Homes {
    /// The directory of Coppice's own configuration.
    pub(super) own: PathBuf,
    /// What `XDG_CONFIG_HOME` names, or stands for it.
    pub(super) config: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
}

impl Homes {
    fn base(&self, base: Base) -> Option<&Path> {
        match base {
            Base::Own => Some(&self.own),
            Base::Config => self.config.as_deref(),
            Base::Home => self.home.as_deref(),
            Base::Upward | Base::Root => None,
        }
    }

    /// Where the user's own skills are.
    pub(super) fn skill_directories(&self) -> impl Iterator<Item = (&'static SkillDirectory, PathBuf)> {
        SKILLS.iter().filter_map(|directory| Some((directory, self.base(directory.base)?.join(directory.path))))
    }
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    /// How many directories above the nearest one of its project.
    pub(super) level: u32,
    /// As people read it.
    pub(super) path: String,
    /// The name of an agent's file without its extension, or of a skill's directory.
    pub(super) stem: String,
    pub(super) content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Agent(Format),
    Skill(SkillLayout),
}

/// What a file says, or what tells whether it says what it said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    OnDisk(PathBuf, Stamp),
    /// The text, or why it is not read.
    Known(Result<String, String>),
}

/// Changes with every write to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// When the file was last touched, in milliseconds.
    pub(super) fn touched_at(&self) -> i64 {
        let (seconds, nanoseconds) = self.modified.max(self.changed);
        seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000)
    }
}

impl Listed {
    /// What the file says, or why it is not read.
    pub(super) fn read(&self) -> Result<String, String> {
        match &self.content {
            Content::Known(known) => known.clone(),
            Content::OnDisk(path, _) => {
                let cannot = |error: std::io::Error| format!("the file cannot be read: {error}");
                let mut bytes = Vec::new();
                File::open(path).map_err(cannot)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
                text(bytes)
            }
        }
    }
}

/// Everything that there is, those of a project first.
pub(super) fn list(homes: &Homes, ground: &Ground) -> Result<Vec<Listed>, GitError> {
    let mut found = match ground {
        Ground::Nowhere => Vec::new(),
        Ground::Checkout { root, place } => project_on_disk(root, place),
        Ground::Commit { repo, commit, place } => project_at(repo, commit, place)?,
    };
    for directory in AGENTS {
        if let Some(base) = homes.base(directory.base) {
            let place = Place { scope: Scope::User, level: 0, within: None };
            found.extend(agents_in(&base.join(directory.path), directory.format, &place));
        }
    }
    for (directory, path) in homes.skill_directories() {
        let place = Place { scope: Scope::User, level: 0, within: None };
        found.extend(skills_in(&path, directory.layout, &place));
    }
    Ok(found)
}

/// The directories from a place up to the root, the nearest first, with the level and scope of their files.
fn upward(place: &Path) -> impl Iterator<Item = (&Path, u32, Scope)> {
    let scope = |directory: &Path| match directory.as_os_str().is_empty() {
        true => Scope::Project,
        false => Scope::ProjectNested,
    };
    place.ancestors().zip(0..).map(move |(directory, level)| (directory, level, scope(directory)))
}

/// The directories of a project that are looked into at one level, given which of them exist.
fn directories(scope: Scope, exists: impl Fn(&str) -> bool) -> Vec<Directory> {
    let is_here = |directory: &&Directory| match directory.base {
        Base::Upward => true,
        Base::Root => scope == Scope::Project,
        Base::Own | Base::Config | Base::Home => false,
    };
    let existing: Vec<_> = AGENTS.iter().filter(is_here).filter(|it| exists(it.path)).copied().collect();
    directory::to_read(&existing)
}

/// How a directory of files is read.
struct Place<'a> {
    scope: Scope,
    level: u32,
    /// What links must not lead out of. What a user links to is the user's own affair.
    within: Option<&'a Path>,
}

fn project_on_disk(root: &Path, place: &Path) -> Vec<Listed> {
    let mut found = Vec::new();
    for (directory, level, scope) in upward(place) {
        let base = root.join(directory);
        let place = Place { scope, level, within: Some(root) };
        for directory in directories(scope, |path| base.join(path).is_dir()) {
            found.extend(agents_in(&base.join(directory.path), directory.format, &place));
        }
        if scope == Scope::Project {
            let skills = SKILLS.iter().filter(|directory| directory.base == Base::Root);
            found.extend(skills.flat_map(|directory| skills_in(&base.join(directory.path), directory.layout, &place)));
        }
    }
    found
}

fn agents_in(directory: &Path, format: Format, place: &Place<'_>) -> Vec<Listed> {
    let kind = Kind::Agent(format);
    let names = match names(directory, place) {
        Ok(names) => names,
        Err(problem) => return vec![refused(kind, directory, "", place, problem)],
    };
    let file = |name: &String| {
        let stem = directory::stem(name)?;
        listed(kind, directory, &directory.join(name), stem, place)
    };
    names.iter().filter_map(file).collect()
}

fn skills_in(directory: &Path, layout: SkillLayout, place: &Place<'_>) -> Vec<Listed> {
    let kind = Kind::Skill(layout);
    let names = match names(directory, place) {
        Ok(names) => names,
        Err(problem) => return vec![refused(kind, directory, "", place, problem)],
    };
    let file = |name: &String| {
        let (file, stem) = skill_file(name, layout)?;
        listed(kind, directory, &directory.join(file), stem, place)
    };
    names.iter().filter_map(file).collect()
}

/// The file of a skill behind a name in a directory with skills, and what the skill is called unless it says so itself.
fn skill_file(name: &str, layout: SkillLayout) -> Option<(String, &str)> {
    match layout {
        SkillLayout::Directories | SkillLayout::ClaudeSkills => Some((format!("{name}/{SKILL_FILE}"), name)),
        SkillLayout::ClaudeCommands | SkillLayout::CodexPrompts => Some((name.to_owned(), directory::stem(name)?)),
    }
}

/// The names in a directory, in order; a directory that is not there has none.
fn names(directory: &Path, place: &Place<'_>) -> Result<Vec<String>, String> {
    let leaves = |within: &Path| directory.canonicalize().is_ok_and(|real| !real.starts_with(within));
    if place.within.is_some_and(leaves) {
        return Err("the directory is a link that leads out of the repository".to_owned());
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(error) => return Err(format!("the directory cannot be read: {error}")),
    };
    let mut names: Vec<_> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// A file as it is found; nothing where there is none, or something else.
fn listed(kind: Kind, directory: &Path, path: &Path, stem: &str, place: &Place<'_>) -> Option<Listed> {
    let refused = |problem: String| Some(refused(kind, path, stem, place, problem));
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let is_link = path.symlink_metadata().is_ok();
            return if is_link { refused("the file is a link that leads nowhere".to_owned()) } else { None };
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => return None,
        Err(error) => return refused(format!("the file cannot be read: {error}")),
    };
    if !about.is_file() {
        return None;
    }
    let leaves = || match (path.canonicalize(), directory.canonicalize()) {
        (Ok(path), Ok(directory)) => !path.starts_with(directory),
        (Err(_), _) | (_, Err(_)) => true,
    };
    if place.within.is_some() && leaves() {
        return refused("the file is a link that leads out of its directory".to_owned());
    }
    let content = Content::OnDisk(path.to_owned(), Stamp::of(&about));
    let (scope, level) = (place.scope, place.level);
    Some(Listed { kind, scope, level, path: path.display().to_string(), stem: stem.to_owned(), content })
}

fn refused(kind: Kind, path: &Path, stem: &str, place: &Place<'_>, problem: String) -> Listed {
    let (scope, level, content) = (place.scope, place.level, Content::Known(Err(problem)));
    Listed { kind, scope, level, path: path.display().to_string(), stem: stem.to_owned(), content }
}

fn project_at(repo: &Repo, commit: &Oid, place: &Path) -> Result<Vec<Listed>, GitError> {
    let join = |directory: &Path, path: &str| directory.join(path).to_string_lossy().into_owned();
    let read = |kind, scope, level, path: String, stem: &str| {
        let text = repo.file_at(commit, &path)?.map_or_else(|| Err("it is not a regular file".to_owned()), text);
        let path = format!("{}:{path}", commit.short());
        Ok::<_, GitError>(Listed { kind, scope, level, path, stem: stem.to_owned(), content: Content::Known(text) })
    };
    let mut found = Vec::new();
    for (base, level, scope) in upward(place) {
        let exists = |path: &str| repo.names_at(commit, &join(base, path)).is_ok_and(|names| !names.is_empty());
        for directory in directories(scope, exists) {
            let path = join(base, directory.path);
            for name in repo.names_at(commit, &path)? {
                if let Some(stem) = directory::stem(&name) {
                    found.push(read(Kind::Agent(directory.format), scope, level, format!("{path}/{name}"), stem)?);
                }
            }
        }
        let is_here = |directory: &&SkillDirectory| directory.base == Base::Root && scope == Scope::Project;
        for SkillDirectory { path, layout, .. } in SKILLS.iter().filter(is_here) {
            for name in repo.names_at(commit, path)? {
                let Some((file, stem)) = skill_file(&name, *layout) else { continue };
                let file = format!("{path}/{file}");
                if repo.file_at(commit, &file)?.is_some() {
                    found.push(read(Kind::Skill(*layout), scope, level, file, stem)?);
                }
            }
        }
    }
    Ok(found)
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > LARGEST {
        return Err(format!("the file is larger than {LARGEST} bytes"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("the file is not UTF-8: byte {} is wrong", error.utf8_error().valid_up_to()))
}
