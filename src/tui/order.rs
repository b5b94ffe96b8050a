//! Commands with words behind them, as the command line has them: what leaves the machine, what is looked at, and what
//! the next task is given.

#[cfg(test)]
mod tests;

use super::composer::{self, Target};
use super::model::Model;
use super::msg::{Request, ReviewAct};
use super::panel::{Depth, Look};
use super::{confirm, notice};
use crate::api::error::{Error, ErrorKind};
use crate::api::publish::{CreatePull, UpdatePull};
use crate::look::status;

/// Whose tools a task may ask for.
const PROFILES: [&str; 3] = ["native", "enforced", "readonly"];

/// What can be done with a pull request.
const PULL: [&str; 4] = ["show", "review", "create", "update"];

/// An act that is meant by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Order {
    Push,
    /// The pull request.
    Pull,
    Plans,
    Queue,
    Permissions,
    Tools,
    /// The agent's last response as it came.
    Raw,
    /// A model prepares the review.
    Review,
    /// What it said.
    Prepared,
    Base,
    Title,
    Profile,
    Draft,
}

impl Order {
    /// What can stand behind the word; `None` when nothing can.
    pub(crate) fn arguments(self) -> Option<Vec<String>> {
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        match self {
            Order::Pull => words(&PULL),
            Order::Profile => words(&PROFILES),
            Order::Raw => words(&["--raw"]),
            Order::Permissions => words(&["explain"]),
            // Names, numbers and texts: there is nothing to choose from.
            Order::Push | Order::Queue | Order::Base | Order::Title | Order::Review => Some(Vec::new()),
            Order::Plans | Order::Tools | Order::Draft | Order::Prepared => None,
        }
    }

    /// Whether it is about the task that is being written, so that the person stays there.
    pub(crate) fn is_of_task(self) -> bool {
        match self {
            Order::Base | Order::Title | Order::Profile | Order::Draft => true,
            Order::Push
            | Order::Pull
            | Order::Plans
            | Order::Queue
            | Order::Permissions
            | Order::Tools
            | Order::Raw
            | Order::Review
            | Order::Prepared => false,
        }
    }
}

/// The act as the palette has it: what needs words is begun in the composer.
pub(crate) fn alone(model: &mut Model, order: Order) -> Vec<Request> {
    let requests = match order {
        Order::Base => task(model).map(|()| composer::begin(model, "base")),
        Order::Title => task(model).map(|()| composer::begin(model, "title")),
        Order::Profile => task(model).map(|()| composer::begin(model, "profile")),
        Order::Push
        | Order::Pull
        | Order::Plans
        | Order::Queue
        | Order::Permissions
        | Order::Tools
        | Order::Raw
        | Order::Review
        | Order::Prepared
        | Order::Draft => run(model, order, ""),
    };
    requests.unwrap_or_else(|error| notice::fail(model, "", &error))
}

/// The act with the words behind it.
pub(crate) fn run(model: &mut Model, order: Order, words: &str) -> Result<Vec<Request>, Error> {
    Ok(match order {
        Order::Push => {
            let session = session(model)?;
            let branch = words.strip_prefix("--branch").map_or(words, str::trim);
            confirm::push(model, session, Some(branch.to_owned()).filter(|branch| !branch.is_empty()))
        }
        Order::Pull => return pull(model, words),
        Order::Plans => vec![Request::Plans],
        Order::Queue => match words.strip_prefix("--drop").map(str::trim) {
            None if words.is_empty() => vec![Request::Queue(session(model)?)],
            Some(number) if !number.is_empty() => {
                let number =
                    number.parse().map_err(|_| refusal(format!("`{number}` is not the number of a prompt")))?;
                vec![Request::Drop { session: session(model)?, number }]
            }
            Some(_) | None => return Err(refusal("a prompt is taken back by `--drop N`".to_owned())),
        },
        Order::Permissions => {
            let call = words.strip_prefix("explain").map_or(words, str::trim);
            let (tool, rest) = call.split_once(char::is_whitespace).unwrap_or((call, ""));
            // The least of all calls, for what is true of all of them.
            let (tool, rest) = if tool.is_empty() { ("Read", ".") } else { (tool, rest.trim()) };
            let arguments = Some(rest.to_owned()).filter(|rest| !rest.is_empty()).into_iter().collect();
            let session = session(model).ok();
            vec![Request::Look(Look::Explain { session, tool: tool.to_owned(), arguments })]
        }
        Order::Tools => vec![Request::Look(tools(model))],
        Order::Raw => match words {
            "" | "--raw" => vec![Request::Look(Look::Raw(session(model)?))],
            _ => return Err(refusal(format!("`{words}` is not `--raw`"))),
        },
        Order::Review => {
            let prepare = ReviewAct::Prepare { session: session(model)?, focus: words.to_owned() };
            let mut requests =
                notice::say(model, "a model reads the changes; a notice tells when it is done".to_owned());
            requests.push(Request::Review(prepare));
            requests
        }
        Order::Prepared => vec![Request::Look(Look::Prepared(session(model)?))],
        Order::Base => {
            let base = given(words);
            task(model)?;
            composer::choose_for_task(model, |choices| choices.base = base)
        }
        Order::Title => {
            let title = given(words);
            task(model)?;
            composer::choose_for_task(model, |choices| choices.title = title)
        }
        Order::Profile => {
            if !words.is_empty() && !PROFILES.contains(&words) {
                let known = PROFILES.map(|known| format!("`{known}`")).join(", ");
                return Err(refusal(format!("`{words}` is none of {known}")));
            }
            let profile = given(words);
            task(model)?;
            composer::choose_for_task(model, |choices| choices.profile = profile)
        }
        Order::Draft => {
            task(model)?;
            composer::choose_for_task(model, |choices| choices.draft = !choices.draft)
        }
    })
}

fn pull(model: &mut Model, words: &str) -> Result<Vec<Request>, Error> {
    let session = session(model)?;
    let (act, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let look = |depth| Ok(vec![Request::Look(Look::Pull { session: session.clone(), depth })]);
    match act {
        "" | "show" => look(Depth::Shown),
        "review" => look(Depth::Reviewed),
        "create" => {
            let mut create = CreatePull::default();
            for (name, text) in flags(rest, &["base", "title", "body", "draft"])? {
                match name {
                    "draft" if text.is_empty() => create.draft = true,
                    "draft" => return Err(refusal("`--draft` takes nothing behind it".to_owned())),
                    "base" => create.base = Some(some(name, text)?),
                    "title" => create.title = Some(some(name, text)?),
                    _ => create.body = Some(some(name, text)?),
                }
            }
            Ok(confirm::create_pull(model, session, create))
        }
        "update" => {
            let mut update = UpdatePull::default();
            for (name, text) in flags(rest, &["title", "body"])? {
                match name {
                    "title" => update.title = Some(some(name, text)?),
                    _ => update.body = Some(some(name, text)?),
                }
            }
            if update == UpdatePull::default() {
                return Err(refusal("an update has `--title TEXT`, `--body TEXT` or both".to_owned()));
            }
            Ok(confirm::update_pull(model, session, update))
        }
        _ => {
            let known = PULL.map(|known| format!("`{known}`")).join(", ");
            Err(refusal(format!("`{act}` is none of {known}")))
        }
    }
}

/// What the agent of the session in hand has, or that of the next task.
fn tools(model: &Model) -> Look {
    let Some(found) = session(model).ok().and_then(|id| model.world.sessions.get(&id)) else {
        let chosen = composer::in_force(model, &Target::Task);
        return Look::Tools { agent: chosen.agent, model: chosen.engines.into_iter().next(), profile: None };
    };
    let agent = found.agent.as_ref().map(|agent| match &found.persona {
        Some(persona) => format!("{agent}:{persona}"),
        None => agent.clone(),
    });
    let engine = status::engine(&found.backend, found.model.as_deref());
    Look::Tools { agent, model: Some(engine), profile: given(&found.profile) }
}

/// `--name text` and `--name`, in their order; a text goes on until the next name.
fn flags(words: &str, known: &[&'static str]) -> Result<Vec<(&'static str, String)>, Error> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let listed = || known.iter().map(|name| format!("`--{name}`")).collect::<Vec<_>>().join(", ");
    for word in words.split_whitespace() {
        match (word.strip_prefix("--"), found.last_mut()) {
            (Some(name), _) => match known.iter().find(|known| **known == name) {
                Some(name) => found.push((name, String::new())),
                None => return Err(refusal(format!("`{word}` is none of {}", listed()))),
            },
            (None, Some((_, text))) => {
                let gap = if text.is_empty() { "" } else { " " };
                text.push_str(gap);
                text.push_str(word);
            }
            (None, None) => return Err(refusal(format!("`{word}` stands behind none of {}", listed()))),
        }
    }
    for (_, text) in &mut found {
        if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            *text = inner.to_owned();
        }
    }
    Ok(found)
}

fn some(name: &str, text: String) -> Result<String, Error> {
    if text.is_empty() { Err(refusal(format!("`--{name}` needs a text"))) } else { Ok(text) }
}

fn given(words: &str) -> Option<String> {
    Some(words.to_owned()).filter(|words| !words.is_empty())
}

fn session(model: &Model) -> Result<String, Error> {
    match (composer::target(model), model.current_id()) {
        (Target::Session(id), _) => Ok(id),
        (Target::Task, Some(id)) => Ok(id.to_owned()),
        (Target::Task, None) => Err(refusal("no session is selected".to_owned())),
    }
}

/// Whether a task is being written: a session has had its beginning.
fn task(model: &Model) -> Result<(), Error> {
    match composer::target(model) {
        Target::Task => Ok(()),
        Target::Session(_) => {
            Err(refusal("this is for a task that is not started yet".to_owned()).with_hint("`/new` begins one"))
        }
    }
}

fn refusal(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
