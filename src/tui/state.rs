//! What the face keeps between two runs: drafts and the prompts that were sent. Nothing of it matters to a session.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Saved {}
