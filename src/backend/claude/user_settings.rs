//! What sessions use of the user's own directory: login and model of `settings.json`, and the instructions. Hooks,
//! plugins, permissions and everything else is not taken over, and nothing is read from a repository.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::backend::claude::argv::value;
use crate::backend::login::ModelSetting;
use crate::backend::nested_instructions::describe_nested;
use crate::backend::user_file::read_json;
use crate::backend::user_instructions;

/// The settings, in the user's directory.
const FILE: &str = "settings.json";

/// The variable that chooses a model, before the settings do.
const MODEL_VARIABLE: &str = "ANTHROPIC_MODEL";

/// Settings that the program gets as they are.
const PASSED: &[&str] = &["awsCredentialExport", "model"];

/// The instructions of a project.
const PROJECT_INSTRUCTIONS: &str = "CLAUDE.md";

/// How deep the user's rules lie, and how many directories are searched for them.
const DEEPEST_RULES: usize = 5;
const RULE_DIRECTORIES: usize = 100;

/// The part of the user's settings that sessions use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UserSettings {
    /// Variables for the program; they replace those of the shell, as they do when the user starts it.
    pub(crate) env: Vec<(String, String)>,
    /// A command that prints a key.
    pub(crate) api_key_helper: Option<String>,
    pub(crate) passed: Map<String, Value>,
    /// What the user tells the program in every project.
    pub(crate) instructions: Option<String>,
}

impl UserSettings {
    /// Reads the settings of the user with this environment. A file that is missing or broken sets nothing.
    pub(crate) fn read(env: &[(String, String)]) -> Self {
        let Some(dir) = dir(env) else { return Self::default() };
        let found = read_json(&dir.join(FILE)).map(|settings| Self::select(&settings));
        let home = value(env, "HOME").map(Path::new);
        let files = [dir.join("CLAUDE.md")].into_iter().chain(rules(&dir)).collect();
        Self { instructions: user_instructions::read(files, home), ..found.unwrap_or_default() }
    }

    /// The same for a session in a work tree, whose instructions below its top are named to the model: the program does not
    /// look for them in a directory that was added.
    pub(super) fn read_for_tree(env: &[(String, String)], tree: &Path) -> Self {
        let mut settings = Self::read(env);
        if let Some(nested) = describe_nested(tree, &[PROJECT_INSTRUCTIONS]) {
            settings.instructions.get_or_insert_default().push_str(&nested);
        }
        settings
    }

    fn select(settings: &Value) -> Self {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        let env = settings["env"].as_object().into_iter().flatten();
        let passed = PASSED.iter().filter_map(|&name| Some((name.to_owned(), settings.get(name)?.clone())));
        Self {
            env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
            api_key_helper: settings["apiKeyHelper"].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned),
            passed: passed.filter(|(_, value)| value.is_string()).collect(),
            instructions: None,
        }
    }

    /// The model that the program takes when none is named, as far as the user chose one.
    pub(crate) fn model<'a>(&'a self, env: &'a [(String, String)]) -> Option<&'a str> {
        value(env, MODEL_VARIABLE).or_else(|| self.passed.get("model").and_then(Value::as_str))
    }
}

/// Why the user's settings cannot be read, with their place; reads a file.
pub(crate) fn find_settings_error(env: &[(String, String)]) -> Option<String> {
    read_json(&path(env)?).err()
}

/// The model that the program takes when none is named, and what chooses it; reads a file.
pub(crate) fn find_model_setting(env: &[(String, String)]) -> Option<ModelSetting> {
    let path = path(env).unwrap_or_default();
    let UserSettings { env: settings_env, passed, .. } = UserSettings::select(&read_json(&path).unwrap_or_default());
    ModelSetting::of_file(value(&settings_env, MODEL_VARIABLE), "env.ANTHROPIC_MODEL", &path)
        .or_else(|| ModelSetting::of_variable(env, MODEL_VARIABLE))
        .or_else(|| ModelSetting::of_file(passed.get("model").and_then(Value::as_str), "model", &path))
}

/// The user's instructions, if they are longer than what is handed over; reads files.
pub(crate) fn find_cut_instructions(env: &[(String, String)]) -> Option<PathBuf> {
    let is_cut = UserSettings::read(env).instructions.is_some_and(|text| user_instructions::is_cut(&text));
    dir(env).filter(|_| is_cut).map(|dir| dir.join("CLAUDE.md"))
}

/// Where the user's settings are.
pub(crate) fn path(env: &[(String, String)]) -> Option<PathBuf> {
    dir(env).map(|dir| dir.join(FILE))
}

fn dir(env: &[(String, String)]) -> Option<PathBuf> {
    let named = value(env, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    named.or_else(|| value(env, "HOME").map(|home| Path::new(home).join(".claude")))
}

/// The user's rules for every project, by name, with those in directories.
fn rules(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut searched) = (Vec::new(), 0);
    let mut left = vec![(dir.join("rules"), 0)];
    while let Some((directory, depth)) = left.pop().filter(|_| searched < RULE_DIRECTORIES) {
        searched += 1;
        for path in std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() && depth < DEEPEST_RULES {
                left.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn login_and_model_are_taken_over_and_the_rest_is_not() {
        let settings = json!({
            "env": {"ANTHROPIC_BASE_URL": "http://gateway", "CLAUDE_CODE_USE_BEDROCK": 1, "A": true, "B": {"x": 1}},
            "apiKeyHelper": "/bin/key", "model": "opus", "awsAuthRefresh": "aws sso login", "awsCredentialExport": "creds",
            "hooks": {"SessionStart": []}, "permissions": {"allow": ["Bash(*)"]}, "enabledPlugins": {"x": true}});
        let found = UserSettings::select(&settings);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found.env,
            [pair("ANTHROPIC_BASE_URL", "http://gateway"), pair("CLAUDE_CODE_USE_BEDROCK", "1"), pair("A", "true")]
        );
        assert_eq!(found.api_key_helper.as_deref(), Some("/bin/key"));
        assert_eq!(Value::Object(found.passed.clone()), json!({"awsCredentialExport": "creds", "model": "opus"}));
        assert_eq!(found.model(&[]), Some("opus"));
        assert_eq!(found.model(&[pair("ANTHROPIC_MODEL", "haiku")]), Some("haiku"));
        for odd in [json!(null), json!([]), json!({"env": [], "apiKeyHelper": " ", "model": 3})] {
            assert_eq!(UserSettings::select(&odd), UserSettings::default(), "{odd}");
        }
    }

    #[test]
    fn rules_in_directories_and_files_of_the_work_tree_count() {
        let place = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "words").unwrap();
        };
        for path in [".claude/rules/web/forms.md", ".claude/rules/a.md", ".claude/rules/b.txt", "tree/lib/CLAUDE.md"] {
            put(path);
        }
        let env = [("HOME".to_owned(), place.path().to_str().unwrap().to_owned())];
        let text = UserSettings::read_for_tree(&env, &place.path().join("tree")).instructions.unwrap();
        let named: Vec<_> = text.lines().filter(|line| line.contains('`')).collect();
        let named = named.join("\n").replace(place.path().to_str().unwrap(), "~");
        let rule = |name: &str| format!("Instructions of the user, from `~/.claude/rules/{name}`:\n");
        assert_eq!(named, rule("a.md") + &rule("web/forms.md") + "- `lib/CLAUDE.md`");
    }

    #[test]
    fn the_settings_are_found_where_the_program_looks() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let home = pair("HOME", "/h");
        assert_eq!(path(std::slice::from_ref(&home)), Some("/h/.claude/settings.json".into()));
        assert_eq!(path(&[home, pair("CLAUDE_CONFIG_DIR", "/c")]), Some("/c/settings.json".into()));
        assert_eq!(path(&[]), None);
    }
}
