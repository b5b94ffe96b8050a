//! What the user's settings of Claude Code allow, as rules of their own file for all repositories.

use crate::api::error::{Error, ErrorKind};
use crate::api::import::{ImportRules, ImportState, ImportableRule, ListRules, RuleImport};
use crate::api::request::Environment;
use crate::permission::claude_rules::{AllowRule, read_allow_rules};
use crate::permission::describe_breadth;
use crate::permission::rule::{Rule, RuleError};

use super::super::Engine;
use super::super::fault::Fault;
use super::super::rules::{allow_everywhere, claude_settings, read_text, read_user_allow, user_file};

impl Engine {
    /// The rules that could be taken over.
    pub async fn importable_rules(&self, request: ListRules) -> Result<RuleImport, Error> {
        let (found, import) = self.find_rules(&self.accept_environment(request.environment))?;
        let known = self.own_rules()?;
        Ok(RuleImport { rules: found.iter().map(|rule| show(rule, self.judge_rule(rule, &known))).collect(), ..import })
    }

    /// Adds rules to the user's own file, all of them or none.
    pub async fn import_rules(&self, request: ImportRules) -> Result<RuleImport, Error> {
        let ImportRules { environment, rules: named } = request;
        let (mut found, import) = self.find_rules(&self.accept_environment(environment))?;
        let is_named = |rule: &AllowRule| named.contains(&rule.text);
        if let Some(text) = named.iter().find(|text| found.iter().all(|rule| rule.text != **text)) {
            let message = format!("`{}` has no `allow` rule `{text}`", import.source);
            return Err(Error::new(ErrorKind::NotFound, message).with_hint("`coppice permissions import` lists them"));
        }
        found.retain(|rule| named.is_empty() || is_named(rule));
        let known = self.own_rules()?;
        let (mut rules, mut added) = (Vec::new(), Vec::new());
        for rule in &found {
            let (mut state, note) = self.judge_rule(rule, &known);
            match (&rule.meaning, state) {
                (Err(_), ImportState::Unusable) if is_named(rule) => {
                    let error = Error::new(ErrorKind::Invalid, format!("rule `{}` was not imported", rule.text));
                    return Err(Error { causes: note.into_iter().collect(), ..error });
                }
                (Ok(meaning), ImportState::Ready | ImportState::ByName)
                    if is_named(rule) || state == ImportState::Ready =>
                {
                    added.extend(meaning.iter().cloned());
                    state = ImportState::Imported;
                }
                (Ok(_) | Err(_), _) => {}
            }
            rules.push(show(rule, (state, note)));
        }
        if !added.is_empty() {
            allow_everywhere(&user_file(&self.shared), &added)?;
        }
        Ok(RuleImport { rules, ..import })
    }

    /// How many rules could be added to the user's own file.
    pub(super) fn count_unused_rules(&self, environment: &Environment) -> Result<usize, Fault> {
        let ((found, _), known) = (self.find_rules(environment)?, self.own_rules()?);
        let can_be =
            |rule: &&AllowRule| matches!(self.judge_rule(rule, &known).0, ImportState::Ready | ImportState::ByName);
        Ok(found.iter().filter(can_be).count())
    }

    fn find_rules(&self, environment: &Environment) -> Result<(Vec<AllowRule>, RuleImport), Fault> {
        let path = claude_settings(environment);
        let target = user_file(&self.shared).display().to_string();
        let mut import = RuleImport { source: path.display().to_string(), target, rules: Vec::new(), broken: None };
        let found = match read_text(&path) {
            Ok(None) => Ok(Vec::new()),
            Ok(Some(text)) => {
                read_allow_rules(&text, &self.shared.settings.home).map_err(|why| format!("{}:{why}", path.display()))
            }
            Err(error) => Err(format!("{}: {error}", path.display())),
        };
        let found = found.unwrap_or_else(|broken| {
            import.broken = Some(broken);
            Vec::new()
        });
        Ok((found, import))
    }

    fn own_rules(&self) -> Result<Vec<Rule>, Fault> {
        read_user_allow(&user_file(&self.shared), &self.shared.settings.home)
    }

    /// Decides whether a rule can be taken over; `known` is what the user's own file allows.
    fn judge_rule(&self, rule: &AllowRule, known: &[Rule]) -> (ImportState, Option<String>) {
        match &rule.meaning {
            Err(RuleError::Shape(_)) => (ImportState::Unusable, Some("not of the form `Tool(pattern)`".to_owned())),
            Err(RuleError::Subject { .. }) => (ImportState::Unusable, Some("Coppice has no such tool".to_owned())),
            Err(RuleError::Pattern { source, .. }) => {
                (ImportState::Unusable, Some(format!("invalid pattern: {source}")))
            }
            Ok(meaning) if meaning.iter().all(|rule| known.contains(rule)) => (ImportState::Present, None),
            Ok(meaning) => match meaning.iter().find_map(|rule| describe_breadth(rule, &self.shared.settings.home)) {
                Some(breadth) => (ImportState::ByName, Some(breadth)),
                None => (ImportState::Ready, None),
            },
        }
    }
}

fn show(rule: &AllowRule, (state, note): (ImportState, Option<String>)) -> ImportableRule {
    let means = rule.meaning.iter().flatten().map(Rule::to_string).collect();
    ImportableRule { rule: rule.text.clone(), means, state, note }
}
