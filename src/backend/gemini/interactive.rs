//! The agent's own interface, in the home and under the policy of the session's turns.
//!
//! It stands in the work tree, because that is how it finds the conversation; the tree stays untrusted, so nothing that
//! lies there is taken as a setting.

use crate::backend::Launch;
use crate::backend::failure::Failure;
use crate::backend::interactive::Interactive;
use crate::backend::transport::spawn::SpawnRequest;

/// The argument that turns the program into a server.
const SERVER: &str = "--acp";

/// Prepares the interface for a person.
pub(crate) async fn prepare(mut launch: Launch) -> Result<Interactive, Failure> {
    launch.argv.retain(|word| word != SERVER);
    let (home, known) = (super::home_dir(&launch), launch.resume.clone());
    let (SpawnRequest { mut argv, env, needs, .. }, _) = super::prepare(&mut launch, None, home).await?;
    // One whose history the service refused can still be read.
    launch.resume = launch.resume.or(known);
    argv.extend(launch.opening());
    let request = SpawnRequest { argv, env, cwd: launch.cwd, needs };
    Ok(Interactive { request, beside: None, after: None })
}
