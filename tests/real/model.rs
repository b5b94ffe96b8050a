//! Model servers of our own: one script language, played in the words of three providers on loopback.

mod anthropic;
pub(crate) mod call;
mod chat;
mod cloud;
mod dialect;
mod google;
mod openai;
pub(crate) mod script;
mod server;

pub(crate) use dialect::Dialect;
pub(crate) use server::Model;
