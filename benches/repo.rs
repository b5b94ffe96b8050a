//! A large repository that is the same on every machine: seeded names, log-normal sizes, text that compresses like source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Twelve files to a directory and ten thousand bytes to a file is what large source trees look like.
const PER_DIRECTORY: usize = 12;
const MEAN: f64 = 10_000.0;
const SPREAD: f64 = 1.0;

/// One file of the tree.
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) size: usize,
}

/// The tree's files, directory by directory.
pub(crate) fn entries(files: usize) -> Vec<Entry> {
    let mut random = Random(0x5eed);
    let in_directory = |at: usize| {
        let directory = at / PER_DIRECTORY;
        let name = ["mod", "lib", "test", "data", "view", "api"][at % 6];
        PathBuf::from(format!("area{:02}/part{:02}/{name}_{at}.rs", directory / 64, directory % 64))
    };
    (0..files).map(|at| Entry { path: in_directory(at), size: random.size() }).collect()
}

/// The repository with that many files below `root`; made on first use and kept.
pub(crate) fn prepare(root: &Path, files: usize) -> PathBuf {
    let done = root.join(format!("repo-{files}"));
    if done.exists() {
        return done;
    }
    // Half a repository must not be taken for a whole one.
    let making = root.join(format!("making-{files}"));
    fs::remove_dir_all(&making).ok();
    fs::create_dir_all(&making).unwrap();
    git(&making, &["init", "-q", "-b", "main"]);
    let mut random = Random(0xf11e);
    // An old time keeps every entry of the index from being racy.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    for entry in entries(files) {
        let path = making.join(&entry.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, random.text(entry.size)).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    }
    git(&making, &["add", "-A"]);
    // The gc below must not meet one that git starts by itself.
    git(&making, &["config", "gc.auto", "0"]);
    git(&making, &["commit", "-q", "-m", "begin"]);
    git(&making, &["gc", "-q"]);
    fs::rename(&making, &done).unwrap();
    git(&done, &["update-index", "-q", "--refresh"]);
    done
}

/// Takes what this or a broken-off run registered out of the repository.
pub(crate) fn forget(checkout: &Path) {
    for worktree in fs::read_dir(checkout.join(".git/worktrees")).into_iter().flatten().flatten() {
        fs::remove_dir_all(worktree.path()).unwrap();
    }
    let ours = git(checkout, &["for-each-ref", "--format=%(refname)", "refs/heads/coppice", "refs/coppice"]);
    for name in ours.lines() {
        git(checkout, &["update-ref", "-d", name]);
    }
}

/// Runs git as a user who configured nothing would.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["AUTHOR", "COMMITTER"].map(|role| (format!("GIT_{role}_NAME"), "Bench")))
        .envs(["AUTHOR", "COMMITTER"].map(|role| (format!("GIT_{role}_EMAIL"), "bench@example.com")))
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number between 0 and 1, never 0.
    fn fraction(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    /// A file's size: log-normal, at most a megabyte.
    fn size(&mut self) -> usize {
        let normal = (-2.0 * self.fraction().ln()).sqrt() * (std::f64::consts::TAU * self.fraction()).cos();
        let mean = MEAN.ln() - SPREAD * SPREAD / 2.0;
        (mean + SPREAD * normal).exp().min(1_048_576.0) as usize
    }

    /// Lines of words of one file.
    fn text(&mut self, size: usize) -> String {
        const WORDS: [&str; 16] = [
            "let", "match", "value", "self", "return", "state", "event", "fn", "impl", "Result", "Option", "path",
            "turn", "for", "session", "write",
        ];
        let mut text = String::with_capacity(size + 16);
        while text.len() < size {
            let number = self.next();
            text.push_str(WORDS[(number & 15) as usize]);
            match number >> 60 {
                0 => text.push_str(";\n"),
                1 => text.push_str(&format!("_{:x} ", number & 0xfff_ffff)),
                _ => text.push(' '),
            }
        }
        text.truncate(size);
        text
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
