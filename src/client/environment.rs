//! What this process hands over of its environment.

use std::env;

use crate::api::environment;
use crate::api::project::ConfigValue;
use crate::api::request::Environment;
use crate::config::agent_variables::find_named_variables;
use crate::config::project_env::is_passed;
use crate::paths::read_user_file;

/// The socket of the ssh agent in this process's environment: the daemon may have been started with one that is gone.
pub(super) fn find_ssh_agent() -> Option<String> {
    env::var("SSH_AUTH_SOCK").ok().filter(|socket| !socket.is_empty())
}

/// The variables that a session may see: those on the list, those that the user's configuration of an agent names, and
/// those that `env.pass` of the effective `settings` names.
pub fn capture_environment(settings: &[ConfigValue]) -> Environment {
    let named = find_named_variables(|name| env::var_os(name), read_user_file);
    let pass = settings.iter().find(|setting| setting.key == "env.pass").and_then(|setting| setting.value.as_array());
    let pass: Vec<String> = pass.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    environment::capture(env::vars_os(), |name| named.iter().any(|known| known == name) || is_passed(&pass, name))
}
