//! The permission profile of a thread: what Codex's own sandbox lets its commands and patches reach. Pure.
//!
//! It is an allow-list on an empty root (`:minimal` and what is listed): cargo, npm, python, make and git reads work on
//! it, and what appears in a home later is not there. The root is denied by name as well, and that is what holds the
//! rest: with it a command that asks to leave the sandbox, or that a rule of the user's own Codex lets out, runs
//! in the same sandbox as any other. Without it such a command runs free once it is allowed, and one that gives no
//! reason cannot be told from an ordinary one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::backend::{Hosts, Limits};

/// What a command sees of the machine without being given it: programs, libraries, a `/dev` of its own.
const MINIMAL: &str = ":minimal";
const ROOT: &str = ":root";

/// Made by the sandbox itself; the ones of the machine would show other processes, or break `/dev/null`.
const PRIVATE: &[&str] = &["/proc", "/dev"];

/// What of Codex's own home its sandbox needs: a helper, and the shell's settings.
const HELPERS: &[&str] = &["tmp/arg0-linux", "shell_snapshots"];

/// One profile, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    /// Holds a digest of the content: a thread that kept another one is found out, and no profile of the user's own has
    /// the name, which would be mixed with this one.
    name: String,
    content: Value,
    proxy: Proxy,
    writable: Vec<PathBuf>,
}

/// Whether commands reach the network through the proxy of Codex, which needs a feature to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proxy {
    Needed,
    Unused,
}

/// The places around a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    /// The work tree, as it was named and with its links resolved.
    pub(super) tree: [&'a Path; 2],
    pub(super) access: TreeAccess,
    /// The session's own directory for temporary files.
    pub(super) temp: Option<&'a Path>,
    /// Where a plan is written.
    pub(super) plan: Option<&'a Path>,
    /// Where Codex keeps its login and its threads.
    pub(super) home: Option<&'a Path>,
    /// Codex starts itself again inside the sandbox.
    pub(super) program: &'a Path,
}

/// What may be done to the work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeAccess {
    Write,
    Read,
}

/// How a place can be reached; of two words about one place, the later variant counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Read,
    Write,
    Deny,
}

impl Profile {
    /// The profile of a session with limits.
    pub(super) fn confined(limits: &Limits, places: Places<'_>) -> Self {
        let mut list = List::default();
        list.add(Access::Read, limits.read.iter().map(PathBuf::as_path));
        list.add(Access::Write, limits.write.iter().map(PathBuf::as_path).chain(places.temp));
        list.add(Access::Deny, limits.hidden.iter().map(PathBuf::as_path));
        list.add(Access::Read, [places.program]);
        // The work tree may lie in a place that is hidden from everybody else.
        list.set(places.tree, if places.access == TreeAccess::Write { Access::Write } else { Access::Read });
        list.set(places.plan, Access::Write);
        if let Some(home) = places.home {
            list.set([home], Access::Deny);
            list.add(Access::Read, HELPERS.iter().map(|name| home.join(name)));
        }
        let writable = list.writable();
        let mut filesystem = list.to_json();
        filesystem.insert(MINIMAL.to_owned(), json!("read"));
        filesystem.insert(ROOT.to_owned(), json!("deny"));
        let (network, proxy) = network(&limits.hosts);
        Self::new(json!({"filesystem": filesystem, "network": network}), proxy, writable)
    }

    /// The profile of a plan that is made without limits: everything is read, only the plan is written.
    pub(super) fn planning(plan: &Path) -> Self {
        let mut list = List::default();
        list.set([plan], Access::Write);
        let content = json!({"extends": ":read-only", "filesystem": list.to_json(), "network": network(&Hosts::Any).0});
        Self::new(content, Proxy::Unused, vec![plan.to_owned()])
    }

    fn new(content: Value, proxy: Proxy, writable: Vec<PathBuf>) -> Self {
        let mut digest = DefaultHasher::new();
        content.to_string().hash(&mut digest);
        Self { name: format!("coppice-{:016x}", digest.finish()), content, proxy, writable }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The places that commands may write.
    pub(super) fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// Adds the profile to the configuration of a thread.
    pub(super) fn install(&self, config: &mut Value) {
        config["default_permissions"] = json!(self.name);
        config["permissions"] = json!({&self.name: self.content});
        if self.proxy == Proxy::Needed {
            config["features"]["network_proxy"] = json!(true);
        }
    }
}

/// Places and how they can be reached.
#[derive(Debug, Default)]
struct List(BTreeMap<PathBuf, Access>);

impl List {
    /// What was said about a place before stays if it is stricter.
    fn add(&mut self, access: Access, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        for path in paths {
            let known = self.0.entry(path.as_ref().to_owned()).or_insert(access);
            *known = access.max(*known);
        }
    }

    fn set<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>, access: Access) {
        self.0.extend(paths.into_iter().map(|path| (path.to_owned(), access)));
    }

    fn writable(&self) -> Vec<PathBuf> {
        self.0.iter().filter(|(_, access)| **access == Access::Write).map(|(path, _)| path.clone()).collect()
    }

    /// Whether something around a place can be reached. Where nothing can, the root denies the place already, and to deny it
    /// by name would take along what is to be read below it.
    fn is_opened_around(&self, path: &Path) -> bool {
        let around = path.ancestors().skip(1).filter(|around| around.parent().is_some());
        around.filter_map(|around| self.0.get(around)).any(|access| *access != Access::Deny)
    }

    fn to_json(&self) -> Map<String, Value> {
        let is_own = |path: &Path| PRIVATE.iter().any(|private| path.starts_with(private));
        let is_needless = |path: &Path, access| access == Access::Deny && !self.is_opened_around(path);
        let is_listed = |path: &Path, access| path.parent().is_some() && !is_own(path) && !is_needless(path, access);
        let listed = self.0.iter().filter(|(path, access)| is_listed(path, **access));
        let word = |access: &Access| match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Deny => "deny",
        };
        listed.map(|(path, access)| (path.to_string_lossy().into_owned(), json!(word(access)))).collect()
    }
}

/// Without the proxy, commands share the network of the machine. With it they have one of their own, in which
/// their own servers can be reached, and nothing else.
fn network(hosts: &Hosts) -> (Value, Proxy) {
    match hosts {
        Hosts::Any => (json!({"enabled": true}), Proxy::Unused),
        Hosts::Only { hosts, .. } => {
            let domains: Map<String, Value> = hosts.iter().map(|host| (host.clone(), json!("allow"))).collect();
            (json!({"enabled": true, "domains": domains, "allow_local_binding": true}), Proxy::Needed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(access: TreeAccess) -> Places<'static> {
        Places {
            tree: [Path::new("/data/trees/one"), Path::new("/real/one")],
            access,
            temp: Some(Path::new("/data/tmp")),
            plan: None,
            home: Some(Path::new("/home/u/.codex")),
            program: Path::new("/opt/codex"),
        }
    }

    fn limits() -> Limits {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Limits {
            read: paths(&["/usr", "/repo", "/home/u/.cargo", "/", "/proc", "/dev/null"]),
            write: paths(&["/data/trees/one", "/data/cache", "/dev/shm"]),
            hidden: paths(&["/data", "/home/u/.ssh", "/repo/.env", "/home/u/.cargo/credentials.toml"]),
            hosts: Hosts::Any,
        }
    }

    #[test]
    fn a_session_reaches_what_is_listed_and_the_root_is_denied() {
        let profile = Profile::confined(&limits(), places(TreeAccess::Write));
        let expected = json!({
            ":minimal": "read",
            ":root": "deny",
            "/data/cache": "write",
            "/data/tmp": "write",
            "/data/trees/one": "write",
            "/home/u/.cargo": "read",
            "/home/u/.cargo/credentials.toml": "deny",
            "/home/u/.codex/shell_snapshots": "read",
            "/home/u/.codex/tmp/arg0-linux": "read",
            "/opt/codex": "read",
            "/real/one": "write",
            "/repo": "read",
            "/repo/.env": "deny",
            "/usr": "read",
        });
        assert_eq!(profile.content["filesystem"], expected);
        assert_eq!(profile.content["network"], json!({"enabled": true}));
    }

    #[test]
    fn what_is_hidden_is_denied_by_name_where_something_around_it_is_open() {
        let home = Limits { read: vec![PathBuf::from("/home/u")], ..limits() };
        let listed = &Profile::confined(&home, places(TreeAccess::Write)).content["filesystem"];
        let words = ["/home/u", "/home/u/.ssh", "/home/u/.codex", "/data"].map(|path| listed[path].clone());
        assert_eq!(words, [json!("read"), json!("deny"), json!("deny"), Value::Null]);
    }

    #[test]
    fn a_reader_writes_no_work_tree_and_a_plan_only_where_it_lies() {
        let places = Places { plan: Some(Path::new("/data/plans")), ..places(TreeAccess::Read) };
        let reads = &Profile::confined(&limits(), places).content["filesystem"];
        assert_eq!((&reads["/data/trees/one"], &reads["/real/one"]), (&json!("read"), &json!("read")));
        assert_eq!((&reads["/data/plans"], &reads["/data/tmp"]), (&json!("write"), &json!("write")));
        let free = Profile::planning(Path::new("/data/plans"));
        assert_eq!(free.content["extends"], ":read-only");
        assert_eq!(free.content["filesystem"], json!({"/data/plans": "write"}));
    }

    #[test]
    fn hosts_are_reached_through_the_proxy_that_the_feature_starts() {
        let hosts = Hosts::Only { hosts: vec!["crates.io".to_owned()], proxy: 9 };
        let profile = Profile::confined(&Limits { hosts, ..limits() }, places(TreeAccess::Write));
        assert_eq!(profile.content["network"]["domains"], json!({"crates.io": "allow"}));
        let mut config = json!({"features": {"goals": false}});
        profile.install(&mut config);
        assert_eq!(config["features"], json!({"goals": false, "network_proxy": true}));
        assert_eq!(config["default_permissions"], profile.name());
    }

    #[test]
    fn another_content_is_another_name() {
        let one = Profile::confined(&limits(), places(TreeAccess::Write));
        assert_eq!(one, Profile::confined(&limits(), places(TreeAccess::Write)));
        assert_ne!(one.name(), Profile::confined(&limits(), places(TreeAccess::Read)).name());
    }
}
