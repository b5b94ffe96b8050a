//! Which backend, model and reasoning level a request means. Pure: what is installed comes as a question to ask.

use crate::api::project;
use crate::backend::registry::Registry;
use crate::backend::spec::{Models, Reasoning, Spec};
use crate::config::Config;

use super::fault::{Fault, nearest};

/// A backend and what it is told about the model; `None` leaves the model to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen<'a> {
    pub(super) spec: &'a Spec,
    pub(super) model: Option<String>,
}

/// Who asks for a reasoning level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// A person, for this session: it is granted or refused.
    Explicit(Reasoning),
    /// A setting for all sessions: it counts where it can.
    Default(Reasoning),
}

/// The backend and model that a request means. A name is a backend, `BACKEND/MODEL`, the vendor of its models instead
/// of the backend, a model that one backend alone knows, or the one word for a family of models. Without a name it is the
/// configured default, and the first backend that is installed where the default is not.
pub(super) fn choose<'a>(
    config: &Config,
    registry: &'a Registry,
    installed: &dyn Fn(&Spec) -> bool,
    wanted: Option<&str>,
) -> Result<Chosen<'a>, Fault> {
    let first = || registry.offered().find(|spec| installed(spec));
    let none = || Fault::NoBackend(no_backend(registry));
    let Some(name) = wanted else {
        return match find(registry, installed, &config.default_model) {
            Ok((spec, model)) if installed(spec) => accept(config, spec, model),
            Ok(_) | Err(_) => accept(config, first().ok_or_else(none)?, None),
        };
    };
    let (spec, model) = find(registry, installed, name)?;
    match (installed(spec), first()) {
        (true, _) => accept(config, spec, model),
        (false, Some(_)) => Err(Fault::NotInstalled {
            name: spec.name.clone(),
            program: spec.command.first().cloned().unwrap_or_default(),
            install: spec.install.clone(),
        }),
        (false, None) => Err(none()),
    }
}

/// Why a session without a model of its own does not run on the configured default, if it does not.
pub(super) fn describe_missing_default(
    config: &Config,
    registry: &Registry,
    installed: &dyn Fn(&Spec) -> bool,
) -> Option<String> {
    let name = Some(config.default_model.as_str()).filter(|name| !name.is_empty())?;
    let problem = match find(registry, installed, name) {
        Ok((spec, _)) if installed(spec) => return None,
        Ok((spec, _)) => format!("`{}` is not installed", spec.name),
        Err(_) => "no agent has that name".to_owned(),
    };
    Some(format!("`default.model` is `{name}`, but {problem}: the first agent that is installed works instead"))
}

/// The backend and model that a call for a child names, or what its caller reads instead.
pub(super) fn route<'a>(
    config: &Config,
    registry: &'a Registry,
    installed: &dyn Fn(&Spec) -> bool,
    wanted: &str,
) -> Result<Chosen<'a>, String> {
    choose(config, registry, installed, Some(wanted)).map_err(|_| {
        let here = registry.offered().filter(|spec| installed(spec));
        let models = here.flat_map(|spec| spec.models.known.iter().map(|known| known.id.clone()).collect::<Vec<_>>());
        unknown_child_model(wanted, &models.collect::<Vec<_>>())
    })
}

/// What the caller of a child reads about a model that is not there.
pub(super) fn unknown_child_model(wanted: &str, known: &[String]) -> String {
    let meant = nearest(wanted, known).map(|model| format!(". Did you mean \"{model}\"?")).unwrap_or_default();
    format!("unknown model \"{wanted}\" for spawn_agent. Available models: {}{meant}", known.join(", "))
}

/// The level that a call for a child names, or what its caller reads instead. `none` leaves it to the model.
pub(super) fn route_effort(spec: &Spec, model: Option<&str>, wanted: &str) -> Result<Option<Reasoning>, String> {
    let levels = levels(&spec.models, model);
    match effort(wanted) {
        Some(None) => Ok(None),
        Some(Some(level)) if levels.contains(&level) => Ok(Some(level)),
        Some(Some(_)) | None => {
            let model = model.unwrap_or(&spec.name);
            let supported = ["none"].into_iter().chain(levels.into_iter().map(Reasoning::as_str));
            let supported = supported.collect::<Vec<_>>().join(", ");
            Err(format!(
                "reasoning_effort {wanted} is not supported for model \"{model}\". Supported efforts: {supported}"
            ))
        }
    }
}

/// What the word for an effort in an agent's file means: a level, or none at all. Nobody thinks less than `low`.
pub(super) fn effort(word: &str) -> Option<Option<Reasoning>> {
    match word {
        "none" => Some(None),
        "minimal" => Some(Some(Reasoning::Low)),
        word => Reasoning::parse(word).map(Some),
    }
}

/// The level that a session gets, if any.
pub(super) fn resolve_reasoning(
    spec: &Spec,
    model: Option<&str>,
    wish: Option<Wish>,
) -> Result<Option<Reasoning>, Fault> {
    let levels = levels(&spec.models, model);
    match wish {
        None => Ok(None),
        Some(Wish::Explicit(level)) if levels.contains(&level) => Ok(Some(level)),
        Some(Wish::Explicit(level)) => Err(Fault::NoLevel {
            backend: spec.name.clone(),
            model: model.map(str::to_owned),
            level: level.as_str(),
            known: levels.into_iter().map(Reasoning::as_str).collect(),
        }),
        // As hard as the model can think, if it cannot think as hard as that.
        Some(Wish::Default(level)) => Ok(levels.into_iter().filter(|known| *known <= level).max()),
    }
}

/// The level that a model gets instead of one that was meant for another.
pub(super) fn possible(spec: &Spec, model: Option<&str>, level: Option<&str>) -> Option<String> {
    let wish = level.and_then(Reasoning::parse).map(Wish::Default);
    let level = resolve_reasoning(spec, model, wish).ok().flatten();
    level.map(|level| level.as_str().to_owned())
}

/// What every client is told when no agent is installed.
pub(super) fn no_backend(registry: &Registry) -> crate::api::error::Error {
    project::no_backend(registry.offered().map(|spec| (spec.name.as_str(), spec.install.as_deref())))
}

/// The backend and model of a name, installed or not.
fn find<'a: 'b, 'b>(
    registry: &'a Registry,
    installed: &dyn Fn(&Spec) -> bool,
    name: &'b str,
) -> Result<(&'a Spec, Option<&'b str>), Fault> {
    let (head, model) = match name.split_once('/') {
        Some((head, model)) => (head, Some(model).filter(|model| !model.is_empty())),
        None => (name, None),
    };
    let is_vendor = |spec: &&Spec| spec.vendors.iter().any(|vendor| vendor == head);
    if let Some(spec) = registry.get(head).or_else(|| registry.offered().find(is_vendor)) {
        return Ok((spec, model));
    }
    let knows = |spec: &&Spec| spec.models.known.iter().any(|known| known.id == spec.models.current(name));
    let knowing: Vec<_> = registry.offered().filter(knows).collect();
    if let ([], Some(meant)) = (knowing.as_slice(), family(registry, name)) {
        return Ok(meant);
    }
    let here: Vec<_> = knowing.iter().copied().filter(|spec| installed(spec)).collect();
    match (knowing.as_slice(), here.as_slice()) {
        ([], _) => {
            let known = registry.all().map(|spec| spec.name.clone()).collect();
            Err(Fault::UnknownBackend { name: head.to_owned(), known })
        }
        ([spec], _) | (_, [spec]) => Ok((spec, Some(name))),
        (several, _) => {
            let backends = several.iter().map(|spec| spec.name.clone()).collect();
            Err(Fault::AmbiguousModel { model: name.to_owned(), backends })
        }
    }
}

/// The first model of a family that is known by one word, such as `sonnet`.
fn family<'a>(registry: &'a Registry, name: &str) -> Option<(&'a Spec, Option<&'a str>)> {
    let is_of = |id: &str| id.split('-').any(|word| word == name);
    let is_word = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
    let found = |spec: &'a Spec| spec.models.known.iter().find(|known| is_of(&known.id)).map(|known| (spec, known));
    let (spec, known) = registry.offered().find_map(found).filter(|_| is_word)?;
    Some((spec, Some(known.id.as_str())))
}

/// Refuses a model only where the list is meant to be whole: the agents' own lists grow faster than ours.
fn accept<'a>(config: &Config, spec: &'a Spec, model: Option<&str>) -> Result<Chosen<'a>, Fault> {
    let is_listed = |id: &str| spec.models.known.iter().any(|known| known.id == id);
    let configured = config.backends.get(&spec.name).is_some_and(|backend| !backend.models.is_empty());
    match model.map(|model| spec.models.current(model)) {
        Some(model) if (configured || spec.scripted) && !is_listed(model) => {
            let known = spec.models.known.iter().map(|known| known.id.clone()).collect();
            Err(Fault::UnknownModel { backend: spec.name.clone(), model: model.to_owned(), known })
        }
        Some(model) => Ok(Chosen { spec, model: Some(model.to_owned()) }),
        None => Ok(Chosen { spec, model: spec.models.fallback.clone() }),
    }
}

/// The levels of a model; of one that the table does not know, what its siblings have.
fn levels(models: &Models, model: Option<&str>) -> Vec<Reasoning> {
    let known = model.and_then(|model| models.known.iter().find(|known| known.id == models.current(model)));
    known.map_or_else(|| models.levels(), |known| known.reasoning.clone())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::backend::registry;
    use crate::backend::spec::{KnownModel, Reasoning as R};
    use crate::config::{self, LayerKind, Origin, Trust};

    fn agent(name: &str, vendor: &str, models: &[(&str, &[R])], fallback: Option<&str>) -> Spec {
        let known = models.iter().map(|(id, reasoning)| KnownModel { id: (*id).into(), reasoning: reasoning.to_vec() });
        Spec {
            vendors: vec![vendor.to_owned()],
            models: Models {
                known: known.collect(),
                fallback: fallback.map(str::to_owned),
                small: None,
                renamed: vec![("claude-opus-4-6".into(), "claude-opus-4-7".into())],
            },
            install: Some(format!("npm install -g {name}")),
            ..registry::from_config(name, vec![name.to_owned()], Vec::new(), Vec::new())
        }
    }

    /// The three that need no configuration, two that have one, and the scripted one.
    fn specs() -> Vec<Spec> {
        let some = [R::Low, R::Medium, R::High];
        let mine = |name, model: &str| registry::from_config(name, vec![name.into()], Vec::new(), vec![model.into()]);
        vec![
            agent("claude", "anthropic", &[("claude-opus-4-7", &R::ALL), ("claude-haiku-4-5", &[])], None),
            agent("codex", "openai", &[("gpt-5.4", &R::ALL), ("gpt-5.3", &some), ("shared", &[])], None),
            agent("gemini", "google", &[("gemini-pro", &[])], Some("gemini-pro")),
            mine("mine", "a"),
            mine("other", "shared"),
            registry::demo(Path::new("/coppice")),
        ]
    }

    fn configured(text: &str) -> Config {
        let origin = Origin { label: "config.toml".into(), kind: LayerKind::User };
        config::resolve(&[config::parse(text, &origin).unwrap()], Trust::Untrusted)
    }

    /// What is chosen as `BACKEND` or `BACKEND/MODEL`, or why nothing is.
    fn chosen(config: &str, installed: &[&str], wanted: Option<&str>) -> String {
        let registry = Registry::of(specs());
        let config = configured(config);
        let installed = |spec: &Spec| spec.scripted || installed.contains(&spec.name.as_str());
        match choose(&config, &registry, &installed, wanted) {
            Ok(Chosen { spec, model: Some(model) }) => format!("{}/{model}", spec.name),
            Ok(Chosen { spec, model: None }) => spec.name.clone(),
            Err(fault) => fault.to_string(),
        }
    }

    const ALL: &[&str] = &["claude", "codex", "gemini", "mine", "other"];

    #[test]
    fn a_name_is_a_backend_a_vendor_or_a_model() {
        for (wanted, expected) in [
            ("claude", "claude"),
            ("claude/", "claude"),
            ("codex/gpt-5.4", "codex/gpt-5.4"),
            ("gemini", "gemini/gemini-pro"),
            ("gemini/gemini-flash", "gemini/gemini-flash"),
            ("openai/gpt-5.3", "codex/gpt-5.3"),
            ("openai", "codex"),
            ("anthropic/claude-haiku-4-5", "claude/claude-haiku-4-5"),
            ("google/gemini-pro", "gemini/gemini-pro"),
            ("gpt-5.4", "codex/gpt-5.4"),
            // The agent's own list may be newer than ours.
            ("codex/gpt-9", "codex/gpt-9"),
            ("claude/claude-opus-4-6", "claude/claude-opus-4-7"),
            ("claude-opus-4-6", "claude/claude-opus-4-7"),
            ("demo", "demo"),
            ("demo/scripted", "demo/scripted"),
            ("demo/nothing", "backend `demo` has no model `nothing`; it has scripted, scripted-small"),
            ("shared", "several backends have a model `shared`: codex, other"),
            ("gpt-9", "no backend is called `gpt-9`; known are claude, codex, gemini, mine, other, demo"),
            ("xai/grok", "no backend is called `xai`; known are claude, codex, gemini, mine, other, demo"),
            ("scripted", "no backend is called `scripted`; known are claude, codex, gemini, mine, other, demo"),
        ] {
            assert_eq!(chosen("", ALL, Some(wanted)), expected, "{wanted}");
        }
        assert_eq!(chosen("", &["claude", "other"], Some("shared")), "other/shared");
    }

    #[test]
    fn a_configured_backend_is_stronger_than_a_vendor_and_its_list_is_whole() {
        let mut specs = specs();
        specs.push(registry::from_config("openai", vec!["mine".into()], Vec::new(), vec!["x".into()]));
        let registry = Registry::of(specs);
        let config = configured("[backends.openai]\ncommand = [\"mine\"]\nmodels = [\"x\"]");
        let choose = |wanted| choose(&config, &registry, &|_| true, Some(wanted));
        assert_eq!(choose("openai/x").unwrap().spec.name, "openai");
        let refused = choose("openai/gpt-5.4").unwrap_err().to_string();
        assert_eq!(refused, "backend `openai` has no model `gpt-5.4`; it has x");
    }

    #[test]
    fn without_a_name_the_default_counts_if_it_is_installed() {
        for (config, installed, expected) in [
            ("", ALL, "claude"),
            ("", &["gemini", "mine"], "gemini/gemini-pro"),
            ("default.model = \"codex/gpt-5.3\"", ALL, "codex/gpt-5.3"),
            ("default.model = \"codex/gpt-5.3\"", &["gemini"], "gemini/gemini-pro"),
            ("default.model = \"gone/x\"", &["codex"], "codex"),
            ("default.model = \"claude/claude-opus-4-6\"", ALL, "claude/claude-opus-4-7"),
            ("default.model = \"demo\"", &[], "demo"),
        ] {
            assert_eq!(chosen(config, installed, None), expected, "{config} with {installed:?}");
        }
    }

    #[test]
    fn a_default_that_cannot_work_is_named() {
        let registry = Registry::of(specs());
        for (config, problem) in [
            ("", None),
            ("default.model = \"claude\"", None),
            ("default.model = \"codex/gpt-5.3\"", Some("`codex/gpt-5.3`, but `codex` is not installed")),
            ("default.model = \"gone/x\"", Some("`gone/x`, but no agent has that name")),
        ] {
            let installed = |spec: &Spec| spec.name == "claude";
            let told = describe_missing_default(&configured(config), &registry, &installed);
            let expected = problem.map(|problem| {
                format!("`default.model` is {problem}: the first agent that is installed works instead")
            });
            assert_eq!(told, expected, "{config}");
        }
    }

    #[test]
    fn what_is_named_and_not_installed_is_refused() {
        let registry = Registry::of(specs());
        let told = |installed: &[&str], wanted| {
            let installed = |spec: &Spec| spec.scripted || installed.contains(&spec.name.as_str());
            let fault = choose(&Config::default(), &registry, &installed, wanted).unwrap_err();
            let crate::api::error::Error { message, hint, .. } = fault.into();
            (message, hint.unwrap_or_default())
        };
        let (message, hint) = told(&["claude"], Some("openai/gpt-5.4"));
        assert_eq!(message, "backend `codex` is not installed: there is no `codex` on PATH");
        assert_eq!(hint, "install it with `npm install -g codex`");
        let (message, hint) = told(&["claude"], Some("mine"));
        assert_eq!(message, "backend `mine` is not installed: there is no `mine` on PATH");
        assert_eq!(hint, "install it, or correct its `command` in the configuration");
        for wanted in [None, Some("claude"), Some("mine")] {
            let (message, _) = told(&[], wanted);
            assert_eq!(message, "none of `claude`, `codex`, `gemini`, `mine`, `other` is installed", "{wanted:?}");
        }
    }

    #[test]
    fn a_level_is_granted_refused_or_left_out() {
        let specs = specs();
        let level = |backend: usize, model, wish| {
            let resolved = resolve_reasoning(&specs[backend], model, wish).map_err(|fault| fault.to_string());
            resolved.map(|level| level.map_or("-", R::as_str))
        };
        let (explicit, default) = (|level| Some(Wish::Explicit(level)), |level| Some(Wish::Default(level)));
        let refused = |text: &str| Err(text.to_owned());
        assert_eq!(level(0, None, None), Ok("-"));
        assert_eq!(level(0, Some("claude-opus-4-7"), explicit(R::Xhigh)), Ok("xhigh"));
        assert_eq!(level(0, Some("claude-opus-4-6"), explicit(R::Xhigh)), Ok("xhigh"));
        assert_eq!(level(0, None, explicit(R::Xhigh)), Ok("xhigh"));
        assert_eq!(level(1, Some("gpt-9"), explicit(R::Low)), Ok("low"));
        assert_eq!(level(1, Some("gpt-5.3"), default(R::Xhigh)), Ok("high"));
        assert_eq!(level(0, Some("claude-haiku-4-5"), default(R::High)), Ok("-"));
        assert_eq!(level(2, None, default(R::High)), Ok("-"));
        assert_eq!(
            level(1, Some("gpt-5.3"), explicit(R::Xhigh)),
            refused("model `gpt-5.3` of `codex` has no reasoning level `xhigh`; it has low, medium, high")
        );
        assert_eq!(
            level(0, Some("claude-haiku-4-5"), explicit(R::Low)),
            refused("model `claude-haiku-4-5` of `claude` has no reasoning level `low`; it has none")
        );
        assert_eq!(
            level(2, None, explicit(R::High)),
            refused("backend `gemini` has no reasoning level `high`; it has none")
        );
    }

    #[test]
    fn a_word_means_the_first_model_of_its_family() {
        for (wanted, expected) in [
            ("opus", "claude/claude-opus-4-7"),
            ("haiku", "claude/claude-haiku-4-5"),
            ("pro", "gemini/gemini-pro"),
            ("sonnet", "no backend is called `sonnet`; known are claude, codex, gemini, mine, other, demo"),
            ("opu", "no backend is called `opu`; known are claude, codex, gemini, mine, other, demo"),
        ] {
            assert_eq!(chosen("", ALL, Some(wanted)), expected);
        }
        assert!(chosen("", &["codex"], Some("haiku")).starts_with("backend `claude` is not installed"));
    }

    #[test]
    fn a_call_for_an_unknown_model_reads_what_there_is() {
        let registry = Registry::of(specs());
        let installed = |spec: &Spec| ["codex", "gemini"].contains(&spec.name.as_str());
        let routed = |wanted| route(&configured(""), &registry, &installed, wanted).map(|chosen| chosen.model);
        assert_eq!(routed("openai/gpt-5.3"), Ok(Some("gpt-5.3".to_owned())));
        for unknown in ["no-such", "haiku"] {
            let said = format!(
                "unknown model \"{unknown}\" for spawn_agent. Available models: gpt-5.4, gpt-5.3, shared, gemini-pro"
            );
            assert_eq!(routed(unknown), Err(said));
        }
    }

    #[test]
    fn a_call_for_an_effort_reads_what_the_model_has() {
        let specs = specs();
        let routed = |model, wanted| route_effort(&specs[1], Some(model), wanted);
        assert_eq!(routed("gpt-5.4", "xhigh"), Ok(Some(R::Xhigh)));
        assert_eq!(routed("gpt-5.3", "minimal"), Ok(Some(R::Low)));
        assert_eq!(routed("shared", "none"), Ok(None));
        let said =
            "reasoning_effort xhigh is not supported for model \"gpt-5.3\". Supported efforts: none, low, medium, high";
        assert_eq!(routed("gpt-5.3", "xhigh"), Err(said.to_owned()));
        assert!(routed("gpt-5.3", "huge").is_err());
    }
}
