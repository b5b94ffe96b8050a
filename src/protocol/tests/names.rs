//! Tables for titles, slugs and commit messages.

use super::super::Summary;
use super::super::naming::{
    SessionTitle, commit_message, merge_message, message_told, slug_from, strip_own_trailers, title_from, title_told,
};

#[test]
fn a_title_is_the_first_thing_said() {
    let long = "word ".repeat(40);
    let table: &[(&str, &str)] = &[
        ("", ""),
        (" \n\t\n", ""),
        ("Add a README", "Add a README"),
        ("\n\n## Add   a\tREADME \nand a licence", "Add a README"),
        ("- [ ] fix it", "[ ] fix it"),
        ("---\nreal", "real"),
        ("\u{1b}[31mred", "[31mred"),
        ("Fix the login page. It breaks when the cookie is gone and nobody knows why.", "Fix the login page"),
        (
            "Hm. Fix the login page that breaks when the cookie is gone, whatever that is",
            "Hm. Fix the login page that breaks when the cookie is gone…",
        ),
        (&long, "word word word word word word word word word word word word…"),
        (&"x".repeat(80), &format!("{}…", "x".repeat(59))),
        (&"ä".repeat(80), &format!("{}…", "ä".repeat(59))),
    ];
    for (prompt, expected) in table {
        assert_eq!(title_from(prompt), *expected);
        assert!(title_from(prompt).chars().count() <= 60);
    }
}

#[test]
fn a_slug_is_safe_in_a_branch_name() {
    let table: &[(&str, &str)] = &[
        ("", "session"),
        ("日本語", "session"),
        ("Add a README", "add-a-readme"),
        ("../../etc/passwd; rm -rf $HOME", "etc-passwd-rm-rf-home"),
        ("--force", "force"),
        ("Fix Ünïcode", "fix-n-code"),
        ("one two three four five six seven eight nine", "one-two-three-four-five-six-seven-eight"),
        (&"x".repeat(50), &"x".repeat(40)),
    ];
    for (title, expected) in table {
        assert_eq!(slug_from(title), *expected);
    }
}

fn summary(turn: &str) -> Summary {
    Summary { turn: turn.into(), session: "All of it.\n- more\n".into() }
}

#[test]
fn a_checkpoint_tells_the_turn() {
    let long = "change ".repeat(20);
    let long = long.trim();
    let table: &[(Option<Summary>, &str)] = &[
        (None, "Title (turn 3)"),
        (Some(summary(" ")), "Title (turn 3)"),
        (Some(summary("Add a port")), "Add a port"),
        (Some(summary("## Add a port\n\n- one\n- two\n")), "Add a port\n\n- one\n- two"),
        (
            Some(summary(&format!("Add a port to listen on: {long}"))),
            &format!("Add a port to listen on\n\nAdd a port to listen on: {long}"),
        ),
        (
            Some(summary(long)),
            &format!("change change change change change change change change change change\n\n{long}"),
        ),
    ];
    for (summary, expected) in table {
        let message = commit_message(summary.as_ref(), "Title", 3);
        assert_eq!(message, *expected);
    }
    assert_eq!(commit_message(None, "", 1), "session (turn 1)");
    let message = commit_message(None, &"x".repeat(100), 12);
    assert_eq!(message, format!("{} (turn 12)", "x".repeat(61)));
}

#[test]
fn a_merge_tells_the_branch() {
    let of = |whole: &str, turns: &[&str]| {
        let turns: Vec<_> = turns.iter().map(ToString::to_string).collect();
        merge_message(SessionTitle::Worded("Add a port"), whole, &turns)
    };
    assert_eq!(of("", &[]), "Add a port");
    assert_eq!(of("All of it.\n- more", &["Add it"]), "Add a port\n\nAll of it.\n- more");
    let turns = ["Add it\n\nIn detail.", " ", "Test it", "Test it"];
    assert_eq!(of("All of it.", &turns), "Add a port\n\nAll of it.\n\n- Add it\n- Test it");
    assert_eq!(of("Test it", &turns), "Add a port\n\n- Add it\n- Test it");
    assert_eq!(merge_message(SessionTitle::Worded(" \n"), "", &[]), "session");
}

#[test]
fn the_subject_of_a_merge_says_what_the_agent_did_and_is_never_marked_as_cut() {
    let cut_off = "The config parser breaks on values that contain an equals…";
    let long = "word ".repeat(30);
    for (title, whole, turns, expected) in [
        (cut_off, "Values may contain `=`.", &[][..], "Values may contain `=`"),
        (cut_off, "", &["Keep the rest of the value"], "Keep the rest of the value"),
        (cut_off, "All of it", &["One", "Two"], "All of it\n\n- One\n- Two"),
        ("mend it", "", &[], "mend it"),
        (
            "mend it",
            "Mend the parser. It broke, and it did so for a long time before anybody saw it.",
            &[],
            "Mend the parser\n\nMend the parser. It broke, and it did so for a long time before anybody saw it.",
        ),
        (cut_off, &long, &[], &format!("{}\n\n{}", ["word"; 14].join(" "), long.trim())),
        (
            cut_off,
            "",
            &["Keep everything behind the first equals sign of a value, so that tokens in base64 survive the parser"],
            "Keep everything behind the first equals sign of a value\n\n\
             Keep everything behind the first equals sign of a value, so that tokens in base64 survive the parser",
        ),
        (cut_off, "", &[], "The config parser breaks on values that contain an equals"),
    ] {
        let turns: Vec<_> = turns.iter().map(ToString::to_string).collect();
        assert_eq!(merge_message(SessionTitle::FromPrompt(title), whole, &turns), expected);
    }
}

#[test]
fn no_agent_writes_a_trailer_of_ours() {
    for (text, expected) in [
        ("Adds it.\n\nCoppice-Session: abcdefgh", "Adds it.\n"),
        ("coppice-ATTRIBUTES : 0123\nAdds it.", "Adds it."),
        ("\t Coppice-\u{1b}Deleted: a\n\u{200b}Coppice-Submodule: b\nc", "c"),
        (
            "Coppice: a\nCoppice-wide change: b\nuse Coppice-Session:",
            "Coppice: a\nCoppice-wide change: b\nuse Coppice-Session:",
        ),
        ("Signed-off-by: Ada", "Signed-off-by: Ada"),
    ] {
        assert_eq!(strip_own_trailers(text), expected, "{text:?}");
    }
    let hostile = "Add it\n\nCoppice-Session: abcdefgh\n";
    assert_eq!(commit_message(Some(&summary(hostile)), "Title", 3), "Add it");
    assert_eq!(merge_message(SessionTitle::Worded("Title"), "Coppice-Session: abcdefgh", &[]), "Title");
    assert_eq!(message_told(hostile).as_deref(), Some("Add it"));
}

#[test]
fn a_title_of_a_model_is_one_short_line() {
    let table: &[(&str, Option<&str>)] = &[
        ("Fix the login page", Some("Fix the login page")),
        (" \n Fix the login page.\n", Some("Fix the login page")),
        ("\"Fix the login page\"", Some("Fix the login page")),
        ("`fix: login`", Some("fix: login")),
        ("Füge ein Häkchen hinzu ✓", Some("Füge ein Häkchen hinzu ✓")),
        (&"x".repeat(60), Some(&"x".repeat(60))),
        (&"x".repeat(61), None),
        ("", None),
        ("...", None),
        ("# Fix it", None),
        ("Fix  it", None),
        ("Fix it\nand more", None),
        ("Fix\u{1b}[31m it", None),
        ("Fix \u{202e}ti", None),
    ];
    for (answer, expected) in table {
        assert_eq!(title_told(answer).as_deref(), *expected, "{answer:?}");
    }
}

#[test]
fn a_message_of_a_model_has_the_form_of_one() {
    let table: &[(&str, Option<&str>)] = &[
        ("Add a port", Some("Add a port")),
        ("\"Add a port\"\n", Some("Add a port")),
        ("Add a port\n\n- one\n\t- two\n", Some("Add a port\n\n- one\n\t- two")),
        (&"x".repeat(72), Some(&"x".repeat(72))),
        (&"x".repeat(73), None),
        ("", None),
        ("Add a port\n- one", None),
        ("## Add a port", None),
        ("```\nAdd a port\n```", None),
        ("Add a port\n\n```\ncode\n```", None),
        ("Add a port\n\n\u{1b}]0;x", None),
        (&format!("Add a port\n\n{}", "x".repeat(4096)), None),
    ];
    for (answer, expected) in table {
        assert_eq!(message_told(answer).as_deref(), *expected, "{answer:?}");
    }
}
