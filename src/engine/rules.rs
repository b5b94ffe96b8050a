//! Files of rules: where they lie, which of them count, and how a decision of a person gets into one.
//!
//! What a repository commits can always forbid; what it allows counts once it is trusted. The user's own file for a
//! repository lies in the checkout, where a merge can write it too. So a rule of it allows something only if a record below
//! the data directory says that a person agreed to that rule.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};

use crate::api::permission::RuleFileInfo;
use crate::api::request::Environment;
use crate::config::Trust;
use crate::config::confine::Hints;
use crate::git::Repo;
use crate::permission::claude_rules::{ClaudeRules, ask_about_everything, read_claude_rules};
use crate::permission::load::{self, List, LoadError};
use crate::permission::rule::{Rule, RuleFile, Rules};

use super::fault::Fault;
use super::prepare::captured_environment;
use super::record::Record;
use super::settings::Settings;
use super::shared::Shared;

/// The repository's own file, as it is in a commit.
pub(super) const SHARED_FILE: &str = ".coppice/permissions.json";
/// The user's own file for a repository.
const LOCAL_FILE: &str = ".coppice/permissions.local.json";
/// Keeps the user's file out of the repository's sight, and itself.
const IGNORE: &str = "permissions.local.json\n.gitignore\n";

/// A larger file of rules is refused.
const LARGEST_RULE_FILE: u64 = 1 << 20;

/// Why what a file allows does not count.
const NEEDS_TRUST: &str = "what it allows does not count before `coppice trust`";
const NEEDS_MORE_TRUST: &str =
    "what it allows beyond the rules that you agreed to does not count before `coppice trust`";

/// Held while the user's own file and the record beside the data are read or written together.
static LOCAL_RULES: Mutex<()> = Mutex::new(());

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
    /// The rules of the local file that a person agreed to, in a place that no repository reaches.
    consent: PathBuf,
    map: PathBuf,
    /// The user's settings of Claude Code, whose rules that forbid count as well.
    claude: Vec<PathBuf>,
    home: String,
    /// The directory that is certain to be the user's, above the local file.
    local_base: PathBuf,
}

/// The user's own file for a repository.
pub(super) struct LocalRules {
    /// The file with the allow rules that a person agreed to; none when there is no file.
    file: Option<RuleFile>,
    /// The allow rules that nobody has agreed to.
    pub(super) pending: Vec<Rule>,
}

impl LocalRules {
    /// The allow rules that a person agreed to.
    pub(super) fn agreed(&self) -> &[Rule] {
        self.file.as_ref().map(|file| file.allow.as_slice()).unwrap_or_default()
    }
}

impl Files {
    pub(super) fn of(shared: &Shared, project: &str, repo: &Repo) -> Self {
        let place = shared.data.join("projects").join(project);
        let (local_base, local) = match repo.checkout() {
            Some(checkout) => (checkout.to_owned(), checkout.join(LOCAL_FILE)),
            None => (place.clone(), place.join("permissions.local.json")),
        };
        Self {
            user: user_file(shared),
            local,
            consent: place.join("permissions.agreed.json"),
            map: place.join("permissions.jsonc"),
            claude: vec![claude_settings(&shared.own_environment)],
            home: shared.own_environment.get("HOME").cloned().unwrap_or_default(),
            local_base,
        }
    }

    /// The files of a session, whose shell may have settings of Claude Code in another directory than the daemon's.
    pub(super) fn of_session(shared: &Shared, record: &Record, repo: &Repo) -> Self {
        let mut files = Self::of(shared, &record.project, repo);
        let own = claude_settings(&captured_environment(shared, record));
        if !files.claude.contains(&own) {
            files.claude.push(own);
        }
        files
    }

    /// Reads everything. A file that means nothing is an error: without its rules something could go ahead.
    pub(super) fn load(&self, settings: &Settings) -> Result<Loaded, Fault> {
        let mut loaded = Loaded::default();
        let user = read_text(&self.user).map_err(|source| fault("read", &self.user, source))?;
        let user = user.map(|text| self.parse(&self.user, &text)).transpose()?;
        loaded.add(self.user.display().to_string(), user, None);
        for path in &self.claude {
            self.add_claude_rules(path, &mut loaded);
        }
        let (shared, note) = match (&settings.rules, settings.trust) {
            (Some(file), Trust::Untrusted) if !file.allow.is_empty() => {
                (Some(RuleFile { allow: Vec::new(), ..file.clone() }), Some(NEEDS_TRUST))
            }
            (file, Trust::Trusted | Trust::Untrusted) => (file.clone(), None),
        };
        loaded.add(SHARED_FILE.to_owned(), shared, note);
        let local = self.local_rules()?;
        let note = match (local.pending.is_empty(), local.agreed().is_empty()) {
            (true, _) => None,
            (false, true) => Some(NEEDS_TRUST),
            (false, false) => Some(NEEDS_MORE_TRUST),
        };
        loaded.add(self.local.display().to_string(), local.file, note);
        let text = seeded(&self.map).map_err(|source| fault("write", &self.map, source))?;
        let map = load::map(&self.map.display().to_string(), &text, &self.home)?;
        let count = u32::try_from(map.rules.len()).ok();
        loaded.files.push(RuleFileInfo { path: self.map.display().to_string(), rules: count, note: None });
        loaded.rules.map = Some(map);
        let believed = settings.config.mcp_servers.iter().filter(|(_, server)| server.hints == Hints::Believed);
        loaded.rules.trusted_servers = believed.map(|(name, _)| name.clone()).collect();
        Ok(loaded)
    }

    /// Adds what Claude Code's own settings of the user deny or ask about. A file of another program that cannot be read
    /// stops no session, but nobody knows what it denies, so everything is asked about.
    fn add_claude_rules(&self, path: &Path, loaded: &mut Loaded) {
        let name = path.display().to_string();
        let mut add_unknown = |why: String| {
            let note = format!("cannot be read, so everything is asked about: {why}");
            loaded.add(name.clone(), Some(ask_about_everything(&name)), Some(&note));
        };
        let text = match read_text(path) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(error) => return add_unknown(error.to_string()),
        };
        match read_claude_rules(&name, &text, &self.home) {
            Ok(ClaudeRules { file, skipped }) if file.ask.is_empty() && file.deny.is_empty() && skipped.is_empty() => {}
            Ok(ClaudeRules { file, skipped }) => {
                let note = (!skipped.is_empty()).then(|| format!("not understood: {}", skipped.join(", ")));
                loaded.add(name, Some(file), note.as_deref());
            }
            Err(why) => add_unknown(why),
        }
    }

    /// Adds rules to the user's own file of the repository, whole or not at all. Others in it stay as agreed as they were.
    pub(super) fn save(&self, list: List, rules: &[Rule]) -> Result<(), Fault> {
        let _held = LOCAL_RULES.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.read_local()?.unwrap_or_default();
        let text = with_rules(&self.local, text, list, rules)?;
        match list {
            // First the record: on its own it allows nothing, and the file alone would wait for another consent.
            List::Allow => self.add_consent(rules)?,
            List::Ask | List::Deny => {}
        }
        write(&self.local, &text).map_err(|source| fault("write", &self.local, source))
    }

    /// Records that a person agreed to these allow rules of the user's own file.
    pub(super) fn agree(&self, rules: &[Rule]) -> Result<(), Fault> {
        let _held = LOCAL_RULES.lock().unwrap_or_else(PoisonError::into_inner);
        self.add_consent(rules)
    }

    /// The user's own file, by what a person agreed to. Consent to a rule that is no longer in the file ends, so that
    /// nobody can bring the rule back.
    pub(super) fn local_rules(&self) -> Result<LocalRules, Fault> {
        let _held = LOCAL_RULES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.read_local()?.map(|text| self.parse(&self.local, &text)).transpose()?;
        let mut allow = file.as_mut().map(|file| std::mem::take(&mut file.allow)).unwrap_or_default();
        let consent = self.read_consent()?;
        let consent = self.parse(&self.consent, &consent)?.allow;
        let (kept, gone): (Vec<_>, Vec<_>) = consent.into_iter().partition(|rule| allow.contains(rule));
        if !gone.is_empty() {
            self.write_consent(String::new(), &kept)?;
        }
        let pending = allow.extract_if(.., |rule| !kept.contains(rule)).collect();
        if let Some(file) = &mut file {
            file.allow = allow;
        }
        Ok(LocalRules { file, pending })
    }

    fn add_consent(&self, rules: &[Rule]) -> Result<(), Fault> {
        self.write_consent(self.read_consent()?, rules)
    }

    fn read_consent(&self) -> Result<String, Fault> {
        let text = read_text(&self.consent).map_err(|source| fault("read", &self.consent, source))?;
        Ok(text.unwrap_or_default())
    }

    fn write_consent(&self, text: String, rules: &[Rule]) -> Result<(), Fault> {
        let text = with_rules(&self.consent, text, List::Allow, rules)?;
        write(&self.consent, &text).map_err(|source| fault("write", &self.consent, source))
    }

    fn parse(&self, path: &Path, text: &str) -> Result<RuleFile, Fault> {
        Ok(load::rule_file(&path.display().to_string(), text, &self.home)?)
    }

    fn read_local(&self) -> Result<Option<String>, Fault> {
        read_without_links(&self.local_base, &self.local).map_err(|source| fault("read", &self.local, source))
    }
}

/// The user's own file for all repositories.
pub(super) fn user_file(shared: &Shared) -> PathBuf {
    shared.settings.user_file.with_file_name("permissions.json")
}

/// What the user's own file for all repositories allows.
pub(super) fn read_user_allow(path: &Path, home: &str) -> Result<Vec<Rule>, Fault> {
    let text = read_text(path).map_err(|source| fault("read", path, source))?.unwrap_or_default();
    Ok(load::rule_file(&path.display().to_string(), &text, home)?.allow)
}

/// Adds rules to what the user's own file for all repositories allows, whole or not at all.
pub(super) fn allow_everywhere(path: &Path, rules: &[Rule]) -> Result<(), Fault> {
    let _held = LOCAL_RULES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = read_text(path).map_err(|source| fault("read", path, source))?.unwrap_or_default();
    let text = with_rules(path, text, List::Allow, rules)?;
    write(path, &text).map_err(|source| fault("write", path, source))
}

/// The text of a file of rules with more rules.
fn with_rules(path: &Path, mut text: String, list: List, rules: &[Rule]) -> Result<String, Fault> {
    let name = path.display().to_string();
    for rule in rules {
        text = load::with_rule(&name, &text, list, rule)?;
    }
    Ok(text)
}

/// The text of a file below `base`, which no link below `base` leads to; `None` when there is no such file.
fn read_without_links(base: &Path, path: &Path) -> io::Result<Option<String>> {
    let names = path.strip_prefix(base).map_err(io::Error::other)?;
    let mut place = match File::open(base) {
        Ok(base) => base,
        Err(error) => return missing(error),
    };
    for name in names.components().filter(|part| matches!(part, Component::Normal(_))) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        place = match rustix::fs::openat(&place, name.as_os_str(), flags, Mode::empty()) {
            Ok(found) => File::from(found),
            Err(rustix::io::Errno::LOOP) if path.try_exists()? => {
                return Err(io::Error::other("a symbolic link leads to it: replace the link by what it leads to"));
            }
            Err(rustix::io::Errno::LOOP) => return Ok(None),
            Err(error) => return missing(error.into()),
        };
    }
    read_regular(place).map(Some)
}

/// Where the user's settings of Claude Code are.
pub(super) fn claude_settings(env: &Environment) -> PathBuf {
    let named = env.get("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home = || PathBuf::from(env.get("HOME").map(String::as_str).unwrap_or("/nonexistent")).join(".claude");
    named.unwrap_or_else(home).join("settings.json")
}

fn read_regular(file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    let read = file.take(LARGEST_RULE_FILE + 1).read_to_string(&mut text)?;
    if read as u64 > LARGEST_RULE_FILE {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// Nothing, for an error that says that there is no such file.
fn missing<T>(error: io::Error) -> io::Result<Option<T>> {
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) { Ok(None) } else { Err(error) }
}

impl Loaded {
    fn add(&mut self, path: String, file: Option<RuleFile>, note: Option<&str>) {
        let note = note.map(str::to_owned);
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
pub(super) fn read_text(path: &Path) -> io::Result<Option<String>> {
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
            consent: directory.join("data/permissions.agreed.json"),
            map: directory.join("data/permissions.jsonc"),
            claude: vec![directory.join("claude/settings.json")],
            home: "/home/u".into(),
            local_base: sandbox.main(),
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

    /// How many rules of the local file allow, how many forbid, and whether others wait for consent.
    fn count_local(files: &Files) -> (usize, usize, bool) {
        let loaded = files.load(&settings(Trust::Trusted, None)).unwrap();
        let file = &loaded.rules.files[0];
        (file.allow.len(), file.deny.len(), loaded.files[2].note.is_some())
    }

    #[test]
    fn a_local_rule_allows_something_once_a_person_agreed_to_exactly_that_rule() {
        let sandbox = Sandbox::new();
        let files = files(&sandbox);
        let rule = |pattern: &str| Rule::new("Bash", pattern).unwrap();
        sandbox.write(LOCAL_FILE, r#"{"permissions":{"allow":["Bash(*)","Bash(make *)"],"deny":["Bash(rm *)"]}}"#);
        assert_eq!(count_local(&files), (0, 1, true));
        // A decision of a person is about their own rule alone.
        files.save(List::Deny, &[rule("dd *")]).unwrap();
        assert_eq!(count_local(&files), (0, 2, true));
        files.save(List::Allow, &[rule("cat *")]).unwrap();
        assert_eq!(count_local(&files), (1, 2, true));
        files.agree(&files.local_rules().unwrap().pending).unwrap();
        assert_eq!(count_local(&files), (3, 2, false));
        // How the file is written does not matter, a rule more does.
        sandbox.write(LOCAL_FILE, r#"{"permissions":{"allow":[ "Bash(cat *)", "Bash(make *)", "Bash(curl *)"]}}"#);
        assert_eq!(count_local(&files), (2, 0, true));
    }

    #[test]
    fn consent_ends_when_its_rule_leaves_the_file() {
        let sandbox = Sandbox::new();
        let files = files(&sandbox);
        files.save(List::Allow, &[Rule::new("Bash", "make *").unwrap(), Rule::new("Bash", "cat *").unwrap()]).unwrap();
        let saved = fs::read_to_string(&files.local).unwrap();
        sandbox.write(LOCAL_FILE, r#"{"permissions":{"allow":["Bash(cat *)"]}}"#);
        assert_eq!(count_local(&files), (1, 0, false));
        sandbox.write(LOCAL_FILE, &saved);
        assert_eq!(count_local(&files), (1, 0, true));
        fs::remove_file(&files.local).unwrap();
        assert!(files.load(&settings(Trust::Trusted, None)).unwrap().rules.files.is_empty());
        sandbox.write(LOCAL_FILE, &saved);
        assert_eq!(count_local(&files), (0, 0, true));
    }

    #[test]
    fn a_kill_while_a_rule_is_saved_trusts_nothing_else_and_keeps_what_was_there() {
        let sandbox = Sandbox::new();
        let files = files(&sandbox);
        let rule = |pattern: &str| Rule::new("Bash", pattern).unwrap();
        files.save(List::Allow, &[rule("make *")]).unwrap();
        // The record is written, the file is not.
        files.add_consent(&[rule("cat *")]).unwrap();
        assert_eq!(count_local(&files), (1, 0, false));
    }

    #[test]
    fn a_local_file_behind_a_link_is_an_error_and_is_not_written() {
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
        let makers: [&dyn Fn(&Path); 2] = [&file_link, &directory_link];
        for make in makers {
            let sandbox = Sandbox::new();
            let files = files(&sandbox);
            make(&sandbox.main());
            assert!(files.load(&settings(Trust::Trusted, None)).is_err());
            assert!(files.save(List::Allow, &[Rule::new("Bash", "cat *").unwrap()]).is_err());
            assert_eq!(fs::read_to_string(&files.local).unwrap(), text);
        }
        // A link that leads to no such file hides no rules.
        let sandbox = Sandbox::new();
        symlink(sandbox.root(), sandbox.main().join(".coppice")).unwrap();
        assert!(files(&sandbox).load(&settings(Trust::Trusted, None)).is_ok());
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
