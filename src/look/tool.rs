//! The tools of an agent in lines: what it would really get, and why it would not get the rest.

use super::line::{Line, Tone, one_line, table};
use crate::api::tool::{MissingTool, ToolRow, ToolSurface};

pub(crate) fn lines(surface: &ToolSurface) -> Vec<Line> {
    let ToolSurface { agent, persona, backend, profile, access, problem, note, native, served, missing } = surface;
    let persona = persona.as_ref().map(|persona| format!(":{persona}")).unwrap_or_default();
    let access = if access == "read_only" { "changes no files" } else { "may change files" };
    let head = Line::new().strong(format!("{agent}{persona}")).plain(format!(" on {backend}, {profile}"));
    let mut lines = vec![head.dim(format!("  {access}"))];
    if let Some(problem) = problem {
        lines.push(Line::toned(Tone::Bad, "cannot be held:").plain(format!(" {}", one_line(problem))));
    }
    lines.extend([Line::new(), Line::new().strong("its own")]);
    lines.push(Line::new().plain(if native.is_empty() { "none".to_owned() } else { native.join(" ") }));
    lines.extend(note.iter().map(|note| Line::new().dim(one_line(note))));
    lines.extend([Line::new(), Line::new().strong("served")]);
    match served.is_empty() {
        true => lines.push(Line::new().plain("none")),
        false => lines.extend(table(&served.iter().map(row).collect::<Vec<_>>())),
    }
    if !missing.is_empty() {
        lines.extend([Line::new(), Line::new().strong("missing")]);
        lines.extend(table(&missing.iter().map(absent).collect::<Vec<_>>()));
    }
    lines
}

fn row(tool: &ToolRow) -> Vec<Line> {
    let ToolRow { name, family, approval, .. } = tool;
    let approval = match approval.as_str() {
        "allow" => Line::new().dim("not asked about"),
        "varies" => Line::new().plain("depends on the call"),
        _ => Line::new().plain("asked about"),
    };
    vec![Line::new().plain(name), Line::new().dim(family), approval]
}

fn absent(tool: &MissingTool) -> Vec<Line> {
    vec![Line::new().plain(&tool.name), Line::new().dim(&tool.family), Line::new().plain(one_line(&tool.why))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_tells_what_is_there_and_why_the_rest_is_not() {
        let tool = |name: &str, family: &str, approval: &str| ToolRow {
            name: name.into(),
            family: family.into(),
            approval: approval.into(),
            effect: "reads".into(),
        };
        let gone = |name: &str, family: &str, why: &str| MissingTool {
            name: name.into(),
            family: family.into(),
            reason: "surface".into(),
            why: why.into(),
        };
        let surface = ToolSurface {
            agent: "auditor".into(),
            persona: Some("strict".into()),
            backend: "codex".into(),
            profile: "enforced".into(),
            access: "write".into(),
            problem: Some("backend `x` has no way".into()),
            note: Some("the backend still offers its tool for patches".into()),
            native: vec![],
            served: vec![
                tool("read_file", "files", "allow"),
                tool("run_bash", "commands", "ask"),
                tool("git", "history", "varies"),
            ],
            missing: vec![gone("bash", "native", "off in `enforced`"), gone("skill", "session", "there is no skill")],
        };
        let text = lines(&surface).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        auditor:strict on codex, enforced  may change files
        cannot be held: backend `x` has no way

        its own
        none
        the backend still offers its tool for patches

        served
        read_file  files     not asked about
        run_bash   commands  asked about
        git        history   depends on the call

        missing
        bash   native   off in `enforced`
        skill  session  there is no skill
        ");
        let bare = ToolSurface { agent: "mute".into(), backend: "demo".into(), ..ToolSurface::default() };
        let text = lines(&bare).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        assert!(text.ends_with("its own\nnone\n\nserved\nnone"), "{text}");
    }
}
