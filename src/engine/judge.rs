//! Verdicts about the calls of one turn: the rules and places of its session, looked at once, and the decision itself
//! by `permission`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::surface::Surface;
use crate::api::permission::RuleFileInfo;
use crate::backend::{self, Native};
use crate::config::Config;
use crate::config::family::BackgroundApprovals;
use crate::git::Repo;
use crate::git::driver::{GlobalConfig, find_read_driver};
use crate::git::tracked::git_directory;
use crate::permission::compact::CompactPermission;
use crate::permission::rule::{Rule, Rules};
use crate::permission::{
    self, Access, AgentWord, Audience, Call, GitDriver, Hold, Kept, Overlay, Places, Posture, Profile, Reach, Scene,
    Subject, Verdict, flag, offer,
};

use crate::tool::{Tool, ToolName};

use super::agents::role::{Role, native};
use super::confine;
use super::fault::Fault;
use super::links::{self, CallerTree};
use super::record::{CallOrigin, ChildHold, Record};
use super::rules::{Files, Loaded};
use super::settings::Settings;
use super::shared::Shared;

/// Judges the calls of a turn.
pub(super) struct Judge {
    files: Files,
    settings: Arc<Settings>,
    rules: Rules,
    places: Places,
    /// The work tree by the name that the agent knows.
    tree: String,
    git_directory: PathBuf,
    /// What holds the tools that we serve: our own cage, also where the agent confines its own commands.
    served: Hold,
    /// What git runs when it reads.
    git_driver: Option<GitDriver>,
}

/// Who makes a call, and under which circumstances.
pub(super) struct Caller<'a> {
    pub(super) posture: Posture,
    pub(super) overlay: Overlay,
    pub(super) hold: Hold,
    pub(super) tools: Tools<'a>,
    pub(super) permission: Option<&'a CompactPermission>,
    pub(super) word: AgentWord,
    pub(super) access: Access,
    pub(super) audience: Audience,
    pub(super) grants: &'a [Rule],
}

/// A call that was made.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) tool: &'a str,
    pub(super) reach: &'a Reach,
    /// Who performs it.
    pub(super) origin: CallOrigin,
}

/// A call of a turn with what was decided about it.
pub(super) struct Judged {
    pub(super) call: Call,
    pub(super) verdict: Verdict,
    /// Whether it goes ahead though its tool is one that is asked about.
    pub(super) is_spared: bool,
}

/// Which tools the caller has.
#[derive(Clone, Copy)]
pub(super) struct Tools<'a> {
    pub(super) surface: &'a Surface,
    /// Whether the agent has all tools of its program, those that nobody else knows included.
    pub(super) whole: bool,
    /// The agent's own tools, where others are served in their place and it is the agent that calls.
    pub(super) own: Option<&'a Native>,
}

impl Judge {
    /// Looks at the files and places of a session. Reads the disk.
    pub(super) fn new(
        shared: &Shared,
        record: &Record,
        repo: &Repo,
        settings: Arc<Settings>,
        plan: Option<PathBuf>,
    ) -> Result<Self, Fault> {
        let files = Files::of_session(shared, record, repo);
        let Loaded { rules, .. } = files.load(&settings)?;
        let places = confine::places(shared, record, repo, plan);
        let served = confine::hold_of_own(shared, &record.body.reach);
        let global = match record.body.reach.hold() {
            Hold::Enforced => GlobalConfig::Private,
            Hold::Advisory => GlobalConfig::User,
        };
        let git_driver = find_read_driver(repo, global)?.map(|setting| GitDriver { setting });
        let tree = record.body.worktree.clone();
        let git_directory = git_directory(repo, Path::new(&tree));
        Ok(Self { files, settings, rules, places, tree, git_directory, served, git_driver })
    }

    /// The call as the rules see it: with every link on the way followed.
    pub(super) fn call(&self, tool: &str, reach: &Reach, agent: Option<&CompactPermission>) -> Call {
        let kept = Kept::for_commands(agent.into_iter().chain(&self.rules.map), &self.rules.files);
        let tree = CallerTree { name: &self.tree, path: &self.places.tree, git_directory: &self.git_directory };
        Call { tool: tool.to_owned(), subject: links::follow(reach, tree, &kept) }
    }

    /// What the rules say about a call of a session's turn.
    pub(super) fn verdict(&self, record: &Record, role: &Role, config: &Config, made: Made<'_>) -> Judged {
        let body = &record.body;
        let is_background = body.child.as_ref().is_some_and(|child| child.hold == ChildHold::Background);
        let denies = config.delegation.background_approvals == BackgroundApprovals::Deny;
        let grants: Vec<Rule> = body.grants.iter().filter_map(|rule| rule.parse().ok()).collect();
        let caller = Caller {
            posture: body.posture.posture(),
            overlay: if body.posture.yolo { Overlay::Yolo } else { Overlay::None },
            hold: match made.origin {
                CallOrigin::Served => self.served,
                CallOrigin::Backend => body.reach.hold(),
            },
            tools: Tools::of(role, made.origin),
            permission: role.permission.as_ref(),
            word: role.word,
            // While a plan is made the rules themselves know the one file that may be written.
            access: match (role.native.access, body.posture.posture()) {
                (_, Posture::Plan) => backend::Access::Write,
                (access, Posture::Attended | Posture::Edits | Posture::Unattended) => access,
            }
            .into(),
            audience: if is_background && denies { Audience::Nobody } else { Audience::Person },
            grants: &grants,
        };
        let call = self.call(made.tool, made.reach, role.permission.as_ref());
        let (verdict, is_spared) = self.in_scene(&caller, |scene| {
            let verdict = permission::decide(&call, scene);
            let is_spared = permission::is_spared(&verdict, &call, scene);
            (verdict, is_spared)
        });
        Judged { call, verdict, is_spared }
    }

    pub(super) fn decide(&self, call: &Call, caller: &Caller<'_>) -> Verdict {
        self.in_scene(caller, |scene| permission::decide(call, scene))
    }

    fn in_scene<T>(&self, caller: &Caller<'_>, act: impl FnOnce(&Scene<'_>) -> T) -> T {
        let has_tool = |name: &str| caller.tools.has(name);
        act(&Scene {
            posture: caller.posture,
            overlay: caller.overlay,
            hold: caller.hold,
            access: caller.access,
            has_tool: &has_tool,
            agent: caller.permission,
            agent_word: caller.word,
            rules: &self.rules,
            grants: caller.grants,
            audience: caller.audience,
            places: &self.places,
            git_driver: self.git_driver.as_ref(),
        })
    }

    /// The rules that a wider consent to the call saves; none when it can only be allowed once.
    pub(super) fn saves(&self, call: &Call) -> Vec<Rule> {
        offer::rules(call, &self.places).unwrap_or_default()
    }

    /// What an agent may not read, for whoever searches in its name.
    pub(super) fn kept(&self, role: &Role) -> Kept {
        Kept::of(role.permission.iter().chain(&self.rules.map), &self.rules.files)
    }

    /// Where the work tree is, with its links followed.
    pub(super) fn tree(&self) -> &Path {
        &self.places.tree
    }

    /// The files that took part.
    pub(super) fn listed(&self) -> Result<Vec<RuleFileInfo>, Fault> {
        Ok(self.files.load(&self.settings)?.files)
    }

    /// Looks at the files again: a decision of a person was written into one.
    pub(super) fn reload(&mut self) -> Result<(), Fault> {
        self.rules = self.files.load(&self.settings)?.rules;
        Ok(())
    }
}

impl<'a> Tools<'a> {
    pub(super) fn of(role: &'a Role, origin: CallOrigin) -> Self {
        let own = match (role.profile, origin) {
            (Profile::Enforced | Profile::ReadOnly, CallOrigin::Backend) => Some(&role.native),
            (Profile::Native, _) | (_, CallOrigin::Served) => None,
        };
        Self { surface: &role.surface, whole: role.native.is_whole(), own }
    }

    pub(super) fn has(self, name: &str) -> bool {
        let name = ToolName::read(name);
        // What is off is refused once more when it is called, whoever still offers it.
        let is_listed = |own: &Native| name.known().and_then(native::tool).is_some_and(|tool| own.lists(tool));
        if !self.own.is_none_or(is_listed) {
            return false;
        }
        match name {
            ToolName::Known(Tool::DeleteFile | Tool::MoveFile | Tool::CopyFile | Tool::Mkdir) => {
                [Tool::Write, Tool::Edit, Tool::Patch].iter().any(|tool| self.surface.has(*tool))
            }
            ToolName::Known(tool) => self.surface.has(tool),
            ToolName::External { .. } => self.surface.contains(&name.canonical()),
            ToolName::Unknown(_) => self.whole,
        }
    }
}

impl From<backend::Access> for Access {
    fn from(access: backend::Access) -> Self {
        match access {
            backend::Access::Write => Self::Write,
            backend::Access::ReadOnly => Self::ReadOnly,
        }
    }
}

/// What a person should look at twice before a call is allowed; `hold` is about its session.
pub(super) fn warnings(call: &Call, hold: Hold) -> Vec<String> {
    let Subject::Command { text, .. } = &call.subject else { return Vec::new() };
    let flags = flag::destructive(text);
    let destructive = (!flags.is_empty()).then(|| format!("DESTRUCTIVE FLAG(S): {}", flags.join(" ")));
    let failing = match hold {
        Hold::Enforced => flag::find_git_write(text),
        Hold::Advisory => None,
    };
    let failing = failing.map(|git| {
        format!("WILL FAIL: the sandbox lets no command write git's own directory, and `{git}` does; Coppice commits each turn")
    });
    destructive.into_iter().chain(failing).collect()
}
