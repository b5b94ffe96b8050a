//! The parameters of the tools for GitHub; see the other file of this name for how they are written.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PullContext {
    /// The branch that the work is to be merged into; found by itself if you name none.
    pub(super) base: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OnePull {
    /// Number, address or branch of the pull request; that of your own branch if you name none.
    #[serde(rename = "ref")]
    pub(super) reference: Option<Reference>,
}

/// Some models give a number as one.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a string")]
pub(super) enum Reference {
    Number(u64),
    Text(String),
}

impl JsonSchema for Reference {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueRead {
    /// The number of the issue.
    #[schemars(required)]
    pub(super) number: Option<u64>,
    /// How many comments to show, oldest first: 0 means 20, -1 means none.
    #[schemars(extend("default" = 0))]
    pub(super) max_comments: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueList {
    /// Only issues with all of these labels.
    pub(super) labels: Option<Vec<String>>,
    /// Only issues of this person, by login; `*` means anybody, `none` nobody.
    pub(super) assignee: Option<String>,
    /// Only issues of this milestone, by title or number.
    pub(super) milestone: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PullCreate {
    /// The branch that the work is to be merged into.
    #[schemars(required)]
    pub(super) base: Option<String>,
    /// One line of at most 72 characters, without a period at its end.
    #[schemars(required)]
    pub(super) title: Option<String>,
    /// What changes and why, as Markdown.
    #[schemars(required)]
    pub(super) body: Option<String>,
    /// Open it as a draft.
    #[schemars(extend("default" = false))]
    pub(super) draft: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PullUpdate {
    /// Number, address or branch of the pull request; that of your own branch if you name none.
    #[serde(rename = "ref")]
    pub(super) reference: Option<Reference>,
    /// One line of at most 72 characters, without a period at its end.
    #[schemars(required)]
    pub(super) title: Option<String>,
    /// The whole text, which takes the place of the one that is there.
    #[schemars(required)]
    pub(super) body: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PullComment {
    /// Number, address or branch of the pull request; that of your own branch if you name none.
    #[serde(rename = "ref")]
    pub(super) reference: Option<Reference>,
    /// The comment, as Markdown; at most 16384 bytes.
    #[schemars(required)]
    pub(super) body: Option<String>,
}
