//! Which paths are refused, and how gravely.

use super::*;

fn places() -> Places {
    Places {
        tree: "/data/state/worktrees/a".into(),
        roots: vec!["/data/state/sessions/1/tmp".into()],
        readable: vec!["/usr".into()],
        home: "/home/me".into(),
        state: "/data/state".into(),
        checkout: Some("/home/me/code".into()),
        plan: Some("/data/state/plans/p/x.md".into()),
        remotes: Vec::new(),
        has_tree_secret: false,
    }
}

fn at(named: &str, real: &str) -> Target {
    Target { named: named.into(), real: real.into() }
}

/// The word for what stands against one path.
fn word(named: &str, real: &str, act: Act) -> &'static str {
    match check(&[at(named, real)], act, &places()) {
        Some(Refusal::Secret { .. }) => "secret",
        Some(Refusal::State(_)) => "state",
        Some(Refusal::Git(_)) => "git",
        Some(Refusal::Link(_)) => "link",
        Some(Refusal::Outside(_)) => "outside",
        None => "",
    }
}

#[test]
fn secrets_are_refused_by_name_and_through_links() {
    for secret in [
        "/home/me/.ssh/id_ed25519",
        "/home/me/.ssh",
        "/home/me/.aws/credentials",
        "/home/me/.gnupg/x",
        "/home/me/.netrc",
        "/home/me/.coppice/.env",
        "/home/me/.kube/config",
        "/home/me/.docker/config.json",
        "/home/me/.config/gh/hosts.yml",
        "/home/me/.config/gcloud/x",
        "/data/state/worktrees/a/.env",
        "/data/state/worktrees/a/.env.local",
        "/home/me/code/.env",
        "/home/me/code/.env.production",
    ] {
        for act in [Act::Read, Act::Search, Act::Write] {
            assert_eq!(word(secret, secret, act), "secret", "{secret}");
            assert_eq!(word("/data/state/worktrees/a/link", secret, act), "secret", "{secret} through a link");
            assert_eq!(word(secret, "/usr/x", act), "secret", "{secret} by its name");
        }
    }
    assert_eq!(word("/home/me/x/../.ssh/id", "", Act::Read), "secret");
    assert_eq!(word("/home/me", "/home/me", Act::Search), "secret");
    assert_eq!(word("/home/me", "/home/me", Act::Read), "outside");
    assert_eq!(word("/data", "/data", Act::Search), "state");
    let other = ["/home/me/.sshd", "/home/me/.kube/cache", "/home/me/code/src/.env", "/home/me/code/main.rs"];
    for open in other {
        assert_eq!(word(open, open, Act::Read), "outside", "{open}");
    }
    for open in [
        "/data/state/worktrees/a/.env.example",
        "/data/state/worktrees/a/.environment",
        "/usr/include/x.h",
        "/data/state/plans/p/x.md",
    ] {
        assert_eq!(word(open, open, Act::Read), "", "{open}");
    }
}

#[test]
fn writes_stay_in_the_tree_and_out_of_git_and_our_data() {
    let tree = "/data/state/worktrees/a";
    for (path, expected) in [
        ("/src/main.rs", ""),
        ("/.gitignore", ""),
        ("/.git", "git"),
        ("/.git/hooks/pre-commit", "git"),
        ("/sub/.GIT/config", "git"),
    ] {
        let path = format!("{tree}{path}");
        assert_eq!(word(&path, &path, Act::Write), expected, "{path}");
    }
    for (named, real, expected) in [
        ("/etc/passwd", "/etc/passwd", "outside"),
        ("/usr/x", "/usr/x", "outside"),
        ("/home/me/code/.git/config", "/home/me/code/.git/config", "git"),
        ("/data/state/coppice.db", "/data/state/coppice.db", "state"),
        ("/data/state/plans/p/x.md", "/data/state/plans/p/x.md", "state"),
        ("/data/state/worktrees/b/x", "/data/state/worktrees/b/x", "state"),
        ("/data/state/sessions/1/tmp/x", "/data/state/sessions/1/tmp/x", ""),
        ("/data/state/worktrees/a/out/x", "/etc/x", "link"),
        ("/data/state/worktrees/a/out/x", "/home/me/code/.git/x", "git"),
        ("/data/state/worktrees/a/out/x", "/data/state/coppice.db", "state"),
        ("/data/state/worktrees/a/broken", "", "link"),
        ("/data/state/worktrees/a/no/../../../x", "/data/state/worktrees/a/no/../../../x", "state"),
        ("/data/state/worktrees/a/inner/x", "/data/state/worktrees/a/src/x", ""),
        ("/alias/a/x", "/data/state/worktrees/a/x", ""),
    ] {
        assert_eq!(word(named, real, Act::Write), expected, "{named} -> {real}");
    }
}

#[test]
fn one_bad_path_refuses_the_call_and_the_gravest_is_told() {
    let targets = [
        at("/data/state/worktrees/a/x", "/data/state/worktrees/a/x"),
        at("/opt/x", "/opt/x"),
        at("/home/me/.netrc", "/home/me/.netrc"),
    ];
    let found = check(&targets, Act::Read, &places()).unwrap();
    assert!(found.is_final());
    assert_eq!(
        found.to_string(),
        "`/home/me/.netrc` is on the list of secret files, which no tool reads and no command may name"
    );
    let found = check(&targets[..2], Act::Read, &places()).unwrap();
    assert_eq!(found, Refusal::Outside("/opt/x".into()));
    assert!(!found.is_final());
    assert_eq!(check(&[], Act::Write, &places()), None);
}

#[test]
fn places_that_are_not_known_hold_nothing() {
    let nowhere = Places::default();
    assert_eq!(check(&[at("/a", "/a")], Act::Read, &nowhere), Some(Refusal::Outside("/a".into())));
}

#[test]
fn a_search_by_a_pattern_finds_no_secret_of_the_tree() {
    let refuses = |pattern: &str, has_tree_secret| {
        let path = Path::new("/data/state/worktrees/a").join(pattern);
        let places = Places { has_tree_secret, ..places() };
        check(&[Target { named: path.clone(), real: path }], Act::Search, &places).is_some()
    };
    for pattern in ["*", ".env*", "**/.env", "{a,.env}", ".[e]nv"] {
        assert!(refuses(pattern, true) && !refuses(pattern, false), "{pattern}");
    }
    for pattern in ["", "*.rs", "**/*.{ts,tsx}", "src/*", "!*.lock"] {
        assert!(!refuses(pattern, true), "{pattern}");
    }
}
