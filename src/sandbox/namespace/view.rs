//! What the file system looks like inside: an empty root with the listed places, and a `/proc` and `/dev/shm` of its own.
//!
//! The places are those that the rules of Landlock are made for. What is not listed is absent; what may only be read is
//! mounted read-only, so that neither modes nor times of it can be changed.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{fchdir, pivot_root};

use super::Surroundings;
use super::call::{Depth, make_read_only};
use super::plan::{ListedPlaces, MountPoint, PlaceAccess, ViewStep};
use crate::sandbox::cage::Cage;
use crate::sandbox::confine::rules::DEVICES;
use crate::sandbox::listed_path::WritablePlaces;

/// Mounted anew, whatever is there outside.
const PROCESSES: &str = "/proc";
const SHARED_MEMORY: &str = "/dev/shm";
/// Links that shells and scripts count on.
const STREAMS: [&str; 4] = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/// Directories that programs expect to exist.
const TEMPORARY: &str = "/tmp";
const EXPECTED: [&str; 2] = [TEMPORARY, "/var/tmp"];
/// As many links as the kernel follows on the way to a file.
const MOST_LINKS: usize = 40;

/// A place outside, and what is there.
struct Source {
    handle: OwnedFd,
    kind: FileType,
}

/// Gives this mount namespace its own root.
pub(super) fn build(cage: &Cage, around: &Surroundings<'_>) -> io::Result<()> {
    // What is mounted here stays here, and what is mounted outside later does not come in.
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let listed = find_places(cage, around)?;
    let (root, access) = match listed.places.get(Path::new("/")) {
        None => (new_tmpfs("755")?, PlaceAccess::Read),
        Some((access, source)) => (copy_tree(source, *access)?, *access),
    };
    // Any directory will do until the root is changed; this one is always there.
    attach(&root, CWD, PROCESSES)?;
    for step in listed.into_steps() {
        make_step(&root, step)?;
    }
    make_own_mounts(&root, cage)?;
    match access {
        PlaceAccess::Read => make_read_only(root.as_fd(), Depth::TopMount)?,
        PlaceAccess::Write => {}
    }
    fchdir(&root)?;
    // The old root ends up on top of the new one, where it is taken off.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")
}

fn find_places(cage: &Cage, around: &Surroundings<'_>) -> io::Result<ListedPlaces<Source>> {
    let mut listed = ListedPlaces::default();
    let writable = WritablePlaces::find(&cage.write);
    let read = cage.read.iter().map(|path| (path.as_path(), PlaceAccess::Read));
    let write = cage.write.iter().map(|path| (path.as_path(), PlaceAccess::Write));
    let devices = DEVICES.iter().map(|path| (Path::new(path), PlaceAccess::Write));
    let streams = STREAMS.iter().map(|path| (Path::new(path), PlaceAccess::Read));
    let is_own = |path: &Path| path == Path::new(PROCESSES) || path == Path::new(SHARED_MEMORY);
    for (path, access) in read.chain(write).chain(devices).chain(streams).filter(|(path, _)| !is_own(path)) {
        note_links(path, &mut listed);
        match writable.open(path) {
            None | Some((_, FileType::Symlink)) => {}
            Some((handle, kind)) => {
                let real = fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
                listed.add(real, access, Source { handle, kind });
            }
        }
    }
    show_temporary_files(cage, around, &writable, &mut listed);
    for path in around.empty.iter().copied().chain(EXPECTED.iter().map(Path::new)) {
        note_links(path, &mut listed);
        if let Ok(real) = path.canonicalize()
            && real.is_dir()
        {
            listed.empty.insert(real);
        }
    }
    Ok(listed)
}

/// Shows the directory for temporary files at `/tmp` too, unless something is listed there, above or below.
fn show_temporary_files(
    cage: &Cage,
    around: &Surroundings<'_>,
    writable: &WritablePlaces,
    listed: &mut ListedPlaces<Source>,
) {
    // The shared memory of these namespaces is another directory than the one of that name outside.
    let own = around.temporary.filter(|path| *path != Path::new(SHARED_MEMORY));
    let own = own.filter(|path| cage.write.iter().any(|listed| listed == path));
    if let Some((handle, kind @ FileType::Directory)) = own.and_then(|path| writable.open(path))
        && let Ok(at) = Path::new(TEMPORARY).canonicalize()
        && !listed.places.keys().any(|place| place.starts_with(&at) || at.starts_with(place))
    {
        listed.add(at, PlaceAccess::Write, Source { handle, kind });
    }
}

/// Remembers the links on the way to a path, and the path itself if it is one, so that the same path leads there inside.
fn note_links(path: &Path, listed: &mut ListedPlaces<Source>) {
    let mut at = PathBuf::from("/");
    let mut rest: VecDeque<PathBuf> = path.components().map(|part| PathBuf::from(part.as_os_str())).collect();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        match part.components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                match fs::read_link(&next) {
                    Ok(text) if links < MOST_LINKS => {
                        links += 1;
                        for part in text.components().rev() {
                            rest.push_front(PathBuf::from(part.as_os_str()));
                        }
                        listed.links.insert(next, text);
                    }
                    Ok(_) | Err(_) => at = next,
                }
            }
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
}

fn make_step(root: &OwnedFd, step: ViewStep<Source>) -> io::Result<()> {
    match step {
        ViewStep::Directory(path) => make_directory(root, &path),
        ViewStep::Link { at, text } => Ok(symlinkat(&text, root, below(&at))?),
        // It is what the others are mounted in.
        ViewStep::Mount { at, .. } if at == Path::new("/") => Ok(()),
        ViewStep::Mount { at, access, source, point } => {
            let tree = match (copy_tree(&source, access), access) {
                (Ok(tree), _) => tree,
                // A mount that cannot be copied is absent, as if it were not listed.
                (Err(_), PlaceAccess::Read) => return Ok(()),
                (Err(error), PlaceAccess::Write) => return Err(error),
            };
            match (point, source.kind) {
                (MountPoint::Exists, _) => {}
                (MountPoint::Missing, FileType::Directory) => make_directory(root, &at)?,
                (MountPoint::Missing, _) => {
                    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                    openat(root, below(&at), flags, Mode::from_raw_mode(0o644))?;
                }
            }
            attach(&tree, root, below(&at))
        }
    }
}

/// The mounts that belong to these namespaces alone.
fn make_own_mounts(root: &OwnedFd, cage: &Cage) -> io::Result<()> {
    make_directory(root, Path::new(PROCESSES))?;
    let safe = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let processes = new_mount("proc", &[], safe | MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    attach(&processes, root, below(Path::new(PROCESSES)))?;
    if cage.write.iter().any(|path| path == Path::new(SHARED_MEMORY)) {
        make_directory(root, Path::new("/dev"))?;
        make_directory(root, Path::new(SHARED_MEMORY))?;
        attach(&new_tmpfs("1777")?, root, below(Path::new(SHARED_MEMORY)))?;
    }
    Ok(())
}

fn new_tmpfs(mode: &str) -> io::Result<OwnedFd> {
    let safe = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_mount("tmpfs", &[("mode", mode)], safe)
}

fn new_mount(kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value)?;
    }
    fsconfig_create(&context)?;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// A copy of what is mounted at a place and below.
fn copy_tree(source: &Source, access: PlaceAccess) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(&source.handle, "", flags)?;
    match access {
        PlaceAccess::Read => make_read_only(tree.as_fd(), Depth::AllMounts)?,
        PlaceAccess::Write => {}
    }
    Ok(tree)
}

fn attach(tree: &OwnedFd, directory: impl AsFd, at: impl AsRef<OsStr>) -> io::Result<()> {
    Ok(move_mount(tree, "", directory, at.as_ref(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn make_directory(root: &OwnedFd, path: &Path) -> io::Result<()> {
    match mkdirat(root, below(path), Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An absolute path as one that begins at the new root.
fn below(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
