//! Why a call would go ahead or not, in lines: the verdict, the rule that decided, and the files that took part.

use super::line::{Line, Tone, one_line, table};
use super::status::count;
use crate::api::permission::{Explanation, RuleFileInfo};

/// The verdict, and why.
pub(crate) fn lines(explanation: &Explanation) -> Vec<Line> {
    let targets: Vec<_> = explanation.targets.iter().map(|target| one_line(target)).collect();
    let head = verdict(&explanation.verdict).strong(format!("  {}", one_line(&explanation.tool)));
    let mut lines = vec![head.plain(format!("  {}", targets.join("  ")))];
    lines.extend(explanation.warnings.iter().map(|text| warning(text)));
    lines.extend(table(&facts(explanation)));
    lines.extend([Line::new(), Line::new().dim("rules")]);
    lines.extend(file_lines(&explanation.files).into_iter().map(|line| Line::new().plain("  ").then(line)));
    lines
}

fn facts(explanation: &Explanation) -> Vec<Vec<Line>> {
    let held = match explanation.enforced {
        true => Line::new().plain("enforced"),
        false => Line::toned(Tone::Warn, "advisory").plain(": nothing but these rules holds a command"),
    };
    let always = match explanation.saves.as_slice() {
        [] => Line::new().dim("nothing: it can only be allowed once"),
        saves => Line::new().plain(rules(saves)),
    };
    let mut facts = vec![
        ("why", Line::new().plain(one_line(&explanation.reason))),
        ("step", Line::new().plain(format!("{} of 14, {}", explanation.step, one_line(&explanation.layer)))),
    ];
    facts.extend(explanation.rule.as_ref().map(|rule| ("rule", Line::new().plain(one_line(rule)))));
    // Only what is asked about is offered to be kept.
    if explanation.verdict == "ask" {
        facts.push(("always saves", always));
    }
    facts.push(("posture", standing(&explanation.posture, explanation.yolo)));
    facts.extend(explanation.agent.as_ref().map(|agent| ("agent", Line::new().plain(one_line(agent)))));
    facts.push(("sandbox", held));
    facts.into_iter().map(|(name, value)| vec![Line::new().dim(name), value]).collect()
}

/// A word, not a colour, carries the verdict.
fn verdict(word: &str) -> Line {
    let tone = match word {
        "allow" => Tone::Good,
        "deny" => Tone::Bad,
        _ => Tone::Warn,
    };
    Line::toned(tone, one_line(word))
}

/// The files with the number of their rules, and why some of them do not count.
pub(crate) fn file_lines(files: &[RuleFileInfo]) -> Vec<Line> {
    let row = |file: &RuleFileInfo| {
        let rules = match file.rules {
            Some(rules) => Line::new().plain(count(rules as usize, "rule")),
            None => Line::new().dim("no file"),
        };
        let path = Line::new().plain(one_line(&file.path));
        let path = match &file.note {
            Some(note) => path.plain("  ").with(Tone::Warn, one_line(note)),
            None => path,
        };
        vec![rules, path]
    };
    table(&files.iter().map(row).collect::<Vec<_>>())
}

/// The posture, and loudly what lies over it.
pub(crate) fn standing(posture: &str, yolo: bool) -> Line {
    let posture = Line::new().plain(one_line(posture));
    if yolo { posture.plain(", ").with(Tone::Bad, "YOLO") } else { posture }
}

/// Something to look at twice.
pub(crate) fn warning(text: &str) -> Line {
    Line::toned(Tone::Bad, format!("⚠ {}", one_line(text.trim_start_matches(['⚠', ' ']))))
}

/// Rules as they stand in a file.
pub(crate) fn rules(rules: &[String]) -> String {
    rules.iter().map(|rule| one_line(rule)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample::rule_files as files;

    fn text(explanation: &Explanation) -> String {
        lines(explanation).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    fn push() -> Explanation {
        Explanation {
            tool: "bash".into(),
            targets: vec!["git push --force".into()],
            verdict: "ask".into(),
            step: 14,
            layer: "tool class".into(),
            rule: None,
            reason: "it may change something, and no rule allows it".into(),
            posture: "attended".into(),
            yolo: false,
            agent: Some("engineer".into()),
            saves: vec![],
            warnings: vec!["DESTRUCTIVE FLAG(S): --force".into()],
            enforced: false,
            files: files(),
        }
    }

    #[test]
    fn the_verdict_comes_first_and_then_why() {
        insta::assert_snapshot!(text(&push()), @r"
        ask  bash  git push --force
        ⚠ DESTRUCTIVE FLAG(S): --force
        why           it may change something, and no rule allows it
        step          14 of 14, tool class
        always saves  nothing: it can only be allowed once
        posture       attended
        agent         engineer
        sandbox       advisory: nothing but these rules holds a command

        rules
          12 rules  /src/app/.coppice/permissions.json  2 allow rules need `coppice trust`
          no file   /src/app/.coppice/permissions.local.json
        ");
        let denied = Explanation {
            tool: "edit".into(),
            targets: vec!["a.rs".into(), "b.rs".into()],
            verdict: "deny".into(),
            step: 5,
            layer: "deny rule".into(),
            rule: Some("Edit(**) in permissions.json".into()),
            reason: "Tool \"edit\" denied by policy for pattern: **".into(),
            yolo: true,
            agent: None,
            warnings: vec![],
            enforced: true,
            files: vec![],
            ..push()
        };
        insta::assert_snapshot!(text(&denied), @r#"
        deny  edit  a.rs  b.rs
        why      Tool "edit" denied by policy for pattern: **
        step     5 of 14, deny rule
        rule     Edit(**) in permissions.json
        posture  attended, YOLO
        sandbox  enforced

        rules
        "#);
    }
}
