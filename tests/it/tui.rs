//! The terminal interface as a person meets it: in a terminal, by its keys.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, kill_process};

use crate::env::TestEnv;
use crate::script::{ask, hang, say, steps, write};
use crate::seat::Seat;

/// What a terminal is told when the screen goes back to what was there before.
const RESTORED: &str = "\x1b[?1049l";

/// What the last line says while the composer has the keys.
const WRITING: &str = "leave, keeps the draft";

const ENTER: &str = "\r";
const ESCAPE: &str = "\x1b";

/// A world in which tasks run on the scripted agent and ask before they run commands.
fn world() -> TestEnv {
    let env = TestEnv::new();
    env.configure("[default]\nmodel = \"demo\"\nposture = \"edits\"");
    env
}

/// The face of the user's checkout, once it stands.
#[track_caller]
fn face(env: &TestEnv) -> Seat {
    let mut face = Seat::sized(&env.to_start(&[]), 120, 36);
    face.shows("? help");
    face
}

/// Begins a task; where there is no session yet, the composer has the keys already.
#[track_caller]
fn compose(face: &mut Seat) {
    if !face.contents().contains(WRITING) {
        face.types("n");
        face.shows(WRITING);
    }
}

/// Writes a task and sends it; the terminal marks what is pasted.
fn task(face: &mut Seat, title: &str, script: &[String]) {
    compose(face);
    face.pastes(&format!("{title}\n{}", steps(script)));
    face.shows(title);
    face.types(ENTER);
}

/// Leaves with the key for it.
#[track_caller]
fn leave(mut face: Seat) -> String {
    if face.contents().contains(WRITING) {
        face.types(ESCAPE);
        face.hides(WRITING);
    }
    face.types("q");
    assert_eq!(face.ends(), 0);
    face.all()
}

#[test]
fn three_tasks_go_from_the_first_prompt_to_the_merge() {
    let env = world();
    let mut face = face(&env);
    task(
        &mut face,
        "Pick a date library",
        &[write("dates.txt", "jiff"), ask("Which library for dates?", &["jiff", "chrono"])],
    );
    face.shows("1 question");
    task(
        &mut face,
        "Fix the build",
        &["@request touch built.txt\n@run touch built.txt".into(), say("The build works.")],
    );
    face.shows("2 need you");
    task(&mut face, "Rate limiter", &[write("limit.rs", "fn limit() {}"), say("The limiter works.")]);
    face.shows("merge?");

    // One key to what needs a person, one to see it, one to decide.
    face.types(" ");
    face.types(ENTER);
    // The keys stand on the card when they count.
    face.shows("a always, saves Bash(touch *)");
    face.types("y");
    face.shows("1 needs you");
    face.hides("a always");
    face.types(" ");
    face.types(ENTER);
    face.shows("tab writes an answer");
    face.types("2");
    face.types(ENTER);
    face.hides("NEEDS YOU");

    // The changes, a comment on a line, and its way to the agent.
    face.types("\x0b");
    face.types("rate lim");
    face.types(ENTER);
    face.shows("‹ Rate limiter");
    face.types("d");
    face.shows("looked at 0/1 file");
    face.types("j");
    face.types(ENTER);
    face.shows("comment on limit.rs:1");
    face.types("take a burst");
    face.types(ENTER);
    face.shows("(draft)");
    face.types("S");
    face.shows("(sent)");
    face.types(ESCAPE);
    face.shows("‹ Rate limiter");
    face.shows("A comment on your changes");
    face.shows("scripted demo agent");
    face.shows("✓ ready");

    face.types("m");
    face.shows("y merges");
    face.types("y");
    face.shows("merged into main");
    to_list(&mut face);
    leave(face);
    assert_eq!(env.read("limit.rs").trim(), "fn limit() {}");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_task_that_is_typed_where_letters_are_shortcuts_merges_nothing() {
    let env = world();
    let id = env.create_ready(&steps(&[write("page.md", "one line"), say("It is written.")]));
    let mut face = face(&env);
    face.shows("n  new task");
    // Each begins with the letter of a shortcut: what was typed is sent whole, and to nobody else.
    for text in ["mend the parser y", "write the docs", "speed up", "export", "change the api", "question", "jump"] {
        face.types(text);
        face.shows(&format!("› {text}"));
        face.types(ENTER);
        face.hides(&format!("› {text}"));
        face.shows("n  new task");
        face.shows(&format!("✓ {text}"));
    }
    assert_eq!(env.status(&id), "ready");
    assert_eq!(env.session(&id)["turns"], 1);
    // A letter alone is its shortcut.
    face.types("m");
    face.shows("y merges");
    face.types(ENTER);
    face.shows("y agrees, esc leaves it as it is");
    face.types(ESCAPE);
    face.hides("into main?");
    leave(face);
}

#[test]
fn what_is_typed_at_once_in_a_session_is_a_reply() {
    let env = world();
    let id = env.create_ready(&steps(&[write("page.md", "one line"), say("It is written.")]));
    let mut face = face(&env);
    face.shows("n  new task");
    face.types(ENTER);
    face.shows("‹ ");
    face.types("undo nothing, say yes");
    face.shows("› undo nothing, say yes");
    face.types(ENTER);
    face.hides("› undo nothing");
    face.shows("scripted demo agent");
    face.shows("✓ ready");
    assert_eq!(env.session(&id)["turns"], 2);
    to_list(&mut face);
    face.pastes("a task that is pasted");
    face.shows("new task");
    face.shows("› a task that is pasted");
    face.types(ENTER);
    face.shows("✓ a task that is pasted");
    leave(face);
}

#[test]
fn a_key_that_the_question_about_a_merge_does_not_know_closes_it() {
    let env = world();
    let id = env.create_ready(&steps(&[write("page.md", "one line"), say("It is written.")]));
    let mut face = face(&env);
    face.shows("n  new task");
    // `mod`, slowly.
    face.types("m");
    face.shows("y merges");
    face.types("o");
    face.shows("nothing was done");
    face.hides("y merges");
    assert_eq!(env.status(&id), "ready");
    leave(face);
}

#[test]
fn what_was_merged_stays_in_sight_and_is_taken_back_from_there() {
    let env = world();
    let other = env.create_ready(&steps(&["Other work".to_owned(), write("other.md", "one"), say("Done.")]));
    let id = env.create_ready(&steps(&["Page".to_owned(), write("page.md", "one"), say("Done.")]));
    let mut face = face(&env);
    face.shows("✓ Page");
    face.types("m");
    face.shows("Merge \"Page\" into main?");
    face.shows("y merges");
    face.types("y");
    face.shows("merged \"Page\" into main as ");
    face.shows("u takes it back");
    face.shows("RESTING");
    face.types("u");
    face.shows("Undo the merge of \"Page\"?");
    face.shows("y takes it back");
    face.types("y");
    face.shows("the merge is out of `main` again");
    assert_eq!((env.status(&id).as_str(), env.status(&other).as_str()), ("ready", "ready"));
    // With nothing to merge there is no question.
    let empty = env.create_ready(&steps(&["Nothing".to_owned(), say("Done.")]));
    face.shows("✓ Nothing");
    face.types("k");
    face.types("m");
    face.shows("there is nothing to merge");
    assert_eq!(env.status(&empty), "ready");
    leave(face);
}

#[test]
fn a_turn_is_stopped_by_its_letter_only_after_a_question() {
    let env = world();
    let id = env.create(&steps(&["Goes on".to_owned(), hang()]));
    let mut face = face(&env);
    face.shows("1 running");
    face.types("s");
    face.shows("y stops");
    assert_ne!(env.status(&id), "interrupted");
    face.types("y");
    face.shows("stopped");
    face.shows("INTERRUPTED");
    face.types("x");
    face.shows(&format!("R or `coppice restore {id}` brings it back"));
    leave(face);
}

#[test]
fn where_there_is_no_session_what_is_typed_is_a_task() {
    let env = world();
    let mut face = face(&env);
    face.types("say hello\r");
    face.shows("✓ say hello");
    face.shows("n  new task");
    leave(face);
}

#[test]
fn an_open_interface_follows_the_configured_model() {
    let env = world();
    let mut face = face(&env);
    face.shows("builder · demo · edits");
    env.coppice(&["config", "set", "default.model", "demo/scripted-small"]).succeeds();
    face.shows("builder · demo/scripted-small · edits");
    leave(face);
}

#[test]
fn a_clipboard_that_cannot_be_read_is_told() {
    let env = world();
    let mut face = face(&env);
    face.types("\x16");
    face.shows("the clipboard of this machine cannot be read");
    face.shows("paste the path of an image file");
    leave(face);
}

/// An X server without a screen, and a program that offers an image in its clipboard.
struct Clipboard {
    server: Child,
    owner: Child,
    display: String,
}

impl Clipboard {
    fn with_image(env: &TestEnv, image: &Path) -> Self {
        let mut server = env.command("Xvfb", &env.repo());
        let mut server = server.args(["-displayfd", "1", "-nolisten", "tcp"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let display = format!(":{}", number.trim());
        let mut owner = env.command("xclip", &env.repo());
        owner.args(["-quiet", "-selection", "clipboard", "-target", "image/png", "-in"]).arg(image);
        let owner = owner.env("DISPLAY", &display).spawn().unwrap();
        Self { server, owner, display }
    }
}

impl Drop for Clipboard {
    fn drop(&mut self) {
        for child in [&mut self.owner, &mut self.server] {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

#[test]
fn an_image_of_the_clipboard_goes_out_with_the_prompt() {
    let mut env = world();
    let image = env.path("dot.png");
    let mut encoder = png::Encoder::new(fs::File::create(&image).unwrap(), 2, 2);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&[200; 16]).unwrap();
    let clipboard = Clipboard::with_image(&env, &image);
    env.set("DISPLAY", &clipboard.display);
    let mut face = face(&env);
    face.types("what is this ");
    // The program that offers the image may still be starting.
    face.insists("\x16", "[Image #1]");
    face.types(ENTER);
    face.shows("n  new task");
    leave(face);
    let id = env.json(&["list"])[0]["id"].as_str().unwrap().to_owned();
    let prompt = env.events(&id).into_iter().find(|event| event["type"] == "prompt_queued").unwrap();
    let images = prompt["images"].as_array().unwrap();
    assert_eq!((images.len(), &images[0]["media_type"]), (1, &"image/png".into()), "{prompt}");
}

#[test]
fn what_needs_a_person_is_counted_the_same_everywhere() {
    let env = world();
    env.create(&steps(&["Ask to build".to_owned(), crate::script::ask_to_run("touch built.txt")]));
    env.create(&steps(&["Ask for a port".to_owned(), ask("Which port?", &["80", "8080"])]));
    let failed = env.create(&steps(&["Fail".to_owned(), crate::script::fail("no more today")]));
    env.wait_for(&failed, "failed");
    let mut face = face(&env);
    face.shows("3 need you");
    let inbox: serde_json::Value = serde_json::from_str(&env.coppice(&["inbox", "--json"]).stdout()).unwrap();
    assert_eq!(inbox.as_array().map(Vec::len), Some(3), "{inbox}");
    face.types(" ");
    face.shows("1 of 3 waiting");
    face.types(ENTER);
    face.shows("esc later");
    face.shows("1 of 3 waiting");
    face.types(ESCAPE);
    face.shows("n new");
    leave(face);
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    let env = world();
    assert!(leave(face(&env)).contains(RESTORED));
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let mut face = face(&env);
        face.signal(signal);
        assert_eq!(face.ends(), 0, "{signal:?}");
        assert!(face.all().contains(RESTORED), "{signal:?}");
    }
}

#[test]
fn a_directory_without_a_repository_is_told_on_the_usual_screen() {
    let env = world();
    let mut command = env.to_start(&[]);
    command.current_dir(env.path("home"));
    let mut seat = Seat::sized(&command, 120, 36);
    assert_ne!(seat.ends(), 0);
    assert!(seat.all().contains("error:"), "{}", seat.all());
    assert!(!seat.all().contains("\x1b[?1049h"), "{}", seat.all());
}

#[test]
fn the_sessions_of_a_repository_that_was_moved_are_told_and_then_shown() {
    let env = world();
    let id = env.create_ready(&steps(&["Fix the parser".to_owned(), write("a.txt", "a"), say("done")]));
    let (old, moved, linked) = (env.repo(), env.path("moved"), env.path("linked"));
    fs::rename(&old, &moved).unwrap();
    symlink(&moved, &linked).unwrap();
    let face = |directory: &Path| {
        let mut command = env.to_start(&[]);
        command.current_dir(directory);
        let mut face = Seat::sized(&command, 200, 36);
        face.shows("? help");
        face
    };
    for directory in [&moved, &linked] {
        let mut face = face(directory);
        face.shows(&format!("1 session of this repository when it was at `{}`: coppice project relink", old.display()));
        leave(face);
    }
    env.coppice_in(&moved, &["project", "relink"]).succeeds();
    for directory in [&moved, &linked] {
        assert!(env.coppice_in(directory, &["list"]).stdout().contains(&id));
        let mut face = face(directory);
        face.shows("Fix the parser");
        leave(face);
    }
}

#[test]
fn a_daemon_that_dies_is_found_again_and_the_draft_stays() {
    let env = world();
    let mut face = face(&env);
    task(&mut face, "Goes on for ever", &[hang()]);
    face.shows("1 running");
    compose(&mut face);
    face.types("half a thought");
    face.shows("half a thought");
    env.kill_daemon();
    face.shows("INTERRUPTED");
    face.shows("half a thought");
    face.pastes("\n@answer whole");
    face.types(ENTER);
    face.shows("✓ half a thought");
    leave(face);
}

#[test]
fn a_daemon_that_was_stopped_is_started_by_a_key() {
    let env = world();
    let mut face = face(&env);
    env.end_daemon(&[]);
    face.shows("the daemon was stopped");
    assert!(env.daemon_pid().is_none());
    face.types("\x0c");
    task(&mut face, "Say hello", &[say("Hello.")]);
    face.shows("READY");
    face.hides("the daemon was stopped");
    leave(face);
}

#[test]
fn a_daemon_that_hangs_is_told_and_holds_up_nobody() {
    let env = world();
    env.create_ready(&say("Done."));
    let mut face = face(&env);
    face.shows("READY");
    let daemon = env.daemon_pid().unwrap();
    kill_process(daemon, Signal::STOP).unwrap();
    // What is opened takes as long as it takes; keys and frames go on.
    face.types("!");
    face.shows("opening a shell…");
    compose(&mut face);
    face.types("words meanwhile");
    face.shows("words meanwhile");
    face.shows("the daemon does not answer");
    face.types(ESCAPE);
    face.hides("opening a shell…");
    face.shows("words meanwhile");
    kill_process(daemon, Signal::CONT).unwrap();
    face.hides("the daemon does not answer");
    face.types(ESCAPE);
    face.shows("n new");
    // Once it answers, the terminal is lent and comes back.
    face.types("!");
    face.showed("comes back");
    face.types("\x1d");
    face.shows("n new");
    face.shows("no file was changed");
    kill_process(daemon, Signal::STOP).unwrap();
    face.types("!");
    face.shows("opening a shell…");
    face.signal(Signal::TERM);
    assert_eq!(face.ends(), 0);
    kill_process(daemon, Signal::CONT).unwrap();
}

#[test]
fn a_draft_is_there_when_the_person_comes_back() {
    let env = world();
    let mut first = face(&env);
    compose(&mut first);
    first.types("write the release notes");
    first.shows("write the release notes");
    first.types(ESCAPE);
    first.hides(WRITING);
    leave(first);
    let mut second = face(&env);
    second.shows("write the release notes");
    second.signal(Signal::TERM);
    second.ends();
}

#[test]
fn a_face_that_wrote_nothing_leaves_the_draft_of_another_alone() {
    let env = world();
    let (mut first, mut second) = (face(&env), face(&env));
    first.types("written beside");
    first.shows("written beside");
    first.types(ESCAPE);
    first.hides(WRITING);
    leave(first);
    // Whoever begins to write finds it.
    second.types(ESCAPE);
    second.hides(WRITING);
    compose(&mut second);
    second.shows("written beside");
    second.types(ESCAPE);
    second.hides(WRITING);
    leave(second);
    let mut third = face(&env);
    third.shows("written beside");
    leave(third);
}

#[test]
fn no_size_breaks_the_screen() {
    let env = world();
    env.create_ready(&say("Done."));
    let mut face = face(&env);
    for (columns, rows) in [(80, 24), (20, 5), (200, 60), (40, 10), (10, 3), (1, 1), (300, 8), (120, 36)] {
        face.resize(columns, rows);
    }
    face.types(ENTER);
    face.shows("‹ ");
    face.resize(80, 24);
    face.shows("Done.");
    to_list(&mut face);
    leave(face);
}

#[test]
fn nothing_that_an_agent_says_drives_the_terminal() {
    let env = world();
    let hostile = "red\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txetend";
    env.create_ready(&steps(&[format!("@say {hostile}"), say(hostile)]));
    let mut face = face(&env);
    face.types(ENTER);
    face.shows("‹ ");
    face.shows("coppice");
    to_list(&mut face);
    let written = leave(face);
    assert!(!written.contains("\u{1b}]0;owned"), "{written:?}");
    assert!(!written.contains('\u{202e}'), "{written:?}");
    assert!(!written.contains('\u{9b}'), "{written:?}");
}

/// From a session to the list. The next key comes when the screen shows it: a terminal cannot tell Escape and a letter from
/// Alt and that letter.
#[track_caller]
fn to_list(face: &mut Seat) {
    face.types(ESCAPE);
    face.hides("‹ ");
    face.shows("n new");
}

#[test]
fn the_editor_is_the_persons_own() {
    let mut env = world();
    fs::write(env.path("prompt.md"), "say hello from the editor\n").unwrap();
    env.set("EDITOR", &format!("cp {}", env.path("prompt.md").display()));
    let mut face = face(&env);
    face.types("\x07");
    face.shows("say hello from the editor");
    face.types(ENTER);
    face.shows("READY");
    leave(face);
}

#[test]
fn what_was_asked_for_goes_out_while_the_editor_is_open() {
    let mut env = world();
    let editor = env.path("editor");
    fs::write(&editor, "#!/bin/sh\necho the editor stands\nread -r _\n").unwrap();
    env.set("EDITOR", &format!("sh {}", editor.display()));
    let (mut face, mut beside) = (face(&env), face(&env));
    face.types("say hello");
    face.shows("say hello");
    face.types("\rn\x07");
    face.shows("the editor stands");
    beside.shows("✓ say hello");
    face.types(ENTER);
    face.shows("new task");
    face.types(ESCAPE);
    face.shows("n new");
    leave(face);
    leave(beside);
}

#[test]
fn whatever_stops_the_editor_stops_the_job_and_both_go_on() {
    let mut env = world();
    let editor = env.path("editor");
    fs::write(&editor, "#!/bin/sh\necho the editor stands\nread -r _\necho words after a pause > \"$1\"\n").unwrap();
    env.set("EDITOR", &format!("sh {}", editor.display()));
    // The shell around the face sees its job stop, and lets it go on.
    let face = env.to_start(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "set -m; \"$@\"; echo the job stopped; fg; echo ended with $?", "sh"]);
    shell.arg(face.get_program()).args(face.get_args()).current_dir(face.get_current_dir().unwrap());
    shell.envs(face.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut seat = Seat::sized(&shell, 120, 36);
    seat.shows("? help");
    seat.types("\x07");
    seat.shows("the editor stands");
    seat.types("\x1a");
    seat.showed("the job stopped");
    seat.types(ENTER);
    seat.shows("words after a pause");
    // What stopped the editor is not kept for the face.
    seat.types(ESCAPE);
    seat.shows("n new");
    seat.types("q");
    assert_eq!(seat.ends(), 0);
    assert!(seat.all().contains("ended with 0"), "{}", seat.all());
}

#[test]
fn what_is_typed_behind_the_way_back_is_for_the_face() {
    let env = world();
    env.create_ready(&say("Done."));
    let mut face = face(&env);
    face.shows("READY");
    face.types("!");
    face.showed("comes back");
    face.types("\x1dntyped in the same breath");
    face.shows("typed in the same breath");
    face.types(ESCAPE);
    face.shows("n new");
    leave(face);
}

#[test]
fn what_is_typed_to_a_program_that_is_gone_is_not_for_the_face() {
    let env = world();
    let id = env.create_ready(&steps(&[write("page.md", "one line"), say("It is written.")]));
    let mut face = face(&env);
    face.shows("READY");
    face.types("!");
    face.showed("comes back");
    env.kill_daemon();
    face.showed("what was changed is in the worktree");
    // In the face this merges.
    face.types("m\r");
    face.types("\x1d");
    face.shows("n new");
    face.shows("the daemon ended");
    assert_eq!(env.status(&id), "ready");
    leave(face);
}

#[test]
fn a_copy_is_told_to_the_terminal() {
    let env = world();
    env.create_ready(&say("Done."));
    let mut face = face(&env);
    face.types("c");
    face.shows("copied");
    assert!(leave(face).contains("\x1b]52;c;"));
}

#[test]
fn whoever_looks_elsewhere_is_told() {
    let env = world();
    let mut face = face(&env);
    // The terminal says that its window is not the one in front.
    face.types("\x1b[O");
    env.create(&ask("Which port?", &["80", "8080"]));
    face.showed("\x1b]9;");
    face.shows("1 question");
    assert!(leave(face).contains('\u{7}'));
}

#[test]
fn another_terminal_shows_the_same() {
    let env = world();
    let mut face = face(&env);
    let id = env.create(&steps(&["Answer me".to_owned(), ask("Which port?", &["80", "8080"])]));
    face.shows("1 question");
    env.coppice(&["answer", &id, "80"]).succeeds();
    face.hides("1 question");
    face.shows("READY");
    leave(face);
}

/// Marks of a program that was let through: a title of the window, a string for the terminal, another order of letters,
/// letters without width, a single byte that begins a sequence.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}Pq#0\u{1b}\\\u{9b}31m\u{202e}txet\u{2066}\u{200b}y";

/// No piece of what others wrote reached the terminal as more than letters.
#[track_caller]
fn is_harmless(written: &str) {
    for mark in ["\u{1b}]0;", "\u{1b}P", "\u{9b}", "\u{202e}", "\u{2066}"] {
        assert!(!written.contains(mark), "{mark:?} in {written:?}");
    }
}

#[test]
fn hostile_names_and_endless_lines_leave_the_screen_whole() {
    let env = world();
    // Bytes that are no text and a line of ten megabytes, from a command and in a file.
    let endless = "head -c 10485760 /dev/zero | tr '\\0' z";
    let id = env.create(&steps(&[
        format!("Title {HOSTILE}"),
        format!("@run printf '\\377\\376\\033[2Jraw\\n'; {endless} > long.txt; {endless}"),
        "@run printf 'a' > \"$(printf 'n\\033]0;owned\\007\\342\\200\\256ame.txt')\"".to_owned(),
        say(HOSTILE),
    ]));
    env.wait_for(&id, "ready");
    let mut face = face(&env);
    face.shows("merge?");
    face.types(ENTER);
    face.shows("‹ Title x");
    face.types("g");
    face.shows("raw");
    face.types("d");
    face.shows("looked at 0/2 files");
    face.shows("kB more");
    face.types("]");
    face.shows("no newline at the end");
    face.types("[");
    face.shows("kB more");
    for (columns, rows) in [(80, 24), (120, 36)] {
        face.resize(columns, rows);
        face.shows("? help");
        let contents = face.contents();
        assert!(contents.lines().next().is_some_and(|line| line.starts_with(" coppice")), "{contents}");
        assert!(contents.lines().last().is_some_and(|line| line.contains("comment")), "{contents}");
    }
    face.types(ESCAPE);
    face.shows("‹ Title x");
    to_list(&mut face);
    is_harmless(&leave(face));
}

#[test]
fn the_way_through_a_session_at_80_by_24() {
    let env = world();
    let mut face = Seat::take(&env.to_start(&[]));
    face.shows("? help");
    task(&mut face, "Fix the build", &[crate::script::ask_to_run("touch built.txt"), say("The build works.")]);
    face.shows("1 needs you");
    // Who works where stands under the row.
    face.shows("builder · demo");
    // Into the transcript of what waits, and to the card from there.
    face.types("l");
    face.shows("‹ Fix the build");
    face.types("y");
    face.shows("y once");
    face.types("n");
    face.types("not like this");
    face.shows("not like this");
    face.types(ENTER);
    face.shows("✓ ready");
    to_list(&mut face);
    task(&mut face, "Write a page", &[write("page.md", "one line"), say("It is written.")]);
    face.shows("+1 −0");
    face.types("d");
    face.shows("looked at 0/1 file");
    face.types("<");
    face.shows("turn 1 of 1");
    face.types(ESCAPE);
    face.shows("‹ Write a page");
    face.types("\x13");
    face.types("written");
    face.types(ENTER);
    face.shows("2 places");
    face.types(ESCAPE);
    face.hides("2 places");
    face.types("m");
    face.shows("y merges");
    face.types("y");
    face.shows("merged into main");
    to_list(&mut face);
    leave(face);
    assert_eq!(env.read("page.md").trim(), "one line");
}

#[test]
fn terminals_of_every_kind_show_the_same_words() {
    let env = world();
    env.create_ready(&say("Done."));
    for (variables, is_plain, has_colours) in [
        (&[("TERM", "linux")][..], true, true),
        (&[("TERM", "xterm-256color"), ("NO_COLOR", "1")], false, false),
        (&[("TERM", "tmux-256color")], false, true),
        (&[("TERM", "xterm-256color"), ("LANG", "C")], true, true),
    ] {
        let mut command = env.to_start(&[]);
        command.envs(variables.iter().copied());
        let mut face = Seat::sized(&command, 100, 24);
        face.shows("READY");
        let contents = face.contents();
        assert_eq!(contents.is_ascii(), is_plain, "{variables:?}\n{contents}");
        let written = leave(face);
        let colours = ["\x1b[3", "\x1b[9", "\x1b[38"].iter().any(|start| {
            written.match_indices(start).any(|(at, _)| {
                let rest = &written[at + 2..];
                let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != ';').unwrap_or_default();
                rest[end..].starts_with('m')
                    && rest[..end]
                        .split(';')
                        .any(|part| matches!(part, "31" | "32" | "33" | "34" | "35" | "36" | "38" | "90"))
            })
        });
        assert_eq!(colours, has_colours, "{variables:?}");
    }
}
