//! Which repository a remote's URL means.

/// A repository, by the host of its remote and its two names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug {
    /// In lower case, without a port.
    pub host: String,
    pub owner: String,
    pub name: String,
}

/// Hosts under which GitHub answers as well.
const ALIASES: &[(&str, &str)] = &[("ssh.github.com", "github.com"), ("www.github.com", "github.com")];

const SCHEMES: &[&str] = &["https", "http", "ssh", "git", "git+ssh", "ssh+git"];

impl Slug {
    /// Reads the URL of a remote: with a scheme, or `[user@]host:owner/name` as ssh has it. A path on this machine is none.
    pub fn parse(url: &str) -> Option<Self> {
        let url = url.trim();
        let (host, path) = match url.split_once("://") {
            Some((scheme, rest)) => {
                SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()).then_some(())?;
                let (authority, path) = rest.split_once('/')?;
                (host(authority)?, path)
            }
            None => {
                let (authority, path) = url.split_once(':')?;
                // A slash before the colon makes it a path for git; one letter is a drive.
                let is_path = authority.contains('/') || authority.len() < 2;
                (host(authority).filter(|_| !is_path)?, path)
            }
        };
        let path = path.trim_matches('/');
        let (owner, name) = path.strip_suffix(".git").unwrap_or(path).split_once('/')?;
        (is_name(owner) && is_name(name)).then(|| Self { host, owner: owner.to_owned(), name: name.to_owned() })
    }

    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// The host of `[user[:password]@]host[:port]`.
fn host(authority: &str) -> Option<String> {
    let host = authority.rsplit('@').next()?;
    let host = host.split_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
    let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    let known = ALIASES.iter().find(|(alias, _)| *alias == host);
    is_host.then(|| known.map_or(host, |(_, name)| (*name).to_owned()))
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name != "." && name != ".." && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slug(host: &str, owner: &str, name: &str) -> Option<Slug> {
        Some(Slug { host: host.to_owned(), owner: owner.to_owned(), name: name.to_owned() })
    }

    #[test]
    fn every_spelling_of_a_remote_names_the_same_repository() {
        for url in [
            "https://github.com/ada/engine",
            "https://github.com/ada/engine.git",
            "https://github.com/ada/engine/",
            "https://GitHub.com:443/ada/engine.git",
            "https://ada:pw@github.com/ada/engine.git",
            "http://www.github.com/ada/engine",
            "git://github.com/ada/engine.git",
            "ssh://git@github.com/ada/engine.git",
            "ssh://git@ssh.github.com:443/ada/engine.git",
            "git+ssh://git@github.com/ada/engine",
            "git@github.com:ada/engine.git",
            "github.com:ada/engine",
            "git@github.com:/ada/engine.git",
            " git@github.com:ada/engine.git\n",
        ] {
            assert_eq!(Slug::parse(url), slug("github.com", "ada", "engine"), "{url}");
        }
        assert_eq!(Slug::parse("git@ghe.corp:a.b/c_d-e.js.git"), slug("ghe.corp", "a.b", "c_d-e.js"));
    }

    #[test]
    fn what_is_no_repository_of_a_host_is_none() {
        for url in [
            "",
            "/srv/git/engine.git",
            "../engine",
            "./a:b/c",
            "C:/repos/engine",
            "file:///srv/ada/engine",
            "https://github.com",
            "https://github.com/ada",
            "https://github.com/ada/",
            "https://github.com/ada/engine/tree/main",
            "https://github.com/../engine",
            "https://github.com/ada/en gine",
            "https:///ada/engine",
            "git@:ada/engine",
            "ftp://github.com/ada/engine",
            "git@github.com:engine",
        ] {
            assert_eq!(Slug::parse(url), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            Slug::parse(&text);
        }

        #[test]
        fn what_is_spelled_is_read(owner in "[a-z][a-z0-9-]{0,8}", name in "[a-zA-Z][a-zA-Z0-9_-]{0,8}", form in 0..4) {
            let url = match form {
                0 => format!("https://ghe.corp:8443/{owner}/{name}.git"),
                1 => format!("ssh://git@ghe.corp/{owner}/{name}"),
                2 => format!("git@ghe.corp:{owner}/{name}.git"),
                _ => format!("https://user@ghe.corp/{owner}/{name}/"),
            };
            prop_assert_eq!(Slug::parse(&url), slug("ghe.corp", &owner, &name));
        }
    }
}
