//! Who plays in the demo: four tasks with their scripts, and what must be true of the repository afterwards.

/// One session of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Role {
    /// How the session is called on the screen.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The prompt, with the script that the agent plays.
    pub(super) prompt: &'static str,
    pub(super) part: Part,
    /// Files that its merge brings to the base branch.
    pub(super) brings: &'static [&'static str],
}

/// What makes a session's story different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Works,
    Asks,
    WantsPermission,
    Crashes,
}

impl Part {
    /// What its session may do by itself; none for the default.
    pub(super) fn posture(self) -> Option<&'static str> {
        match self {
            // Where the sandbox holds, nobody is asked about a file of the worktree by default.
            Part::WantsPermission => Some("attended"),
            Part::Works | Part::Asks | Part::Crashes => None,
        }
    }
}

/// The file that goes only when the permission is given.
pub(super) const UNWANTED: &str = "old-draft.txt";

/// What the throw-away repository holds before anybody works in it.
pub(super) const FILES: &[(&str, &str)] = &[
    ("README.md", "# Greeter\n\nA tiny project for the Coppice demo.\n"),
    ("greet.sh", "#!/bin/sh\necho \"Hello, ${1:-world}\"\n"),
    (
        "check.sh",
        "#!/bin/sh\nfor script in *.sh; do\n  sh -n \"$script\" || exit 1\ndone\nsleep 0.3\necho \"all scripts parse\"\n",
    ),
    (UNWANTED, "nobody needs this any more\n"),
];

pub(super) const ROLES: [Role; 4] = [
    Role {
        name: "farewell",
        title: "Add a farewell",
        prompt: "\
Add a farewell beside the greeting.
@plan write the script | check it
@write farewell.sh <<END
#!/bin/sh
echo \"Goodbye, ${1:-world}\"
END
@run sh check.sh
@answer `farewell.sh` says goodbye, and all scripts parse.
@summary Add a farewell script || Adds `farewell.sh`, the counterpart of `greet.sh`.
@usage 1200 300",
        part: Part::Works,
        brings: &["farewell.sh"],
    },
    Role {
        name: "manual",
        title: "Write a short manual",
        prompt: "\
Write a short manual.
@think The task does not say where the manual belongs, so a person has to.
@ask Who is the manual written for? | people who use the scripts | people who change them
@answer One thing is open before the manual can be written.
@then
@write MANUAL.md <<END
# Manual

`sh greet.sh NAME` greets somebody. `sh check.sh` checks all scripts.
END
@run sh check.sh
@answer `MANUAL.md` describes both scripts.
@summary Write the manual || Adds a short manual.
@usage 1500 400",
        part: Part::Asks,
        brings: &["MANUAL.md"],
    },
    Role {
        name: "cleanup",
        title: "Clean up old files",
        prompt: "\
Clean up what nobody needs.
@request delete old-draft.txt
@delete old-draft.txt
@write CHANGELOG.md <<END
# Changelog

- Looked for files that nobody needs.
END
@run sh check.sh
@answer Old files were looked for, and the changelog says so.
@summary Clean up || Cleans up and begins a changelog.
@usage 900 200",
        part: Part::WantsPermission,
        brings: &["CHANGELOG.md"],
    },
    Role {
        name: "translate",
        title: "Translate the greeting",
        prompt: "\
Translate the greeting into French and German.
@write greet-fr.sh <<END
#!/bin/sh
echo \"Bonjour, ${1:-le monde}\"
END
@run sh check.sh
@crash once
@write greet-de.sh <<END
#!/bin/sh
echo \"Hallo, ${1:-Welt}\"
END
@run sh check.sh
@answer Both translations are there; the first one survived the crash.
@summary Translate the greeting || Adds the greeting in French and German.
@usage 1100 350",
        part: Part::Crashes,
        brings: &["greet-fr.sh", "greet-de.sh"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_played_once() {
        let parts = ROLES.map(|role| role.part);
        assert_eq!(parts, [Part::Works, Part::Asks, Part::WantsPermission, Part::Crashes]);
    }

    #[test]
    fn what_a_role_brings_is_in_its_script_and_in_no_other() {
        for role in ROLES {
            for file in role.brings {
                let writers = ROLES.iter().filter(|other| other.prompt.contains(&format!("@write {file} ")));
                assert_eq!(writers.map(|other| other.name).collect::<Vec<_>>(), [role.name], "{file}");
                assert!(FILES.iter().all(|(known, _)| known != file));
            }
        }
        assert!(FILES.iter().any(|(name, _)| *name == UNWANTED));
    }
}
