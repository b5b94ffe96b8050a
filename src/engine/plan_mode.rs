//! Plan mode as the engine keeps it: whether a session is in it, where its plan is written, and what it is told of it.
//!
//! What a person decides about a plan is the business of the session's task.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::config::Config;
use crate::permission::{Hold, Posture};
use crate::protocol::prompt::Note;
use crate::tools::Planning;

use super::fault::Fault;
use super::record::Record;
use super::shared::Shared;

/// A plan is read by people; what is longer is none.
const LIMIT: u64 = 256 * 1024;

/// Whether the turns of a session make a plan. The children of such a session only read for it.
pub(super) fn is_on(record: &Record) -> bool {
    record.body.posture.posture() == Posture::Plan && record.body.child.is_none()
}

/// Where the plans of a project are.
pub(super) fn directory(shared: &Shared, project: &str) -> PathBuf {
    shared.data.join("plans").join(project)
}

/// The plan file of a session: the only one that it may write in plan mode.
pub(super) fn file(shared: &Shared, record: &Record) -> PathBuf {
    let name = name(record);
    directory(shared, &record.project).join(&name).join(format!("{name}.md"))
}

/// The name of a session's plan. Its first words are those of the branch, which never change; the id makes it the
/// session's own.
pub(super) fn name(record: &Record) -> String {
    let slug = record.body.branch.rsplit('/').next().unwrap_or_default();
    format!("{slug}-{}", record.id)
}

/// What the next prompt says about plan mode.
pub(super) fn note(shared: &Shared, record: &Record, planning: Planning) -> Option<Note> {
    match planning {
        Planning::On => Some(Note::PlanMode { file: file(shared, record).to_string_lossy().into_owned() }),
        Planning::Off if is_on(record) => None,
        Planning::Off => record.body.plan_mode.told.then_some(Note::PlanModeOver),
    }
}

/// What a session may do by itself once it leaves plan mode without a word about it.
pub(super) fn former(before: Option<&str>, config: &Config, hold: Hold) -> Posture {
    let plans = |posture: &Posture| *posture != Posture::Plan;
    let before = before.and_then(|word| word.parse().ok()).filter(plans);
    before.or(config.default_posture.filter(plans)).unwrap_or_else(|| Posture::by_hold(hold))
}

/// Reads a plan; none where there is no text. The agent writes the directory, so a link or a pipe in the place of the
/// file is nothing that may be read.
pub(super) fn read(path: &Path) -> Result<Option<String>, Fault> {
    let failed = |source: std::io::Error| Fault::File { act: "read", path: path.to_owned(), source };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LIMIT {
        return Err(failed(std::io::Error::new(ErrorKind::FileTooLarge, format!("a plan has at most {LIMIT} bytes"))));
    }
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Takes a plan away that nobody waits for.
pub(super) fn discard(path: &Path) -> Result<(), Fault> {
    let removed = fs::remove_file(path);
    // Its own directory goes too, unless the agent left more there.
    let own = path.parent().filter(|parent| parent.file_name() == path.file_stem());
    own.map(fs::remove_dir);
    match removed {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Fault::File { act: "remove", path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_leaves_plan_mode_for_what_it_had_before() {
        let plain = Config::default();
        let edits = Config { default_posture: Some(Posture::Edits), ..Config::default() };
        let plan = Config { default_posture: Some(Posture::Plan), ..Config::default() };
        for (before, config, hold, expected) in [
            (Some("attended"), &edits, Hold::Enforced, Posture::Attended),
            (None, &edits, Hold::Enforced, Posture::Edits),
            (Some("plan"), &plan, Hold::Enforced, Posture::Unattended),
            (None, &plain, Hold::Advisory, Posture::Attended),
            (Some(""), &plain, Hold::Enforced, Posture::Unattended),
        ] {
            assert_eq!(former(before, config, hold), expected, "{before:?}");
        }
    }

    #[test]
    fn only_a_file_with_text_is_a_plan() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("blank"), " \n\n").unwrap();
        fs::write(at("plan"), "\n# Parse\n\n").unwrap();
        fs::write(at("long"), "x".repeat(LIMIT as usize + 1)).unwrap();
        fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink(at("plan"), at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        for name in ["missing", "blank", "directory", "link", "pipe"] {
            assert_eq!(read(&at(name)).unwrap(), None, "{name}");
        }
        assert_eq!(read(&at("plan")).unwrap().as_deref(), Some("# Parse"));
        assert!(matches!(read(&at("long")), Err(Fault::File { act: "read", .. })));
    }

    #[test]
    fn what_is_gone_is_discarded_already() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("plan");
        fs::write(&path, "# Parse").unwrap();
        assert!(discard(&path).is_ok() && discard(&path).is_ok() && !path.exists());
        assert!(matches!(discard(home.path()), Err(Fault::File { act: "remove", .. })));
    }
}
