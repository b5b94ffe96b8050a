//! What this process hands over of its environment.

use std::{env, fs};

use crate::api::environment;
use crate::api::request::Environment;
use crate::config::agent_variables::find_named_variables;

/// The variables that a backend may see: those on the list, and those that the user's configuration of an agent names.
pub fn capture_environment() -> Environment {
    let named = find_named_variables(|name| env::var_os(name), |path| fs::read_to_string(path).ok());
    environment::capture(env::vars_os(), &named)
}
