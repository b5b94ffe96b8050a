//! Variables that the user's own configuration of an agent program names: the names of keys that a person chose there are
//! on no list. Pure: the caller reads the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

/// The variable that names the directory of the configuration, its default below the home directory, and the file.
const DIRECTORY_VARIABLE: &str = "CODEX_HOME";
const DEFAULT_DIRECTORY: &str = ".codex";
const FILE: &str = "config.toml";

/// Providers of models in AWS, and the variables that their login may need.
const AWS_PROVIDERS: &[&str] = &["amazon-bedrock", "amazon-bedrock-runtime"];
const AWS_VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONFIG_FILE",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// Whether a provider of models takes its login from AWS.
pub fn is_aws_provider(name: &str) -> bool {
    AWS_PROVIDERS.contains(&name)
}

/// Finds the variables that the configuration in use names. `variable` looks up a variable, `read` reads a file.
pub fn find_named_variables(
    variable: impl Fn(&str) -> Option<OsString>,
    read: impl Fn(&Path) -> Option<String>,
) -> Vec<String> {
    let directory = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = directory(DIRECTORY_VARIABLE).or_else(|| Some(directory("HOME")?.join(DEFAULT_DIRECTORY)));
    home.and_then(|home| read(&home.join(FILE))).map(|config| parse_named_variables(&config)).unwrap_or_default()
}

/// The variables that model providers take their keys and headers from. A configuration that cannot be read names none.
pub fn parse_named_variables(config: &str) -> Vec<String> {
    let Ok(document) = config.parse::<DocumentMut>() else { return Vec::new() };
    let uses_aws = document.get("model_provider").and_then(|name| name.as_str()).is_some_and(is_aws_provider);
    let mut names: Vec<_> = AWS_VARIABLES.iter().filter(|_| uses_aws).map(|&name| name.to_owned()).collect();
    let providers = document.get("model_providers").and_then(|item| item.as_table_like());
    for (_, provider) in providers.into_iter().flat_map(|providers| providers.iter()) {
        names.extend(provider.get("env_key").and_then(|key| key.as_str()).map(str::to_owned));
        let headers = provider.get("env_http_headers").and_then(|headers| headers.as_table_like());
        let variables = headers.into_iter().flat_map(|headers| headers.iter()).filter_map(|(_, name)| name.as_str());
        names.extend(variables.map(str::to_owned));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_other_providers_are_found_in_the_configuration() {
        let config = "model_provider = \"x\"\n[model_providers.x]\nenv_key = \"X_KEY\"\n\
                      env_http_headers = { \"A\" = \"X_ORG\" }\n[model_providers.y]\nname = \"Y\"\n";
        assert_eq!(parse_named_variables(config), ["X_KEY", "X_ORG"]);
        let bedrock =
            parse_named_variables("model_provider = \"amazon-bedrock\"\n[model_providers.x]\nenv_key = \"X\"\n");
        assert!(
            bedrock.iter().any(|name| name == "AWS_PROFILE") && bedrock.iter().any(|name| name == "X"),
            "{bedrock:?}"
        );
        for config in ["model_providers.amazon-bedrock.aws.region = \"x\"", "= broken", "model_providers = 3", ""] {
            assert_eq!(parse_named_variables(config), Vec::<String>::new(), "{config}");
        }
    }

    #[test]
    fn the_configuration_is_read_where_the_agent_reads_it() {
        let config_in = |pairs: &[(&str, &str)]| {
            let variable = |wanted: &str| pairs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into());
            let read = |path: &Path| Some(format!("[model_providers.x]\nenv_key = \"{}\"\n", path.display()));
            find_named_variables(variable, read)
        };
        assert_eq!(config_in(&[("HOME", "/h"), ("CODEX_HOME", "/c")]), ["/c/config.toml"]);
        assert_eq!(config_in(&[("HOME", "/h"), ("CODEX_HOME", "")]), ["/h/.codex/config.toml"]);
        assert_eq!(config_in(&[]), Vec::<String>::new());
    }
}
