//! The tools for GitHub as they are advertised: those that look for everybody, those that publish only with consent.

use serde_json::Value;

use super::super::schema;
use super::super::served::{Needs, Row};
use super::params;
use crate::permission::Effect;

const fn look(name: &'static str, description: &'static str, schema: fn() -> Value) -> Row {
    Row { name, description, schema, needs: Needs::Nothing, effect: Effect::Reads }
}

const fn change(name: &'static str, effect: Effect, description: &'static str, schema: fn() -> Value) -> Row {
    Row { name, description, schema, needs: Needs::Mutations, effect }
}

pub(in super::super) const ROWS: &[Row] = &[
    look(
        "gh_pr_context",
        "Everything that a pull request is written from: the base it would be merged into, whether the branch is pushed, \
         the commits and the size of the change, and the template of the repository. Opens nothing.",
        schema::of::<params::PullContext>,
    ),
    look(
        "gh_pr_read",
        "Read a pull request of this repository at GitHub: title, text, state, branches.",
        schema::of::<params::OnePull>,
    ),
    look(
        "gh_pr_review_context",
        "Everything that a review of a pull request begins with: the pull request, its checks with the failing ones \
         first, and the first 64 KiB of its diff.",
        schema::of::<params::OnePull>,
    ),
    look(
        "gh_issue_read",
        "Read an issue of this repository at GitHub with its comments.",
        schema::of::<params::IssueRead>,
    ),
    look(
        "gh_issue_list",
        "List open issues of this repository at GitHub, the latest 100; all filters that you give must fit.",
        schema::of::<params::IssueList>,
    ),
    change(
        "gh_pr_create",
        Effect::Adds,
        "Open a pull request at GitHub for your branch, which must be pushed. A person looks at the text first.",
        schema::of::<params::PullCreate>,
    ),
    change(
        "gh_pr_update",
        Effect::Destroys,
        "Replace title and text of a pull request at GitHub. A person looks at the text first.",
        schema::of::<params::PullUpdate>,
    ),
    change(
        "gh_pr_add_comment",
        Effect::Adds,
        "Add a comment to a pull request at GitHub as a whole. A person looks at the text first.",
        schema::of::<params::PullComment>,
    ),
];
