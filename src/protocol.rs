//! The structured response that ends every turn, and the prompts that ask for it.
//!
//! Text in, values out: nothing here knows a backend, a clock or a file. Messages of the daemon's socket are `api`,
//! and a CLI's own JSON stays inside its backend.

mod find;
pub mod findings;
pub mod naming;
pub mod parse;
pub mod prompt;
pub mod resolution;
pub mod response;
mod scan;
pub mod schema;
pub mod stream;
mod wire;

#[cfg(test)]
mod tests;

pub use parse::{Refusal, ResponseError, parse};
pub use response::{Question, Response, Summary};
pub use schema::{SchemaDialect, schema_text, transport_schema};
pub use stream::AnswerStream;
