//! Where a token goes, as a table, and what the files hold afterwards.

use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::*;

fn side(digest: &str, expires_at: i64) -> Side {
    Side::Token(Token { digest: digest.to_owned(), expires_at, life: Life::Alive })
}

fn spent() -> Side {
    Side::Token(Token { digest: "spent".to_owned(), expires_at: 0, life: Life::Spent })
}

#[test]
fn the_renewed_token_wins_on_either_side() {
    for (user, own, agreed, expected) in [
        (Side::Empty, Side::Empty, None, Move::None),
        (side("a", 1), Side::Empty, None, Move::Bring),
        (side("a", 1), Side::Broken, Some("a"), Move::Bring),
        (side("a", 1), side("a", 1), None, Move::None),
        // One of them is what both held before.
        (side("a", 1), side("b", 2), Some("a"), Move::Carry),
        (side("a", 9), side("b", 2), Some("a"), Move::Carry),
        (side("b", 2), side("a", 1), Some("a"), Move::Bring),
        (side("b", 1), side("a", 9), Some("a"), Move::Bring),
        // Neither is: a daemon ended before it carried a token, or two places were renewed.
        (side("a", 1), side("b", 2), None, Move::Carry),
        (side("a", 2), side("b", 1), Some("c"), Move::Bring),
        (side("a", 1), side("b", 1), Some("c"), Move::Bring),
        // What the service refused is never carried, and goes as soon as there is another.
        (side("a", 1), spent(), Some("a"), Move::Bring),
        (side("b", 2), spent(), Some("a"), Move::Bring),
        (spent(), side("b", 2), Some("a"), Move::Carry),
        (spent(), side("a", 2), Some("a"), Move::Bring),
        (spent(), Side::Token(Token { digest: "gone".to_owned(), expires_at: 0, life: Life::Spent }), None, Move::None),
        // The user logged out.
        (Side::Empty, side("a", 1), Some("a"), Move::Forget),
        (Side::Empty, Side::Broken, None, Move::Forget),
        // A file that is being written by somebody else says nothing.
        (Side::Broken, side("a", 1), Some("a"), Move::None),
        (Side::Broken, Side::Empty, None, Move::None),
    ] {
        assert_eq!(decide(&user, &own, agreed), expected, "{user:?} {own:?} {agreed:?}");
    }
}

struct World {
    dir: tempfile::TempDir,
    keeper: Keeper,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("user")).unwrap();
        let keeper = Keeper {
            user: dir.path().join("user").join(FILE),
            own: AgentDir::fixed(dir.path().join("login/claude")),
            agreed: dir.path().join("login/claude.agreed"),
        };
        Self { dir, keeper }
    }

    fn user_has(&self, token: &str, expires_at: i64) {
        let file = json!({MEMBER: oauth(token, expires_at), "mcpOAuth": {"server": "secret"}});
        fs::write(&self.keeper.user, file.to_string()).unwrap();
    }

    fn own(&self) -> PathBuf {
        self.keeper.dir().join(FILE)
    }

    fn agent_writes(&self, value: &Value) {
        fs::write(self.own(), value.to_string()).unwrap();
    }
}

fn oauth(token: &str, expires_at: i64) -> Value {
    json!({"accessToken": token, "refreshToken": format!("refresh-{token}"), "expiresAt": expires_at,
        "scopes": ["user:inference"], "subscriptionType": "max"})
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_token_is_brought_alone_and_carried_back_without_the_rest() {
    let world = World::new();
    let World { dir, keeper } = &world;
    world.user_has("a", 1);
    keeper.settle().unwrap();
    assert_eq!(read(&world.own()).unwrap(), json!({MEMBER: oauth("a", 1)}), "servers' tokens stay with the user");
    assert_eq!((mode(&world.own()), mode(keeper.dir())), (0o600, 0o700));

    let mut renewed = oauth("b", 2);
    renewed["subscriptionType"] = json!("planted");
    world.agent_writes(&json!({MEMBER: renewed, "mcpOAuth": {"server": "planted"}, "hooks": "planted"}));
    keeper.settle().unwrap();
    assert_eq!(read(&keeper.user).unwrap(), json!({MEMBER: oauth("b", 2), "mcpOAuth": {"server": "secret"}}));
    assert_eq!(mode(&keeper.user), 0o600);
    assert_eq!(fs::read_dir(dir.path().join("user")).unwrap().count(), 1, "no draft stays behind");

    fs::remove_file(&keeper.user).unwrap();
    keeper.settle().unwrap();
    assert!(!world.own().exists() && !keeper.user.exists(), "a login that is over is over here too");
    keeper.settle().unwrap();
}

#[test]
fn a_token_that_the_service_refused_never_reaches_the_user() {
    let world = World::new();
    world.user_has("a", 5);
    world.keeper.settle().unwrap();
    world.agent_writes(&json!({MEMBER: {"accessToken": "", "refreshToken": "", "expiresAt": 0}}));
    world.keeper.settle().unwrap();
    assert_eq!(read(&world.keeper.user).unwrap()[MEMBER], oauth("a", 5));
}

#[test]
fn a_login_of_the_user_replaces_ours() {
    let world = World::new();
    world.user_has("a", 100);
    world.keeper.settle().unwrap();
    // Another account, whose token ends earlier.
    world.user_has("other", 50);
    world.keeper.settle().unwrap();
    assert_eq!(read(&world.own()).unwrap()[MEMBER], oauth("other", 50));
    fs::write(&world.keeper.user, "half a fi").unwrap();
    world.keeper.settle().unwrap();
    assert_eq!(read(&world.own()).unwrap()[MEMBER], oauth("other", 50));
}

#[test]
fn the_users_place_is_the_agents_own() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for (env, expected) in [
        (vec![pair("HOME", "/home/me")], Some("/home/me/.claude")),
        (vec![pair("HOME", "/home/me"), pair("CLAUDE_CONFIG_DIR", "/own")], Some("/own")),
        (
            vec![pair("HOME", "/h"), pair("CLAUDE_CONFIG_DIR", "/own"), pair("CLAUDE_SECURESTORAGE_CONFIG_DIR", "")],
            Some("/h/.claude"),
        ),
        (vec![pair("CLAUDE_SECURESTORAGE_CONFIG_DIR", "/store")], Some("/store")),
        (Vec::new(), None),
    ] {
        assert_eq!(users_dir(&env).as_deref(), expected.map(Path::new), "{env:?}");
    }
}

#[test]
fn a_link_of_the_users_stays_a_link() {
    let world = World::new();
    let real = world.dir.path().join("dotfiles");
    fs::write(&real, json!({MEMBER: oauth("a", 1)}).to_string()).unwrap();
    symlink(&real, &world.keeper.user).unwrap();
    let keeper = Keeper { user: fs::canonicalize(&world.keeper.user).unwrap(), ..world.keeper.clone() };
    keeper.settle().unwrap();
    world.agent_writes(&json!({MEMBER: oauth("b", 2)}));
    keeper.settle().unwrap();
    assert!(world.keeper.user.is_symlink());
    assert_eq!(read(&real).unwrap()[MEMBER], oauth("b", 2));
}

#[test]
fn what_an_agent_plants_is_neither_read_nor_written_through() {
    let planting: [fn(&Path, &Path); 4] = [
        |victim, place| symlink(victim, place).unwrap(),
        |victim, place| symlink(victim.with_extension("missing"), place).unwrap(),
        |victim, place| fs::hard_link(victim, place).unwrap(),
        |_, place| mknodat(CWD, place, FileType::Fifo, Mode::RWXU, 0).unwrap(),
    ];
    for plant in planting {
        let world = World::new();
        // A token that would be carried to the user if it was read.
        let victim = world.dir.path().join("victim");
        let text = json!({MEMBER: oauth("victim", 9)}).to_string();
        fs::write(&victim, &text).unwrap();
        world.user_has("a", 1);
        world.keeper.settle().unwrap();
        for _ in 0..2 {
            fs::remove_file(world.own()).ok();
            plant(&victim, &world.own());
            world.keeper.settle().unwrap();
            assert_eq!(fs::read_to_string(&victim).unwrap(), text);
            assert!(!victim.with_extension("missing").exists());
        }
        assert_eq!(read(&world.keeper.user).unwrap()[MEMBER], oauth("a", 1));
        assert!(fs::symlink_metadata(world.own()).unwrap().is_file());
        assert_eq!(read(&world.own()).unwrap(), json!({MEMBER: oauth("a", 1)}));
        fs::remove_file(world.own()).unwrap();
        plant(&victim, &world.own());
        fs::remove_file(&world.keeper.user).unwrap();
        world.keeper.settle().unwrap();
        assert!(fs::symlink_metadata(world.own()).is_err() && victim.exists());
    }
}

#[tokio::test]
async fn a_change_is_seen_while_the_agent_lives() {
    let world = World::new();
    world.user_has("a", 1);
    world.keeper.settle().unwrap();
    let keeper = Arc::new(world.keeper.clone());
    let (sender, mut seen) = mpsc::channel(8);
    let user_dir = world.dir.path().join("user");
    let mut watcher = notify::recommended_watcher(move |_| {
        sender.try_send(()).ok();
    })
    .unwrap();
    watcher.watch(&user_dir, RecursiveMode::NonRecursive).unwrap();
    let renewed = async {
        write(&world.own(), &json!({MEMBER: oauth("b", 2)})).unwrap();
        while read(&keeper.user).unwrap()[MEMBER]["accessToken"] != "b" {
            seen.recv().await.unwrap();
        }
    };
    tokio::select! {
        // First of all it begins to watch.
        biased;
        () = keeper.clone().keep() => {}
        () = renewed => {}
    }
    assert_eq!(read(&keeper.user).unwrap()[MEMBER], oauth("b", 2));
}
