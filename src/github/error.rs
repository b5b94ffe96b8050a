//! Why GitHub did not answer as wished, told apart by what a person or a model can do about it.

use std::io;

/// Why a request to GitHub failed.
#[derive(Debug, thiserror::Error)]
pub enum GitHubError {
    #[error("there is no login for GitHub")]
    NoLogin,
    #[error("`github.api_url` cannot be `{url}`: {reason}")]
    BadBase { url: String, reason: &'static str },
    #[error("GitHub does not know the token")]
    BadToken,
    #[error("GitHub does not allow it: {message}")]
    Forbidden { message: String },
    #[error("GitHub takes no more requests{}", when(*.reset, *.after))]
    RateLimited {
        /// When it takes requests again, in seconds since 1970.
        reset: Option<i64>,
        /// In how many seconds it does.
        after: Option<u64>,
    },
    #[error("GitHub has no such thing, or the login may not see it")]
    NotFound,
    #[error("GitHub refuses it: {message}")]
    Refused { message: String },
    #[error("GitHub sends the request elsewhere, and a token does not go there")]
    Moved,
    #[error("GitHub answers with status {code}: {message}")]
    Status { code: u16, message: String },
    #[error("GitHub did not answer in time")]
    TimedOut,
    #[error("GitHub cannot be reached at `{host}`")]
    Unreachable { host: String, source: Box<ureq::Error> },
    #[error("the answer of GitHub broke off")]
    BrokenOff { source: io::Error },
    #[error("the answer of GitHub cannot be read")]
    Unreadable { source: serde_json::Error },
    #[error("the answer of GitHub is too long")]
    TooLong,
}

impl GitHubError {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = |text: &str| Some(text.to_owned());
        match self {
            Self::NoLogin | Self::BadToken => text(
                "set GITHUB_TOKEN, log in with `gh auth login`, or put a token into the file `github-token` beside config.toml",
            ),
            Self::BadBase { .. } => text("`coppice config set github.api_url https://api.github.com` is the default"),
            Self::Forbidden { .. } => {
                text("the login needs rights for the contents and pull requests of the repository")
            }
            Self::NotFound => text("check the remote `origin` and what the login may see"),
            Self::Moved => text("the repository may have another name: set the remote `origin` to it"),
            Self::RateLimited { .. }
            | Self::Refused { .. }
            | Self::Status { .. }
            | Self::TimedOut
            | Self::Unreachable { .. }
            | Self::BrokenOff { .. }
            | Self::Unreadable { .. }
            | Self::TooLong => None,
        }
    }

    /// Whether nothing can be asked at all, as opposed to one request that failed.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::NoLogin
            | Self::BadBase { .. }
            | Self::BadToken
            | Self::RateLimited { .. }
            | Self::TimedOut
            | Self::Unreachable { .. } => true,
            Self::Forbidden { .. }
            | Self::NotFound
            | Self::Refused { .. }
            | Self::Moved
            | Self::Status { .. }
            | Self::BrokenOff { .. }
            | Self::Unreadable { .. }
            | Self::TooLong => false,
        }
    }
}

fn when(reset: Option<i64>, after: Option<u64>) -> String {
    let reset = reset.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match (after, reset) {
        (Some(seconds), _) => format!(" for {seconds} seconds"),
        (None, Some(time)) => format!(" until {}", time.strftime("%Y-%m-%d %H:%M:%S UTC")),
        (None, None) => String::new(),
    }
}
