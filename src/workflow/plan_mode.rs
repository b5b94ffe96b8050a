//! Plan mode: what a person can do with the plan of a session, in which words, and what follows from it.
//!
//! One card with the planner's decision: the plan is the same, but a session in plan mode also has a posture to leave.

use super::Plan;

/// What a person decides about the plan of a session in plan mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAction {
    /// It is carried out, and edits go ahead.
    AcceptEdits,
    /// It is carried out, and a person is asked as usual.
    KeepAsking,
    /// It waits, and the session leaves plan mode.
    Later,
    /// With what is to change, if it was said.
    KeepPlanning(Option<String>),
    /// It is not kept.
    Stop,
}

/// What a session may do by itself after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPosture {
    Plan,
    Attended,
    Edits,
    /// What it was before plan mode.
    Former,
}

/// What becomes of the turn that showed the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    GoesOn,
    Ends,
    /// It ends, because a turn in plan mode cannot change files, and another one carries the plan out.
    HandsOver,
}

/// One row of the card.
struct Choice {
    label: &'static str,
    /// What else is understood.
    words: &'static [&'static str],
    action: PlanAction,
}

const CHOICES: [Choice; 5] = [
    Choice {
        label: "[A] Approve and accept edits",
        words: &["a", "approve and accept edits", "accept edits", "edits"],
        action: PlanAction::AcceptEdits,
    },
    Choice {
        label: "[M] Approve and keep asking",
        words: &["m", "approve and keep asking", "approve", "manual"],
        action: PlanAction::KeepAsking,
    },
    Choice {
        label: "[L] Later: keep the plan and end the turn",
        words: &["l", "later", "save", "save plan"],
        action: PlanAction::Later,
    },
    Choice {
        label: KEEP,
        words: &["k", "keep planning", "revise", "revise plan"],
        action: PlanAction::KeepPlanning(None),
    },
    Choice { label: "[X] Stop: do not keep the plan", words: &["x", "stop"], action: PlanAction::Stop },
];

const KEEP: &str = "[K] Keep planning";

impl PlanAction {
    /// The decision as it is stored with the plan.
    pub fn word(&self) -> &'static str {
        match self {
            Self::AcceptEdits | Self::KeepAsking => "apply",
            Self::Later => "save",
            Self::KeepPlanning(_) => "revise",
            Self::Stop => "stop",
        }
    }

    pub fn posture(&self) -> NextPosture {
        match self {
            Self::AcceptEdits => NextPosture::Edits,
            Self::KeepAsking => NextPosture::Attended,
            Self::Later => NextPosture::Former,
            Self::KeepPlanning(_) | Self::Stop => NextPosture::Plan,
        }
    }

    pub fn course(&self) -> Course {
        match self {
            Self::AcceptEdits | Self::KeepAsking => Course::HandsOver,
            Self::Later | Self::Stop => Course::Ends,
            Self::KeepPlanning(_) => Course::GoesOn,
        }
    }

    /// What the call that showed the plan gives.
    pub fn told(&self) -> String {
        match self {
            Self::AcceptEdits | Self::KeepAsking => {
                "The plan is approved. This turn ends here, because it cannot change \
                                                     files; the next prompt asks you to carry the plan out."
                    .to_owned()
            }
            Self::Later => "The person keeps the plan for later. This turn ends here.".to_owned(),
            Self::KeepPlanning(wish) => refine(wish.as_deref()),
            Self::Stop => "The person stopped this and does not want the plan. This turn ends here.".to_owned(),
        }
    }

    /// What a turn that ends with the decision has answered.
    pub fn answer(&self, plan: &Plan) -> String {
        match self {
            Self::AcceptEdits | Self::KeepAsking | Self::KeepPlanning(_) => plan.markdown.clone(),
            Self::Later => format!("{}\n\n{KEPT}", plan.markdown),
            Self::Stop => super::STOPPED.to_owned(),
        }
    }
}

/// What a person reads after `Later`.
const KEPT: &str = "The plan is kept for later.";

/// What a person is shown: the whole plan, and what they are asked.
pub fn card(plan: &Plan) -> String {
    format!("{}\n\n{}", plan.markdown, super::DECISION_QUESTION)
}

/// What a person can choose, in order.
pub fn plan_actions() -> Vec<String> {
    CHOICES.iter().map(|choice| choice.label.to_owned()).collect()
}

/// Reads a person's answer: an option, its number, its letter or its words; anything longer is what to change.
pub fn read_action(answer: &str) -> Result<PlanAction, String> {
    let answer = answer.trim();
    let unknown = || format!("`{answer}` is none of {}", plan_actions().join(", "));
    if answer.is_empty() {
        return Err(format!("a decision is needed: {}", plan_actions().join(", ")));
    }
    if let Ok(number) = answer.parse::<usize>() {
        let chosen = number.checked_sub(1).and_then(|place| CHOICES.get(place));
        return chosen.map(|choice| choice.action.clone()).ok_or_else(unknown);
    }
    if let Some(choice) = CHOICES.iter().find(|choice| choice.is_called(answer)) {
        return Ok(choice.action.clone());
    }
    // A wrong key must not go to the model as a wish.
    if answer.chars().count() == 1 {
        return Err(unknown());
    }
    let named = |word: &str| CHOICES.iter().any(|choice| choice.label == KEEP && choice.is_called(word.trim()));
    let told = answer.split_once(':').filter(|(word, _)| named(word));
    let wish = told.map_or(answer, |(_, wish)| wish.trim());
    Ok(PlanAction::KeepPlanning((!wish.is_empty()).then(|| wish.to_owned())))
}

/// The action of a key of the card, where the answer is one.
pub fn key(answer: &str) -> Option<PlanAction> {
    let answer = answer.trim();
    let is_key = |choice: &&Choice| answer.chars().count() == 1 && choice.is_called(answer);
    CHOICES.iter().find(is_key).map(|choice| choice.action.clone())
}

impl Choice {
    fn is_called(&self, answer: &str) -> bool {
        self.label.eq_ignore_ascii_case(answer) || self.words.iter().any(|word| word.eq_ignore_ascii_case(answer))
    }
}

/// What a model is told that wants to leave plan mode without a plan.
pub fn no_plan(file: &str) -> String {
    format!(
        "exit_plan_mode was denied: the plan file `{file}` is missing or empty. Write the whole plan into it, then call \
         exit_plan_mode again."
    )
}

/// What a person reads about that.
pub fn no_plan_notice(file: &str) -> String {
    format!("the agent wanted to leave plan mode without a plan: `{file}` is missing or empty")
}

/// What a turn that goes on with a plan is told.
pub fn refine_prompt(plan: &Plan, wish: Option<&str>) -> String {
    format!("{}\n\n# Plan: {}\n\n{}", refine(wish), plan.title, plan.markdown)
}

/// What a session that takes up a kept plan is told.
pub fn resume_prompt(plan: &Plan, words: &str) -> String {
    match words.trim() {
        "" => plan.apply_prompt(),
        words => format!("{}\n\n# What the person adds\n\n{words}", plan.apply_prompt()),
    }
}

fn refine(wish: Option<&str>) -> String {
    let wish = wish.unwrap_or("No more was said: find its weakest parts yourself and improve them.");
    format!(
        "The person has read the plan and wants it refined before anything is carried out:\n\n{wish}\n\nStay in plan \
         mode: change the plan file, then call exit_plan_mode again."
    )
}
