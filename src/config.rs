//! Settings: text in, values out, each with the place it came from.
//!
//! The caller reads the files and says where they lie; nothing here opens one. Which keys exist, what they take and
//! who may set them is the table in `key`; a setting is added there and nowhere else.

pub mod agent_variables;
pub mod chord;
pub mod confine;
pub mod edit;
pub mod error;
pub mod family;
pub mod grant;
pub mod key;
pub mod layer;
pub mod project_env;
pub mod resolve;
pub mod schema;
pub mod value;

#[cfg(test)]
mod tests;

pub use edit::{set_key, unset_key};
pub use error::{ConfigError, Place};
pub use grant::{GrantText, grants, local_grants};
pub use layer::{Layer, LayerKind, Origin, parse, parse_flags};
pub use resolve::{Config, Setting, Source, Trust, resolve};
pub use value::Value;
