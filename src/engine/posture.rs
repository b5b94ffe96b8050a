//! How much a session may do by itself: what was asked for, what is configured, and what follows from the sandbox.

use crate::config::{Config, LayerKind, Source, Trust};
use crate::permission::{Hold, Posture};

use super::fault::Fault;
use super::record::PostureRecord;

/// Reads the word for a posture.
pub(super) fn parse(word: Option<&str>) -> Result<Option<Posture>, Fault> {
    word.map(|word| word.parse().map_err(Fault::from)).transpose()
}

/// The posture of a session that begins.
pub(super) fn initial(wanted: Option<Posture>, yolo: bool, config: &Config, trust: Trust, hold: Hold) -> PostureRecord {
    let usual = Posture::by_hold(hold);
    let configured = match config.default_posture {
        // A repository that nobody trusts can only be stricter than what there is without it.
        Some(posture) if trust == Trust::Untrusted && is_of_repository(config) => posture.min(usual),
        Some(posture) => posture,
        None => usual,
    };
    let posture = wanted.unwrap_or(configured);
    // Everything goes ahead is about sessions that work alone; where something else was asked for by name, that stays.
    let posture = if yolo && wanted.is_none() { Posture::Unattended } else { posture };
    PostureRecord { word: posture.as_str().to_owned(), yolo }
}

fn is_of_repository(config: &Config) -> bool {
    let source = config.settings.iter().find(|setting| setting.key == "default.posture").map(|setting| &setting.source);
    matches!(source, Some(Source::Layer { kind: LayerKind::Repository, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn a_posture_is_what_was_asked_for_else_configured_else_what_the_sandbox_bears() {
        let plain = Config::default();
        let edits = Config { default_posture: Some(Posture::Edits), ..Config::default() };
        for (wanted, yolo, config, hold, expected) in [
            (None, false, &plain, Hold::Enforced, "unattended"),
            (None, false, &plain, Hold::Advisory, "attended"),
            (None, false, &edits, Hold::Advisory, "edits"),
            (Some(Posture::Plan), false, &edits, Hold::Enforced, "plan"),
            (None, true, &edits, Hold::Advisory, "unattended"),
            (Some(Posture::Plan), true, &plain, Hold::Advisory, "plan"),
        ] {
            let record = initial(wanted, yolo, config, Trust::Untrusted, hold);
            assert_eq!((record.word.as_str(), record.yolo), (expected, yolo));
        }
    }

    #[test]
    fn a_repository_that_nobody_trusts_can_only_be_stricter() {
        let config = |word: &str| {
            let origin = config::Origin { label: "config.toml".into(), kind: LayerKind::Repository };
            let layer = config::parse(&format!("default.posture = \"{word}\""), &origin).unwrap();
            config::resolve(&[layer], Trust::Untrusted)
        };
        for (word, hold, expected) in [
            ("unattended", Hold::Advisory, "attended"),
            ("unattended", Hold::Enforced, "unattended"),
            ("edits", Hold::Enforced, "edits"),
            ("plan", Hold::Advisory, "plan"),
        ] {
            assert_eq!(initial(None, false, &config(word), Trust::Untrusted, hold).word, expected, "{word} {hold:?}");
        }
    }
}
