//! The command line: one file per subcommand, each parses, asks the daemon and shows.
//!
//! It is an ordinary client: it knows the socket's types and nothing behind them. stdout is data, stderr is talk.

mod age;
mod environment;
mod exit;
mod follow;
mod inbox;
mod line;
mod list;
mod output;
mod prompt;
mod report;
#[cfg(test)]
mod sample;
mod show;
mod status;
mod transcript;

/// Names one session on the command line.
#[derive(Debug, Clone, clap::Args)]
struct IdArg {
    /// The session's id, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,
}

/// Chooses the form of the data.
#[derive(Debug, Clone, Copy, clap::Args)]
struct FormatArg {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}
