//! The completion gets the keys first, and asks for files no more often than needed.

use super::*;

fn rows(model: &Model) -> Vec<&str> {
    model.composer.popup.iter().flat_map(|popup| &popup.rows).map(|row| row.whole.as_str()).collect()
}

#[test]
fn commands_are_completed_before_they_are_run() {
    for (keys, expected) in [
        ("/reas", "/reasoning "),
        ("/reasoning h", "/reasoning high"),
        ("/agent rev", "/agent reviewer"),
        ("/model cl", "/model claude"),
        ("/dif", "/diff"),
        ("/posture ed", "/posture edits"),
        ("use $rel", "use $release "),
    ] {
        let mut model = equipped(WIDE);
        press(&mut model, &["n"]);
        write(&mut model, keys);
        press(&mut model, &["tab"]);
        assert_eq!(text(&mut model), expected, "{keys}");
    }
}

#[test]
fn enter_completes_and_runs_only_what_is_written_in_full() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    write(&mut model, "/posture ed");
    press(&mut model, &["enter"]);
    assert_eq!(text(&mut model), "/posture edits");
    press(&mut model, &["enter"]);
    assert_eq!(text(&mut model), "");
    assert_eq!(in_force(&model, &Target::Task).posture.as_deref(), Some("edits"));
}

#[test]
fn enter_obeys_a_command_at_once_only_when_its_beginning_can_mean_no_other() {
    let stop = || vec![Request::Stop("runaaaaa".into())];
    for (letters, keys, left, expected) in [
        ("/sto", &["enter"][..], "", stop()),
        ("/stop", &["enter"], "", stop()),
        // Letters that only occur in it are completed, and obeyed when they were read.
        ("/tp", &["enter"], "/stop", vec![]),
        ("/tp", &["enter", "enter"], "", stop()),
        ("/rchv", &["enter"], "/archive", vec![]),
        ("/", &["enter"], "/model", vec![]),
        ("/", &["down", "enter"], "/agent", vec![]),
        // A beginning of several, and a path.
        ("/re", &["enter"], "/resume", vec![]),
        ("/usr/bin is full", &["enter"], "/usr/bin is full", vec![]),
    ] {
        let mut model = writing_to("runaaaaa");
        write(&mut model, letters);
        assert_eq!(beyond_saving(press(&mut model, keys)), expected, "{letters} {keys:?}");
        model.focus = Focus::Composer;
        assert_eq!(text(&mut model), left, "{letters} {keys:?}");
    }
}

#[test]
fn the_cursor_moves_among_the_rows_and_escape_leaves_the_word_as_it_is() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    write(&mut model, "/posture ");
    assert_eq!(rows(&model), ["plan", "attended", "edits", "unattended"]);
    press(&mut model, &["down", "down", "up", "up", "up"]);
    press(&mut model, &["tab"]);
    assert_eq!(text(&mut model), "/posture unattended");
    press(&mut model, &["backspace"]);
    assert_eq!(rows(&model), ["unattended"]);
    press(&mut model, &["esc"]);
    write(&mut model, "x");
    assert_eq!((rows(&model), model.focus), (vec![], Focus::Composer));
    press(&mut model, &["esc"]);
    assert_eq!(model.focus, Focus::Main);
}

#[test]
fn files_are_asked_for_when_a_mention_begins_and_completed_by_a_few_letters() {
    let mut model = writing_to("runaaaaa");
    let asked = || [Request::Files { session: Some("runaaaaa".into()) }];
    assert_eq!(beyond_saving(write(&mut model, "see @mo")), asked());
    let files = ["src/tui/model.rs", "docs/a b.md", "README.md", "evil\u{1b}mo"].map(ToOwned::to_owned).to_vec();
    update(&mut model, Msg::Reply(Reply::Files { session: None, files: vec!["late".into()] }));
    assert_eq!(rows(&model), Vec::<&str>::new());
    update(&mut model, Msg::Reply(Reply::Files { session: Some("runaaaaa".into()), files }));
    assert_eq!(rows(&model), ["src/tui/model.rs"]);
    assert_eq!(beyond_saving(press(&mut model, &["enter"])), []);
    assert_eq!(text(&mut model), "see src/tui/model.rs ");
    assert_eq!(beyond_saving(write(&mut model, "and @a b")), []);
    press(&mut model, &["backspace", "backspace", "tab"]);
    assert_eq!(text(&mut model), "see src/tui/model.rs and \"docs/a b.md\" ");
    let later = model.now + 60_000;
    update(&mut model, Msg::Time(later));
    assert_eq!(beyond_saving(write(&mut model, "@")), asked());
    press(&mut model, &["esc", "esc", "ctrl+n"]);
    assert_eq!(beyond_saving(write(&mut model, "@")), [Request::Files { session: None }]);
}

#[test]
fn fifty_thousand_files_are_narrowed_by_each_letter() {
    let mut model = writing_to("runaaaaa");
    write(&mut model, "@");
    let files = (0..50_000).map(|number| format!("crates/part{:03}/src/file{number:05}.rs", number % 500)).collect();
    update(&mut model, Msg::Reply(Reply::Files { session: Some("runaaaaa".into()), files }));
    assert_eq!(rows(&model).len(), 8);
    write(&mut model, "file04321");
    assert_eq!(rows(&model)[0], "crates/part321/src/file04321.rs");
}
