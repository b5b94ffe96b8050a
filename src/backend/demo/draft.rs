//! The structured response as a turn collects it, and the work of a prompt without a script. Pure.

use serde_json::{Map, Value, json};

use crate::backend::demo::script::{Directive, Step};

/// What the agent says of itself wherever its script does not say otherwise.
const SCRIPTED: &str = "This is Coppice's scripted demo agent: no model was asked.";

/// A message that is not a structured response.
pub(crate) const INVALID: &str = "This is not a structured response, as the script wants it.";

/// The response in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    answer: Vec<String>,
    questions: Vec<Value>,
    summary: Option<Value>,
}

impl Draft {
    pub(crate) fn answer(&mut self, text: impl Into<String>) {
        self.answer.push(text.into());
    }

    pub(crate) fn ask(&mut self, question: &str, options: &[String]) {
        self.questions.push(json!({"text": question, "options": options}));
    }

    pub(crate) fn summarise(&mut self, turn: &str, session: &str) {
        self.summary = Some(json!({"turn": turn, "session": session}));
    }

    /// The one JSON object that ends a turn.
    pub(crate) fn response(&self, steps: usize) -> String {
        let mut object = Map::new();
        if !self.answer.is_empty() {
            object.insert("answer".to_owned(), json!(self.answer.join("\n\n")));
        } else if self.questions.is_empty() {
            let noun = if steps == 1 { "directive" } else { "directives" };
            object.insert("answer".to_owned(), json!(format!("{SCRIPTED} Its script had {steps} {noun}.")));
        }
        if !self.questions.is_empty() {
            object.insert("questions".to_owned(), json!(self.questions));
        }
        if let Some(summary) = &self.summary {
            object.insert("summary".to_owned(), summary.clone());
        }
        Value::Object(object).to_string()
    }
}

/// What the agent does when nobody tells it what to do: a note about the task, and one look at it.
pub(crate) fn default_steps(task: &str, turn: usize) -> Vec<Step> {
    let title = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("an empty task");
    let title: String = title.chars().take(100).collect();
    let path = format!("notes/{}.md", slug(&title));
    let directives = [
        Directive::Think("The task has no script, so a note about it has to do.".to_owned()),
        Directive::Append { path: path.clone(), text: format!("- turn {turn}: {title}\n") },
        Directive::Run(format!("wc -l {path}")),
        Directive::Answer(format!("{SCRIPTED} It wrote your task down in `{path}` and counted its lines.")),
        Directive::Summary { turn: format!("Note the task in {path}"), session: format!("Adds a note: {title}") },
    ];
    directives.into_iter().map(|directive| Step { line: 0, end: 0, directive }).collect()
}

/// A file name that needs no quoting.
fn slug(title: &str) -> String {
    let words: Vec<String> = title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let slug: String = words.join("-").chars().take(40).collect();
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "note".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_says_something_in_every_case() {
        let empty = Draft::default().response(3);
        assert_eq!(empty, format!("{{\"answer\":\"{SCRIPTED} Its script had 3 directives.\"}}"));
        let mut draft = Draft::default();
        draft.ask("Which?", &["a".to_owned()]);
        assert_eq!(draft.response(1), r#"{"questions":[{"text":"Which?","options":["a"]}]}"#);
        draft.answer("one");
        draft.answer("two");
        draft.summarise("t", "s");
        let value: Value = serde_json::from_str(&draft.response(1)).unwrap();
        assert_eq!(value["answer"], "one\n\ntwo");
        assert_eq!(value["summary"], json!({"turn": "t", "session": "s"}));
    }

    #[test]
    fn a_note_is_named_after_its_task() {
        for (title, expected) in
            [("Add a README!", "add-a-readme"), ("  ", "note"), ("日本語", "note"), ("../../etc", "etc")]
        {
            assert_eq!(slug(title), expected);
        }
        assert_eq!(slug(&"word ".repeat(30)).len(), 39);
    }
}
