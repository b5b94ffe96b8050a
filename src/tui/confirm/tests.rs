//! What each question says, and what agreeing asks for.

use ratatui::layout::Size;

use super::*;
use crate::api::error::HookFileChange;
use crate::api::project::ConfigValue;
use crate::api::resolution::{ProposedFile, UnproposedFile};
use crate::api::session::{Changes, Sandbox, Session, Status, UndoableMerge};
use crate::look::sample;
use crate::tui::model::View;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{NARROW, WIDE, model, part, press, press_blindly, screen};
use crate::tui::update::update;

fn facing(size: Size, session: Session) -> Model {
    let mut model = model(size, vec![session]);
    model.view = View::Session("abcd2345".into());
    model
}

fn ready() -> Session {
    Session { turns: 3, ..sample::session(Status::Ready) }
}

fn is_open(model: &Model) -> bool {
    matches!(model.overlay, Some(Overlay::Confirm(_)))
}

/// The question without what lies around it.
fn shown(model: &mut Model) -> String {
    let whole = Rect::new(0, 0, model.size.width, model.size.height);
    let Some(Overlay::Confirm(state)) = &model.overlay else { return String::new() };
    let area = laid_out(model, state, whole).0;
    let text = part(model, area);
    let cut = |row: &str| row.chars().take(area.width.into()).collect::<String>();
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

fn trust(state: TrustState, difference: Option<&str>) -> Trust {
    Trust {
        project: "/src/app/.git".into(),
        state,
        commit: "0123456789abcdef".into(),
        grants: Some("[worktree]\nsetup = \"make\u{1b}[2J\"".into()),
        difference: difference.map(str::to_owned),
        hash: Some("sha".into()),
        branches: Vec::new(),
        addable_branch: None,
    }
}

fn open_trust(model: &mut Model, trust: Trust) {
    update(model, Msg::Reply(Reply::Trust(Box::new(trust))));
}

#[test]
fn agreeing_asks_for_exactly_what_was_shown() {
    let merged = |style| Request::Merge {
        session: "abcd2345".into(),
        style: Some(style),
        hooks: MergeHooks::Check,
        unseen: MergeUnseen::Refuse,
    };
    let undone = |to| Request::Undo { session: "abcd2345".into(), to, merge: None };
    let unhooked = || Request::Merge {
        session: "abcd2345".into(),
        style: Some(MergeStyle::Squash),
        hooks: MergeHooks::Skip,
        unseen: MergeUnseen::Refuse,
    };
    let fixed = || Request::Merge {
        session: "abcd2345".into(),
        style: Some(MergeStyle::Squash),
        hooks: MergeHooks::Fix,
        unseen: MergeUnseen::Refuse,
    };
    for (keys, expected) in [
        (&["m", "y"][..], vec![merged(MergeStyle::Squash)]),
        (&["m", "n", "y"], vec![merged(MergeStyle::NoFf)]),
        (&["m", "r", "y"], vec![merged(MergeStyle::Rebase)]),
        (&["m", "r", "s", "y"], vec![merged(MergeStyle::Squash)]),
        (&["m", "f", "y"], vec![fixed()]),
        (&["m", "v", "f", "y"], vec![fixed()]),
        (&["m", "f", "f", "y"], vec![merged(MergeStyle::Squash)]),
        (&["m", "v", "y"], vec![unhooked()]),
        (&["m", "v", "v", "y"], vec![merged(MergeStyle::Squash)]),
        (&["m", "esc"], vec![]),
        (&["u", "y"], vec![undone(None)]),
        (&["u", "k", "y"], vec![undone(Some(1))]),
        (&["u", "k", "k", "k", "y"], vec![undone(Some(0))]),
        (&["u", "k", "j", "y"], vec![undone(None)]),
        (&["u", "j", "y"], vec![undone(None)]),
        (&["u", "g", "G", "y"], vec![undone(None)]),
        (&["u", "n"], vec![]),
        (&["D", "y"], vec![Request::Remove("abcd2345".into())]),
        (&["b", "y"], vec![Request::Rebase("abcd2345".into())]),
        (&["b", "esc"], vec![]),
        (&["I", "y"], vec![Request::Integrate("abcd2345".into())]),
        (&["I", "n"], vec![]),
        (&["D", "q"], vec![]),
    ] {
        let mut model = facing(WIDE, ready());
        assert_eq!(press(&mut model, keys), expected, "{keys:?}");
        assert!(!is_open(&model), "{keys:?}");
    }
}

#[test]
fn a_merge_is_undone_only_after_its_commit_and_files_were_shown() {
    let merge = UndoableMerge {
        commit: "0123456789abcdef".into(),
        target: "main".into(),
        files: (1..=14).map(|number| format!("src/file{number}.rs")).collect(),
        file_count: 60,
    };
    let mut model = facing(WIDE, Session { undoable_merge: Some(merge), ..ready() });
    assert_eq!(press(&mut model, &["u"]), []);
    let shown = screen(&mut model);
    for part in ["Takes the merge 0123456789 out of main.", "src/file12.rs", "and 48 more", "y takes it back"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(press(&mut model, &["enter"]), []);
    assert_eq!(
        press(&mut model, &["y"]),
        [Request::Undo { session: "abcd2345".into(), to: None, merge: Some("0123456789abcdef".into()) }]
    );
}

#[test]
fn a_letter_with_a_modifier_is_another_key() {
    for keys in [&["m", "ctrl+y"][..], &["m", "alt+y"], &["u", "ctrl+y"], &["u", "alt+n"], &["D", "alt+y"]] {
        let mut model = facing(WIDE, ready());
        assert_eq!(press(&mut model, keys), [], "{keys:?}");
        assert!(!is_open(&model), "{keys:?}");
        assert!(screen(&mut model).contains("nothing was done"), "{keys:?}");
    }
}

#[test]
fn a_key_that_a_question_does_not_know_closes_it() {
    for keys in [
        // `modify`, letter by letter.
        &["m", "o"][..],
        &["m", "a"],
        &["m", "j"],
        &["m", "tab"],
        &["m", "f5"],
        &["u", "t"],
        &["D", "e"],
        &["b", "g"],
        &["I", "s"],
    ] {
        let mut model = facing(WIDE, ready());
        assert_eq!(press(&mut model, keys), [], "{keys:?}");
        assert!(!is_open(&model), "{keys:?}");
        assert!(screen(&mut model).contains("nothing was done"), "{keys:?}");
    }
    let mut model = facing(WIDE, ready());
    open_trust(&mut model, trust(TrustState::Untrusted, None));
    assert_eq!(press(&mut model, &["x", "y"]), []);
    assert!(!is_open(&model));
}

#[test]
fn a_running_turn_is_stopped_by_its_letter_only_after_a_question() {
    let stop = || vec![Request::Stop("abcd2345".into())];
    for (status, keys, expected) in [
        (Status::Running, &["s"][..], vec![]),
        (Status::Running, &["s", "y"], stop()),
        (Status::Running, &["s", "enter"], stop()),
        (Status::Running, &["s", "esc"], vec![]),
        (Status::Running, &["s", "p"], vec![]),
        (Status::Queued, &["s", "y"], stop()),
        (Status::Running, &["ctrl+c"], stop()),
        // The daemon says what it thinks of it.
        (Status::Ready, &["s"], stop()),
    ] {
        let mut model = facing(WIDE, sample::session(status));
        assert_eq!(press(&mut model, keys), expected, "{status:?} {keys:?}");
    }
    let mut model = facing(NARROW, sample::session(Status::Running));
    press(&mut model, &["s"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Stop "Fix the parser"? ──────────────────────────────────────────────────────╮
    │ The turn ends as it is; what it changed is kept.                             │
    ╰ y stops  esc lets it go on ──────────────────────────────────────────────────╯
    "#);
}

#[test]
fn where_there_is_nothing_to_ask_about_that_is_said() {
    let unchanged = |session: Session| Session { changes: Changes::default(), next: vec![], ..session };
    for (session, key, expected) in [
        (unchanged(ready()), "m", "there is nothing to merge: no file is changed"),
        (unchanged(ready()), "u", "there is nothing to take back: no turn has changed a file"),
        (unchanged(sample::session(Status::Merged)), "m", "it is merged already"),
        (sample::approval(), "m", "not yet: the session waits for an approval, decide that first"),
    ] {
        let mut model = facing(WIDE, session);
        assert_eq!(press(&mut model, &[key]), [], "{key}");
        assert!(!is_open(&model), "{key} {expected}");
        let text = screen(&mut model);
        assert!(text.contains(expected), "{key} {expected}: {text}");
    }
    // What was taken back can come back.
    let mut model = facing(WIDE, Session { undone_to: Some(0), ..unchanged(ready()) });
    press(&mut model, &["u"]);
    assert!(is_open(&model));
}

#[test]
fn enter_changes_no_branch_and_says_which_key_does() {
    for key in ["m", "u", "b", "I", "D"] {
        let mut model = facing(WIDE, ready());
        assert_eq!(press(&mut model, &[key, "enter"]), [], "{key}");
        assert!(is_open(&model), "{key}");
        assert!(screen(&mut model).contains("y agrees, esc leaves it as it is"), "{key}");
    }
    let mut model = facing(WIDE, ready());
    push(&mut model, "abcd2345".into(), None);
    assert_eq!(press(&mut model, &["enter"]), []);
    assert!(is_open(&model));
}

#[test]
fn a_text_that_is_typed_blindly_confirms_nothing() {
    let mut model = model(WIDE, vec![ready()]);
    model.patience = 300;
    // Whoever takes the list for a text field: `m` opens the merge, and all the rest was not meant for it.
    assert_eq!(press_blindly(&mut model, &["m", "e", "n", "d", "space", "y", "enter"]), []);
    assert!(is_open(&model));
    assert!(
        shown(&mut model)
            .ends_with("╰ … ───────────────────────────────────────────────────────────────────────────────────────╯")
    );
    // Whoever types on is not asked meanwhile, however slowly the screen follows.
    for letter in ["r", "y", "s", "y"] {
        model.now += 200;
        assert_eq!(press(&mut model, &[letter]), [], "{letter}");
    }
    model.now += 299;
    assert!(!shown(&mut model).contains("y merges"));
    model.now += 1;
    assert!(shown(&mut model).contains("y merges  s squash"));
    let merged = Request::Merge {
        session: "abcd2345".into(),
        style: Some(MergeStyle::Squash),
        hooks: MergeHooks::Check,
        unseen: MergeUnseen::Refuse,
    };
    assert_eq!(press(&mut model, &["y"]), [merged]);
    // Going back works at once.
    assert_eq!(press_blindly(&mut model, &["m", "esc"]), []);
    assert!(!is_open(&model));
}

#[test]
fn what_moves_commits_says_which() {
    let mut moving = facing(NARROW, ready());
    press(&mut moving, &["b"]);
    insta::assert_snapshot!(shown(&mut moving), @r#"
    ╭ Rebase "Fix the parser" onto main? ──────────────────────────────────────────╮
    │ The commits of coppice/abcd2345/fix-the-parser are written again on top of   │
    │ main.                                                                        │
    │                                                                              │
    │ main stays as it is.                                                         │
    ╰ y rebases  esc not yet ──────────────────────────────────────────────────────╯
    "#);
    let parent = Session { id: "parent23".into(), title: "Split the config".into(), ..ready() };
    let child = Session { parent: Some("parent23".into()), ..ready() };
    let mut model = model(NARROW, vec![parent, child]);
    model.view = View::Session("abcd2345".into());
    press(&mut model, &["I"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Integrate "Fix the parser"? ─────────────────────────────────────────────────╮
    │ Its changes (+12 −4) are applied to the files of "Split the config".         │
    ╰ y integrates  esc not yet ───────────────────────────────────────────────────╯
    "#);
}

#[test]
fn an_undo_counts_the_turns_of_its_own_session() {
    for (keys, expected) in [(&["k"][..], Some(1)), (&["k", "j"], None), (&["g", "j"], Some(1))] {
        let mut model = facing(WIDE, ready());
        press(&mut model, &["u"]);
        let other = Session { id: "efgh2345".into(), turns: 9, ..ready() };
        model.world.sessions.insert(other.id.clone(), other);
        model.view = View::Session("efgh2345".into());
        press(&mut model, keys);
        let undone = Request::Undo { session: "abcd2345".into(), to: expected, merge: None };
        assert_eq!(press(&mut model, &["y"]), [undone], "{keys:?}");
    }
}

#[test]
fn a_late_answer_takes_the_keys_from_nothing() {
    for (keys, expected) in [
        (
            &["m"][..],
            vec![Request::Merge {
                session: "abcd2345".into(),
                style: Some(MergeStyle::Squash),
                hooks: MergeHooks::Check,
                unseen: MergeUnseen::Refuse,
            }],
        ),
        (&["ctrl+p"], vec![]),
        (&["?"], vec![]),
        (&["i"], vec![Request::Save]),
        (&["ctrl+k"], vec![]),
    ] {
        let mut model = facing(WIDE, ready());
        press(&mut model, keys);
        let context = model.context();
        open_trust(&mut model, trust(TrustState::Untrusted, None));
        assert_eq!(model.context(), context, "{keys:?}");
        assert!(notice::is_shown(&model), "{keys:?}");
        assert_eq!(press(&mut model, &["y"]), expected, "{keys:?}");
    }
}

#[test]
fn the_style_of_a_merge_is_the_configured_one() {
    let mut model = facing(WIDE, ready());
    model.world.config = vec![ConfigValue {
        key: "merge.style".into(),
        value: "no-ff".into(),
        origin: "default".into(),
        about: String::new(),
        ignored: None,
    }];
    let expected = Request::Merge {
        session: "abcd2345".into(),
        style: Some(MergeStyle::NoFf),
        hooks: MergeHooks::Check,
        unseen: MergeUnseen::Refuse,
    };
    assert_eq!(press(&mut model, &["m", "y"]), [expected]);
}

#[test]
fn what_weighs_much_needs_its_letter() {
    let mut model = facing(WIDE, ready());
    yolo(&mut model);
    assert_eq!(press(&mut model, &["enter"]), []);
    assert!(is_open(&model));
    let posture = |yolo| Request::SetPosture {
        session: "abcd2345".into(),
        posture: SetPosture { posture: None, yolo: Some(yolo) },
    };
    assert_eq!(press(&mut model, &["y"]), [posture(true)]);
    // The way back is open.
    let mut model = facing(WIDE, Session { yolo: true, ..ready() });
    assert_eq!(yolo(&mut model), [posture(false)]);

    // A task that is being written gets it when it is sent.
    model.view = View::Sessions;
    composer::new_task(&mut model);
    yolo(&mut model);
    assert!(shown(&mut model).contains("YOLO for the next task?"));
    press(&mut model, &["y"]);
    assert!(composer::in_force(&model, &Target::Task).yolo);
    yolo(&mut model);
    assert!(!is_open(&model) && !composer::in_force(&model, &Target::Task).yolo);

    press(&mut model, &["esc"]);
    open_trust(&mut model, trust(TrustState::Untrusted, None));
    assert_eq!(press(&mut model, &["enter"]), []);
    assert_eq!(press(&mut model, &["y"]), [Request::GrantTrust { hash: "sha".into() }]);
    for state in [TrustState::NothingToTrust, TrustState::Trusted] {
        open_trust(&mut model, trust(state, None));
        assert!(!is_open(&model));
    }
}

#[test]
fn a_merge_says_what_reaches_the_base() {
    let mut model = facing(WIDE, ready());
    press(&mut model, &["m", "r"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Merge "Fix the parser" into main? ───────────────────────────────────────────────────────╮
    │ +12 −4 in 2 files                                                                        │
    │ rebase: the session's own commits on top, no merge commit                                │
    │                                                                                          │
    │ Your checkout moves only where nothing of yours would be lost. At a conflict nothing is  │
    │ merged, and main stays as it is.                                                         │
    ╰ y merges  s squash  n no-ff  r rebase  v hooks off  f fixes  esc not yet ────────────────╯
    "#);
    model.size = NARROW;
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Merge "Fix the parser" into main? ───────────────────────────────────────────╮
    │ +12 −4 in 2 files                                                            │
    │ rebase: the session's own commits on top, no merge commit                    │
    │                                                                              │
    │ Your checkout moves only where nothing of yours would be lost. At a conflict │
    │ nothing is merged, and main stays as it is.                                  │
    ╰ y merges  s squash  n no-ff  r rebase  v hooks off  f fixes  esc not yet ────╯
    "#);
}

#[test]
fn an_undo_says_how_far_back() {
    let mut model = facing(NARROW, ready());
    press(&mut model, &["u"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Undo in "Fix the parser"? ───────────────────────────────────────────────────╮
    │ Takes back the last turn that changed something.                             │
    │                                                                              │
    │ The conversation is not rewound; the next prompt tells the agent what was    │
    │ taken back. What is there is kept, and a later turn brings it back.          │
    ╰ y takes it back  k/j an earlier or a later turn  esc leaves it ──────────────╯
    "#);
    press(&mut model, &["k"]);
    assert!(shown(&mut model).contains("Takes back turns 2 to 3: the files are as after turn 1."));
    press(&mut model, &["g"]);
    assert!(shown(&mut model).contains("Takes back turns 1 to 3: the files are as on main at 0123456789."));
}

#[test]
fn an_undo_starts_from_where_the_files_are_and_goes_forward_too() {
    for (stands, keys, expected, says) in [
        (2, &["k"][..], Some(0), "Takes back turns 1 to 2: the files are as on main"),
        (2, &[], None, "Takes back the last turn that changed something."),
        (2, &["j"], Some(3), "Brings turn 3 back: the files are as after turn 3."),
        (1, &["k"], None, "Takes back the last turn that changed something."),
        (1, &["j"], Some(2), "Brings turn 2 back: the files are as after turn 2."),
        (1, &["G", "right"], Some(3), "Brings turns 2 to 3 back: the files are as after turn 3."),
        (0, &[], Some(1), "Brings turn 1 back: the files are as after turn 1."),
        (0, &["left"], Some(1), "Brings turn 1 back"),
    ] {
        let mut model = facing(WIDE, Session { undone_to: Some(stands), ..ready() });
        press(&mut model, &["u"]);
        press(&mut model, keys);
        assert!(shown(&mut model).contains(says), "{stands} {keys:?} {}", shown(&mut model));
        let undone = Request::Undo { session: "abcd2345".into(), to: expected, merge: None };
        assert_eq!(press(&mut model, &["y"]), [undone], "{stands} {keys:?}");
    }
}

#[test]
fn a_removal_and_yolo_say_what_is_at_stake() {
    let busy = Session { status: Status::Running, children: vec!["kidaaaaa".into()], ..ready() };
    let mut model = facing(NARROW, busy);
    press(&mut model, &["D"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Remove "Fix the parser"? ────────────────────────────────────────────────────╮
    │ Its worktree and branch go, with +12 −4 in 2 files; a ref keeps what is not  │
    │ merged.                                                                      │
    │ It works at this moment: the turn is stopped.                                │
    │ It has 1 child session.                                                      │
    │                                                                              │
    │ `/restore` brings it back within 30d.                                        │
    ╰ y removes  esc keeps it ─────────────────────────────────────────────────────╯
    "#);
    let sandbox = Sandbox { level: "off".into(), enforced: false, note: None };
    let mut model = facing(WIDE, Session { sandbox, ..ready() });
    yolo(&mut model);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ YOLO for "Fix the parser"? ──────────────────────────────────────────────────────────────╮
    │ Every call goes ahead that no rule forbids or asks about. Nobody looks at it first.      │
    │ The sandbox is not enforced: nothing but its own manners holds the agent.                │
    │                                                                                          │
    │ Rules that deny, secrets and commands that would wreck the machine stay refused. /yolo   │
    │ takes it back.                                                                           │
    ╰ y lets everything go ahead  esc leaves it as it is ──────────────────────────────────────╯
    "#);
}

#[test]
fn the_text_to_trust_is_shown_whole_and_scrolls() {
    let mut model = facing(NARROW, ready());
    open_trust(&mut model, trust(TrustState::Untrusted, None));
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Trust this repository? ──────────────────────────────────────────────────────╮
    │ What the repository's own files would run or allow, at 0123456789:           │
    │                                                                              │
    │   [worktree]                                                                 │
    │   setup = "make�[2J"                                                         │
    │                                                                              │
    │ You agree to exactly this text; when it changes you are asked again.         │
    ╰ y trusts  k/j scroll  esc not yet ───────────────────────────────────────────╯
    "#);
    press(&mut model, &["esc"]);
    let long: String = (1..60).map(|line| format!("+setup = \"{line}\"\n-setup = \"\"\n")).collect();
    open_trust(&mut model, trust(TrustState::Changed, Some(&long)));
    assert!(shown(&mut model).contains("What changed since you trusted it"));
    press(&mut model, &["G"]);
    assert!(shown(&mut model).contains("You agree to exactly this text"));
    press(&mut model, &["k", "pageup", "g"]);
    assert!(shown(&mut model).contains("What changed since you trusted it"));
}

#[test]
fn no_size_is_too_small_and_nothing_drives_the_terminal() {
    let hostile = Session { title: "\u{1b}[2J\u{202e}x\n".repeat(30), ..ready() };
    let mut model = facing(WIDE, hostile);
    for keys in [&["m"][..], &["esc", "u"], &["esc", "D"]] {
        press(&mut model, keys);
        for (width, height) in [(20, 5), (1, 1), (0, 0), (200, 3), (4, 60), (120, 36)] {
            model.size = Size { width, height };
            let shown = screen(&mut model);
            assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
            press(&mut model, &["j"]);
        }
    }
}

fn hook_changes() -> HookChanges {
    let file =
        |kind: &str, path: &str| HookFileChange { path: path.into(), kind: kind.into(), insertions: 2, deletions: 1 };
    HookChanges {
        id: "0a1b2c3d4e5f".into(),
        files: vec![file("added", "evil\u{1b}[2J.txt"), file("changed", "lib.rs")],
        patch: "@@ -1 +1 @@\n-x\n+y\u{1b}[2J\n".into(),
    }
}

#[test]
fn what_hooks_changed_is_shown_and_merged_only_by_the_letter() {
    let style = Some(MergeStyle::NoFf);
    let unseen = MergeUnseen::Accept;
    let came = || {
        let (session, unseen) = ("abcd2345".into(), unseen.clone());
        Msg::Reply(Reply::HookChanges { session, style, unseen, changes: hook_changes() })
    };
    let mut model = facing(WIDE, ready());
    update(&mut model, came());
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Merge "Fix the parser" with the changes of your hooks? ──────────────────────────────────╮
    │ Nothing is merged yet. Your commit hooks changed the reviewed work:                      │
    │                                                                                          │
    │   added evil�[2J.txt  +2 -1                                                              │
    │   changed lib.rs  +2 -1                                                                  │
    │                                                                                          │
    │   @@ -1 +1 @@                                                                            │
    │   -x                                                                                     │
    │   +y�[2J                                                                                 │
    │                                                                                          │
    │ You agree to exactly these changes; if the hooks make others, you are asked again.       │
    ╰ y merges with them  a with any changes  v without hooks  k/j scroll  esc not yet ────────╯
    "#);
    assert!(!screen(&mut model).contains("⏎ yes"));
    assert_eq!(press(&mut model, &["enter"]), []);
    assert!(is_open(&model), "Enter is pressed without reading");
    let merge = |hooks| Request::Merge { session: "abcd2345".into(), style, hooks, unseen: unseen.clone() };
    assert_eq!(press(&mut model, &["y"]), [merge(MergeHooks::AcceptOnly("0a1b2c3d4e5f".into()))]);
    update(&mut model, came());
    assert_eq!(press(&mut model, &["v"]), [merge(MergeHooks::Skip)]);
    update(&mut model, came());
    assert_eq!(press(&mut model, &["a"]), [merge(MergeHooks::AcceptChanges)]);
    update(&mut model, came());
    assert_eq!(press(&mut model, &["esc"]), []);
    assert!(!is_open(&model));
}

#[test]
fn a_conflict_without_marks_can_be_merged_as_the_session_has_it() {
    let mut model = facing(NARROW, sample::conflict());
    press(&mut model, &["m"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Merge "Fix the parser" into main? ───────────────────────────────────────────╮
    │ +12 −4 in 2 files                                                            │
    │ squash: one commit with the session's title and summary                      │
    │ Binary and deleted files have no marks: a takes them as they are.            │
    │                                                                              │
    │ Your checkout moves only where nothing of yours would be lost. At a conflict │
    │ nothing is merged, and main stays as it is.                                  │
    ╰ y merges  s squash  n no-ff  r rebase  a as they are  f fixes  esc not yet ──╯
    "#);
    press(&mut model, &["a"]);
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Merge "Fix the parser" into main? ───────────────────────────────────────────╮
    │ +12 −4 in 2 files                                                            │
    │ squash: one commit with the session's title and summary                      │
    │ Files in conflict without marks are merged as they are in the worktree.      │
    │                                                                              │
    │ Your checkout moves only where nothing of yours would be lost. At a conflict │
    │ nothing is merged, and main stays as it is.                                  │
    ╰ y merges  s squash  n no-ff  r rebase  a as they are  f fixes  esc not yet ──╯
    "#);
    let (style, hooks, unseen) =
        (Some(MergeStyle::Squash), MergeHooks::Check, MergeUnseen::AcceptOnly(vec!["0a1b".into()]));
    let merged = Request::Merge { session: "abcd2345".into(), style, hooks, unseen };
    assert_eq!(press(&mut model, &["y"]), [merged]);
}

#[test]
fn work_that_changed_after_a_look_is_looked_at_again() {
    let changes =
        UnseenChanges { id: "2c3d".into(), count: 5, files: vec!["evil\u{1b}[2J.txt".into(), "lib.rs".into()] };
    let came = || Msg::Reply(Reply::UnseenChanges { session: "abcd2345".into(), changes: changes.clone() });
    let mut model = facing(WIDE, ready());
    update(&mut model, came());
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ "Fix the parser" changed after you looked at it ─────────────────────────────────────────╮
    │ Nothing was merged. No turn ran since you last looked, but these files changed:          │
    │                                                                                          │
    │   evil�[2J.txt                                                                           │
    │   lib.rs                                                                                 │
    │   and 3 more                                                                             │
    │                                                                                          │
    │ A process that the agent left running can have written them. Look again, then merge.     │
    ╰ enter looks again  esc not yet ──────────────────────────────────────────────────────────╯
    "#);
    assert_eq!(press(&mut model, &["esc"]), []);
    assert!(!is_open(&model));
    let look = |turn| Request::Diff { session: "abcd2345".into(), turn };
    // All of the work is shown, although only a turn was looked at before.
    press(&mut model, &["d", "<"]);
    update(&mut model, came());
    let asked = press(&mut model, &["enter"]);
    assert!(asked.contains(&look(None)) && !asked.contains(&look(Some(3))), "{asked:?}");
    assert_eq!(model.view, View::Review("abcd2345".into()));
}

#[test]
fn what_a_merge_and_an_archive_came_to_says_the_way_back() {
    let mut model = facing(WIDE, ready());
    let merge =
        UndoableMerge { commit: "0123456789abcdef".into(), target: "main".into(), files: vec![], file_count: 0 };
    let merged = Session { undoable_merge: Some(merge), ..sample::session(Status::Merged) };
    update(&mut model, Msg::Reply(Reply::Merged(Box::new(merged))));
    let text = screen(&mut model);
    assert!(text.contains("merged \"Fix the parser\" into main as 0123456789; u takes it back"), "{text}");
    update(&mut model, Msg::Reply(Reply::Archived(Box::new(sample::session(Status::Archived)))));
    let text = screen(&mut model);
    let expected = "archived \"Fix the parser\"; R or `coppice restore abcd2345` brings it back";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn an_act_shows_its_warnings_until_a_key_is_pressed() {
    let mut model = facing(WIDE, ready());
    let session = Session { warnings: vec!["the teardown command `x` failed".into()], ..ready() };
    update(&mut model, Msg::Reply(Reply::Done { said: "merged".into(), session: Some(Box::new(session)) }));
    let text = screen(&mut model);
    assert!(text.contains("merged") && text.contains("! the teardown command `x` failed"), "{text}");
}

#[test]
fn a_proposed_resolution_is_shown_with_its_patch_and_only_its_letter_applies_it() {
    let mut model = facing(NARROW, ready());
    assert!(!resolve(&mut model).contains(&Request::ProposeResolution("abcd2345".into())));
    let mut model = facing(NARROW, sample::conflict());
    assert!(resolve(&mut model).contains(&Request::ProposeResolution("abcd2345".into())));
    let proposal = ResolutionProposal {
        id: "0a1b".into(),
        session: "abcd2345".into(),
        files: vec![ProposedFile { path: "a.rs".into(), regions: 2 }],
        left_out: vec![UnproposedFile { path: "b.rs".into(), reason: "it is not text".into() }],
        patch: "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1 @@\n-<<<<<<< ours\n+both\u{1b}[2J\n".into(),
    };
    update(&mut model, Msg::Reply(Reply::Resolution(Box::new(proposal))));
    insta::assert_snapshot!(shown(&mut model), @r#"
    ╭ Resolve the conflict of "Fix the parser" like this? ─────────────────────────╮
    │ a.rs  2 regions                                                              │
    │ b.rs stays as it is: it is not text                                          │
    │                                                                              │
    │ --- a/a.rs                                                                   │
    │ +++ b/a.rs                                                                   │
    │ @@ -1,2 +1 @@                                                                │
    │ -<<<<<<< ours                                                                │
    │ +both�[2J                                                                    │
    ╰ y applies it  k/j scroll  esc not yet ───────────────────────────────────────╯
    "#);
    assert_eq!(press(&mut model, &["enter"]), vec![]);
    assert!(is_open(&model));
    let accepted = Request::AcceptResolution { session: "abcd2345".into(), proposal: "0a1b".into() };
    assert_eq!(press(&mut model, &["y"]), vec![accepted]);
}

#[test]
fn a_text_agrees_to_nothing_and_closes_the_question() {
    for text in ["you should rename it first", "yes please"] {
        let mut model = facing(WIDE, ready());
        press(&mut model, &["m"]);
        screen(&mut model);
        model.moment = 200;
        let requests = crate::tui::sample::write(&mut model, text);
        let later = model.now + 1_000;
        let requests = [requests, update(&mut model, Msg::Time(later))].concat();
        assert!(!requests.iter().any(|request| matches!(request, Request::Merge { .. })), "{requests:?}");
        assert!(!is_open(&model));
    }
    // How to merge may be chosen as fast as one likes.
    let mut model = facing(WIDE, ready());
    press(&mut model, &["m"]);
    screen(&mut model);
    model.moment = 200;
    assert_eq!(crate::tui::sample::write(&mut model, "nvy"), []);
    let later = model.now + 200;
    assert!(matches!(update(&mut model, Msg::Time(later))[..], [Request::Merge { style: Some(MergeStyle::NoFf), .. }]));
}
