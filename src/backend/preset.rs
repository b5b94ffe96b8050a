//! Agents that speak the Agent Client Protocol and that Coppice knows how to run, as data: one row per agent.
//!
//! A row counts once the configuration names the agent. It opens as little as possible: the agent keeps its state in the
//! session, and the files of its login and settings are copied there before it starts.

use crate::backend::registry::from_config;
use crate::backend::spec::{Spec, StateDirectory};

/// What Coppice knows about one agent.
struct Preset {
    name: &'static str,
    command: &'static [&'static str],
    /// Set for the process, and not secret.
    env: &'static [(&'static str, &'static str)],
    state: &'static [State],
    /// Settings of ours, by the variable that leads to their file.
    settings: &'static [(&'static str, &'static str)],
    /// Directories that the agent insists on writing where the user has them.
    paths: &'static [&'static str],
    /// Prefixes of the variables with its keys and settings; none for an agent that works with any vendor's models.
    keys: &'static [&'static str],
    hosts: &'static [&'static str],
    install: &'static str,
    /// A command; absent where a key in the environment is the only way.
    login: Option<&'static str>,
    /// The variable with that key.
    key: Option<&'static str>,
}

/// A directory that a variable moves into the session.
struct State {
    variable: &'static str,
    user: &'static str,
    copied: &'static [&'static str],
    linked: &'static [&'static str],
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "opencode",
        command: &["opencode", "acp"],
        env: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            // Without rules of its user it asks about nothing. Questions of agents inside of it reach nobody.
            (
                "OPENCODE_PERMISSION",
                r#"{"bash":"ask","edit":"ask","read":"ask","webfetch":"ask","websearch":"ask","codesearch":"ask","task":"deny"}"#,
            ),
        ],
        state: &[
            // Commands of the agent see the same variable, so the toolchains stay where they are looked for.
            State {
                variable: "XDG_DATA_HOME",
                user: "~/.local/share",
                copied: &["opencode/auth.json"],
                linked: &["fnm", "mise", "pnpm", "uv"],
            },
            State { variable: "XDG_STATE_HOME", user: "~/.local/state", copied: &["opencode/model.json"], linked: &[] },
            State {
                variable: "XDG_CONFIG_HOME",
                user: "~/.config",
                copied: &["opencode/opencode.json", "opencode/opencode.jsonc", "opencode/config.json"],
                linked: &[],
            },
        ],
        settings: &[],
        paths: &[],
        keys: &[],
        hosts: &[],
        install: "npm install -g opencode-ai",
        login: Some("opencode auth login"),
        key: None,
    },
    Preset {
        name: "qwen",
        command: &["qwen", "--acp"],
        env: &[],
        state: &[State {
            variable: "QWEN_HOME",
            user: "~/.qwen",
            copied: &["oauth_creds.json", "settings.json", ".env"],
            linked: &[],
        }],
        // A sandbox has no terminals, in which every command would run otherwise.
        settings: &[(
            "QWEN_CODE_SYSTEM_SETTINGS_PATH",
            r#"{"tools":{"shell":{"enableInteractiveShell":false}},"privacy":{"usageStatisticsEnabled":false}}"#,
        )],
        paths: &[],
        keys: &["BAILIAN_", "DASHSCOPE_", "OPENAI_", "QWEN_"],
        hosts: &["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "portal.qwen.ai", "chat.qwen.ai"],
        install: "npm install -g @qwen-code/qwen-code",
        login: Some("qwen"),
        key: Some("OPENAI_API_KEY"),
    },
    Preset {
        name: "copilot",
        command: &["copilot", "--acp"],
        // A variable of the user's shell must not answer what Coppice is asked about.
        env: &[("COPILOT_ALLOW_ALL", "false"), ("COPILOT_AUTO_UPDATE", "false")],
        state: &[State { variable: "COPILOT_HOME", user: "~/.copilot", copied: &["config.json"], linked: &[] }],
        settings: &[],
        paths: &[],
        keys: &["COPILOT_", "GH_TOKEN"],
        hosts: &["api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com", "github.com"],
        install: "npm install -g @github/copilot",
        login: Some("copilot login"),
        key: None,
    },
    Preset {
        name: "vibe",
        command: &["vibe-acp"],
        env: &[("VIBE_BYPASS_TOOL_PERMISSIONS", "false")],
        state: &[State { variable: "VIBE_HOME", user: "~/.vibe", copied: &["config.toml", ".env"], linked: &[] }],
        settings: &[],
        paths: &[],
        keys: &["MISTRAL_", "VIBE_"],
        hosts: &["api.mistral.ai", "codestral.mistral.ai"],
        install: "pipx install mistral-vibe",
        login: Some("vibe --setup"),
        key: Some("MISTRAL_API_KEY"),
    },
    Preset {
        name: "cline",
        command: &["cline", "--acp"],
        env: &[],
        state: &[State {
            variable: "CLINE_DIR",
            user: "~/.cline",
            copied: &["data/globalState.json", "data/secrets.json", "data/settings/providers.json"],
            linked: &[],
        }],
        settings: &[],
        paths: &[],
        keys: &[],
        hosts: &[],
        install: "npm install -g cline",
        login: Some("cline auth"),
        key: None,
    },
    Preset {
        name: "auggie",
        command: &["auggie", "--acp"],
        env: &[("AUGMENT_DISABLE_AUTO_UPDATE", "1")],
        state: &[],
        settings: &[],
        // No variable moves it.
        paths: &["~/.augment"],
        keys: &["AUGMENT_"],
        hosts: &[],
        install: "npm install -g @augmentcode/auggie",
        login: Some("auggie login"),
        key: None,
    },
    Preset {
        name: "claude-acp",
        command: &["claude-agent-acp"],
        env: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")],
        // The login is not copied: whoever renews a copy ends the original.
        state: &[State { variable: "CLAUDE_CONFIG_DIR", user: "~/.claude", copied: &[], linked: &[] }],
        settings: &[],
        paths: &[],
        keys: &["ANTHROPIC_"],
        hosts: &["api.anthropic.com"],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        login: None,
        key: Some("ANTHROPIC_API_KEY"),
    },
    Preset {
        name: "codex-acp",
        // Its own sandbox does not work inside of another one, so every command would fail; and it has to ask for itself.
        command: &["codex-acp", "-c", "sandbox_mode=\"danger-full-access\"", "-c", "approval_policy=\"untrusted\""],
        env: &[],
        state: &[State { variable: "CODEX_HOME", user: "~/.codex", copied: &["config.toml"], linked: &[] }],
        settings: &[],
        paths: &[],
        keys: &["CODEX_API_KEY", "OPENAI_"],
        hosts: &["api.openai.com"],
        install: "npm install -g @zed-industries/codex-acp",
        login: None,
        key: Some("OPENAI_API_KEY"),
    },
];

/// The row of every agent, in the order in which they are listed.
pub fn specs() -> Vec<Spec> {
    PRESETS.iter().map(Preset::spec).collect()
}

impl Preset {
    fn spec(&self) -> Spec {
        let pairs = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
            pairs.collect::<Vec<_>>()
        };
        Spec {
            state_directories: self.state.iter().map(State::directory).collect(),
            state_files: pairs(self.settings),
            paths: owned(self.paths),
            keys: owned(self.keys),
            hosts: owned(self.hosts),
            install: Some(self.install.to_owned()),
            login: self.login.map(str::to_owned),
            key: self.key.map(str::to_owned),
            ..from_config(self.name, owned(self.command), pairs(self.env), Vec::new())
        }
    }
}

impl State {
    fn directory(&self) -> StateDirectory {
        StateDirectory {
            variable: self.variable.to_owned(),
            user: self.user.to_owned(),
            copied: owned(self.copied),
            linked: owned(self.linked),
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_places_of_the_user_and_nothing_wide() {
        for spec in specs() {
            let places = spec.paths.iter().chain(spec.state_directories.iter().map(|state| &state.user));
            for place in places {
                assert!(place.starts_with("~/"), "{}: {place}", spec.name);
            }
            for path in &spec.paths {
                assert!(
                    ![".cache", ".config", ".local", ".local/share"].contains(&&path[2..]),
                    "{}: {path}",
                    spec.name
                );
            }
            let shared = spec.state_directories.iter().flat_map(|state| state.copied.iter().chain(&state.linked));
            for file in shared {
                assert!(!file.starts_with('/') && !file.contains(".."), "{}: {file}", spec.name);
            }
        }
    }
}
