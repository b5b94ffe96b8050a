//! The places of a prompt's images: after their placeholders, in the order in which a person reads them.

/// One part of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// The place of an image in the list of them.
    Image(usize),
}

/// Splits a task after the first placeholder of each of its `images`. The placeholder stays, so that the text can
/// refer to what follows; an image that has none comes last, with one of its own.
pub fn split(task: &str, images: usize) -> Vec<Part> {
    let place = |image: usize| {
        let placeholder = placeholder(image + 1);
        task.find(&placeholder).map(|start| (start + placeholder.len(), image))
    };
    let mut placed: Vec<_> = (0..images).filter_map(place).collect();
    placed.sort_unstable();
    let mut parts = Vec::new();
    let mut from = 0;
    for (end, image) in &placed {
        parts.extend([Part::Text(task[from..*end].to_owned()), Part::Image(*image)]);
        from = *end;
    }
    let mut rest = task[from..].to_owned();
    let is_placed = |image: &usize| placed.iter().any(|(_, known)| known == image);
    for image in (0..images).filter(|image| !is_placed(image)) {
        let text = std::mem::take(&mut rest);
        parts.extend([Part::Text(format!("{text}\n\n{}", placeholder(image + 1))), Part::Image(image)]);
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// What stands for an image in the text; the first one has the number 1.
fn placeholder(number: usize) -> String {
    format!("[Image #{number}]")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(task: &str, images: usize, expected: &[Part]) {
        assert_eq!(split(task, images), expected, "{task}");
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn an_image_follows_its_placeholder() {
        check("fix it", 0, &[text("fix it")]);
        check("", 0, &[text("")]);
        check("like [Image #1] here", 1, &[text("like [Image #1]"), Part::Image(0), text(" here")]);
        check("end [Image #1]", 1, &[text("end [Image #1]"), Part::Image(0)]);
        check(
            "[Image #2] before [Image #1]!",
            2,
            &[text("[Image #2]"), Part::Image(1), text(" before [Image #1]"), Part::Image(0), text("!")],
        );
        check("twice [Image #1] [Image #1]", 1, &[text("twice [Image #1]"), Part::Image(0), text(" [Image #1]")]);
    }

    #[test]
    fn an_image_without_a_place_comes_last() {
        check("fix it", 1, &[text("fix it\n\n[Image #1]"), Part::Image(0)]);
        check(
            "see [Image #2]",
            3,
            &[
                text("see [Image #2]"),
                Part::Image(1),
                text("\n\n[Image #1]"),
                Part::Image(0),
                text("\n\n[Image #3]"),
                Part::Image(2),
            ],
        );
    }

    #[test]
    fn what_is_no_placeholder_of_an_image_is_text() {
        check("see [Image #2]", 1, &[text("see [Image #2]\n\n[Image #1]"), Part::Image(0)]);
        check("[image #1] [Image #01] [Image #0]", 0, &[text("[image #1] [Image #01] [Image #0]")]);
        check("[Image #10]", 1, &[text("[Image #10]\n\n[Image #1]"), Part::Image(0)]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_image_comes_once_after_its_placeholder(
            words in prop::collection::vec(prop_oneof![
                "[a-zß \n]{0,6}",
                (0usize..6).prop_map(placeholder),
            ], 0..8),
            images in 0usize..5,
        ) {
            let task = words.concat();
            let parts = split(&task, images);
            let mut said = String::new();
            let mut seen = Vec::new();
            for part in &parts {
                match part {
                    Part::Text(text) => said.push_str(text),
                    Part::Image(image) => {
                        prop_assert!(said.ends_with(&placeholder(image + 1)));
                        seen.push(*image);
                    }
                }
            }
            prop_assert!(said.starts_with(&task));
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..images).collect::<Vec<_>>());
            prop_assert!(matches!(parts.first(), Some(Part::Text(_))));
        }
    }
}
