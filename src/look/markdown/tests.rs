//! Markdown as it is drawn at a width, and the tones of its parts.

use proptest::prelude::*;

use super::*;

fn drawn(text: &str, width: u16) -> String {
    lines(text, width).iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

/// The first part with this text.
#[track_caller]
fn tone(text: &str, part: &str) -> Tone {
    let lines = lines(text, 80);
    let mut spans = lines.iter().flat_map(Line::spans);
    spans.find(|(_, text)| text.trim() == part).unwrap_or_else(|| panic!("`{part}` is no part of {lines:?}")).0
}

#[test]
fn blocks_stand_apart_and_words_wrap() {
    let text =
        "# The plan\nI will start with *the* existing\nmiddleware.\n\n> so be it\n> and more\n>\n> end\n\n***\nLast.";
    insta::assert_snapshot!(drawn(text, 24), @r"
    The plan

    I will start with the
    existing middleware.

    ▏ so be it and more
    ▏ 
    ▏ end

    ────────────────────────

    Last.
    ");
}

#[test]
fn lists_nest_and_hang() {
    let text = "Steps:\n\n- first of the things that are to be done\n  - [x] inner\n  - [ ] open\n- second\n\n  apart\n\n9. nine\n10. ten\n    more of ten";
    insta::assert_snapshot!(drawn(text, 24), @r"
    Steps:

    • first of the things
      that are to be done
      • [x] inner
      • [ ] open
    • second

      apart

    9. nine
    10. ten more of ten
    ");
    assert_eq!(drawn("- \n- a", 20), "• \n• a");
}

#[test]
fn code_keeps_its_lines_and_its_tones() {
    let text = "Run `cargo test`:\n\n```rust\nfn main() {\n\tlet a = 1;\n}\n```\n\n    indented\n\nend";
    insta::assert_snapshot!(drawn(text, 40), @r"
    Run cargo test:

      fn main() {
          let a = 1;
      }

      indented

    end
    ");
    assert_eq!(tone(text, "cargo test"), Tone::Code);
    assert_eq!(tone(text, "fn"), Tone::Keyword);
    assert_eq!(tone("```\nstill open", "still open"), Tone::Plain);
}

#[test]
fn parts_of_a_line_say_how_they_are_meant() {
    assert_eq!(tone("## a `b`", "a b"), Tone::Heading);
    assert_eq!(tone("say **it** now", "it"), Tone::Strong);
    assert_eq!(tone("say ~~it~~ now", "it"), Tone::Dim);
    assert_eq!(tone("[words](https://a.example)", "words"), Tone::Link);
    assert_eq!(tone("- [x] done", "[x]"), Tone::Good);
}

#[test]
fn a_link_tells_its_target_where_the_words_do_not() {
    for (text, expected) in [
        ("see [the page](https://a.example/x) now", "see the page (https://a.example/x) now"),
        ("<https://a.example>", "https://a.example"),
        ("<me@a.example>", "me@a.example"),
        ("![a tree](tree.png)", "a tree (tree.png)"),
        ("[https://good.example](https://evil.example)", "https://good.example (https://evil.example)"),
    ] {
        assert_eq!(drawn(text, 60), expected);
    }
}

#[test]
fn a_table_stands_in_columns_or_in_rows() {
    let text = "| name | lines | what |\n|:--|--:|:-:|\n| `a.rs` | 12 | x |\n| 木 | 7 | wide |\n\nend";
    insta::assert_snapshot!(drawn(text, 40), @r"
    name │ lines │ what
    ─────┼───────┼─────
    a.rs │    12 │  x
    木   │     7 │ wide

    end
    ");
    insta::assert_snapshot!(drawn(text, 12), @r"
    name: a.rs
    lines: 12
    what: x

    name: 木
    lines: 7
    what: wide

    end
    ");
    assert_eq!(drawn("| a | b |\n|--|--|", 4), "a\nb");
}

#[test]
fn html_is_text_and_hostile_text_is_harmless() {
    assert_eq!(drawn("a <b>bold</b>\n\n<script>\nx\n</script>", 40), "a <b>bold</b>\n\n<script>\nx\n</script>");
    let shown = drawn("\u{1b}[2J `\u{9b}` [\u{202e}x](\u{7}y)\n\n```sh\n\u{1b}c\n```", 40);
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']), "{shown:?}");
}

#[test]
fn deep_blocks_leave_room_for_words() {
    let text = format!("{}deep words here", "> ".repeat(2_000));
    assert!(lines(&text, 20).iter().all(|line| line.width() <= 20));
    let list: String = (0..60).map(|depth| format!("{}- a\n", "  ".repeat(depth))).collect();
    assert!(lines(&list, 20).iter().all(|line| line.width() <= 20));
}

proptest! {
    #[test]
    fn every_line_fits(text in "([-*>#|`0-9. a-c木\\[\\]()!<\n]|\t|\\*\\*|```\n|\n\n| {4}){0,60}", width in 8u16..40) {
        for line in lines(&text, width) {
            prop_assert!(line.width() <= usize::from(width), "{line:?}");
            prop_assert!(!line.text().contains(char::is_control));
        }
    }

    #[test]
    fn no_text_is_too_odd(text in any::<String>(), width in any::<u16>()) {
        lines(&text, width);
    }
}
