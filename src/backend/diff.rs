//! The difference of two texts, unified: removed and added lines with three lines around each change. Pure.

/// Lines that are shown around a change.
const AROUND: usize = 3;

/// Texts whose changed middles have more pairs of lines than this are not compared line by line.
const PAIRS: usize = 250_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The difference of a whole file, with the numbers of its lines.
pub(crate) fn of_file(path: &str, old: &str, new: &str) -> String {
    let lines = compare(old, new);
    let mut text = header(path);
    let (mut before, mut after) = (0, 0);
    for part in parts(&lines) {
        match part {
            Part::Between(count) => (before, after) = (before + count, after + count),
            Part::Hunk(hunk) => {
                let old = hunk.iter().filter(|line| !matches!(line, Line::New(_))).count();
                let new = hunk.iter().filter(|line| !matches!(line, Line::Old(_))).count();
                // An empty side is counted from the line before it.
                let start = |lines: usize, count: usize| lines + usize::from(count > 0);
                text += &format!("@@ -{},{old} +{},{new} @@\n", start(before, old), start(after, new));
                text += &written(hunk);
                (before, after) = (before + old, after + new);
            }
        }
    }
    text
}

/// The difference of pieces of a file whose place in it is not known.
pub(crate) fn of_pieces<'a>(path: &str, pieces: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let hunks = pieces.into_iter().map(|(old, new)| format!("@@ @@\n{}", written(&compare(old, new))));
    header(path) + &hunks.collect::<String>()
}

fn header(path: &str) -> String {
    format!("--- {path}\n+++ {path}\n")
}

fn written(lines: &[Line<'_>]) -> String {
    let write = |line: &Line<'_>| match line {
        Line::Same(text) => format!(" {text}\n"),
        Line::Old(text) => format!("-{text}\n"),
        Line::New(text) => format!("+{text}\n"),
    };
    lines.iter().map(write).collect()
}

enum Part<'l, 'a> {
    Hunk(&'l [Line<'a>]),
    /// That many lines are the same and left out.
    Between(usize),
}

/// Cuts the lines into what is shown and what is left out.
fn parts<'l, 'a>(lines: &'l [Line<'a>]) -> Vec<Part<'l, 'a>> {
    let is_change = |line: &Line<'_>| !matches!(line, Line::Same(_));
    let mut parts = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.iter().position(is_change) {
        let start = first.saturating_sub(AROUND);
        let mut end = first;
        while let Some(next) = rest[end..].iter().take(2 * AROUND + 1).position(is_change) {
            end += next + 1;
        }
        let end = (end + AROUND).min(rest.len());
        parts.extend([Part::Between(start), Part::Hunk(&rest[start..end])]);
        rest = &rest[end..];
    }
    parts
}

fn compare<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let same = |lines: &[&'a str]| lines.iter().map(|line| Line::Same(line)).collect::<Vec<_>>();
    let mut lines = same(&old[..head]);
    lines.extend(middle(&old[head..old.len() - tail], &new[head..new.len() - tail]));
    lines.extend(same(&old[old.len() - tail..]));
    lines
}

/// Compares by the longest common run of lines, unless there are too many.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let removed = |lines: &[&'a str]| lines.iter().map(|line| Line::Old(line)).collect::<Vec<_>>();
    let added = |lines: &[&'a str]| lines.iter().map(|line| Line::New(line)).collect::<Vec<_>>();
    if old.len().saturating_mul(new.len()) > PAIRS {
        return [removed(old), added(new)].concat();
    }
    let width = new.len() + 1;
    // How many lines the rests of both texts have in common, from each pair of places on.
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(Line::Old(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines.extend(removed(&old[i..]));
    lines.extend(added(&new[j..]));
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_shown_with_its_lines() {
        for (old, new, expected) in [
            ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
            ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n", "@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n 6\n"),
            ("same\n", "same\n", ""),
        ] {
            assert_eq!(of_file("src/a", old, new), format!("--- src/a\n+++ src/a\n{expected}"));
        }
        let long: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
        let mut other = long.clone();
        other[1] = "two".to_owned();
        other.remove(17);
        let expected = "--- f\n+++ f\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n";
        assert_eq!(of_file("f", &long.join("\n"), &other.join("\n")), expected);
    }

    #[test]
    fn pieces_have_no_numbers() {
        let text = of_pieces("f", [("a\nb", "a\nc"), ("x", "")]);
        assert_eq!(text, "--- f\n+++ f\n@@ @@\n a\n-b\n+c\n@@ @@\n-x\n");
    }

    #[test]
    fn long_texts_are_replaced_whole() {
        let old = "a\n".repeat(600);
        let new = "b\n".repeat(600);
        let text = of_file("f", &old, &new);
        assert!(text.starts_with("--- f\n+++ f\n@@ -1,600 +1,600 @@\n-a\n") && text.ends_with("+b\n"));
    }

    proptest! {
        #[test]
        fn both_texts_are_in_the_difference(old in "([abc]\n){0,12}", new in "([abc]\n){0,12}") {
            let lines = compare(&old, &new);
            let side = |is_other: fn(&Line<'_>) -> bool| -> String {
                lines.iter().filter(|line| !is_other(line)).map(|line| match line {
                    Line::Same(text) | Line::Old(text) | Line::New(text) => format!("{text}\n"),
                }).collect()
            };
            prop_assert_eq!(side(|line| matches!(line, Line::New(_))), old.clone());
            prop_assert_eq!(side(|line| matches!(line, Line::Old(_))), new.clone());
            let hunks = of_file("f", &old, &new);
            prop_assert_eq!(hunks.contains("@@"), old != new);
        }
    }
}
