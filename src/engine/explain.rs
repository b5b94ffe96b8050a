//! What would happen with a call, and why: the same judge as in a turn, asked by a person.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent;
use crate::api::error::Error;
use crate::api::permission::Explanation;
use crate::api::request::ExplainPermission;
use crate::backend::transport::lines::run_blocking;
use crate::git::{Oid, Repo};
use crate::permission::compact::Action;
use crate::permission::rule::Rule;
use crate::permission::{self, Access, Audience, Call, Effect, Overlay, Reach, Subject};
use crate::tool::{RulePrefix, Tool, ToolName, ToolSubject};
use crate::tools::external::ExternalTool;

use super::agents::{self, Ground, pick, role};
use super::create::project_id;
use super::fault::Fault;
use super::judge::{self, Caller, Judge, Tools};
use super::plan_mode;
use super::record::{Body, PostureRecord, Record};
use super::settings::Settings;
use super::standing::Standing;
use super::{Engine, choice, confine, links, posture, prepare};

/// The session that a question is about.
struct About {
    record: Record,
    repo: Repo,
    settings: Arc<Settings>,
}

impl Engine {
    /// The verdict about one call, and everything that took part in it.
    pub async fn explain(&self, request: ExplainPermission) -> Result<Explanation, Error> {
        Ok(self.try_explain(request).await?)
    }

    async fn try_explain(&self, request: ExplainPermission) -> Result<Explanation, Fault> {
        let ExplainPermission { cwd, session, agent, posture: wanted, yolo, tool: name, arguments } = request;
        let About { mut record, repo, settings } = match session {
            Some(id) => self.about_session(&id).await?,
            None => self.about_place(&cwd).await?,
        };
        if let Some(posture) = posture::parse(wanted.as_deref())? {
            record.body.posture.word = posture.as_str().to_owned();
        }
        record.body.posture.yolo |= yolo;
        let known = agents::read(&self.shared, Ground::of_session(&record, &repo)?).await?;
        let named = agent.or_else(|| Some(record.body.agent.id.clone()).filter(|id| !id.is_empty()));
        let found = pick::find(&known, named.as_deref(), &settings.config.default_agent)?;
        let (name, reach) = reach(&name, &arguments, Path::new(&record.body.worktree));
        let offered = offered(&reach, &settings);
        let surface = role::surface(found.definition, &settings.config, &offered);
        let plan = plan_mode::is_on(&record).then(|| links::real(&plan_mode::file(&self.shared, &record)));
        let home = self.shared.own_environment.get("HOME").cloned().unwrap_or_default();
        let permission = found.definition.permission.clone().map(|map| map.at_home(&home));
        let grants: Vec<Rule> = record.body.grants.iter().filter_map(|rule| rule.parse().ok()).collect();
        let caller = Caller {
            posture: record.body.posture.posture(),
            overlay: if record.body.posture.yolo { Overlay::Yolo } else { Overlay::None },
            hold: record.body.reach.hold(),
            // Nobody asks about a tool that no program has.
            tools: Tools { surface: &surface, whole: true, own: None },
            permission: permission.as_ref(),
            word: role::word(&found.definition.source.scope),
            access: match found.definition.access {
                agent::Access::ReadOnly => Access::ReadOnly,
                agent::Access::Inherit => Access::Write,
            },
            audience: Audience::Person,
            grants: &grants,
        };
        let judge = || {
            let judge = Judge::new(&self.shared, &record, &repo, Arc::clone(&settings), plan)?;
            let call = judge.call(&name, &reach, permission.as_ref());
            let verdict = judge.decide(&call, &caller);
            let mut warnings = judge::warnings(&call, record.body.reach.hold());
            warnings.extend(describe_opaque_command(&call));
            let saves = judge.saves(&call).iter().map(Rule::to_string).collect();
            Ok::<_, Fault>((verdict, warnings, saves, judge.listed()?))
        };
        let (verdict, warnings, saves, files) = run_blocking(judge)?;
        let PostureRecord { word, yolo, .. } = record.body.posture;
        Ok(Explanation {
            tool: ToolName::read(&name).canonical().into_owned(),
            targets: arguments,
            verdict: match verdict.action {
                Action::Allow => "allow",
                Action::Ask => "ask",
                Action::Deny => "deny",
            }
            .to_owned(),
            step: u32::try_from(verdict.layer.number()).unwrap_or_default(),
            layer: verdict.layer.as_str().to_owned(),
            rule: verdict.rule,
            reason: verdict.reason,
            posture: word,
            yolo,
            agent: Some(found.definition.id.clone()),
            saves,
            warnings,
            enforced: record.body.reach.enforced,
            files,
        })
    }

    async fn about_session(&self, id: &str) -> Result<About, Fault> {
        let id = self.find(id).await.map_err(Fault::NoBackend)?;
        let row = self.shared.store.session(id).await?.ok_or(Fault::SessionGone { id })?;
        let record = Record::read(row)?;
        let repo = prepare::open_repo(&record).await?;
        let settings = Arc::new(self.shared.settings.session(&record, &repo).await?);
        Ok(About { record, repo, settings })
    }

    /// A session that would begin here; its tree stands where the person does.
    async fn about_place(&self, cwd: &str) -> Result<About, Fault> {
        let here = Standing::find(&self.shared, PathBuf::from(cwd)).await?;
        let commit: Oid = here.base(None).await?.commit;
        let repo = here.repo.clone();
        let project = project_id(&self.shared, &repo).await?;
        let settings = Arc::new(self.shared.settings.project(&project, &repo, commit).await?);
        let registry = self.shared.settings.registry(&settings.config);
        let level = settings.config.sandbox.level;
        let chosen = choice::choose(&settings.config, &registry, &|_| true, None)?;
        let reach = confine::reach(&self.shared, chosen.spec, level);
        let tree = repo.checkout().map_or_else(|| PathBuf::from(cwd), Path::to_owned);
        let mut body = Body {
            worktree: tree.to_string_lossy().into_owned(),
            common_dir: repo.common_dir().to_string_lossy().into_owned(),
            place: here.place().to_string_lossy().into_owned(),
            posture: posture::initial(None, false, &settings.config, settings.trust, reach.hold()),
            reach,
            ..Body::default()
        };
        body.base.commit = commit.to_string();
        Ok(About { record: Record::imagined(project, body)?, repo, settings })
    }
}

/// The tool of a configured server that a call means; which tools a server has is known only while it runs.
fn offered(reach: &Reach, settings: &Settings) -> Vec<ExternalTool> {
    match reach {
        Reach::Mcp { server, tool, effect } if settings.config.mcp_servers.contains_key(server) => {
            vec![ExternalTool {
                name: format!("mcp__{server}__{tool}"),
                server: server.clone(),
                tool: tool.clone(),
                description: String::new(),
                input_schema: serde_json::Value::Null,
                effect: *effect,
            }]
        }
        Reach::Mcp { .. } | Reach::Paths(_) | Reach::Command { .. } | Reach::Url(_) | Reach::Elsewhere => Vec::new(),
    }
}

/// Why no rule but a total one allows a command.
fn describe_opaque_command(call: &Call) -> Option<String> {
    let Subject::Command { text, .. } = &call.subject else { return None };
    let construct = permission::describe_opaque(text)?;
    Some(format!("OPAQUE: it has {construct}, so that Coppice cannot tell what it runs"))
}

/// The call that words of a person mean.
fn reach(name: &str, arguments: &[String], tree: &Path) -> (String, Reach) {
    let words = arguments.join(" ");
    let by_prefix = || RulePrefix::ALL.into_iter().find(|prefix| prefix.as_str() == name)?.tools().next();
    let by_verb = || Tool::with_rule_verb(&words).filter(|_| name == RulePrefix::Github.as_str());
    let spelled = ToolName::read(name).known();
    let known = spelled.or_else(by_verb).or_else(by_prefix);
    let name = known.filter(|_| spelled.is_none()).map_or(name, |tool| tool.name());
    if let Some((server, tool)) = external(name, &words) {
        let reach = Reach::Mcp { server: server.clone(), tool: tool.clone(), effect: Effect::Destroys };
        return (format!("mcp:{server}:{tool}"), reach);
    }
    let reach = match known.map(Tool::subject) {
        Some(ToolSubject::Command | ToolSubject::KnownCommand) => Reach::Command { text: words, cwd: tree.to_owned() },
        Some(ToolSubject::GitArguments) => Reach::Command { text: format!("git {words}"), cwd: tree.to_owned() },
        Some(ToolSubject::Url) => Reach::Url(words),
        // Two words, or one as a rule spells it: `FROM -> TO`.
        Some(ToolSubject::PathPair) => {
            let paths = arguments.iter().flat_map(|argument| argument.split(" -> "));
            Reach::Paths(paths.map(|path| tree.join(path)).collect())
        }
        Some(ToolSubject::Paths | ToolSubject::PlaceBelow) => {
            Reach::Paths(arguments.iter().map(|path| tree.join(path)).collect())
        }
        // The path is the last word; a commit or a position may stand before it.
        Some(ToolSubject::PathBehind) => {
            arguments.last().map_or(Reach::Elsewhere, |path| Reach::Paths(vec![tree.join(path)]))
        }
        Some(ToolSubject::Nothing) | None => Reach::Elsewhere,
    };
    (name.to_owned(), reach)
}

/// The server and tool that `mcp:SERVER:TOOL`, `mcp__SERVER__TOOL` or `MCP SERVER/TOOL` name.
fn external(name: &str, words: &str) -> Option<(String, String)> {
    let named = match ToolName::read(name) {
        ToolName::External { server, tool } => Some((server, tool)),
        _ if name == RulePrefix::Mcp.as_str() => words.split_once('/'),
        ToolName::Known(_) | ToolName::Unknown(_) => None,
    };
    named.map(|(server, tool)| (server.to_owned(), tool.to_owned()))
}
