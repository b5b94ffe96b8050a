//! The parameters of the tools that ask language servers. The doc comments of the fields are what a model reads.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Symbols {
    /// The name or a part of it.
    #[schemars(required)]
    pub(super) query: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    /// The file, relative to the work tree or absolute.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The line, counted from 1.
    #[schemars(required)]
    pub(super) line: Option<u32>,
    /// The place in the line, counted from 0. Give either this or `symbol`.
    pub(super) character: Option<u32>,
    /// The name as it is seen on the line. Give either this or `character`.
    pub(super) symbol: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diagnostics {
    /// The files, 1 to 32 of them.
    pub(super) paths: Option<Vec<String>>,
    /// One file. Give either this or `paths`.
    pub(super) path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Refs {
    /// The file, relative to the work tree or absolute.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The line, counted from 1.
    #[schemars(required)]
    pub(super) line: Option<u32>,
    /// The place in the line, counted from 0. Give either this or `symbol`.
    pub(super) character: Option<u32>,
    /// The name as it is seen on the line. Give either this or `character`.
    pub(super) symbol: Option<String>,
    /// All places, or only those that read it or that write it; all if you say nothing.
    #[schemars(with = "Option<RefsMode>")]
    #[schemars(extend("default" = "all"))]
    pub(super) mode: Option<RefsMode>,
    /// How many places at most; 200 if you say nothing, never more than 500.
    #[schemars(extend("default" = 200))]
    pub(super) max_results: Option<u32>,
    /// Whether the declaration itself counts; it does not if you say nothing.
    #[schemars(extend("default" = false))]
    pub(super) include_declaration: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RefsMode {
    All,
    Readers,
    Writers,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Trace {
    /// The file, relative to the work tree or absolute.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The line, counted from 1.
    #[schemars(required)]
    pub(super) line: Option<u32>,
    /// The place in the line, counted from 0. Give either this or `symbol`.
    pub(super) character: Option<u32>,
    /// The name as it is seen on the line. Give either this or `character`.
    pub(super) symbol: Option<String>,
    /// Who calls it, whom it calls, or both.
    #[schemars(required)]
    #[schemars(with = "Option<TraceMode>")]
    pub(super) mode: Option<TraceMode>,
    /// How many calls away, 1 to 4; 2 if you say nothing.
    #[schemars(extend("default" = 2))]
    pub(super) depth: Option<u32>,
    /// How many functions at most; 200 if you say nothing, never more than 500.
    #[schemars(extend("default" = 200))]
    pub(super) max_nodes: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TraceMode {
    Callers,
    Callees,
    Graph,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RenameSymbol {
    /// The file, relative to the work tree or absolute.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The line, counted from 1.
    #[schemars(required)]
    pub(super) line: Option<u32>,
    /// The place in the line, counted from 0. Give either this or `symbol`.
    pub(super) character: Option<u32>,
    /// The name as it is seen on the line. Give either this or `character`.
    pub(super) symbol: Option<String>,
    /// What it is called afterwards.
    #[schemars(required)]
    pub(super) new_name: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeAction {
    /// The file, relative to the work tree or absolute.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The line where the part begins, counted from 1.
    #[schemars(required)]
    pub(super) start_line: Option<u32>,
    /// The place in that line, counted from 0.
    #[schemars(required)]
    pub(super) start_character: Option<u32>,
    /// The line where the part ends, counted from 1.
    #[schemars(required)]
    pub(super) end_line: Option<u32>,
    /// The place in that line, counted from 0.
    #[schemars(required)]
    pub(super) end_character: Option<u32>,
    /// The action of this title. Without a title or a kind, several actions are listed and none is made.
    pub(super) title: Option<String>,
    /// Only actions of this kind or below it, such as `quickfix` or `source.organizeImports`.
    pub(super) kind: Option<String>,
    /// Only actions that the server prefers.
    #[schemars(extend("default" = false))]
    pub(super) only_preferred: Option<bool>,
}
