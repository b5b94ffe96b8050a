//! Plans: what they are called, what a person can decide about one, and what the next turn is told.

use super::{Plan, PlanAction, PlanDecision, PlanSource, key};

/// The purpose of the question with which a planner ends a plan.
pub const SAVE_PLAN: &str = "planner_save_plan";

/// The purpose of the question that a person gets.
pub const PLAN_DECISION: &str = "planner_plan_decision";

/// What a person is asked.
pub const DECISION_QUESTION: &str = "What should happen with the completed plan?";

/// What a person reads after `Stop`.
pub const STOPPED: &str = "Stopped. The plan was not saved or applied.";

const READ_ONLY: &str = "the plan cannot be applied: the session is read-only";

const SAVE: &str = "Save plan";
const APPLY: &str = "Apply plan";
const REVISE: &str = "Revise plan";
const STOP: &str = "Stop";

/// Leaves room for the ending in any file system.
const SLUG_CHARS: usize = 80;

/// Whether the session may act on a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applying {
    Offered,
    /// The session is read-only.
    Withheld,
}

impl Plan {
    /// A plan out of the text that the planner showed.
    pub fn new(id: String, markdown: &str, request: &str, source: PlanSource) -> Self {
        Self { id, title: title(markdown, request), markdown: markdown.trim().to_owned(), source }
    }

    /// The name of its file: after the session, else the task, else the plan itself.
    pub fn file_name(&self, session: &str, task: &str) -> String {
        let mut slugs = [session, task, &self.title].into_iter().map(slug).filter(|slug| !slug.is_empty());
        match slugs.next() {
            Some(slug) if slug == "plan" || slug.ends_with("-plan") => format!("{slug}.md"),
            Some(slug) => format!("{slug}-plan.md"),
            None => "plan.md".to_owned(),
        }
    }

    /// What the engineer who carries the plan out is told.
    pub fn apply_prompt(&self) -> String {
        format!(
            "A person has read the plan below and wants it carried out. Do it step by step, in its order. Check each \
             step before the next. Where the code shows that the plan is wrong, do what its intention asks for and say \
             where you left it.\n\n# Plan: {}\n\n{}",
            self.title, self.markdown
        )
    }

    /// What the planner who revises the plan is told.
    pub fn revise_prompt(&self, wish: Option<&str>) -> String {
        let wish = wish.unwrap_or("No more was said: find its weakest parts yourself and improve them.");
        format!(
            "A person has read the plan below and wants it revised:\n\n{wish}\n\nShow the whole revised plan, not only \
             what changes. Then call `question` with the purpose `planner_save_plan` again.\n\n# Plan: {}\n\n{}",
            self.title, self.markdown
        )
    }
}

/// Checks a planner's call that ends a plan: its question is replaced by ours, so it must have a plan to ask about.
pub fn check_save_plan(options: &[String], shown: &str) -> Result<(), String> {
    if options.len() != 2 {
        return Err(format!(
            "question failed: {SAVE_PLAN} requires exactly two options: one that accepts the plan and one that \
             revises it."
        ));
    }
    match shown.trim() {
        "" => Err("question failed: show the complete plan as text first, then ask again.".to_owned()),
        _ => Ok(()),
    }
}

/// What a person can choose, in order.
pub fn decision_options(applying: Applying) -> Vec<String> {
    offered(applying).into_iter().map(|(label, _)| label.to_owned()).collect()
}

/// Reads a person's answer: an option or its number, or else what to revise.
pub fn read_decision(answer: &str, applying: Applying) -> Result<PlanDecision, String> {
    let answer = answer.trim();
    let offered = offered(applying);
    if answer.is_empty() {
        return Err(format!("a decision is needed: {}", decision_options(applying).join(", ")));
    }
    if let Some(action) = key(answer) {
        return keyed(action, applying);
    }
    if let Ok(number) = answer.parse::<usize>() {
        let chosen = number.checked_sub(1).and_then(|place| offered.get(place));
        return chosen.map(|(_, decision)| decision.clone()).ok_or_else(|| {
            format!("`{number}` is not one of the {} options: {}", offered.len(), decision_options(applying).join(", "))
        });
    }
    if let Some((_, decision)) = offered.iter().find(|(label, _)| label.eq_ignore_ascii_case(answer)) {
        return Ok(decision.clone());
    }
    if answer.eq_ignore_ascii_case(APPLY) {
        return Err(READ_ONLY.to_owned());
    }
    let told = answer.split_once(':').filter(|(label, _)| label.trim().eq_ignore_ascii_case(REVISE));
    let wish = told.map_or(answer, |(_, wish)| wish.trim());
    Ok(PlanDecision::Revise((!wish.is_empty()).then(|| wish.to_owned())))
}

/// The keys of the card mean the same whoever made the plan.
fn keyed(action: PlanAction, applying: Applying) -> Result<PlanDecision, String> {
    match (action, applying) {
        (PlanAction::AcceptEdits | PlanAction::KeepAsking, Applying::Offered) => Ok(PlanDecision::Apply),
        (PlanAction::AcceptEdits | PlanAction::KeepAsking, Applying::Withheld) => Err(READ_ONLY.to_owned()),
        (PlanAction::Later, _) => Ok(PlanDecision::Save),
        (PlanAction::KeepPlanning(wish), _) => Ok(PlanDecision::Revise(wish)),
        (PlanAction::Stop, _) => Ok(PlanDecision::Stop),
    }
}

/// What a person reads after `Save plan`.
pub fn saved_message(path: &str) -> String {
    format!("Saved plan to `{path}`.")
}

fn offered(applying: Applying) -> Vec<(&'static str, PlanDecision)> {
    let apply = match applying {
        Applying::Offered => Some((APPLY, PlanDecision::Apply)),
        Applying::Withheld => None,
    };
    let revise = (REVISE, PlanDecision::Revise(None));
    [Some((SAVE, PlanDecision::Save)), apply, Some(revise), Some((STOP, PlanDecision::Stop))]
        .into_iter()
        .flatten()
        .collect()
}

/// The first heading outside of code, else the first line of what was asked for.
fn title(markdown: &str, request: &str) -> String {
    let mut in_code = false;
    let heading = markdown.lines().map(str::trim).find_map(|line| {
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        }
        let text = line.trim_start_matches('#');
        let level = line.len() - text.len();
        let is_heading = !in_code && (1..=6).contains(&level) && text.starts_with(' ');
        let text = text.trim().trim_end_matches('#').trim_end();
        (is_heading && !text.is_empty()).then_some(text)
    });
    let asked = || request.lines().map(str::trim).find(|line| !line.is_empty());
    heading.or_else(asked).unwrap_or("Plan").to_owned()
}

fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(SLUG_CHARS).collect();
    slug.trim_end_matches('-').to_owned()
}
