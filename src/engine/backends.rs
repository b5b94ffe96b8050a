//! The backends as clients see them: what is installed, in which version, and with which models.

use futures_util::future::join_all;

use crate::api::environment::FOR_DAEMON;
use crate::api::error::Error;
use crate::api::project::{Backend, BackendQuery, ConfigQuery, Detail, ListModels, ListedBy, Model};
use crate::api::request::Environment;
use crate::backend::discovery::{self, Found, Surroundings, Verdict};
use crate::backend::install;
use crate::backend::login::{self, ModelSetting};
use crate::backend::spec::{Reasoning, Spec};
use crate::config::Config;

use super::Engine;
use super::catalog::Offer;
use super::choice::{self, Chosen};
use super::fault::Fault;
use super::shared::drop_relative_search_paths;

/// How the commands of npm begin.
const NPM: &str = "npm ";

/// Where the models of a backend come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum List {
    Offer(Offer),
    Table,
    /// The agent was asked in vain.
    TableBecause(String),
    Configuration,
}

impl Engine {
    /// The backends that can be named, with what is wrong with them.
    pub async fn backends(&self, query: BackendQuery) -> Result<Vec<Backend>, Error> {
        let BackendQuery { cwd, path, backend, detail } = query;
        let config = self.config_at(ConfigQuery { cwd }).await?;
        let env = self.surrounding_environment(path);
        Ok(self.backend_views(&config, &env, backend.as_deref(), detail).await?)
    }

    /// The same, as they are with the caller's environment.
    pub async fn list_backend_models(&self, request: ListModels) -> Result<Vec<Backend>, Error> {
        let ListModels { cwd, environment, backend, detail } = request;
        let config = self.config_at(ConfigQuery { cwd }).await?;
        let env: Vec<_> = self.accept_environment(environment).into_iter().collect();
        Ok(self.backend_views(&config, &env, backend.as_deref(), detail).await?)
    }

    async fn backend_views(
        &self,
        config: &Config,
        env: &[(String, String)],
        only: Option<&str>,
        detail: Detail,
    ) -> Result<Vec<Backend>, Fault> {
        let registry = self.shared.settings.registry(config);
        if let Some(name) = only.filter(|name| registry.get(name).is_none()) {
            let known = registry.all().map(|spec| spec.name.clone()).collect();
            return Err(Fault::UnknownBackend { name: name.to_owned(), known });
        }
        let here = Surroundings { env, cwd: &self.shared.data };
        let installed = |spec: &Spec| discovery::find(spec, here).is_some();
        // Nothing installed is not a fault of somebody who only looks.
        let default = choice::choose(config, &registry, &installed, None).ok();
        let wanted = registry.all().filter(|spec| only.is_none_or(|name| spec.name == name));
        let views = wanted.map(|spec| {
            let default = &default;
            async move {
                let found = match detail {
                    Detail::Programs => present(spec, here),
                    Detail::Models => self.shared.catalog.look(&self.shared, spec, env).await,
                };
                let list = self.list_models(config, spec, &found, env, detail).await;
                let setting = login::find_model_setting(spec, env);
                view(spec, &found, list, default.as_ref(), setting.as_ref())
            }
        });
        Ok(join_all(views).await)
    }

    async fn list_models(
        &self,
        config: &Config,
        spec: &Spec,
        found: &Found,
        env: &[(String, String)],
        detail: Detail,
    ) -> List {
        let is_configured = config.backends.get(&spec.name).is_some_and(|backend| !backend.models.is_empty());
        match (&found.program, detail) {
            _ if is_configured => List::Configuration,
            (Some(program), Detail::Models) if found.verdict.is_usable() && !spec.scripted => {
                let offer = self.shared.catalog.offer(&self.shared, spec, program, found.version, env).await;
                offer.map_or_else(|failure| List::TableBecause(failure.message), List::Offer)
            }
            (Some(_) | None, Detail::Models | Detail::Programs) => List::Table,
        }
    }

    /// An environment that a client handed over, or the daemon's own in its place.
    pub(super) fn accept_environment(&self, mut environment: Environment) -> Environment {
        FOR_DAEMON.iter().for_each(|name| drop(environment.remove(*name)));
        drop_relative_search_paths(&mut environment);
        if environment.is_empty() { self.shared.own_environment.clone() } else { environment }
    }

    /// The daemon's own environment, with the `PATH` of whoever asks.
    pub(super) fn surrounding_environment(&self, path: Option<String>) -> Vec<(String, String)> {
        let mut env = self.shared.own_environment.clone();
        if let Some(path) = path {
            env.insert("PATH".to_owned(), path);
            drop_relative_search_paths(&mut env);
        }
        env.into_iter().collect()
    }
}

/// What can be said about a program without starting it.
fn present(spec: &Spec, here: Surroundings<'_>) -> Found {
    let program = discovery::find(spec, here);
    let verdict = if program.is_some() { Verdict::Good } else { Verdict::Missing };
    Found { program, version: None, verdict }
}

/// Why a program cannot be used.
pub(super) fn problem(spec: &Spec, found: &Found) -> Option<String> {
    let program = spec.command.first().map(String::as_str).unwrap_or_default();
    match &found.verdict {
        Verdict::Missing => Some(format!("there is no `{program}` on PATH")),
        Verdict::Broken { said } => Some(format!("`{program} --version` does not work: {said}")),
        Verdict::TooOld { found, minimum } => Some(format!("version {found} is too old: it takes {minimum} or newer")),
        Verdict::Untested { .. } | Verdict::Good => None,
    }
}

/// The command that brings a program that works; `None` where only the person knows how they installed it.
pub(super) fn install_command(spec: &Spec, found: &Found) -> Option<String> {
    let is_old = matches!(found.verdict, Verdict::TooOld { .. });
    let by_npm = spec.install.as_deref().is_some_and(|command| command.starts_with(NPM));
    // What npm installs beside it would not be found, or not first.
    match found.program.as_deref().filter(|program| is_old && by_npm && !install::is_in_packages(program)) {
        Some(program) => spec.update.as_ref().map(|argument| format!("{} {argument}", program.display())),
        None => spec.install.clone(),
    }
}

/// What a person should know about a program that can be used.
pub(super) fn warning(found: &Found) -> Option<String> {
    match &found.verdict {
        Verdict::Untested { found, tested } => {
            Some(format!("version {found} is newer than {tested}, the newest tested"))
        }
        Verdict::Missing | Verdict::Broken { .. } | Verdict::TooOld { .. } | Verdict::Good => None,
    }
}

fn view(
    spec: &Spec,
    found: &Found,
    list: List,
    default: Option<&Chosen<'_>>,
    model_setting: Option<&ModelSetting>,
) -> Backend {
    let default = default.filter(|chosen| chosen.spec.name == spec.name);
    let named = default.and_then(|chosen| chosen.model.clone()).or_else(|| spec.models.fallback.clone());
    let first = || spec.models.known.first().map(|known| known.id.clone());
    let (mut models, listed_by, note, unnamed) = match list {
        List::Offer(Offer { models, default }) => (offered(models), ListedBy::Agent, None, default),
        List::Table => (table(spec), ListedBy::Table, None, first()),
        List::TableBecause(why) => (table(spec), ListedBy::Table, Some(why), first()),
        List::Configuration => (table(spec), ListedBy::Configuration, None, first()),
    };
    // Some agents list whatever their settings name.
    let is_chosen = |id: &str| named.is_none() && model_setting.is_some_and(|setting| setting.name == id);
    if let Some(id) = named.clone().or(unnamed) {
        let from_settings = is_chosen(&id);
        match models.iter_mut().find(|model| model.id == id) {
            Some(model) => (model.default, model.from_settings) = (true, from_settings),
            None => {
                let known = table(spec).into_iter().find(|known| known.id == id);
                let unknown = || Model { id, name: None, default: true, from_settings: true, reasoning: Vec::new() };
                let from_table = |known| Model { default: true, from_settings, ..known };
                models.insert(0, known.map_or_else(unknown, from_table));
            }
        }
    }
    Backend {
        name: spec.name.clone(),
        program: found.program.as_ref().map(|path| path.display().to_string()),
        version: found.version.map(|version| version.to_string()),
        problem: problem(spec, found),
        warning: warning(found),
        install: install_command(spec, found),
        login: spec.login.clone(),
        scripted: spec.scripted,
        default: default.is_some(),
        listed_by,
        note,
        models,
    }
}

fn table(spec: &Spec) -> Vec<Model> {
    let words = |levels: &[Reasoning]| levels.iter().map(|level| level.as_str().to_owned()).collect();
    let known = spec.models.known.iter();
    known
        .map(|known| Model {
            id: known.id.clone(),
            name: None,
            default: false,
            from_settings: false,
            reasoning: words(&known.reasoning),
        })
        .collect()
}

fn offered(models: Vec<crate::backend::event::Model>) -> Vec<Model> {
    let model = |model: crate::backend::event::Model| Model {
        name: Some(model.name).filter(|name| !name.is_empty() && *name != model.id),
        reasoning: levels(&model.reasoning),
        id: model.id,
        default: false,
        from_settings: false,
    };
    models.into_iter().map(model).collect()
}

/// The levels that a person can ask for; what an agent calls its maximum is our highest.
fn levels(words: &[String]) -> Vec<String> {
    let has = |level: &Reasoning| {
        let highest = *level == Reasoning::Xhigh && words.iter().any(|word| word == "max");
        highest || words.iter().any(|word| word == level.as_str())
    };
    Reasoning::ALL.into_iter().filter(has).map(|level| level.as_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::event;
    use crate::backend::registry;
    use crate::backend::spec::{KnownModel, Models, Version};

    fn spec(fallback: Option<&str>) -> Spec {
        let known = |id: &str| KnownModel { id: id.to_owned(), reasoning: vec![Reasoning::Low, Reasoning::Xhigh] };
        Spec {
            models: Models {
                known: vec![known("one"), known("two")],
                fallback: fallback.map(str::to_owned),
                ..Models::default()
            },
            install: Some("npm i agent".to_owned()),
            ..registry::from_config("agent", vec!["agent".to_owned()], Vec::new(), Vec::new())
        }
    }

    fn offer(default: Option<&str>) -> List {
        let model = |id: &str, name: &str, reasoning: &[&str]| event::Model {
            id: id.to_owned(),
            name: name.to_owned(),
            reasoning: reasoning.iter().map(|&word| word.to_owned()).collect(),
            is_default: false,
        };
        let models = vec![model("two", "two", &["minimal", "low", "max"]), model("three", "Three", &[])];
        List::Offer(Offer { models, default: default.map(str::to_owned) })
    }

    /// The models of a view, the default with a star.
    fn models(spec: &Spec, list: List, chosen: Option<&str>) -> String {
        let found = Found { program: None, version: None, verdict: Verdict::Good };
        let chosen = chosen.map(|model| Chosen { spec, model: Some(model.to_owned()) });
        let setting = ModelSetting { name: "three".to_owned(), source: "a file".to_owned() };
        let view = view(spec, &found, list, chosen.as_ref(), Some(&setting));
        assert_eq!(view.default, chosen.is_some());
        let text = |model: &Model| {
            let star = if model.default { "*" } else { "" };
            let origin = if model.from_settings { "own " } else { "" };
            format!("{star}{origin}{}({})", model.id, model.reasoning.join(" "))
        };
        view.models.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_list_has_one_default() {
        let (bare, told) = (spec(None), spec(Some("two")));
        for (spec, list, chosen, expected) in [
            (&bare, List::Table, None, "*one(low xhigh) two(low xhigh)"),
            (&told, List::Table, None, "one(low xhigh) *two(low xhigh)"),
            (&told, List::Configuration, Some("one"), "*one(low xhigh) two(low xhigh)"),
            (&bare, offer(Some("three")), None, "two(low xhigh) *own three()"),
            (&bare, offer(Some("two")), None, "*two(low xhigh) three()"),
            (&bare, offer(Some("unlisted")), None, "*own unlisted() two(low xhigh) three()"),
            (&bare, offer(Some("two")), Some("three"), "two(low xhigh) *three()"),
            (&bare, offer(None), None, "two(low xhigh) three()"),
            (&told, offer(Some("three")), None, "*two(low xhigh) three()"),
            (&bare, offer(Some("three")), Some("newest"), "*own newest() two(low xhigh) three()"),
            (&spec(Some("one")), offer(None), None, "*one(low xhigh) two(low xhigh) three()"),
        ] {
            assert_eq!(models(spec, list, chosen), expected);
        }
    }

    #[test]
    fn who_listed_the_models_is_told() {
        let found = Found { program: None, version: None, verdict: Verdict::Good };
        let told = |list| {
            let Backend { listed_by, note, .. } = view(&spec(None), &found, list, None, None);
            (listed_by, note)
        };
        assert_eq!(told(offer(None)), (ListedBy::Agent, None));
        assert_eq!(told(List::Configuration), (ListedBy::Configuration, None));
        assert_eq!(told(List::Table), (ListedBy::Table, None));
        assert_eq!(told(List::TableBecause("why".into())), (ListedBy::Table, Some("why".into())));
    }

    #[test]
    fn a_program_is_updated_the_way_it_was_installed() {
        let place = tempfile::tempdir().unwrap();
        let (package, native) = (place.path().join("lib/node_modules/agent/cli.js"), place.path().join("share/2.0.0"));
        for file in [&package, &native] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let (by_npm, by_itself) = (place.path().join("npm-agent"), place.path().join("agent"));
        std::os::unix::fs::symlink(&package, &by_npm).unwrap();
        std::os::unix::fs::symlink(&native, &by_itself).unwrap();
        let old = Verdict::TooOld { found: Version(1, 0, 0), minimum: Version(2, 0, 0) };
        let broken = Verdict::Broken { said: "signal 9".into() };
        let updating = Spec { update: Some("update".into()), ..spec(None) };
        let own_update = format!("{} update", by_itself.display());
        for (spec, program, verdict, expected) in [
            (&updating, Some(&by_npm), &old, Some("npm i agent")),
            (&updating, Some(&by_itself), &old, Some(own_update.as_str())),
            (&updating, Some(&by_itself), &broken, Some("npm i agent")),
            (&updating, None, &Verdict::Missing, Some("npm i agent")),
            (&spec(None), Some(&by_itself), &old, None),
            (
                &Spec { install: Some("pipx install agent".into()), ..spec(None) },
                Some(&by_itself),
                &old,
                Some("pipx install agent"),
            ),
        ] {
            let found = Found { program: program.cloned(), version: None, verdict: verdict.clone() };
            assert_eq!(install_command(spec, &found).as_deref(), expected, "{program:?} {verdict:?}");
        }
    }

    #[test]
    fn every_verdict_has_its_words() {
        let (old, new) = (Version(1, 0, 0), Version(2, 0, 0));
        for (verdict, problem_text, warning_text) in [
            (Verdict::Good, None, None),
            (Verdict::Missing, Some("there is no `agent` on PATH"), None),
            (Verdict::Broken { said: "signal 9".into() }, Some("`agent --version` does not work: signal 9"), None),
            (
                Verdict::TooOld { found: old, minimum: new },
                Some("version 1.0.0 is too old: it takes 2.0.0 or newer"),
                None,
            ),
            (
                Verdict::Untested { found: new, tested: old },
                None,
                Some("version 2.0.0 is newer than 1.0.0, the newest tested"),
            ),
        ] {
            let found = Found { program: None, version: None, verdict };
            assert_eq!(problem(&spec(None), &found).as_deref(), problem_text);
            assert_eq!(warning(&found).as_deref(), warning_text);
        }
    }
}
