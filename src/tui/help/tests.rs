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
    │ Here                                                         /integrate    bring a child's result into its parent    │
    │   y                allow it once                             /undo         take back the last turn's changes         │
    │   s                allow it in this session                  /diff         look at the changes                       │
    │   a                allow it always: saves the rule that…     /archive      put the session away; nothing is lost     │
    │   n                refuse, with a word why                   /rm           remove the session; `restore` brings it…  │
    │   d                refuse it always: saves the rule tha…     /restore      bring a removed or archived session back  │
    │   space            the next that waits; marks where sev…     /attach       the agent's own interface on this conve…  │
    │   ctrl+c           end the turn without a reply; when i…     /shell        a shell in the worktree                   │
    │                                                              /edit         open the file in your editor              │
    │ Moving                                                       /copy         copy the card, or the answer              │
    │   k up             one up                                    /model        choose backend and model                  │
    │   j down           one down                                  /reasoning    how hard the model thinks                 │
    │   pageup ctrl+b    a page up                                 /agent        choose the agent                          │
    │   pagedown ctrl+f  a page down                               /posture      what happens with a call that no rule d…  │
    │   g home           to the beginning                          /plan         plan first: read, write a plan, ask       │
    │   G end            to the end, and follow it                 /yolo         everything goes ahead that no rule forb…  │
    │   enter            open what is selected                     /unqueue      take back the last queued prompt          │
    │   esc              go out                                    /login        log in to the backend                     │
    │                                                              /push         push the branch to `origin`               │
    │ Anywhere                                                     /pr           show, create, update or review the pull…  │
    │   ?                every key of this view                    /plans        plans that were left for later            │
    │                                                              /queue        the prompts that wait; take one of them…  │
    │ Commands, in the composer and the palette                    /permissions  which rules count, and what they say of…  │
    │   /next         the next that needs you                      /tools        the tools that the agent gets, and why…   │
    │   /help         every key of this view                       /show         the agent's last response as it came      │
    │   /settings     settings: theme, notices, defaults           /review       have a model prepare the review of the…   │
    │   /quit         leave; the sessions go on                    /prepared     what the model said about the changes     │
    │   /new          a new task                                   /base         what the next task starts from            │
    │   /sessions     jump to a session by a few letters           /title        a title for the next task                 │
    │   /all          show or hide what is merged or archived      /profile      whose tools the next task works with      │
    │   /decide       decide what waits here                       /draft        create the next task without starting i…  │
    │   /answer       answer the questions                         /trust        look at what the repository asks for, a…  │
    │   /approve      look at the approval and decide              /expand       show all of every card, or less           │
    │   /stop         stop the turn; what it changed is kept       /search       search the transcript                     │
    ╰───────────────────────────────────────────────────────────────────────────────────── 5 more, j/k scroll · esc closes ╯
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
    ╰──────────────────────────────────────────── 45 more, j/k scroll · esc closes ╯
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
