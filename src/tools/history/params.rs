//! The parameters of the tools for git: what serde reads, and what a model reads about it.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    /// List what is staged; true unless said otherwise.
    #[schemars(extend("default" = true))]
    pub(super) staged: Option<bool>,
    /// List what is changed and not staged; true unless said otherwise.
    #[schemars(extend("default" = true))]
    pub(super) unstaged: Option<bool>,
    /// List files that git does not know yet; true unless said otherwise.
    #[schemars(extend("default" = true))]
    pub(super) untracked: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Show {
    /// The file, relative to the work tree.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// A commit, branch or tag; HEAD unless said otherwise.
    #[schemars(extend("default" = "HEAD"))]
    pub(super) rev: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {
    /// Compare from this commit, branch or tag; without it, everything uncommitted is shown.
    pub(super) base: Option<String>,
    /// Compare up to this one and not up to the files as they are; needs `base`.
    pub(super) head: Option<String>,
    /// Only these files or directories.
    pub(super) paths: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    /// The file or directory, relative to the work tree.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// How many commits at most: 10 unless said otherwise, up to 200.
    // Some models write 10.0; the schema asks for a whole number all the same.
    #[schemars(with = "Option<i64>")]
    #[schemars(extend("default" = 10))]
    pub(super) limit: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Blame {
    /// The file, relative to the work tree.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The first line, counted from 1.
    #[schemars(required, with = "i64")]
    pub(super) start: Option<f64>,
    /// The last line.
    #[schemars(required, with = "i64")]
    pub(super) end: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeBase {
    /// A commit, branch or tag.
    #[schemars(required)]
    pub(super) base: Option<String>,
    /// Another one.
    #[schemars(required)]
    pub(super) head: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Git {
    /// The words after `git`, one by one: ["log", "--oneline", "-5"]. No shell reads them.
    #[schemars(required)]
    pub(super) args: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stage {
    /// Files or directories whose changes are staged. Give either this or `all`.
    pub(super) paths: Option<Vec<String>>,
    /// Stage every change, files that git does not know yet included. Give either this or `paths`.
    #[schemars(extend("default" = false))]
    pub(super) all: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Unstage {
    /// Files or directories that are taken out of the next commit; their content stays.
    #[schemars(required)]
    pub(super) paths: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBranch {
    /// The name of the branch.
    #[schemars(required)]
    pub(super) name: Option<String>,
    /// Where it points: a commit, branch or tag; HEAD unless said otherwise.
    #[schemars(extend("default" = "HEAD"))]
    pub(super) start_point: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Commit {
    /// The message: a subject, and a body after an empty line if there is more to say.
    #[schemars(required)]
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitApply {
    /// The message: one line of at most 72 characters, without a period at its end.
    #[schemars(required)]
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Checkpoint {
    /// The message; `checkpoint` unless said otherwise.
    #[schemars(extend("default" = "checkpoint"))]
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    /// The commit to go back to; HEAD~1 unless said otherwise.
    #[schemars(extend("default" = "HEAD~1"))]
    pub(super) target: Option<String>,
}
