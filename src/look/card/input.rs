//! What a call was made with, whoever made it: the same thing has different names in different tools.

use serde_json::Value;

/// The input of a call; absent where the backend does not tell it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a>(pub(super) Option<&'a Value>);

impl<'a> Input<'a> {
    fn member(self, names: &[&str]) -> Option<&'a Value> {
        let input = self.0?;
        names.iter().filter_map(|name| input.get(name)).find(|value| !value.is_null())
    }

    /// The first of these that is a text with something in it.
    pub(super) fn text(self, names: &[&str]) -> Option<&'a str> {
        self.member(names).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn number(self, names: &[&str]) -> Option<u64> {
        self.member(names).and_then(Value::as_u64)
    }

    pub(super) fn is_set(self, names: &[&str]) -> bool {
        self.member(names) == Some(&Value::Bool(true))
    }

    /// A list of texts.
    pub(super) fn texts(self, names: &[&str]) -> Option<Vec<&'a str>> {
        let items = self.member(names)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).collect())
    }

    pub(super) fn items(self, names: &[&str]) -> Option<&'a [Value]> {
        self.member(names).and_then(Value::as_array).map(Vec::as_slice)
    }

    /// A text, or words in a list, as one would type them.
    pub(super) fn words(self, names: &[&str]) -> Option<String> {
        match self.texts(names) {
            Some(words) => Some(words.join(" ")),
            None => self.text(names).map(str::to_owned),
        }
    }

    /// The command of a shell; some agents tell it as the words that start the shell.
    pub(super) fn command(self) -> Option<String> {
        match self.texts(&["command", "cmd"]).as_deref() {
            Some([_, "-c" | "-lc", script]) => Some((*script).to_owned()),
            Some(words) => Some(words.join(" ")),
            None => self.text(&["command", "cmd"]).map(str::to_owned),
        }
    }
}
