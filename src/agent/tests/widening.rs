//! No text makes the reader panic, and no damage makes an agent wider than its author wrote it.

use proptest::prelude::*;

use super::super::directory::SkillLayout;
use super::super::parse::parse;
use super::super::surface::{Surface, resolve};
use super::super::{Definition, Format, skill};
use super::{EXAMPLES, agent, file};
use crate::permission::compact::Action;
use crate::tool::Tool;

const FORMATS: &[Format] =
    &[Format::Unified, Format::Koda, Format::Template, Format::Task, Format::Claude, Format::Yotta];

fn surface(agent: &Definition) -> Surface {
    resolve(agent, Tool::all(), &["mcp:github:create_pr".to_owned()])
}

#[track_caller]
fn is_not_wider(damaged: &Definition, whole: &Definition, wide: &Surface) {
    let narrow = surface(damaged);
    assert!(narrow.tools.is_subset(&wide.tools) && narrow.mcp.is_subset(&wide.mcp), "{damaged:#?}");
    assert_eq!(damaged.access, whole.access);
    let secret = |agent: &Definition| agent.permission.as_ref().and_then(|map| map.evaluate("read", Some("a/.env")));
    assert!(secret(whole) != Some(Action::Deny) || secret(damaged) == Some(Action::Deny), "{damaged:#?}");
}

#[test]
fn a_file_that_is_cut_short_is_never_wider() {
    for (format, stem, text) in EXAMPLES {
        let whole = agent(*format, stem, text);
        let wide = surface(&whole);
        let mut loaded = 0;
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            for cut in [text[..end].to_owned(), text[..end].replace('\n', "\r\n"), format!("\u{feff}{}", &text[..end])]
            {
                if let Ok(damaged) = parse(&file(*format, stem, &cut)) {
                    is_not_wider(&damaged, &whole, &wide);
                    loaded += 1;
                }
            }
        }
        assert!(loaded > 0, "{stem}");
    }
}

#[test]
fn a_file_that_lost_its_first_lines_is_never_wider() {
    for (format, stem, text) in EXAMPLES {
        let whole = agent(*format, stem, text);
        let wide = surface(&whole);
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let closing = lines.iter().rposition(|line| *line == "---\n").unwrap();
        for first in 0..closing {
            if let Ok(damaged) = parse(&file(*format, stem, &lines[first..].concat())) {
                is_not_wider(&damaged, &whole, &wide);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}", header in "[-a-z:\\[\\]{}&*!|>'\"#%@`,? \\n\\t]{0,120}", at in 0..FORMATS.len()) {
        for text in [text.clone(), format!("---\n{text}\n---\n{header}"), format!("---\n{header}\n---\n{text}")] {
            parse(&file(FORMATS[at], "a", &text)).ok();
            skill::parse("p", "a", SkillLayout::Directories, &text).ok();
        }
    }

    #[test]
    fn no_value_of_a_known_key_makes_the_reader_panic(
        at in 0..FORMATS.len(),
        key in "name|description|mode|tools|AllowTools|allow_list|permission|agent_names|maxSteps|timeout|model",
        value in "[-a-z0-9:\\[\\]{}&*!|>'\"#, \\n]{0,60}",
    ) {
        parse(&file(FORMATS[at], "a", &format!("---\n{key}: {value}\n---\nx"))).ok();
    }
}
