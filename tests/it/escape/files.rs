//! Ways out through the file system: straight ones, and detours by links, handles and `/proc`.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Timespec, Timestamps, UTIME_NOW, XattrFlags,
    chmodat, mknodat, open, openat2, renameat_with, setxattr, utimensat,
};

use super::inside::{Probe, done, is_known, probe, refused};
use super::syscall::call;

/// Calls and a request that `libc` does not name.
const FCHMODAT2: libc::c_long = 452;
const FILE_SETATTR: libc::c_long = 469;
const SET_FLAGS: usize = 0x4008_6602;

pub(super) const WRITES: &[Probe] = &[
    probe("write-home", |map| fs::write(map.home("planted"), "x")),
    probe("write-dotfile", |map| append(&map.home(".bashrc"))),
    probe("write-main-checkout", |map| append(&map.repo("README.md"))),
    probe("create-in-main-checkout", |map| fs::write(map.repo("planted"), "x")),
    probe("write-git-config", |map| append(&map.repo(".git/config"))),
    probe("write-git-hook", |map| fs::write(map.repo(".git/hooks/post-checkout"), "x")),
    probe("write-git-ref", |map| fs::write(map.repo(".git/refs/heads/planted"), "x")),
    probe("write-git-object", |map| fs::create_dir(map.repo(".git/objects/zz"))),
    probe("write-own-index", |map| append(&map.repo(".git/worktrees/own/index"))),
    probe("write-other-index", |map| append(&map.repo(".git/worktrees/other/index"))),
    probe("write-other-tree", |map| append(&map.other("README.md"))),
    probe("create-in-other-tree", |map| fs::write(map.other("planted"), "x")),
    probe("write-other-session", |map| fs::write(map.data("sessions/other/planted"), "x")),
    probe("write-database", |map| append(&map.data("coppice.db"))),
    probe("write-parent", |map| fs::write(map.data("worktrees/planted"), "x")),
    probe("write-temp", |map| {
        let path = std::env::temp_dir().join(format!("coppice-escape-{}", map.daemon));
        fs::write(&path, "x").and_then(|()| fs::remove_file(path))
    }),
    probe("write-opt", |map| {
        let path = format!("/opt/coppice-escape-{}", map.daemon);
        fs::write(&path, "x").and_then(|()| fs::remove_file(path))
    })
    .untried(),
    probe("truncate-home", |map| File::options().write(true).truncate(true).open(map.home("notes")).map(drop)),
    probe("remove-home", |map| {
        fs::remove_file(map.home(".aws/credentials")).and_then(|()| restore(map, ".aws/credentials"))
    }),
    probe("make-directory-in-home", |map| fs::create_dir(map.home("directory"))),
    probe("make-device", |map| {
        let null = rustix::fs::makedev(1, 3);
        Ok(mknodat(CWD, map.tree("device"), FileType::CharacterDevice, Mode::RUSR, null)?)
    })
    .untried(),
    probe("rename-tree", |map| {
        fs::rename(map.tree(""), map.data("worktrees/moved"))?;
        fs::rename(map.data("worktrees/moved"), map.tree(""))
    }),
    probe("replace-parent", |map| {
        fs::rename(map.data("worktrees"), map.data("moved"))?;
        fs::rename(map.data("moved"), map.data("worktrees"))
    }),
    probe("rewrite-git-file", |map| append(&map.tree(".git"))),
    probe("change-mode", |map| fs::set_permissions(map.home("notes"), fs::Permissions::from_mode(0o644))),
    probe("change-times", |map| {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        Ok(utimensat(CWD, map.home("notes"), &times, AtFlags::empty())?)
    }),
    probe("set-user-id-mode", |map| {
        let program = map.tree("README.md");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755))?;
        fs::set_permissions(program, fs::Permissions::from_mode(0o644))
    }),
    probe("set-group-id-mode", |map| {
        Ok(chmodat(CWD, map.tree("README.md"), Mode::from_raw_mode(0o2755), AtFlags::empty())?)
    }),
    probe("set-user-id-by-new-call", |map| {
        let path = CString::new(map.tree("README.md").into_os_string().into_vec())?;
        let answer = call(FCHMODAT2, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0o4755]);
        // A kernel that does not know it has no such way.
        done(answer)
    })
    .untried(),
    probe("set-user-id-at-creation", |map| {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        done(open(map.tree("created"), flags, Mode::from_raw_mode(0o4755)).map_err(io::Error::from))
    }),
    probe("set-user-id-by-unnamed-file", |map| {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        done(open(map.tree(""), flags, Mode::from_raw_mode(0o4755)).map_err(io::Error::from))
    })
    .untried(),
    probe("set-user-id-by-openat2", |map| {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        let (mode, resolve) = (Mode::from_raw_mode(0o4755), ResolveFlags::empty());
        done(openat2(CWD, map.tree("created-too"), flags, mode, resolve).map_err(io::Error::from))
    }),
    probe("set-user-id-by-node", |map| {
        Ok(mknodat(CWD, map.tree("node"), FileType::RegularFile, Mode::from_raw_mode(0o4755), 0)?)
    }),
    // The file system decides whether it knows flags.
    probe("inode-flags", |map| {
        let (path, attributes) = (CString::new(map.repo("README.md").into_os_string().into_vec())?, [0_u64; 3]);
        let arguments = [
            libc::AT_FDCWD as usize,
            path.as_ptr() as usize,
            &raw const attributes as usize,
            size_of_val(&attributes),
            0,
        ];
        is_known(call(FILE_SETATTR, arguments), libc::EOPNOTSUPP)
    })
    .untried(),
    probe("inode-flags-by-request", |map| {
        let (file, flags) = (File::open(map.repo("README.md"))?, 0_u64);
        let arguments = [file.as_raw_fd() as usize, SET_FLAGS, &raw const flags as usize];
        is_known(call(libc::SYS_ioctl, arguments), libc::EOPNOTSUPP)
    })
    .untried(),
    // Not every file system has them.
    probe("change-attributes", |map| Ok(setxattr(map.home("notes"), "user.mine", b"x", XattrFlags::empty())?))
        .untried(),
    probe("shared-memory-files", |map| append(&map.shared_memory)),
];

pub(super) const READS: &[Probe] = &[
    probe("read-ssh", |map| done(fs::read(map.home(".ssh/id_ed25519")))),
    probe("read-aws", |map| done(fs::read(map.home(".aws/credentials")))),
    probe("read-gnupg", |map| done(fs::read(map.home(".gnupg/key")))),
    probe("read-netrc", |map| done(fs::read(map.home(".netrc")))),
    probe("read-gh", |map| done(fs::read(map.home(".config/gh/hosts.yml")))),
    probe("read-database", |map| done(fs::read(map.data("coppice.db")))),
    probe("read-other-tree", |map| done(fs::read(map.other("README.md")))),
    probe("read-home", |map| done(fs::read(map.home("notes")))),
    probe("list-home", |map| done(fs::read_dir(map.home("")))),
    probe("list-data", |map| done(fs::read_dir(map.data("")))),
    probe("list-root", |_| done(fs::read_dir("/"))),
    probe("execute-home", |map| done(Command::new(map.home("bin/tool")).status())),
    probe("look-at-names", |map| done(fs::metadata(map.home(".ssh/id_ed25519")))),
    probe("watch-names", |map| {
        let watch = inotify::init(CreateFlags::CLOEXEC)?;
        done(inotify::add_watch(watch, map.home(".ssh"), WatchFlags::CREATE).map_err(io::Error::from))
    }),
];

pub(super) const DETOURS: &[Probe] = &[
    probe("hard-link-in", |map| {
        fs::hard_link(map.home(".ssh/id_ed25519"), map.tree("hard"))?;
        done(fs::read(map.tree("hard")))
    }),
    probe("hard-link-out", |map| fs::hard_link(map.tree("README.md"), map.other("hard"))),
    probe("symlink-read", |map| {
        symlink(map.home(".ssh/id_ed25519"), map.tree("read"))?;
        done(fs::read(map.tree("read")))
    }),
    probe("symlink-write", |map| {
        symlink(map.home(".bashrc"), map.tree("write"))?;
        append(&map.tree("write"))
    }),
    probe("symlink-directory", |map| {
        symlink(map.home(".ssh"), map.tree("directory"))?;
        done(fs::read(map.tree("directory/id_ed25519")))
    }),
    probe("dot-dot", |map| done(fs::read(map.tree("../other/README.md")))),
    probe("working-directory", |map| {
        std::env::set_current_dir(map.home(".ssh"))?;
        let read = fs::read("id_ed25519");
        std::env::set_current_dir(map.tree(""))?;
        done(read)
    }),
    probe("proc-self-root", |map| done(fs::read(through("/proc/self/root", &map.home(".ssh/id_ed25519"))))),
    probe("proc-self-cwd", |_| done(fs::read("/proc/self/cwd/../other/README.md"))),
    probe("proc-thread-root", |map| done(fs::read(through("/proc/thread-self/root", &map.home(".ssh/id_ed25519"))))),
    probe("reopen-handle", |map| {
        let path = open(map.home(".ssh/id_ed25519"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        done(fs::read(format!("/proc/self/fd/{}", path.as_raw_fd())))
    }),
    probe("rename-in", |map| {
        fs::rename(map.home(".netrc"), map.tree("netrc"))?;
        done(fs::read(map.tree("netrc"))).and_then(|()| restore(map, ".netrc"))
    }),
    probe("rename-out", |map| {
        fs::write(map.tree("planted"), "x")?;
        fs::rename(map.tree("planted"), map.home("renamed"))
    }),
    probe("exchange", |map| {
        fs::write(map.tree("exchanged"), "x")?;
        let (inside, outside) = (map.tree("exchanged"), map.home(".gnupg/key"));
        Ok(renameat_with(CWD, inside, CWD, outside, RenameFlags::EXCHANGE)?)
    }),
    probe("inherited-directory", |map| is_left_open(map.directory_fd, &map.home(""))).untried(),
    probe("inherited-file", |map| is_left_open(map.file_fd, &map.home("notes"))).untried(),
    probe("user-terminal", |map| {
        let mut terminal = File::options().write(true).open(&map.terminal)?;
        terminal.write_all(b"x")
    }),
];

fn append(path: &Path) -> io::Result<()> {
    File::options().append(true).open(path)?.write_all(b"\n")
}

/// Puts back what another probe looks for; only an open way leads here.
fn restore(map: &super::world::Map, secret: &str) -> io::Result<()> {
    fs::write(map.home(secret), "secret")
}

fn through(root: &str, path: &Path) -> String {
    format!("{root}{}", path.display())
}

fn is_left_open(fd: i32, path: &Path) -> io::Result<()> {
    let leads = fs::read_link(format!("/proc/self/fd/{fd}"))?;
    if leads.components().eq(path.components()) { Ok(()) } else { Err(refused("something else is open there")) }
}
