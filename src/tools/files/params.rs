//! The parameters of the tools for files; what a model reads about them is said here.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    /// The file, relative to the work tree or absolute in it.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The first line to read, counted from 1; 1 if absent.
    #[schemars(extend("default" = 1))]
    pub(super) offset: Option<i64>,
    /// How many lines to read; 2000 if absent.
    #[schemars(extend("default" = 2000))]
    pub(super) limit: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadManyFiles {
    /// The files, at most 20.
    #[schemars(required)]
    pub(super) paths: Option<Vec<String>>,
    /// How many bytes of each file to pass over; 0 if absent.
    #[schemars(extend("default" = 0))]
    pub(super) offset: Option<i64>,
    /// How many bytes of each file to read; 524288 if absent, and at most.
    #[schemars(extend("default" = 524_288))]
    pub(super) limit: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// The file, relative to the work tree or absolute in it.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// All that the file is to hold.
    #[schemars(required)]
    pub(super) content: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// The file, relative to the work tree or absolute in it. It must exist.
    #[schemars(required)]
    pub(super) path: Option<String>,
    /// The text to replace, exactly as the file has it, without line numbers.
    #[schemars(required)]
    pub(super) old_string: Option<String>,
    /// The text to put in its place; empty to remove it.
    #[schemars(required)]
    pub(super) new_string: Option<String>,
    /// Whether to replace every occurrence; false if absent.
    #[schemars(extend("default" = false))]
    pub(super) replace_all: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyDiff {
    /// The unified diff, with `--- a/PATH` and `+++ b/PATH` before the hunks of each file.
    #[schemars(required)]
    pub(super) diff: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OnePath {
    /// The path, relative to the work tree or absolute in it.
    #[schemars(required)]
    pub(super) path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TwoPaths {
    /// What is there, relative to the work tree or absolute in it.
    #[schemars(required)]
    pub(super) src: Option<String>,
    /// The whole path that it is to have.
    #[schemars(required)]
    pub(super) dst: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListDir {
    /// The directory; the work tree if absent.
    #[schemars(extend("default" = "."))]
    pub(super) path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// The pattern, relative to `cwd`.
    #[schemars(required)]
    pub(super) pattern: Option<String>,
    /// The directory to search below; the work tree if absent.
    pub(super) cwd: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// What to find in one line.
    #[schemars(required)]
    pub(super) pattern: Option<String>,
    /// The file or directory to search; the work tree if absent.
    #[schemars(extend("default" = "."))]
    pub(super) path: Option<String>,
    /// Whether the pattern is a regular expression; false if absent: every character means itself.
    #[schemars(extend("default" = false))]
    pub(super) regex: Option<bool>,
    /// Whether upper and lower case are the same; false if absent.
    #[schemars(extend("default" = false))]
    pub(super) ignore_case: Option<bool>,
    /// How many lines to return at most; 50 if absent.
    #[schemars(extend("default" = 50))]
    pub(super) max_results: Option<i64>,
}
