//! Files of rules: where they lie, which of them count, and how a decision of a person gets into one.
//!
//! What a repository commits can always forbid; what it allows counts once it is trusted. The user's own file for a
//! repository is nobody else's: one that git brings, or that a link or a submodule leads to, allows nothing.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::api::permission::RuleFileInfo;
use crate::config::Trust;
use crate::config::confine::Hints;
use crate::git::Repo;
use crate::permission::load::{self, List, LoadError};
use crate::permission::rule::{Rule, RuleFile, Rules};

use super::fault::Fault;
use super::settings::Settings;
use super::shared::Shared;

/// The repository's own file, as it is in a commit.
pub(super) const SHARED_FILE: &str = ".coppice/permissions.json";
/// The user's own file for a repository.
const LOCAL_FILE: &str = ".coppice/permissions.local.json";
/// Keeps the user's file out of the repository's sight, and itself.
const IGNORE: &str = "permissions.local.json\n.gitignore\n";

/// Why what a file allows does not count although it lies where the user's own file does.
const BROUGHT_BY_LINK: &str = "a link or a submodule leads to it";
const BROUGHT_BY_GIT: &str = "git may have written it, since it is staged, converted by git or stored in the repository: \
                              change its content outside of git, or move its rules into your own `permissions.json`";

/// The rules of a project, and where they came from.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) rules: Rules,
    pub(super) files: Vec<RuleFileInfo>,
}

/// Where the files of one project are.
pub(super) struct Files {
    user: PathBuf,
    /// Written when a person decides about all later calls.
    pub(super) local: PathBuf,
    map: PathBuf,
    home: String,
    /// The directory that is certain to be the user's, above the local file.
    local_base: PathBuf,
    repo: Repo,
}

/// The user's own file for a repository, by who wrote it.
enum LocalRules {
    Own(String),
    /// It may be somebody else's.
    Brought {
        text: String,
        by: &'static str,
    },
}

impl Files {
    pub(super) fn of(shared: &Shared, project: &str, repo: &Repo) -> Self {
        let place = shared.data.join("projects").join(project);
        let own = shared.settings.user_file.parent().unwrap_or(&shared.data);
        let (local_base, local) = match repo.checkout() {
            Some(checkout) => (checkout.to_owned(), checkout.join(LOCAL_FILE)),
            None => (place.clone(), place.join("permissions.local.json")),
        };
        Self {
            user: own.join("permissions.json"),
            local,
            map: place.join("permissions.jsonc"),
            home: shared.own_environment.get("HOME").cloned().unwrap_or_default(),
            local_base,
            repo: repo.clone(),
        }
    }

    /// Reads everything. A file that means nothing is an error: without its rules something could go ahead.
    pub(super) fn load(&self, settings: &Settings) -> Result<Loaded, Fault> {
        let mut loaded = Loaded::default();
        let user = read_text(&self.user).map_err(|source| fault("read", &self.user, source))?;
        let user = user.map(|text| self.parse(&self.user, &text)).transpose()?;
        loaded.add(self.user.display().to_string(), user, None);
        let (shared, note) = match (&settings.rules, settings.trust) {
            (Some(file), Trust::Untrusted) if !file.allow.is_empty() => {
                let note = "what it allows does not count before `coppice trust`".to_owned();
                (Some(RuleFile { allow: Vec::new(), ..file.clone() }), Some(note))
            }
            (file, Trust::Trusted | Trust::Untrusted) => (file.clone(), None),
        };
        loaded.add(SHARED_FILE.to_owned(), shared, note);
        let (local, note) = match self.read_local()? {
            Some(LocalRules::Brought { text, by }) => {
                let note = format!("what it allows does not count: {by}");
                (Some(RuleFile { allow: Vec::new(), ..self.parse(&self.local, &text)? }), Some(note))
            }
            Some(LocalRules::Own(text)) => (Some(self.parse(&self.local, &text)?), None),
            None => (None, None),
        };
        loaded.add(self.local.display().to_string(), local, note);
        let text = seeded(&self.map).map_err(|source| fault("write", &self.map, source))?;
        let map = load::map(&self.map.display().to_string(), &text, &self.home)?;
        let count = u32::try_from(map.rules.len()).ok();
        loaded.files.push(RuleFileInfo { path: self.map.display().to_string(), rules: count, note: None });
        loaded.rules.map = Some(map);
        let believed = settings.config.mcp_servers.iter().filter(|(_, server)| server.hints == Hints::Believed);
        loaded.rules.trusted_servers = believed.map(|(name, _)| name.clone()).collect();
        Ok(loaded)
    }

    /// Adds rules to the user's own file of the repository, whole or not at all.
    pub(super) fn save(&self, list: List, rules: &[Rule]) -> Result<(), Fault> {
        let name = self.local.display().to_string();
        let mut text = match self.read_local()? {
            Some(LocalRules::Own(text)) => text,
            // Its rules would become the user's own.
            Some(LocalRules::Brought { by, .. }) => {
                return Err(fault("write", &self.local, io::Error::other(by)));
            }
            None => String::new(),
        };
        for rule in rules {
            text = load::with_rule(&name, &text, list, rule)?;
        }
        write(&self.local, &text).map_err(|source| fault("write", &self.local, source))
    }

    fn parse(&self, path: &Path, text: &str) -> Result<RuleFile, Fault> {
        Ok(load::rule_file(&path.display().to_string(), text, &self.home)?)
    }

    fn read_local(&self) -> Result<Option<LocalRules>, Fault> {
        let failed = |source| fault("read", &self.local, source);
        let Some(text) = read_without_links(&self.local_base, &self.local).map_err(failed)? else {
            let text = read_text(&self.local).map_err(failed)?;
            return Ok(text.map(|text| LocalRules::Brought { text, by: BROUGHT_BY_LINK }));
        };
        let may_be_brought =
            self.repo.checkout().is_some() && self.repo.may_have_written(LOCAL_FILE, text.as_bytes())?;
        Ok(Some(match may_be_brought {
            true => LocalRules::Brought { text, by: BROUGHT_BY_GIT },
            false => LocalRules::Own(text),
        }))
    }
}

/// The text of a file that lies below `base` by exactly its name, without links and outside of nested repositories;
/// `None` when there is no such file.
fn read_without_links(base: &Path, path: &Path) -> io::Result<Option<String>> {
    let names = path.strip_prefix(base).map_err(io::Error::other)?;
    let mut place = File::open(base).map(Some).or_else(missing)?;
    let mut known = base.to_owned();
    for part in names.components() {
        let (Some(directory), Component::Normal(name)) = (&place, part) else { return Ok(None) };
        // A disk may take another spelling for this name.
        let has_name = known.read_dir()?.flatten().any(|entry| entry.file_name() == name);
        let is_nested = known != base && known.join(".git").symlink_metadata().is_ok();
        if !has_name || is_nested {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        known.push(name);
        place = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
            Ok(found) => Some(File::from(found)),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR | rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
    }
    place.map(read_regular).transpose()
}

fn read_regular(mut file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Nothing, for an error that says that there is no such file.
fn missing<T>(error: io::Error) -> io::Result<Option<T>> {
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) { Ok(None) } else { Err(error) }
}

impl Loaded {
    fn add(&mut self, path: String, file: Option<RuleFile>, note: Option<String>) {
        let count = |file: &RuleFile| u32::try_from(file.allow.len() + file.ask.len() + file.deny.len()).ok();
        self.files.push(RuleFileInfo { path, rules: file.as_ref().and_then(count), note });
        self.rules.files.extend(file);
    }
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        Self::RuleFile(error)
    }
}

fn fault(act: &'static str, path: &Path, source: io::Error) -> Fault {
    Fault::File { act, path: path.to_owned(), source }
}

/// The text of a file, wherever its links lead. One that is no file, such as a pipe, is not waited for.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(found) => read_regular(File::from(found)).map(Some),
        Err(error) => missing(error.into()),
    }
}

/// The map of a project; one that nobody has made begins with the files that hold secrets.
fn seeded(path: &Path) -> io::Result<String> {
    if let Some(text) = read_text(path)? {
        return Ok(text);
    }
    write(path, load::SEED)?;
    Ok(load::SEED.to_owned())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let Some(directory) = path.parent() else { return Err(ErrorKind::InvalidInput.into()) };
    fs::create_dir_all(directory)?;
    if path.ends_with(LOCAL_FILE) {
        // A repository may bring links; nothing is written through one.
        if fs::symlink_metadata(directory)?.is_symlink() {
            return Err(io::Error::other("its directory is a link"));
        }
        match fs::File::create_new(directory.join(".gitignore")) {
            Ok(mut ignore) => ignore.write_all(IGNORE.as_bytes())?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let mut draft = tempfile::NamedTempFile::new_in(directory)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::testkit::Sandbox;

    fn files(sandbox: &Sandbox) -> Files {
        let directory = sandbox.root();
        Files {
            user: directory.join("user/permissions.json"),
            local: sandbox.main().join(LOCAL_FILE),
            map: directory.join("data/permissions.jsonc"),
            home: "/home/u".into(),
            local_base: sandbox.main(),
            repo: sandbox.repo(),
        }
    }

    fn settings(trust: Trust, rules: Option<&str>) -> Settings {
        let rules = rules.map(|text| load::rule_file(SHARED_FILE, text, "").unwrap());
        Settings { trust, rules, ..Settings::default() }
    }

    #[test]
    fn what_a_repository_allows_counts_once_it_is_trusted_and_what_it_forbids_always() {
        let sandbox = Sandbox::new();
        let text = r#"{"permissions":{"allow":["Bash(make *)"],"deny":["Bash(rm *)"]}}"#;
        for (trust, allowed) in [(Trust::Untrusted, 0), (Trust::Trusted, 1)] {
            let loaded = files(&sandbox).load(&settings(trust, Some(text))).unwrap();
            let file = &loaded.rules.files[0];
            assert_eq!((file.allow.len(), file.deny.len()), (allowed, 1), "{trust:?}");
        }
    }

    #[test]
    fn a_saved_rule_is_there_once_and_out_of_gits_sight() {
        let sandbox = Sandbox::new();
        let files = files(&sandbox);
        let rule = |pattern: &str| Rule::new("Bash", pattern).unwrap();
        files.save(List::Allow, &[rule("cat *"), rule("git push *")]).unwrap();
        files.save(List::Allow, &[rule("cat *")]).unwrap();
        files.save(List::Deny, &[rule("rm *")]).unwrap();
        let loaded = files.load(&settings(Trust::Untrusted, None)).unwrap();
        let file = &loaded.rules.files[0];
        assert_eq!((file.allow.len(), file.deny.len()), (2, 1));
        let ignore = fs::read_to_string(files.local.with_file_name(".gitignore")).unwrap();
        assert!(ignore.contains("permissions.local.json"));
        assert_eq!(fs::read_dir(files.local.parent().unwrap()).unwrap().count(), 2);
    }

    #[test]
    fn a_local_file_that_git_brings_forbids_and_allows_nothing() {
        let text = r#"{"permissions":{"allow":["Bash(*)"],"deny":["Bash(rm *)"]}}"#;
        for (text, attributes, commands) in [
            (text, "", &["git merge -q theirs"][..]),
            (text, "", &["git merge -q --no-ff --no-commit theirs"]),
            (text, "", &["git checkout -q theirs -- .coppice"]),
            (text, "", &["git checkout -q theirs -- .coppice", "git reset -q"]),
            (text, "", &["git merge -q theirs", "git reset -q HEAD~1"]),
            (text, "", &["git merge -q --squash theirs", "git reset -q"]),
            (text, "", &["git cherry-pick -n theirs", "git reset -q"]),
            (text, "", &["git restore --source=theirs -- ."]),
            (text, "", &["git diff main theirs | git apply"]),
            (text, "", &["git archive theirs | tar x"]),
            // What git converts has another content than the object.
            (text, "*.json text eol=crlf\n", &["git restore --source=theirs -- ."]),
            (
                r#"{"permissions":{"allow":["Bash(*)"],"deny":["Bash($Id$)"]}}"#,
                "*.json ident\n",
                &["git restore --source=theirs -- ."],
            ),
            (
                text,
                "*.json filter=case\n",
                &["git config filter.case.smudge 'sed s/make/make/'", "git restore --source=theirs -- ."],
            ),
            (text, "*.json working-tree-encoding=ASCII//TRANSLIT\n", &["git restore --source=theirs -- ."]),
        ] {
            let sandbox = Sandbox::new();
            sandbox.git(&["switch", "-q", "-c", "theirs"]);
            sandbox.write(LOCAL_FILE, &format!("{text}\n"));
            sandbox.write(".gitattributes", attributes);
            sandbox.commit_all("a gift");
            sandbox.git(&["switch", "-q", "main"]);
            let files = files(&sandbox);
            assert!(files.load(&settings(Trust::Trusted, None)).unwrap().rules.files.is_empty());
            for command in commands {
                sandbox.git(&["-c", &format!("alias.take=!{command}"), "take"]);
            }
            let loaded = files.load(&settings(Trust::Trusted, None)).unwrap();
            let file = &loaded.rules.files[0];
            assert_eq!((file.allow.len(), file.deny.len()), (0, 1), "{commands:?} {attributes}");
            assert!(loaded.files[2].note.is_some());
            assert!(files.save(List::Allow, &[Rule::new("Bash", "cat *").unwrap()]).is_err());
        }
    }

    #[test]
    fn a_local_file_with_a_content_of_its_own_is_the_users() {
        let sandbox = Sandbox::new();
        let text = r#"{"permissions":{"allow":["Bash(make *)"]}}"#;
        sandbox.write(LOCAL_FILE, text);
        let files = files(&sandbox);
        let allowed = || files.load(&settings(Trust::Untrusted, None)).unwrap().rules.files[0].allow.len();
        assert_eq!(allowed(), 1);
        sandbox.git(&["hash-object", "-w", LOCAL_FILE]);
        assert_eq!(allowed(), 0);
        // The remedy that the note names.
        sandbox.write(LOCAL_FILE, &format!("{text}\n"));
        assert_eq!(allowed(), 1);
    }

    #[test]
    fn a_local_file_that_a_link_or_a_submodule_brings_forbids_and_allows_nothing() {
        let text = r#"{"permissions":{"allow":["Bash(*)"],"deny":["Bash(rm *)"]}}"#;
        let file_link = |repo: &Path| {
            fs::create_dir(repo.join(".coppice")).unwrap();
            fs::write(repo.join("rules.json"), text).unwrap();
            symlink("../rules.json", repo.join(LOCAL_FILE)).unwrap();
        };
        let directory_link = |repo: &Path| {
            fs::create_dir(repo.join("fix")).unwrap();
            fs::write(repo.join("fix/permissions.local.json"), text).unwrap();
            symlink("fix", repo.join(".coppice")).unwrap();
        };
        let submodule = |repo: &Path| {
            fs::create_dir(repo.join(".coppice")).unwrap();
            fs::write(repo.join(".coppice/.git"), "gitdir: ../.git/modules/x").unwrap();
            fs::write(repo.join(LOCAL_FILE), text).unwrap();
        };
        let makers: [&dyn Fn(&Path); 3] = [&file_link, &directory_link, &submodule];
        for make in makers {
            let sandbox = Sandbox::new();
            let files = files(&sandbox);
            make(&sandbox.main());
            let loaded = files.load(&settings(Trust::Trusted, None)).unwrap();
            let file = &loaded.rules.files[0];
            assert_eq!((file.allow.len(), file.deny.len()), (0, 1));
            assert!(loaded.files[2].note.is_some());
            assert!(files.save(List::Allow, &[Rule::new("Bash", "cat *").unwrap()]).is_err());
        }
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_it_and_secrets_are_there_from_the_beginning() {
        let sandbox = Sandbox::new();
        let files = files(&sandbox);
        let loaded = files.load(&settings(Trust::Untrusted, None)).unwrap();
        assert!(loaded.rules.map.is_some_and(|map| map.rules.iter().any(|rule| rule.pattern == "*.env")));
        fs::create_dir_all(files.user.parent().unwrap()).unwrap();
        fs::write(&files.user, r#"{"permissions":{"deny":["rm -rf"]}}"#).unwrap();
        let error = files.load(&settings(Trust::Untrusted, None)).unwrap_err().to_string();
        assert!(error.contains("user/permissions.json") && error.contains("invalid rule \"rm -rf\""), "{error}");
    }
}
