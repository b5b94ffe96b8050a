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
    │ Here                                                         /resolve      let a model propose how to resolve the…   │
    │   y                allow it once                             /integrate    bring a child's result into its parent    │
    │   s                allow it in this session                  /undo         take back the last turn's changes         │
    │   a                allow it always: saves the rule that…     /diff         look at the changes                       │
    │   n                refuse, with a word why                   /archive      put the session away; nothing is lost     │
    │   d                refuse it always: saves the rule tha…     /rm           remove the session; `restore` brings it…  │
    │   space            the next that waits; marks where sev…     /restore      bring a removed session back              │
    │   ctrl+c           end the turn without a reply; when i…     /attach       the agent's own interface on this conve…  │
    │                                                              /shell        a shell in the worktree                   │
    │ Moving                                                       /edit         open the file in your editor              │
    │   k up             one up                                    /copy         copy the card, or the answer              │
    │   j down           one down                                  /model        choose backend and model                  │
    │   pageup ctrl+b    a page up                                 /reasoning    how hard the model thinks                 │
    │   pagedown ctrl+f  a page down                               /agent        choose the agent                          │
    │   g home           to the beginning                          /posture      what happens with a call that no rule d…  │
    │   G end            to the end, and follow it                 /plan         plan first: read, write a plan, ask       │
    │   enter            open what is selected                     /yolo         everything goes ahead that no rule forb…  │
    │   esc              go out                                    /unqueue      take back the last queued prompt          │
    │                                                              /login        log in to the backend                     │
    │ Anywhere                                                     /push         push the branch to `origin`               │
    │   ?                every key of this view                    /pr           show, create, update or review the pull…  │
    │                                                              /plans        plans that were left for later            │
    │ Commands, in the composer and the palette                    /queue        the prompts that wait; take one of them…  │
    │   /next         the next that needs you                      /permissions  which rules count, and what they say of…  │
    │   /help         every key of this view                       /tools        the tools that the agent gets, and why…   │
    │   /settings     settings: theme, notices, defaults           /show         the agent's last response as it came      │
    │   /quit         leave; the sessions go on                    /base         what the next task starts from            │
    │   /new          a new task                                   /title        a title for the next task                 │
    │   /sessions     jump to a session by a few letters           /profile      whose tools the next task works with      │
    │   /all          show or hide what is merged or archived      /draft        create the next task without starting i…  │
    │   /decide       decide what waits here                       /trust        look at what the repository asks for, a…  │
    │   /answer       answer the questions                         /expand       show all of every card, or less           │
    │   /approve      look at the approval and decide              /search       search the transcript                     │
    │   /stop         stop the turn; what it changed is kept       /thoughts     show or hide what the agent thought       │
    ╰───────────────────────────────────────────────────────────────────────────────────── 4 more, j/k scroll · esc closes ╯
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
    │   enter            open what is selected                                     │
    │   esc              go out                                                    │
    │                                                                              │
    │ Anywhere                                                                     │
    │   ?                every key of this view                                    │
    │                                                                              │
    │ Commands, in the composer and the palette                                    │
    │   /next         the next that needs you                                      │
    │   /help         every key of this view                                       │
    │   /settings     settings: theme, notices, defaults                           │
    │   /quit         leave; the sessions go on                                    │
    │   /new          a new task                                                   │
    │   /sessions     jump to a session by a few letters                           │
    │   /all          show or hide what is merged or archived                      │
    │   /decide       decide what waits here                                       │
    │   /answer       answer the questions                                         │
    ╰──────────────────────────────────────────── 43 more, j/k scroll · esc closes ╯
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
