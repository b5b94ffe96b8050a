//! The committed description of every tool: a schema for each, and the page for people, made from the same rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::served::{DELEGATES, Needs, Row, rows};
use super::super::{describe, params, schema};
use super::*;
use crate::permission::compact::Action;
use crate::permission::usual;
use crate::tool::ToolFamily;

const PAGE: &str = "\
# Tools

Agents bring tools of their own. Coppice serves them others: what no agent has (children, tasks, questions, language servers, typed
context of commits and pull requests), and on request tools for files, searches, commands and history that take the place of the
agent's own. Every call of a served tool passes the same rules as the agent's own calls, see [permissions](permissions.md).

| profile | the agent's own tools | served |
|---|---|---|
| `native` | on | what agents lack; git to look with, for agents that list it or have no shell |
| `enforced` | off | that, and everything that takes the place of their own |
| `readonly` | off | of these what changes nothing |

`tools.profile` sets it for the user or a project, `profile:` in an agent's file and `coppice new --profile` for one agent or session. The tightest
word counts; a repository that is not trusted can only tighten it. `tools.git_mutations = \"allow\"` serves the tools that change history and GitHub;
`readonly` never has them. `coppice tools` tells what an agent really gets on a backend, and why a tool is missing. Tools of external servers
are listed as `mcp__SERVER__*`: a server tells their names when a session starts it.

A list of todos and a search of the web stay the agent's own in every profile, as far as its surface has them; nothing else does on Claude and Gemini.
Codex has no shell in `enforced` and `readonly`; its tool for patches stays in the list, in a sandbox that writes nothing. An agent whose tools
cannot be taken away is not started (`surface_not_enforceable`) unless `tools.surface = \"advisory\"`.

An agent that only reads, by its definition or by `readonly`, reaches with these tools no host but those of `sandbox.hosts`: `fetch_url` reads pages
there, and says about others why it does not.

A file is changed by its own name: a path that goes through a symbolic link is refused, also where the link stays in the work tree.

Results are texts. A parameter with a star must be given. *Asked about* is what happens where no rule and no posture decides.
";

/// A tool as it is described.
struct Described {
    name: &'static str,
    family: ToolFamily,
    description: String,
    schema: Value,
    effect: Effect,
    class: u8,
    served: &'static str,
}

fn described() -> Vec<Described> {
    let facade = |facade: Facade| Described {
        name: facade.name(),
        family: ToolFamily::Session,
        description: describe::delegation(facade, &[]).trim_end().trim_end_matches("Agents:").trim_end().to_owned(),
        schema: facade_schema(facade),
        effect: DELEGATES,
        class: 1,
        served: "as `delegation.facade` says, where work can be handed out",
    };
    let row = |row: &'static Row| Described {
        name: row.name,
        family: row.family(),
        description: row.description.to_owned(),
        schema: (row.schema)(),
        effect: row.effect,
        class: match row.needs {
            Needs::Instead | Needs::InsteadInPart | Needs::NoShell => 2,
            Needs::Mutations => 3,
            Needs::Nothing | Needs::Children | Needs::Todos | Needs::Skills | Needs::Planning => 1,
        },
        served: match (&row.needs, row.effect) {
            (Needs::Nothing, Effect::Reads) => "always",
            (Needs::Nothing, Effect::Adds | Effect::Destroys) => "`native`, `enforced`",
            (Needs::Instead, Effect::Reads) => "`enforced`, `readonly`",
            (Needs::InsteadInPart, _) => "`enforced`; in `readonly` what looks",
            (Needs::Instead, Effect::Adds | Effect::Destroys) => "`enforced`",
            (Needs::NoShell, _) => "`enforced`, `readonly`; else to agents that list it or have no shell",
            (Needs::Mutations, _) => "`tools.git_mutations`",
            (Needs::Children, _) => "where work can be handed out",
            (Needs::Todos, _) => "the agent keeps no list of its own",
            (Needs::Skills, _) => "there are skills",
            (Needs::Planning, _) => "a plan is made",
        },
    };
    FACADES.into_iter().map(facade).chain(rows().map(row)).collect()
}

/// What a façade takes, whatever agents there are.
pub(super) fn facade_schema(facade: Facade) -> Value {
    match facade {
        Facade::Delegate => schema::of::<params::Delegate>(),
        Facade::Task => schema::of::<params::Task>(),
        Facade::SpawnAgent => schema::of::<params::SpawnAgent>(),
        Facade::Agent => schema::of::<params::Agent>(),
    }
}

#[test]
fn the_committed_documents_are_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("schemas/tools");
    let tools = described();
    let mut fresh: BTreeMap<PathBuf, String> =
        tools.iter().map(|tool| (directory.join(format!("{}.json", tool.name)), file(tool))).collect();
    fresh.insert(root.join("docs/tools.md"), page(&tools));
    if std::env::var_os("COPPICE_BLESS").is_some() {
        fs::create_dir_all(&directory).unwrap();
        for entry in fs::read_dir(&directory).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (path, text) in &fresh {
            fs::write(path, text).unwrap();
        }
    }
    let listed = fs::read_dir(&directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    let committed: BTreeMap<PathBuf, String> = listed
        .chain([root.join("docs/tools.md")])
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap_or_default()))
        .collect();
    assert!(committed == fresh, "run `COPPICE_BLESS=1 cargo test --lib` and commit schemas/ and docs/tools.md");
}

fn file(tool: &Described) -> String {
    let described = json!({
        "name": tool.name,
        "family": tool.family.as_str(),
        "class": tool.class,
        "approval": approval(tool),
        "effect": match tool.effect {
            Effect::Reads => "reads",
            Effect::Adds => "adds",
            Effect::Destroys => "destroys",
        },
        "description": tool.description,
        "input_schema": tool.schema,
    });
    serde_json::to_string_pretty(&described).unwrap() + "\n"
}

fn approval(tool: &Described) -> &'static str {
    match usual(tool.name) {
        Some(Action::Allow) => "allow",
        Some(Action::Ask) => "ask",
        Some(Action::Deny) => "deny",
        None => "varies",
    }
}

fn page(tools: &[Described]) -> String {
    let mut page = PAGE.to_owned();
    for family in ToolFamily::ALL {
        let of_family: Vec<_> = tools.iter().filter(|tool| tool.family == family).map(line).collect();
        if of_family.is_empty() {
            continue;
        }
        let title = match family {
            ToolFamily::Session => "The session: children, tasks, questions, skills",
            ToolFamily::Files => "Files, searches and pages",
            ToolFamily::Commands => "Commands",
            ToolFamily::Code => "Code",
            ToolFamily::History => "History",
            ToolFamily::GitHub => "GitHub",
        };
        page += &format!(
            "\n## {title}\n\n| tool | what it does | parameters | asked about | served |\n|---|---|---|---|---|\n"
        );
        page += &of_family.concat();
    }
    page
}

fn line(tool: &Described) -> String {
    let asked = match approval(tool) {
        "allow" => "no",
        "ask" => "yes",
        _ => "depends on the call",
    };
    let (name, served) = (tool.name, tool.served);
    let does = cell(tool.description.split_inclusive(". ").next().unwrap_or_default());
    format!("| `{name}` | {does} | {} | {asked} | {served} |\n", parameters(&tool.schema))
}

fn parameters(schema: &Value) -> String {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, described): (&String, &Value)| {
        let star = if is_required(schema, name) { "\\*" } else { "" };
        let says = cell(described["description"].as_str().unwrap_or_default());
        if says.is_empty() { format!("`{name}`{star}") } else { format!("`{name}`{star}: {says}") }
    };
    let listed: Vec<_> = properties.map(parameter).collect();
    if listed.is_empty() { "none".to_owned() } else { listed.join("<br>") }
}

pub(super) fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
}

/// Words that stay in one cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
