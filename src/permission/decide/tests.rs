//! The decision as a table, what each requirement asks of it, and what no combination of layers may ever do.

mod never;
mod require;
mod steps;

use std::path::Path;

use super::*;
use crate::permission::compact::CompactPermission;
use crate::permission::rule::{Rule, RuleFile, Rules};
use crate::permission::{AgentWord, Effect, GitDriver, Hold, Leads, Places, Target, load};

const TREE: &str = "/data/state/worktrees/a";
const PLAN: &str = "/data/state/plans/p/x.md";
const SHARED: &str = ".coppice/permissions.json";

/// A scene that owns what it is about.
#[derive(Debug, Clone)]
struct World {
    posture: Posture,
    overlay: Overlay,
    hold: Hold,
    access: Access,
    audience: Audience,
    missing: Vec<&'static str>,
    agent: Option<CompactPermission>,
    agent_word: AgentWord,
    rules: Rules,
    grants: Vec<Rule>,
    git_driver: Option<GitDriver>,
}

/// A person watches, and nothing is written down.
fn world() -> World {
    World {
        posture: Posture::Attended,
        overlay: Overlay::None,
        hold: Hold::Enforced,
        access: Access::Write,
        audience: Audience::Person,
        missing: Vec::new(),
        agent: None,
        agent_word: AgentWord::Counts,
        rules: Rules::default(),
        grants: Vec::new(),
        git_driver: None,
    }
}

impl World {
    fn posture(self, posture: Posture) -> Self {
        Self { posture, ..self }
    }

    fn yolo(self) -> Self {
        Self { overlay: Overlay::Yolo, ..self }
    }

    fn advisory(self) -> Self {
        Self { hold: Hold::Advisory, ..self }
    }

    fn agent(self, map: &str) -> Self {
        Self { agent: Some(load::map("agent", map, "/home/me").unwrap()), ..self }
    }

    fn map(mut self, map: &str) -> Self {
        self.rules.map = Some(load::map("permissions.jsonc", map, "/home/me").unwrap());
        self
    }

    fn shared(mut self, allow: &[&str], ask: &[&str], deny: &[&str]) -> Self {
        let (allow, ask, deny) = (rules(allow), rules(ask), rules(deny));
        self.rules.files.push(RuleFile { name: SHARED.to_owned(), allow, ask, deny });
        self
    }

    fn grant(mut self, rule: &str) -> Self {
        self.grants.extend(rules(&[rule]));
        self
    }

    fn decide(&self, call: &Call) -> Verdict {
        self.in_scene(|scene| decide(call, scene))
    }

    fn in_scene<T>(&self, act: impl FnOnce(&Scene<'_>) -> T) -> T {
        let has_tool = |tool: &str| !self.missing.contains(&tool);
        let places = places();
        let scene = Scene {
            posture: self.posture,
            overlay: self.overlay,
            hold: self.hold,
            access: self.access,
            has_tool: &has_tool,
            agent: self.agent.as_ref(),
            agent_word: self.agent_word,
            rules: &self.rules,
            grants: &self.grants,
            audience: self.audience,
            places: &places,
            git_driver: self.git_driver.as_ref(),
        };
        act(&scene)
    }

    #[track_caller]
    fn check(&self, call: &Call, action: Action, layer: Layer) {
        let found = self.decide(call);
        assert_eq!((found.action, found.layer), (action, layer), "{call:?}: {found:?}");
    }
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn places() -> Places {
    Places {
        tree: TREE.into(),
        roots: vec!["/data/state/sessions/1/tmp".into()],
        readable: vec!["/usr".into()],
        home: "/home/me".into(),
        state: "/data/state".into(),
        checkout: Some("/home/me/code".into()),
        plan: Some(PLAN.into()),
        remotes: vec!["origin".to_owned()],
        has_tree_secret: false,
    }
}

fn call(tool: &str, subject: Subject) -> Call {
    Call { tool: tool.to_owned(), subject }
}

/// A call about files, by absolute path or from the tree on.
fn files(tool: &str, paths: &[&str]) -> Call {
    let target = |path: &&str| {
        let path = Path::new(TREE).join(path);
        Target { named: path.clone(), real: path }
    };
    call(tool, Subject::Paths(paths.iter().map(target).collect()))
}

/// A call about a file in the tree that is a link.
fn link(tool: &str, named: &str, real: &str) -> Call {
    let (named, real) = (Path::new(TREE).join(named), real.into());
    call(tool, Subject::Paths(vec![Target { named, real }]))
}

fn shell(text: &str, leads: Leads) -> Call {
    let cwd = Target { named: TREE.into(), real: TREE.into() };
    call("Bash", Subject::Command { text: text.to_owned(), cwd, leads })
}

/// A command that looks as if it stayed.
fn bash(text: &str) -> Call {
    shell(text, Leads::Inside)
}

fn mcp(server: &str, tool: &str, effect: Effect) -> Call {
    let subject = Subject::Mcp { server: server.to_owned(), tool: tool.to_owned(), effect };
    call(&format!("mcp__{server}__{tool}"), subject)
}

fn nothing(tool: &str) -> Call {
    call(tool, Subject::Nothing)
}

#[test]
fn a_call_is_spared_when_only_its_tool_would_be_asked_about() {
    let spared = |world: &World, call: &Call| {
        let verdict = world.decide(call);
        world.in_scene(|scene| is_spared(&verdict, call, scene))
    };
    let (write, read, test) = (files("write", &["a.rs"]), files("read", &["a.rs"]), bash("cargo test"));
    for (world, call, expected) in [
        (world().posture(Posture::Edits), &write, true),
        (world().posture(Posture::Unattended), &test, true),
        (world().yolo(), &test, true),
        (world().grant("Bash(cargo test)"), &test, true),
        (world().shared(&["Bash(cargo test)"], &[], &[]), &test, true),
        (world().posture(Posture::Plan), &files("write", &[PLAN]), true),
        // A person decides, or nobody may.
        (world(), &test, false),
        (world().shared(&[], &[], &["Bash(cargo test)"]), &test, false),
        // Nobody has to.
        (world(), &read, false),
        (world().posture(Posture::Unattended), &read, false),
        (world().yolo(), &read, false),
    ] {
        assert_eq!(spared(&world, call), expected, "{call:?} in {world:?}");
    }
}
