//! What an agent can plant, at every file and at the directories above it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, FileType, mknodat};
use tempfile::TempDir;

use super::*;

struct World {
    dir: TempDir,
    own: AgentDir,
}

/// What can be in the way of a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planted {
    Link,
    Dangling,
    Hard,
    Pipe,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("user/sub")).unwrap();
        fs::write(dir.path().join("user/file"), "secret").unwrap();
        fs::write(dir.path().join("user/sub/file"), "secret").unwrap();
        fs::create_dir(dir.path().join("state")).unwrap();
        let own = AgentDir::below(&dir.path().join("state"), "agent");
        Self { dir, own }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn plant(&self, planted: Planted, path: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match planted {
            Planted::Link => symlink(self.at("user/file"), path).unwrap(),
            Planted::Dangling => symlink(self.at("user/fresh"), path).unwrap(),
            Planted::Hard => fs::hard_link(self.at("user/file"), path).unwrap(),
            Planted::Pipe => mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        }
    }

    #[track_caller]
    fn is_unharmed(&self) {
        for file in ["user/file", "user/sub/file"] {
            assert_eq!(fs::read_to_string(self.at(file)).unwrap(), "secret");
        }
        assert_eq!((fs::read_dir(self.at("user")).unwrap().count(), self.at("user/fresh").exists()), (2, false));
        assert_eq!(fs::read_dir(self.at("user/sub")).unwrap().count(), 1);
    }
}

const PLANTED: [Planted; 4] = [Planted::Link, Planted::Dangling, Planted::Hard, Planted::Pipe];

#[test]
fn whatever_lies_in_the_place_of_a_file_is_replaced_and_never_read() {
    for planted in PLANTED {
        let world = World::new();
        world.plant(planted, "state/agent/sub/file");
        assert!(world.own.read("sub/file").is_err(), "{planted:?}");
        world.own.write("sub/file", PRIVATE, b"ours").unwrap();
        assert_eq!(world.own.read("sub/file").unwrap().as_deref(), Some(b"ours".as_slice()), "{planted:?}");
        let found = fs::symlink_metadata(world.at("state/agent/sub/file")).unwrap();
        assert_eq!((found.is_file(), found.permissions().mode() & 0o777), (true, 0o600), "{planted:?}");
        assert_eq!(world.own.entries("sub"), ["file"], "no draft stays behind");
        world.is_unharmed();
    }
}

#[test]
fn whatever_lies_in_the_place_of_a_directory_is_replaced() {
    for place in ["state/agent", "state/agent/sub"] {
        for planted in PLANTED {
            let world = World::new();
            world.plant(planted, place);
            assert!(world.own.read("sub/file").is_err(), "{planted:?}");
            assert!(world.own.remove("sub/file").is_err() && world.own.entries("sub").is_empty(), "{planted:?}");
            world.own.write("sub/file", PRIVATE, b"ours").unwrap();
            assert_eq!(fs::read_to_string(world.at("state/agent/sub/file")).unwrap(), "ours", "{planted:?}");
            world.is_unharmed();
        }
    }
    // A link to a directory that has all of the same names.
    for (place, target) in [("state/agent", "user"), ("state/agent/sub", "user/sub")] {
        let world = World::new();
        fs::create_dir_all(world.at(place).parent().unwrap()).unwrap();
        symlink(world.at(target), world.at(place)).unwrap();
        assert!(world.own.read("sub/file").is_err() && world.own.entries("sub").is_empty());
        assert!(world.own.remove("sub/file").is_err() && world.own.rename("sub", "file", "other").is_err());
        world.own.link("sub/link", &world.at("user/file")).unwrap();
        assert_eq!(world.own.entries("sub"), ["link"]);
        world.is_unharmed();
    }
}

#[test]
fn links_and_removals_are_of_the_name_itself() {
    let world = World::new();
    world.own.make().unwrap();
    assert_eq!(world.own.read("link").unwrap(), None);
    for planted in PLANTED {
        world.plant(planted, "state/agent/link");
        world.own.link("link", &world.at("user/sub/file")).unwrap();
        assert_eq!(fs::read_link(world.at("state/agent/link")).unwrap(), world.at("user/sub/file"));
        world.own.remove("link").unwrap();
        assert!(world.own.entries("").is_empty(), "{planted:?}");
        world.is_unharmed();
    }
    assert_eq!(world.own.remove("link").unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_directory_in_the_place_of_a_file_stays_and_is_told() {
    let world = World::new();
    fs::create_dir_all(world.at("state/agent/file/kept")).unwrap();
    assert_eq!(world.own.write("file", PRIVATE, b"ours").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert!(world.own.read("file").is_err() && world.own.remove("file").is_err());
    assert_eq!(world.own.entries(""), ["file"]);
}

#[test]
fn nothing_outside_has_a_name() {
    let world = World::new();
    world.own.make().unwrap();
    for name in ["../../user/file", "/etc/passwd", "..", "", "sub/../../../user/file"] {
        assert!(world.own.read(name).is_err(), "{name}");
        assert!(world.own.write(name, PRIVATE, b"ours").is_err(), "{name}");
        assert!(world.own.rename("", name, "x").is_err() && world.own.rename("", "x", name).is_err(), "{name}");
    }
    world.is_unharmed();
    let missing = AgentDir::fixed(world.at("missing"));
    assert_eq!(missing.write("file", PRIVATE, b"").unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_file_without_end_is_not_read() {
    let world = World::new();
    world.own.write("file", PRIVATE, b"").unwrap();
    File::options().write(true).open(world.at("state/agent/file")).unwrap().set_len(LIMIT + 1).unwrap();
    assert_eq!(world.own.read("file").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}
