//! The voices of an agent: blocks of the body that begin with `<!-- agent_name: NAME -->`.

use super::draft::Declared;
use super::{Diagnostic, Persona};

/// A body in blocks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// What stands before the first marker.
    pub(super) default: String,
    /// By name, in the order of their first marker.
    pub(super) named: Vec<(String, String)>,
}

/// Splits a body. A marker that appears again continues its block.
pub(super) fn split(body: &str) -> Blocks {
    let mut blocks = Blocks { default: String::new(), named: Vec::new() };
    let mut current: Option<usize> = None;
    for line in body.split_inclusive('\n') {
        if let Some(name) = marker(line) {
            let known = blocks.named.iter().position(|(other, _)| *other == name);
            current = Some(known.unwrap_or(blocks.named.len()));
            if known.is_none() {
                blocks.named.push((name, String::new()));
            }
            continue;
        }
        match current.and_then(|at| blocks.named.get_mut(at)) {
            Some((_, text)) => text.push_str(line),
            None => blocks.default.push_str(line),
        }
    }
    blocks
}

/// Joins what the header declares and what the body says; each needs the other.
pub(super) fn join(
    stem: &str,
    declared: Option<Vec<Declared>>,
    blocks: Vec<(String, String)>,
) -> (Vec<Persona>, Vec<Diagnostic>) {
    let broken = |message: String, line| Diagnostic::error("invalid_personas", message, line);
    let Some(declared) = declared else {
        let message = format!(
            "invalid agent template \"{stem}\": found agent_name blocks but frontmatter agent_names is missing"
        );
        return (Vec::new(), if blocks.is_empty() { vec![] } else { vec![broken(message, None)] });
    };
    let mut diagnostics = Vec::new();
    for (name, _) in blocks.iter().filter(|(name, _)| !declared.iter().any(|entry| entry.name == *name)) {
        diagnostics.push(broken(format!("invalid agent_names: missing agent_names entry for \"{name}\""), None));
    }
    let mut personas: Vec<Persona> = Vec::new();
    for entry in declared {
        let (name, line) = (entry.name, Some(entry.line));
        if personas.iter().any(|persona| persona.name == name) {
            diagnostics.push(broken(format!("invalid agent_names: duplicate entry for \"{name}\""), line));
            continue;
        }
        let Some((_, prompt)) = blocks.iter().find(|(block, _)| *block == name) else {
            diagnostics.push(broken(format!("invalid agent_names: missing agent_name block for \"{name}\""), line));
            continue;
        };
        if entry.description.is_none() {
            let message = format!("invalid agent template \"{stem}\": missing description for agent_name \"{name}\"");
            diagnostics.push(Diagnostic::warning("missing_persona_description", message, line));
        }
        let description = entry.description.unwrap_or_default();
        personas.push(Persona { name, description, prompt: prompt.clone(), model: entry.model, effort: entry.effort });
    }
    (personas, diagnostics)
}

fn marker(line: &str) -> Option<String> {
    let name = line.trim().strip_prefix("<!-- agent_name:")?.strip_suffix("-->")?.trim().to_lowercase();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_split_blocks_and_a_repeated_one_continues() {
        let body = "Default.\n<!-- agent_name: Strict -->\nOne.\n  <!-- agent_name: fast -->  \nTwo.\n<!-- agent_name:strict-->\nThree.";
        let named = vec![("strict".to_owned(), "One.\nThree.".to_owned()), ("fast".to_owned(), "Two.\n".to_owned())];
        assert_eq!(split(body), Blocks { default: "Default.\n".to_owned(), named });
        for plain in ["<!-- agent_name: -->", "<!-- agent: x -->", "text <!-- agent_name: x -->", "<!-- agent_name: x"]
        {
            assert_eq!(split(plain), Blocks { default: plain.to_owned(), named: vec![] });
        }
    }
}
