//! `coppice mcp import`: takes over MCP servers that the agent programs have.

use crate::api::import::{ImportServers, ImportState, ImportableServer, ListServers, ServerImport};
use crate::cli::importable::{ImportRow, describe_command, describe_rows, describe_state};
use crate::cli::line::{Line, Tone, one_line};
use crate::cli::{Context, Exit, Failure, Format, FormatArg};
use crate::client::environment::capture_environment;

/// Lists the MCP servers of your own agent programs, or writes some of them to your configuration.
///
/// Read are the programs' files in your home directory, never those of a repository. Values of variables are copied and
/// not shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice mcp import
  coppice mcp import github db
  coppice mcp import db --from codex --as codex-db
  coppice mcp import --all")]
pub(super) struct ImportArgs {
    /// The servers to import, by the names that the list shows.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Import all that are ready.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Only servers of this backend.
    #[arg(long, value_name = "BACKEND")]
    from: Option<String>,
    /// What the server is called here; for one NAME.
    #[arg(long = "as", value_name = "NAME", requires = "names")]
    import_as: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: ImportArgs, context: &mut Context) -> Result<Exit, Failure> {
    let ImportArgs { names, all, from, import_as, format } = args;
    let (cwd, environment) = (Some(context.cwd()?), capture_environment(&[]));
    let client = context.client().await?;
    let is_list = names.is_empty() && !all;
    let found = if is_list {
        let mut found = client.importable_servers(&ListServers { cwd, environment }).await?;
        found.servers.retain(|server| from.as_ref().is_none_or(|from| server.backend == *from));
        found
    } else {
        client.import_servers(&ImportServers { cwd, environment, names, backend: from, import_as }).await?
    };
    match format.choice() {
        Format::Json => context.output.json(&found)?,
        Format::Human => {
            context.output.lines(&if is_list { describe_list(&found) } else { describe_import(&found) })?;
            let broken = found.broken.iter().map(|file| Line::toned(Tone::Warn, "warning:").plain(format!(" {file}")));
            context.output.say_all(&broken.collect::<Vec<_>>())?;
        }
    }
    Ok(Exit::Done)
}

fn describe_list(found: &ServerImport) -> Vec<Line> {
    let states = found.servers.iter().map(|server| server.state);
    let command = describe_command(states, "coppice mcp import NAME…", &found.target);
    describe_servers(&found.servers).into_iter().chain(command).collect()
}

fn describe_import(found: &ServerImport) -> Vec<Line> {
    let mut lines = describe_servers(&found.servers);
    let is_imported = |server: &&ImportableServer| server.state == ImportState::Imported;
    if let Some(first) = found.servers.iter().find(is_imported) {
        let name = &first.import_as;
        let target = one_line(&found.target);
        lines.extend([
            Line::new(),
            Line::new().dim(format!("added to {target}; sessions start these servers with their next prompt")),
            Line::new()
                .dim("every call needs your approval until a rule such as ")
                .plain(format!("MCP({name}/TOOL)"))
                .dim(" allows it; to let read-only tools go ahead:"),
            Line::new().plain(format!("coppice config set mcp.servers.{name}.trust true")),
        ]);
    }
    lines
}

fn describe_servers(servers: &[ImportableServer]) -> Vec<Line> {
    if servers.is_empty() {
        return vec![Line::new().dim("none of your agent programs has an MCP server of its own")];
    }
    describe_rows(servers.iter().map(row).collect())
}

fn row(server: &ImportableServer) -> ImportRow<'_> {
    let variables = match server.variables.as_slice() {
        [] => Line::new(),
        names => Line::new().dim(format!("  with {}", one_line(&names.join(", ")))),
    };
    let command = Line::new().plain(one_line(&server.command.join(" "))).then(variables);
    let (name, file) = (Line::new().strong(one_line(&server.name)), Line::new().dim(one_line(&server.file)));
    ImportRow { cells: vec![name, describe_state(server.state), file, command], note: server.note.as_deref() }
}
