//! Proposed resolutions of a conflict.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a model proposes for the marked regions of a conflict. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResolutionProposal {
    /// Names exactly this proposal for exactly the files that it was made for.
    pub id: String,
    pub session: String,
    pub files: Vec<ProposedFile>,
    /// Files in conflict that stay as they are.
    pub left_out: Vec<UnproposedFile>,
    /// From the files with marks to the proposed ones.
    pub patch: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProposedFile {
    pub path: String,
    /// How many marked regions it has.
    pub regions: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnproposedFile {
    pub path: String,
    pub reason: String,
}
