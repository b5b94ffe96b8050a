//! What an exchange of files is about to do, as bytes: enough to undo it after a kill. Pure.
//!
//! One record per path, `<old> <new> <path>` ended by a zero, and one per directory to be made, `d - <path>`. Paths are
//! spelled as they are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::place::{Execution, HASH, Seen};

/// What happens at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) struct Step {
    pub(in crate::git) path: PathBuf,
    /// What is there and is taken away.
    pub(in crate::git) old: Seen,
    /// What is put there.
    pub(in crate::git) new: Seen,
}

/// Everything an exchange does, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::git) struct Journal {
    pub(in crate::git) steps: Vec<Step>,
    /// Directories that are not there before, parents first.
    pub(in crate::git) made: Vec<PathBuf>,
}

impl Journal {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Step { path, old, new } in &self.steps {
            bytes.extend(format!("{} {} ", spell(old), spell(new)).into_bytes());
            bytes.extend(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        for path in &self.made {
            bytes.extend(b"d - ");
            bytes.extend(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Reads a journal; none when it is not whole.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut journal = Self::default();
        if bytes.is_empty() {
            return Some(journal);
        }
        for record in bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0) {
            let mut fields = record.splitn(3, |byte| *byte == b' ');
            let (old, new, path) = (fields.next()?, fields.next()?, fields.next()?);
            let path = PathBuf::from(OsStr::from_bytes(path));
            match old {
                b"d" => journal.made.push(path),
                old => journal.steps.push(Step { path, old: parse_seen(old)?, new: parse_seen(new)? }),
            }
        }
        Some(journal)
    }
}

fn spell(seen: &Seen) -> String {
    let hex = |hash: &[u8; HASH]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match seen {
        Seen::Absent => "-".to_owned(),
        Seen::Other => "?".to_owned(),
        Seen::File { hash, execution: Execution::Plain } => format!("f{}", hex(hash)),
        Seen::File { hash, execution: Execution::Executable } => format!("x{}", hex(hash)),
        Seen::Link { hash } => format!("l{}", hex(hash)),
    }
}

fn parse_seen(text: &[u8]) -> Option<Seen> {
    let (kind, rest) = text.split_first()?;
    let hash = || -> Option<[u8; HASH]> {
        let digits: Option<Vec<u8>> = rest.chunks(2).map(parse_byte).collect();
        digits?.try_into().ok()
    };
    Some(match (kind, rest) {
        (b'-', b"") => Seen::Absent,
        (b'?', b"") => Seen::Other,
        (b'f', _) => Seen::File { hash: hash()?, execution: Execution::Plain },
        (b'x', _) => Seen::File { hash: hash()?, execution: Execution::Executable },
        (b'l', _) => Seen::Link { hash: hash()? },
        _ => return None,
    })
}

fn parse_byte(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.len() == 2 && !text.starts_with('+'))?;
    u8::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen() -> impl Strategy<Value = Seen> {
        let execution = prop_oneof![Just(Execution::Plain), Just(Execution::Executable)];
        prop_oneof![
            Just(Seen::Absent),
            Just(Seen::Other),
            (any::<[u8; HASH]>(), execution).prop_map(|(hash, execution)| Seen::File { hash, execution }),
            any::<[u8; HASH]>().prop_map(|hash| Seen::Link { hash }),
        ]
    }

    fn path() -> impl Strategy<Value = PathBuf> {
        prop::collection::vec(1u8..=255, 1..20).prop_map(|bytes| PathBuf::from(OsStr::from_bytes(&bytes)))
    }

    proptest! {
        #[test]
        fn a_journal_reads_back_whole(
            steps in prop::collection::vec((path(), seen(), seen()), 0..5),
            made in prop::collection::vec(path(), 0..3),
        ) {
            let steps = steps.into_iter().map(|(path, old, new)| Step { path, old, new }).collect();
            let journal = Journal { steps, made };
            prop_assert_eq!(Journal::parse(&journal.to_bytes()), Some(journal));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Journal::parse(&bytes);
        }
    }

    #[test]
    fn half_a_record_is_no_journal() {
        for bytes in [&b"- - "[..], b"- f12 a\0", b"z - a\0", b"- -\0", b"- fzz a\0"] {
            assert_eq!(Journal::parse(bytes), None, "{bytes:?}");
        }
    }
}
