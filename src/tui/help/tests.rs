//! Help says what the keymap does.

use std::collections::BTreeMap;

use ratatui::layout::Size;

use super::*;
use crate::tui::sample::{NARROW, WIDE, model, press, screen, sessions};

#[test]
fn every_key_and_every_command_of_a_view_is_there() {
    for context in Context::ALL {
        let text: String = lines(&Keymap::default(), context, 60).iter().map(|line| line.text() + "\n").collect();
        for binding in BINDINGS {
            let has_key = binding.contexts.contains(&context) && !binding.keys.is_empty();
            let keys_there = binding.keys.iter().all(|key| text.contains(key));
            assert!(!has_key || keys_there, "{context:?} {}\n{text}", binding.name);
            assert!(binding.command.is_none_or(|command| text.contains(&format!("/{command}"))), "{}", binding.name);
        }
    }
}

#[test]
fn keys_are_shown_as_they_are_in_force() {
    let own = BTreeMap::from([("merge".to_owned(), vec!["f9".to_owned()]), ("stop".to_owned(), vec![])]);
    let keymap = Keymap::with(&own);
    let text: String = keys(&keymap, Context::Sessions).iter().map(|line| line.text() + "\n").collect();
    assert!(text.contains("f9"), "{text}");
    assert!(!text.contains("stop the turn"), "{text}");
}

#[test]
fn help_lies_over_the_view_and_scrolls() {
    let mut model = model(WIDE, sessions());
    model.overlay = Some(Overlay::Help(State::of(Context::Approval, None)));
    insta::assert_snapshot!(screen(&mut model), @r"
    ╭ Keys of an approval ─────────────────────────────────────────────────────────────────────────────────────────────────╮
    │ Here                                                         /answer     answer the questions                        │
    │   y                allow it once                             /approve    look at the approval and decide             │
    │   s                allow it in this session                  /stop       stop the turn; what it changed is kept      │
    │   a                allow it always: saves the rule that…     /resume     go on with a failed or interrupted session  │
    │   n                refuse, with a word why                   /merge      merge into the base branch                  │
    │   d                refuse it always: saves the rule tha…     /rebase     rebase onto the base branch                 │
    │   space            the next that waits; marks where sev…     /integrate  bring a child's result into its parent      │
    │   ctrl+c           end the turn without a reply              /undo       take back the last turn's changes           │
    │                                                              /diff       look at the changes                         │
    │ Moving                                                       /archive    put the session away; nothing is lost       │
    │   k up             one up                                    /rm         remove the session; `restore` brings it b…  │
    │   j down           one down                                  /restore    bring a removed session back                │
    │   pageup ctrl+b    a page up                                 /attach     the agent's own interface on this convers…  │
    │   pagedown ctrl+f  a page down                               /shell      a shell in the worktree                     │
    │   g home           to the beginning                          /edit       open the file in your editor                │
    │   G end            to the end, and follow it                 /copy       copy the card, or the answer                │
    │   enter            go in, or decide                          /model      choose backend and model                    │
    │   esc              go out                                    /reasoning  how hard the model thinks                   │
    │                                                              /agent      choose the agent                            │
    │ Anywhere                                                     /posture    what happens with a call that no rule dec…  │
    │   ?                every key of this view                    /plan       plan first: read, write a plan, ask         │
    │                                                              /yolo       everything goes ahead that no rule forbids  │
    │ Commands, in the composer and the palette                    /unqueue    take back the last queued prompt            │
    │   /next       the next that needs you                        /login      log in to the backend                       │
    │   /help       every key of this view                         /trust      look at what the repository asks for, and…  │
    │   /settings   settings                                       /expand     show all of every card, or less             │
    │   /quit       leave; the sessions go on                      /search     search the transcript                       │
    │   /new        a new task                                     /thoughts   show or hide what the agent thought         │
    │   /sessions   jump to a session by a few letters             /summary    what the session has done so far            │
    │   /all        show or hide what is merged or archived        /editor     write the prompt in your editor             │
    │   /decide     decide what waits here                         /demo       the tour with scripted agents               │
    │                                                                                                                      │
    │                                                                                                                      │
    │                                                                                                                      │
    ╰────────────────────────────────────────────────────────────────────────────────────────────────────────── esc closes ╯
    ");
    model.size = NARROW;
    press(&mut model, &["j", "pagedown", "k"]);
    insta::assert_snapshot!(screen(&mut model), @r"
    ╭ Keys of an approval ─────────────────────────────────────────────────────────╮
    │   k up             one up                                                    │
    │   j down           one down                                                  │
    │   pageup ctrl+b    a page up                                                 │
    │   pagedown ctrl+f  a page down                                               │
    │   g home           to the beginning                                          │
    │   G end            to the end, and follow it                                 │
    │   enter            go in, or decide                                          │
    │   esc              go out                                                    │
    │                                                                              │
    │ Anywhere                                                                     │
    │   ?                every key of this view                                    │
    │                                                                              │
    │ Commands, in the composer and the palette                                    │
    │   /next       the next that needs you                                        │
    │   /help       every key of this view                                         │
    │   /settings   settings                                                       │
    │   /quit       leave; the sessions go on                                      │
    │   /new        a new task                                                     │
    │   /sessions   jump to a session by a few letters                             │
    │   /all        show or hide what is merged or archived                        │
    │   /decide     decide what waits here                                         │
    │   /answer     answer the questions                                           │
    ╰──────────────────────────────────────────── 30 more, j/k scroll · esc closes ╯
    ");
    press(&mut model, &["G"]);
    let end = screen(&mut model);
    press(&mut model, &["j"]);
    assert_eq!(screen(&mut model), end);
    press(&mut model, &["g", "esc"]);
    assert!(model.overlay.is_none());
}

#[test]
fn no_size_is_too_small() {
    let mut model = model(WIDE, sessions());
    press(&mut model, &["?"]);
    for (width, height) in [(20, 5), (1, 1), (0, 0), (300, 3), (4, 60)] {
        model.size = Size { width, height };
        screen(&mut model);
        press(&mut model, &["j", "G"]);
    }
}
