//! Tables over real indexes that git wrote, and properties over arbitrary bytes.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::git::testkit::{Sandbox, run_git};

fn index_of(repo: &Sandbox, version: u32) -> Vec<u8> {
    repo.git(&["update-index", "--force-write-index", &format!("--index-version={version}")]);
    fs::read(repo.main().join(".git/index")).unwrap()
}

fn listed(index: &Index) -> String {
    let line = |entry: Entry<'_>| {
        let oid: String = entry.oid.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:06o} {oid} {}\t{}\0", entry.mode, entry.stage >> 12, String::from_utf8_lossy(entry.path))
    };
    index.entries().map(line).collect()
}

#[test]
fn every_version_reads_as_git_lists_it_and_survives_a_patch() {
    let repo = Sandbox::new();
    for name in ["a", "a.b", "a0", "dir/one", "dir/one two", "dir/deep/er/x", "dir-2/y", "ünï/ç"] {
        repo.write(name, name);
    }
    repo.write(&format!("{}file", "long/".repeat(60)), "deep");
    repo.commit_all("paths that share beginnings");
    for version in [2, 3, 4] {
        if version == 3 {
            repo.write("planned", "");
            repo.git(&["add", "--intent-to-add", "planned"]);
            repo.git(&["update-index", "--assume-unchanged", "a0"]);
        }
        let bytes = index_of(&repo, version);
        let mut index = Index::parse(bytes.clone()).unwrap();
        assert_eq!(listed(&index), repo.git(&["ls-files", "--stage", "-z"]));
        let flagged: Vec<_> = index.entries().filter(|entry| entry.is_flagged).map(|entry| entry.path).collect();
        assert_eq!(flagged, if version == 2 { vec![] } else { vec![&b"a0"[..], b"planned"] });

        for number in 0..index.len() {
            let stat = index.entry(number).stat;
            assert!(index.entry(number).is_flagged || stat != Stat::default());
            index.patch(number, &stat);
        }
        assert_eq!(index.clone().into_bytes(), bytes, "a patch with the same words changes nothing");

        let other = Stat { ctime: (1, 2), mtime: (3, 4), dev: 5, ino: 6, uid: 7, gid: 8, size: 9 };
        index.patch(1, &other);
        let patched = Index::parse(index.into_bytes()).unwrap();
        assert_eq!(patched.entry(1).stat, other);
        assert_eq!(listed(&patched), repo.git(&["ls-files", "--stage", "-z"]));
        assert_eq!(
            patched.bytes[patched.bytes.len() - HASH..],
            Sha1::digest(&patched.bytes[..patched.bytes.len() - HASH])[..]
        );
    }
}

#[test]
fn a_trailer_of_zeros_stays() {
    let repo = Sandbox::new();
    repo.git(&["config", "index.skipHash", "true"]);
    let bytes = index_of(&repo, 2);
    assert_eq!(bytes[bytes.len() - HASH..], [0; HASH]);
    let mut index = Index::parse(bytes).unwrap();
    index.patch(0, &Stat::default());
    let bytes = index.into_bytes();
    assert_eq!(bytes[bytes.len() - HASH..], [0; HASH]);
}

#[test]
fn what_cannot_be_read_says_why() {
    let repo = Sandbox::new();
    let good = index_of(&repo, 2);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        Index::parse(bytes).unwrap_err()
    };
    assert_eq!(with(&|bytes| bytes.truncate(20)), IndexError::Truncated);
    assert_eq!(with(&|bytes| bytes[0] = b'X'), IndexError::Signature);
    assert_eq!(with(&|bytes| bytes[7] = 5), IndexError::Version(5));
    assert_eq!(with(&|bytes| bytes[11] = 200), IndexError::Truncated);
    assert_eq!(with(&|bytes| bytes[HEADER + FIXED..].fill(b'x')), IndexError::Entry(0));
    repo.git(&["update-index", "--split-index"]);
    let split = fs::read(repo.main().join(".git/index")).unwrap();
    assert!(Index::parse(split).is_err(), "a split index holds only half of the entries");
    assert_eq!(IndexError::Extension(*b"link").to_string(), "index needs the extension `link`");
}

#[test]
fn blobs_hash_as_git_hashes_them() {
    let repo = Sandbox::new();
    let oid: String = blob_id(b"hello\n").iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(oid, run_git(&repo.main(), &["rev-parse", "HEAD:README"]).trim());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        touch_everything(bytes);
    }

    #[test]
    fn plausible_bytes_never_panic(version in 2u8..=4, count in 0u8..4, body in proptest::collection::vec(0u8..4, 0..600)) {
        touch_everything([b"DIRC\0\0\0".as_slice(), &[version, 0, 0, 0, count], &body].concat());
    }
}

fn touch_everything(bytes: Vec<u8>) {
    if let Ok(mut index) = Index::parse(bytes) {
        assert_eq!(index.entries().count(), index.len());
        (0..index.len()).for_each(|number| index.patch(number, &Stat::default()));
        index.into_bytes();
    }
}
