//! Why a language server has no answer.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LspError {
    #[error("language server `{server}` ended")]
    Ended { server: String },
    #[error("language server `{server}` did not answer `{method}` within {limit:?}")]
    Late { server: String, method: &'static str, limit: Duration },
    #[error("language server `{server}` refused `{method}`: {message} ({code})")]
    Refused { server: String, method: &'static str, message: String, code: i64 },
    #[error("language server `{server}` does not read what it is sent")]
    Stuck { server: String },
}
