//! The one decision about a call: fourteen steps in their order, of which the first that decides wins.
//!
//! A step is a function and knows nothing of the others. What forbids comes before everything that allows, so no rule,
//! no posture and no person opens what one of the first six steps has closed.

mod case;
mod line;
mod policy;
#[cfg(test)]
mod tests;
mod word_order;

use std::fmt;

use super::compact::Action;
use super::{Access, Audience, Call, Layer, Overlay, Posture, Scene, Subject, Verdict, floor};
use crate::tool::{ToolClass, ToolName};
use case::{Case, Clarity, Item};
use policy::{Opinion, Owner};

/// What an agent is told that nobody watches.
const NOBODY: &str = "nobody is there to allow this to a background agent; find another way inside the work tree, or say \
                      in your report what is left to do";

/// The reason that an agent gets when its command is denied for what it might run.
const POSSIBLE: &str = "\nBy its words, the command may run what the rule forbids. If it does not, write it as plain \
                        commands: without expansions, and with texts in files.";

/// One step, or a part of it: its verdict, if it decides.
type Step = fn(&Case<'_>) -> Option<Verdict>;

const FORBIDDING: [Step; 6] = [hard_floor, surface, path_guard, agent_veto, deny_rule, plan_gate];

const SETTLING: [Step; 7] = [hard_ask, boundary, yolo, plan_file, soft_ask, posture, soft_layers];

/// Decides about a call.
pub fn decide(call: &Call, scene: &Scene<'_>) -> Verdict {
    let case = Case::new(call, scene);
    let first = |steps: &[Step]| steps.iter().find_map(|step| step(&case));
    first(&FORBIDDING).unwrap_or_else(|| {
        let settled = first(&SETTLING).unwrap_or_else(|| tool_class(&case));
        nobody_to_ask(&case, settled)
    })
}

/// Whether a call that a verdict lets go ahead would be asked about by what its tool is.
pub fn is_spared(verdict: &Verdict, call: &Call, scene: &Scene<'_>) -> bool {
    verdict.action == Action::Allow && tool_class(&Case::new(call, scene)).action == Action::Ask
}

/// What happens with a call of a tool that nothing else decides about; `None` where that depends on the call, and for
/// tools that nobody knows.
pub fn usual(tool: &str) -> Option<Action> {
    match ToolName::read(tool).known()?.class() {
        ToolClass::Free => Some(Action::Allow),
        ToolClass::Asked => Some(Action::Ask),
        ToolClass::ByArguments => None,
    }
}

/// 1. What ends a machine or a home.
fn hard_floor(case: &Case<'_>) -> Option<Verdict> {
    let Subject::Command { text, cwd, .. } = &case.call.subject else { return None };
    floor::catastrophe_at_home(case.shell.as_ref()?, text, &case.scene.places.home, &cwd.real)
        .map(|reason| verdict(Action::Deny, Layer::HardFloor, None, reason))
}

/// 2. Tools that the agent does not have.
fn surface(case: &Case<'_>) -> Option<Verdict> {
    let is_missing = !(case.scene.has_tool)(case.tool());
    is_missing.then(|| verdict(Action::Deny, Layer::Surface, None, "tool not available to agent"))
}

/// 3. Secrets, our own data, git's own files; and all else that is outside, where nobody is there to be asked.
fn path_guard(case: &Case<'_>) -> Option<Verdict> {
    let refusal = case.refusal.as_ref().filter(|refusal| refusal.is_final() || case.is_alone())?;
    Some(verdict(Action::Deny, Layer::PathGuard, None, refusal.to_string()))
}

/// 4. What the agent's own file forbids.
fn agent_veto(case: &Case<'_>) -> Option<Verdict> {
    if case.scene.access == Access::ReadOnly && case.changes() {
        let reason = "this agent only reads; report what should change instead";
        return Some(verdict(Action::Deny, Layer::AgentVeto, None, reason));
    }
    denied_by_map(case, Owner::Agent, Layer::AgentVeto)
}

/// 5. What any file forbids.
fn deny_rule(case: &Case<'_>) -> Option<Verdict> {
    for file in &case.scene.rules.files {
        if let Some((rule, item)) = case.taking(&file.deny) {
            let mut reason = case.denial(item, rule.subject(), rule.pattern());
            if matches!(item, Item::Possible(_)) {
                reason.push_str(POSSIBLE);
            }
            return Some(verdict(Action::Deny, Layer::DenyRule, Some(format!("{rule} in {}", file.name)), reason));
        }
    }
    denied_by_map(case, Owner::Project, Layer::DenyRule)
}

fn denied_by_map(case: &Case<'_>, owner: Owner, layer: Layer) -> Option<Verdict> {
    let opinions = case.opinions(owner).iter().enumerate();
    let said = opinions.filter_map(|(at, opinion)| Some((case.items.get(at), opinion.as_ref()?)));
    let (item, opinion) = said.into_iter().find(|(_, opinion)| opinion.rule.action == Action::Deny)?;
    let item: &dyn fmt::Display = item.map_or(&"*", |item| item);
    let reason = case.denial(item, &opinion.rule.tool, &opinion.rule.pattern);
    Some(verdict(Action::Deny, layer, Some(opinion.to_string()), reason))
}

/// 6. Whatever changes something while a plan is made.
fn plan_gate(case: &Case<'_>) -> Option<Verdict> {
    if case.scene.posture != Posture::Plan {
        return None;
    }
    let is_open = match case.class() {
        Some(ToolClass::Free) => true,
        Some(ToolClass::Asked | ToolClass::ByArguments) => case.is_boundary() || case.writes_plan() || !case.changes(),
        None => case.is_boundary() || case.only_reads_elsewhere(),
    };
    if is_open {
        return None;
    }
    let plan = case.scene.places.plan.as_ref().map(|plan| format!(", write the plan to `{}`", plan.display()));
    let plan = plan.unwrap_or_default();
    let unavailable = match (case.clarity, case.opaque()) {
        (Clarity::Unreadable, Some(construct)) => format!("the command cannot be read: it has {construct}"),
        (_, Some(construct)) => format!("a command with {construct} does not count as reading in plan mode"),
        (_, None) if case.driver_in_the_way().is_some() => describe_driver(case),
        (_, None) => "tool unavailable in plan mode".to_owned(),
    };
    let reason =
        format!("{unavailable}: only read and search{plan}, and call `exit_plan_mode` when the plan is complete");
    Some(verdict(Action::Deny, Layer::PlanGate, None, reason))
}

/// 7. What would be asked about when nobody answers.
fn nobody_to_ask(case: &Case<'_>, settled: Verdict) -> Verdict {
    match (settled.action, case.scene.audience) {
        (Action::Ask, Audience::Nobody) => verdict(Action::Deny, Layer::NobodyToAsk, settled.rule, NOBODY),
        (Action::Ask, Audience::Person) | (Action::Allow | Action::Deny, Audience::Person | Audience::Nobody) => {
            settled
        }
    }
}

/// 8. What a file wants to be asked about, and what nobody but a person can judge.
fn hard_ask(case: &Case<'_>) -> Option<Verdict> {
    for file in &case.scene.rules.files {
        if let Some((rule, item)) = case.taking(&file.ask) {
            let reason = format!("a rule wants `{item}` to be asked about");
            return Some(verdict(Action::Ask, Layer::HardAsk, Some(format!("{rule} in {}", file.name)), reason));
        }
    }
    let reason = match case.clarity {
        Clarity::Clear => match &case.call.subject {
            Subject::Command { text, .. } => floor::describe_risk(case.shell.as_ref()?, text)?,
            Subject::Paths(_) | Subject::Url(_) | Subject::Mcp { .. } | Subject::Name(_) | Subject::Nothing => {
                return None;
            }
        },
        Clarity::Unreadable => match case.opaque() {
            Some(construct) => format!("the command cannot be read: it has {construct}"),
            None => "the command cannot be read".to_owned(),
        },
        Clarity::Pointless => "the call does not say what it is about".to_owned(),
        Clarity::ForeignHost => {
            "the host has letters outside of ASCII, which may stand for others; write it as `xn--…`".to_owned()
        }
    };
    Some(verdict(Action::Ask, Layer::HardAsk, None, reason))
}

/// 9. What changes the posture itself, or the bounds of the sandbox.
fn boundary(case: &Case<'_>) -> Option<Verdict> {
    let reason = "only a person changes what a session may do";
    case.is_boundary().then(|| verdict(Action::Ask, Layer::Boundary, None, reason))
}

/// 10. What lies over the posture.
fn yolo(case: &Case<'_>) -> Option<Verdict> {
    match case.scene.overlay {
        Overlay::None => None,
        Overlay::Yolo => Some(verdict(Action::Allow, Layer::Yolo, None, "nothing is asked about in this session")),
    }
}

/// 11. The plan, while it is made.
fn plan_file(case: &Case<'_>) -> Option<Verdict> {
    case.writes_plan()
        .then(|| verdict(Action::Allow, Layer::PlanFile, None, "the plan may be written while it is made"))
}

/// 12. What the posture lets go ahead by itself.
fn posture(case: &Case<'_>) -> Option<Verdict> {
    let goes_ahead = match case.scene.posture {
        Posture::Attended => false,
        Posture::Plan => case.reads_inside(),
        Posture::Edits => case.reads_inside() || case.edits_inside(),
        Posture::Unattended => case.works_inside(),
    };
    let posture = case.scene.posture.as_str();
    let reason = || match case.call.subject {
        Subject::Command { .. } if case.is_held() => format!("`{posture}` asks nothing about what the sandbox holds"),
        _ => format!("`{posture}` lets it go ahead in the work tree"),
    };
    goes_ahead.then(|| verdict(Action::Allow, Layer::AcceptEdits, None, reason()))
}

/// 13. What the agent's file, the project's map, rules of files and a person said last, where that is `ask`.
fn soft_ask(case: &Case<'_>) -> Option<Verdict> {
    let words = (0..case.items.len()).filter_map(|at| last_word(case, at));
    let (_, rule) = words.into_iter().find(|(action, _)| *action == Action::Ask)?;
    Some(verdict(Action::Ask, Layer::Rules, Some(rule), "a rule wants it to be asked about"))
}

/// 13. The same words, where all of them allow.
fn soft_layers(case: &Case<'_>) -> Option<Verdict> {
    let word = |(at, item): (usize, &Item)| match (item, last_word(case, at)) {
        // Only rules that forbid are about what may run.
        (Item::Possible(_), None) => None,
        (Item::Command(_), None) if case.needs_no_word(at) => None,
        (_, word) => Some(word),
    };
    let words: Vec<_> = case.items.iter().enumerate().filter_map(word).collect();
    let mut rules: Vec<_> = words.into_iter().collect::<Option<Vec<_>>>()?.into_iter().map(|(_, rule)| rule).collect();
    rules.dedup();
    let is_said = !rules.is_empty();
    is_said.then(|| verdict(Action::Allow, Layer::Rules, Some(rules.join(", ")), "a rule allows it"))
}

/// What is said about one item last.
fn last_word(case: &Case<'_>, at: usize) -> Option<(Action, String)> {
    let item = case.items.get(at)?;
    if let Some(grant) = case.scene.grants.iter().rfind(|rule| case.gives(rule, item)) {
        return Some((Action::Allow, format!("{grant} for this session")));
    }
    for file in case.scene.rules.files.iter().rev() {
        if let Some(rule) = file.allow.iter().rfind(|rule| case.gives(rule, item)) {
            return Some((Action::Allow, format!("{rule} in {}", file.name)));
        }
    }
    let counts = |opinion: &&Opinion<'_>| opinion.counts(case.scene.agent_word);
    let owners = [Owner::Project, Owner::Agent].into_iter();
    let said = owners.filter_map(|owner| case.opinions(owner).get(at)?.as_ref().filter(counts)).next();
    said.map(|opinion| (opinion.rule.action, opinion.to_string()))
}

/// 14. What the tool is.
fn tool_class(case: &Case<'_>) -> Verdict {
    if let Some(refusal) = &case.refusal {
        return verdict(Action::Ask, Layer::PathGuard, None, refusal.to_string());
    }
    if let Some(construct) = case.opaque() {
        let reason = format!("Coppice cannot tell what the command runs: it has {construct}; no rule allows that");
        return verdict(Action::Ask, Layer::ToolClass, None, reason);
    }
    if case.driver_in_the_way().is_some() {
        return verdict(Action::Ask, Layer::ToolClass, None, describe_driver(case));
    }
    let (action, reason) = match case.class() {
        Some(ToolClass::Free) if case.runs_unheld() => {
            (Action::Ask, "it starts a language server, which runs code of the project that no sandbox holds")
        }
        Some(ToolClass::Free) => (Action::Allow, "it changes nothing outside of the session"),
        Some(ToolClass::Asked | ToolClass::ByArguments) if case.asks_git_openly() => {
            (Action::Allow, "it only looks at history")
        }
        Some(ToolClass::Asked) if case.reads_inside() => (Action::Allow, "it only reads in the work tree"),
        Some(ToolClass::Asked | ToolClass::ByArguments) if case.leads_to_kept_file() => {
            (Action::Ask, "it may show a file that may not be read")
        }
        Some(ToolClass::Asked) if case.only_looks() => {
            (Action::Ask, "it may read outside of the work tree, and no rule allows it")
        }
        Some(ToolClass::Asked) if case.reads_credentials() => {
            (Action::Ask, "it names a file that may hold secrets, and no rule allows it")
        }
        Some(ToolClass::Asked | ToolClass::ByArguments) if case.names_kept_file() => {
            (Action::Ask, "it names a file that a rule keeps from being read")
        }
        Some(ToolClass::Asked | ToolClass::ByArguments) => {
            (Action::Ask, "it may change something, and no rule allows it")
        }
        None if case.is_trusted_to_read() => (Action::Allow, "a trusted server says that it only reads"),
        None => (Action::Ask, "nobody knows what it does, and no rule allows it"),
    };
    verdict(action, Layer::ToolClass, None, reason)
}

/// Why a call of git is not mere reading.
fn describe_driver(case: &Case<'_>) -> String {
    let setting = case.driver_in_the_way().unwrap_or_default();
    format!("git runs a program when it reads files here: `{setting}` of its configuration")
}

fn verdict(action: Action, layer: Layer, rule: Option<String>, reason: impl Into<String>) -> Verdict {
    Verdict { action, layer, rule, reason: reason.into() }
}
