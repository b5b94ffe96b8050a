//! A small disk of its own below the scratch directory, in a mount namespace, so that it can be filled and made read-only
//! without touching the machine's.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::mount::{MountFlags, UnmountFlags, mount_bind, mount_remount, unmount};

/// Set in the process that runs on its own disk.
const OWN_DISK: &str = "COPPICE_CHAOS_DISK";

/// Room for a home, a repository and a dozen worktrees.
const SIZE: &str = "size=128m";

const FILLER: &str = "filler";

/// Runs this program again in a mount namespace with a disk of its own; `None` in that process, and where there is none.
pub(crate) fn run_again_on_own_disk() -> Option<ExitCode> {
    if env::var_os(OWN_DISK).is_some() {
        return None;
    }
    let namespaces: &[&str] =
        if rustix::process::geteuid().is_root() { &["--mount"] } else { &["--mount", "--map-root-user"] };
    let place = tempfile::Builder::new().prefix("chaos").tempdir().unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", script]).arg(env::current_exe().unwrap());
        command.args(env::args_os().skip(1)).env("TMPDIR", place.path()).env(OWN_DISK, place.path());
        command
    };
    let mount = format!("mount -t tmpfs -o {SIZE} chaos \"$TMPDIR\"");
    if !unshare(&mount).output().is_ok_and(|output| output.status.success()) {
        println!("nothing can be mounted here: no fault of the disk takes place");
        return None;
    }
    let status = unshare(&format!("{mount} && exec \"$0\" \"$@\"")).status().unwrap();
    Some(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether faults of the disk can take place.
pub(crate) fn is_own() -> bool {
    env::var_os(OWN_DISK).is_some()
}

/// Fills the disk below `root` up to `spare_kib`.
pub(crate) fn fill(root: &Path, spare_kib: u64) {
    // Goes on where an earlier call left it.
    let mut filler = File::options().append(true).create(true).open(root.join(FILLER)).unwrap();
    let block = vec![0; 64 << 10];
    while filler.write(&block).is_ok_and(|written| written > 0) {}
    let length = filler.metadata().unwrap().len();
    filler.set_len(length.saturating_sub(spare_kib << 10)).unwrap();
}

pub(crate) fn free(root: &Path) {
    fs::remove_file(root.join(FILLER)).ok();
}

/// Makes a directory read-only for everybody who opens a file in it from here on; whether it worked.
pub(crate) fn protect(directory: &Path) -> bool {
    mount_bind(directory, directory).is_ok()
        && mount_remount(directory, MountFlags::BIND | MountFlags::RDONLY, "").is_ok()
}

pub(crate) fn unprotect(directory: &Path) {
    unmount(directory, UnmountFlags::DETACH).ok();
}
