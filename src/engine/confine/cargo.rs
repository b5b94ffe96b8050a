//! The user's settings for cargo, as sessions get them: mirrors and flags of builds, and nothing that logs in somewhere.
//!
//! Keys belong into `credentials.toml`, which no session reads, but old and hand-written settings hold them too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::visit_mut::{self, VisitMut};
use toml_edit::{Array, DocumentMut, Item, KeyMut, TableLike, Value};

use crate::api::request::Environment;
use crate::backend::user_file;

use super::places;
use super::registries::{FilteredSettings, has_login, is_secret_name};

/// The files that cargo reads its settings from; the first counts.
const FILES: [&str; 2] = ["config", "config.toml"];

/// The user's own settings, and where they are.
pub(super) fn read_settings(env: &Environment) -> Option<(PathBuf, FilteredSettings)> {
    let home = places::cargo_home(env)?;
    let path = FILES.iter().map(|name| home.join(name)).find(|path| path.is_file())?;
    let text = user_file::read_text(&path).ok()?;
    Some((path, without_secrets(&text)))
}

/// The user's file itself, if it holds no secret. Where a session sees it without being able to read it, cargo fails.
pub(super) fn open_settings(env: &Environment) -> Option<PathBuf> {
    read_settings(env).filter(|(_, settings)| !settings.has_secrets).map(|(path, _)| path)
}

/// Writes the copy for sessions.
pub(super) fn write_settings(path: &Path, env: &Environment) -> io::Result<()> {
    let text = read_settings(env).map(|(_, settings)| settings.text).unwrap_or_default();
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    super::write_if_other(path, &text)
}

/// Settings without names and values that may be secrets, and without comments. A file that cannot be read has none.
fn without_secrets(text: &str) -> FilteredSettings {
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        return FilteredSettings { text: String::new(), has_secrets: true };
    };
    let mut filter = SecretFilter::default();
    filter.visit_document_mut(&mut document);
    document.set_trailing("");
    // A key that is commented out is one all the same.
    let is_commented =
        |line: &str| line.split('#').skip(1).any(|comment| is_secret_name(comment) || has_login(comment));
    let has_secrets = filter.has_found || text.lines().any(is_commented);
    FilteredSettings { text: document.to_string(), has_secrets }
}

#[derive(Default)]
struct SecretFilter {
    has_found: bool,
}

impl SecretFilter {
    fn is_secret(name: &str, item: &Item) -> bool {
        let is_proxy_login = || name == "proxy" && item.as_str().is_some_and(|value| value.contains('@'));
        is_secret_name(name) || is_proxy_login() || item.as_value().is_some_and(holds_login)
    }
}

impl VisitMut for SecretFilter {
    fn visit_table_like_mut(&mut self, table: &mut dyn TableLike) {
        let secrets = table.iter().filter(|(name, item)| Self::is_secret(name, item)).map(|(name, _)| name.to_owned());
        for name in secrets.collect::<Vec<_>>() {
            table.remove(&name);
            self.has_found = true;
        }
        visit_mut::visit_table_like_mut(self, table);
    }

    fn visit_table_mut(&mut self, table: &mut toml_edit::Table) {
        table.decor_mut().clear();
        visit_mut::visit_table_mut(self, table);
    }

    fn visit_table_like_kv_mut(&mut self, mut key: KeyMut<'_>, item: &mut Item) {
        key.leaf_decor_mut().clear();
        visit_mut::visit_table_like_kv_mut(self, key, item);
    }

    fn visit_array_mut(&mut self, array: &mut Array) {
        array.set_trailing("");
        visit_mut::visit_array_mut(self, array);
    }

    fn visit_value_mut(&mut self, value: &mut Value) {
        value.decor_mut().clear();
        visit_mut::visit_value_mut(self, value);
    }
}

/// Whether a value holds an address with a password in it.
fn holds_login(value: &Value) -> bool {
    match value {
        Value::String(text) => has_login(text.value()),
        Value::Array(values) => values.iter().any(holds_login),
        // Its entries are looked at one by one.
        Value::InlineTable(_) => false,
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_secret_stays() {
        let text = "[alias]\nt = \"test\"\n\n[registries.ours]\nindex = \"ssh://git@example.org/index\"\n\n\
                    [source.crates-io]\nreplace-with = \"mirror\"\n\n[build]\nrustflags = [\"-C\", \"x=1\"]\n";
        assert_eq!(without_secrets(text), FilteredSettings { text: text.to_owned(), has_secrets: false });
    }

    #[test]
    fn secrets_do_not_come_along_however_they_are_written() {
        for (text, rest) in [
            ("[registry]\ntoken = \"hush\"\ndefault = \"x\"\n", "[registry]\ndefault = \"x\"\n"),
            ("registry.token = \"hush\"\n", ""),
            ("registry = { token = \"hush\" }\n", "registry = {}\n"),
            ("[registries.a]\n\"token\" = \"hush\"\n", "[registries.a]\n"),
            ("[registries.a]\n'tok\u{65}n' = '''\nhush'''\n", "[registries.a]\n"),
            ("[registries]\na.secret-key = \"hush\"\na.index = \"x\"\n", "[registries]\na.index = \"x\"\n"),
            ("[credential-alias]\nx = [\"cmd\", \"hush\"]\n", ""),
            ("[http]\nproxy = \"me:hush@proxy:80\"\ntimeout = 3\n", "[http]\ntimeout = 3\n"),
            ("[http]\nproxy = \"http://me:hush@proxy:80\"\n", "[http]\n"),
            ("[source.a]\nregistry = \"sparse+https://hush@example.org/\"\n", "[source.a]\n"),
            ("[env]\nGITHUB_TOKEN = { value = \"hush\", force = true }\nA = \"1\"\n", "[env]\nA = \"1\"\n"),
            ("[build]\njobs = 2 # token = \"hush\"\n# password: hush\n", "[build]\njobs = 2\n"),
            ("# https://me:hush@x/\n[build]\njobs = 2\n", "[build]\njobs = 2\n"),
            ("[registry\ntoken = \"hush\"\n", ""),
        ] {
            let found = without_secrets(text);
            assert_eq!(found, FilteredSettings { text: rest.to_owned(), has_secrets: true }, "{text}");
        }
    }
}
