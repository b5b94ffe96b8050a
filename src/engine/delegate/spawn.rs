//! A child comes into being: everything is checked, the parent's work tree is kept as it is, one write makes child and
//! handoff a fact, then the child begins.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::select::{Inherited, Selected, Wanted, select};
use crate::agent::{self, Definition};
use crate::api::event::PromptAuthor;
use crate::api::handoff::{Handoff, HandoffStatus, Integration};
use crate::api::session::{Changes, Usage};
use crate::backend::Access;
use crate::config::Config;
use crate::delegation::{self, AgentKind, Candidate, DelegationTool, Facade, Hold, Limits, Order, Standing};
use crate::git::diff::Target;
use crate::git::handoff::{Ignored, snapshot};
use crate::git::{Base, Oid, Repo, Worktree};
use crate::protocol::naming;
use crate::tool::Tool;

use super::super::actor::{Command, blocking};
use super::super::agents::Agents;
use super::super::create::{self, Fresh};
use super::super::fault::Fault;
use super::super::record::{AgentRecord, Body, ChildAccess, ChildRecord, EngineRecord, Record};
use super::super::shared::Shared;
use super::super::{clock, handoff, prepare, workflow};
use super::reviewed_work::describe_work;
use super::{Caller, bound, family, route, tell, text};

/// Takes any task.
const GENERAL: &str = "general";

/// A delegation that somebody wants.
pub(in super::super) struct Wish {
    pub(in super::super) parent: Record,
    pub(in super::super) turn: u32,
    /// The parent's agent.
    pub(in super::super) agent: String,
    /// Whether that agent may change files; its children may not do more.
    pub(in super::super) access: Access,
    pub(in super::super) order: Order,
    pub(in super::super) config: Arc<Config>,
    /// What the child should know beside its task.
    pub(in super::super) context: Option<String>,
    pub(in super::super) author: PromptAuthor,
}

impl Wish {
    /// What a model asks for.
    pub(super) fn called(caller: &Caller, order: &Order) -> Self {
        Self {
            parent: caller.record.clone(),
            turn: caller.turn,
            agent: caller.role.id.clone(),
            access: caller.role.bound,
            order: order.clone(),
            config: caller.config.clone(),
            context: order.context.clone(),
            author: PromptAuthor::ParentAgent,
        }
    }
}

/// Makes a child and lets it begin.
pub(in super::super) async fn child(shared: &Arc<Shared>, wish: &Wish) -> Result<Handoff, String> {
    if shared.slots.is_draining() {
        return Err(text(Fault::Draining));
    }
    let repo = prepare::open_repo(&wish.parent).await.map_err(text)?;
    let known = super::known(shared, &wish.parent).await.map_err(text)?;
    let engine = wish.parent.body.engine();
    let model =
        engine.model.as_ref().map_or_else(|| engine.backend.clone(), |model| format!("{}/{model}", engine.backend));
    let selected = choose(&known, wish, &model, engine.reasoning.as_deref())?;
    // Calls of one model message come together: each counts those before it.
    let lock = shared.family_lock(wish.parent.id);
    let _held = lock.lock().await;
    admit(shared, wish, selected.definition).await?;
    let context = context(shared, wish).await?;
    let routed = route::route(shared, wish, &repo, &selected, &engine).await?;
    let made = make(shared, wish, &repo, &known, &selected, routed.engine, context).await.map_err(text)?;
    if let Some(message) = routed.warning {
        let warning = crate::api::event::Payload::Warning { message };
        shared.note(wish.parent.id, &[warning]).await.map_err(|error| error.to_string())?;
    }
    Ok(made)
}

fn choose<'a>(
    known: &'a Agents,
    wish: &'a Wish,
    model: &'a str,
    effort: Option<&'a str>,
) -> Result<Selected<'a>, String> {
    let order = &wish.order;
    // Who names nobody gets one like itself, or somebody for everything where nobody delegates to its like.
    let like_itself = known.catalog.lookup(&wish.agent, &wish.agent).is_ok_and(|own| own.mode.is_delegatable());
    let named = Some(order.agent.trim()).filter(|agent| !agent.is_empty());
    let is_default = named.is_none_or(|agent| agent.eq_ignore_ascii_case("default"));
    let wanted = Wanted {
        // A persona belongs to a role, so nobody is put in the place of one that is not named.
        agent: if is_default && !like_itself && order.persona.is_none() { Some(GENERAL) } else { named },
        persona: order.persona.as_deref(),
        model: order.model.as_deref(),
        effort: order.effort.as_deref(),
    };
    let inherited = Inherited { agent: &wish.agent, model: Some(model), effort };
    select(&known.catalog, wanted, inherited).map_err(|error| match (error, order.facade) {
        (
            agent::select::SelectError::Lookup(agent::catalog::LookupError::Missing { name }),
            Facade::Task | Facade::Agent,
        ) => {
            format!("Unknown agent type: {name}")
        }
        (error, _) => error.to_string(),
    })
}

async fn admit(shared: &Shared, wish: &Wish, candidate: &Definition) -> Result<(), String> {
    let asked = handoff::of_parent(shared, wish.parent.id).await.map_err(text)?;
    let limits = &wish.config.delegation;
    let standing = Standing {
        depth: wish.parent.body.child.as_ref().map_or(0, |child| child.depth),
        agent: &wish.agent,
        tool: DelegationTool::InSurface,
        max_depth: limits.max_depth,
        nested_agents: &limits.nested_agents,
        active_children: asked.iter().filter(|handoff| !handoff.status.is_final()).count(),
        max_children: limits.max_children as usize,
    };
    delegation::admit(&standing, Candidate { id: &candidate.id, mode: candidate.mode })
}

/// What the child is told before its task: a summary of the parent's, and the results of earlier handoffs.
async fn context(shared: &Shared, wish: &Wish) -> Result<Option<String>, String> {
    let mut parts: Vec<String> = wish.context.iter().filter(|text| !text.trim().is_empty()).cloned().collect();
    for id in &wish.order.sources {
        let found = family::handoffs(shared, &wish.parent, std::slice::from_ref(id)).await?;
        let source = found.into_iter().flatten().next().ok_or_else(|| format!("there is no handoff `{id}`"))?;
        parts.push(super::told(&source));
    }
    Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
}

/// Keeps the parent's work tree, stores the child, and starts it.
async fn make(
    shared: &Arc<Shared>,
    wish: &Wish,
    repo: &Repo,
    known: &Agents,
    selected: &Selected<'_>,
    engine: EngineRecord,
    context: Option<String>,
) -> Result<Handoff, Fault> {
    let parent = &wish.parent;
    let id = format!("h_{}", clock::draw_id()?);
    let tree = prepare::tree_of(parent, repo)?;
    let (name, ignored) = (id.clone(), wish.config.delegation.ignored.clone());
    let lock = shared.tree_lock(parent.id);
    let held = lock.lock().await;
    let snapshot = move |tree: Worktree| {
        let ignored = if ignored.is_empty() { Ignored::Left } else { Ignored::Taken(&ignored) };
        snapshot(&tree, &name, ignored)
    };
    let recorded = shared.in_stoppable_tree(parent.id, &tree, snapshot).await?;
    drop(held);
    let context = match selected.definition.id == workflow::REVIEWER {
        true => Some(with_reviewed_work(shared, parent, repo, recorded.commit, context).await),
        false => context,
    };
    let base = Base { name: format!("work tree of {}", parent.id), branch: None, commit: recorded.commit };
    let definition = selected.definition;
    let order = &wish.order;
    let persona = selected.persona.map(|persona| persona.name.clone());
    let own = parent.body.child.as_ref();
    let hold = hold(wish, definition);
    let record = ChildRecord {
        handoff: id.clone(),
        parent: parent.id,
        root: own.map_or(parent.id, |child| child.root),
        depth: own.map_or(0, |child| child.depth) + 1,
        rules: own.map_or_else(|| parent.body.base.commit.clone(), |child| child.rules.clone()),
        access: access(wish, definition),
        hold: bound(hold),
        timeout_ms: u64::try_from(timeout(wish, definition).as_millis()).unwrap_or(u64::MAX),
        note: delegation::note(order.note.as_deref(), &definition.id, persona.as_deref(), &definition.description),
        definition: known.keep(definition),
    };
    let label = match order.label.trim() {
        "" => naming::title_from(&order.prompt),
        label => label.to_owned(),
    };
    let body = Body {
        title: format!("{label} (@{} subagent)", definition.id),
        agent: AgentRecord {
            id: definition.id.clone(),
            persona: persona.clone(),
            read_only: record.access == ChildAccess::ReadOnly,
            ..AgentRecord::default()
        },
        child: Some(record.clone()),
        place: parent.body.place.clone(),
        // It does what its parent may do, and follows when that changes.
        posture: parent.body.posture.clone(),
        profile: parent.body.profile.clone(),
        grants: parent.body.grants.clone(),
        reach: parent.body.reach.clone(),
        ..Body::default()
    };
    let body = with_engine(body, engine);
    let now = clock::now();
    let made = |child: &Record| Handoff {
        handoff_id: id.clone(),
        parent_session_id: parent.id.to_string(),
        parent_turn_id: wish.turn,
        child_session_id: child.id.to_string(),
        child_turn_id: None,
        child_agent_id: definition.id.clone(),
        persona: persona.clone(),
        status: HandoffStatus::Queued,
        label: label.clone(),
        depth: record.depth,
        background: hold == Hold::Background,
        assistant_text: None,
        plan: None,
        error: None,
        pending_permission: None,
        pending_question: None,
        backend: child.body.backend.clone(),
        model: child.body.model.clone(),
        branch: child.body.branch.clone(),
        base_sha: child.body.base.commit.clone(),
        head_sha: None,
        diffstat: Changes::default(),
        started_at: now,
        finished_at: None,
        usage: Usage::default(),
        summary: None,
        questions: Vec::new(),
        integration: Integration::Nothing {},
        thread_note: record.note.clone(),
    };
    let (text, author) = (order.prompt.clone(), wish.author);
    let fresh = Fresh { at: now, base, body, text, context, images: Vec::new(), author };
    let stored = create::write(shared, repo, fresh, |child| Ok(handoff::changes(&made(child))?.to_vec())).await;
    let child = match stored {
        Ok(child) => child,
        Err(fault) => {
            // Nobody knows of the snapshot.
            let (repo, id) = (repo.clone(), id.clone());
            blocking(move || crate::git::handoff::drop_snapshot(&repo, &id)).await.ok();
            return Err(fault);
        }
    };
    if let Some(environment) = shared.environment(parent.id) {
        shared.set_environment(child.id, environment);
    }
    // Whatever happens to it shows in its handoff.
    tell(shared, child.id, Command::Start).await.ok();
    Ok(made(&child))
}

/// A review begins with what was done, after what the parent says about it.
async fn with_reviewed_work(
    shared: &Arc<Shared>,
    parent: &Record,
    repo: &Repo,
    snapshot: Oid,
    context: Option<String>,
) -> String {
    let work = describe_work(shared, parent, repo, Target::Commit(snapshot)).await;
    context.into_iter().chain([work]).collect::<Vec<_>>().join("\n\n")
}

fn with_engine(mut body: Body, engine: EngineRecord) -> Body {
    body.set_engine(engine);
    body
}

/// Whether the agent has a tool that changes files.
fn is_mutating(definition: &Definition) -> bool {
    agent::surface::resolve(definition, Tool::all().filter(|tool| tool.is_native()), &[]).is_mutating()
}

/// A child may not do more than its parent, nor more than its definition says.
fn access(wish: &Wish, definition: &Definition) -> ChildAccess {
    let reads =
        definition.access == agent::Access::ReadOnly || wish.access == Access::ReadOnly || !is_mutating(definition);
    if reads { ChildAccess::ReadOnly } else { ChildAccess::Write }
}

/// A definition may ask for the background; only readers get it, because nobody brings their work home.
fn hold(wish: &Wish, definition: &Definition) -> Hold {
    let reads = access(wish, definition) == ChildAccess::ReadOnly;
    match wish.order.hold {
        Hold::Foreground if reads && definition.background == Some(true) => Hold::Background,
        hold @ (Hold::Foreground | Hold::Detached | Hold::Background) => hold,
    }
}

fn timeout(wish: &Wish, definition: &Definition) -> Duration {
    let is_built_in = definition.source.scope == agent::Scope::BuiltIn;
    let reads = access(wish, definition) == ChildAccess::ReadOnly;
    delegation::limit(&Limits {
        call: wish.order.timeout,
        file: definition.timeout,
        facade: wish.order.facade,
        config: wish.config.is_set("delegation.timeout").then_some(wish.config.delegation.timeout),
        agent: if is_built_in && reads { AgentKind::ReadOnlyBuiltIn } else { AgentKind::Other },
        turn: wish.config.limits.turn_timeout,
    })
}
