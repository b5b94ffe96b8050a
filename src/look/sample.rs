//! Sessions, backends and records that the tests of several files look at.

use crate::api::handoff::{Handoff, HandoffStatus, Integration};
use crate::api::image::Attached;
use crate::api::permission::RuleFileInfo;
use crate::api::project::{Backend, ListedBy};
use crate::api::session::{
    Approval, Base, Changes, Question, Response, Sandbox, Session, Status, Summary, Turn, TurnError, TurnState, Usage,
    WaitingFor,
};

/// The moment at which the tests look.
pub(crate) const NOW: i64 = 1_800_000_000_000;

pub(crate) fn session(status: Status) -> Session {
    Session {
        id: "abcd2345".into(),
        title: "Fix the parser".into(),
        status,
        waiting_for: match status {
            Status::Approval => Some(WaitingFor::Approval),
            Status::Asking => Some(WaitingFor::Answer),
            _ => None,
        },
        needs: match status {
            Status::Approval | Status::Asking | Status::Failed | Status::Conflict => 1,
            _ => 0,
        },
        next: vec!["diff".into(), "merge".into()],
        backend: "demo".into(),
        model: None,
        reasoning: None,
        agent: None,
        persona: None,
        surface: "enforced".into(),
        posture: "unattended".into(),
        yolo: false,
        read_only: false,
        profile: "native".into(),
        plan_file: None,
        sandbox: Sandbox { level: "workspace".into(), enforced: true, note: None },
        project: "/src/app/.git".into(),
        base: Base { name: "main".into(), commit: "0123456789abcdef0123456789abcdef01234567".into() },
        branch: "coppice/abcd2345/fix-the-parser".into(),
        worktree: "/data/worktrees/abcd2345".into(),
        parent: None,
        children: vec![],
        handoff: None,
        thread_note: None,
        subagent: None,
        turns: 1,
        undone_to: None,
        queued: 0,
        created_at: NOW - 3_600_000,
        updated_at: NOW - 5_000,
        removed_at: None,
        usage: Usage::default(),
        changes: Changes { files: 2, insertions: 12, deletions: 4 },
        questions: vec![],
        approvals: vec![],
        summary: None,
        last_error: None,
        uncommitted: None,
        undoable_merge: None,
        conflicts: vec![],
        unmarked_conflict: None,
        hook_fix: None,
        submodules: vec![],
        warnings: vec![],
    }
}

pub(crate) fn asking() -> Session {
    let question = |text: &str, options: &[&str]| Question {
        text: text.into(),
        options: options.iter().map(|option| option.to_string()).collect(),
        ..Question::default()
    };
    Session {
        questions: vec![question("Which database?", &["sqlite", "postgres"]), question("Which port?", &[])],
        next: vec!["answer".into(), "stop".into()],
        ..session(Status::Asking)
    }
}

pub(crate) fn approval() -> Session {
    Session {
        approvals: vec![Approval {
            id: "r1".into(),
            tool: "execute".into(),
            title: "run `cargo test`".into(),
            preview: Some("cargo test\n--quiet".into()),
            requested_at: NOW - 12_000,
            ..Approval::default()
        }],
        next: vec!["approve".into(), "deny".into(), "stop".into()],
        ..session(Status::Approval)
    }
}

/// A call that must be looked at twice.
pub(crate) fn push() -> Approval {
    Approval {
        id: "r1".into(),
        tool: "bash".into(),
        title: "run `git push --force origin main`".into(),
        preview: Some("git push --force origin main".into()),
        reason: "nothing decides about it".into(),
        layer: "tool class".into(),
        warnings: vec!["DESTRUCTIVE FLAG(S): --force".into()],
        requested_at: NOW - 12_000,
        ..Approval::default()
    }
}

pub(crate) fn failed() -> Session {
    Session {
        last_error: Some(TurnError {
            kind: "crashed".into(),
            message: "the backend exited before it answered".into(),
            hint: Some("`coppice resume abcd2345` goes on".into()),
            ..TurnError::default()
        }),
        next: vec!["resume".into(), "send".into(), "diff".into()],
        ..session(Status::Failed)
    }
}

pub(crate) fn conflict() -> Session {
    Session {
        conflicts: vec!["a.rs".into(), "b.rs".into()],
        unmarked_conflict: Some("0a1b".into()),
        summary: Some(Summary { turn: "Parses.".into(), session: "The parser parses.\nAll of it.".into() }),
        ..session(Status::Conflict)
    }
}

pub(crate) fn image() -> Attached {
    Attached { number: 1, name: Some("wrong.png".into()), media_type: "image/png".into(), bytes: 1200 }
}

pub(crate) fn turn(number: u32, state: TurnState) -> Turn {
    let response = Response { answer: "Done.\nAll tests pass.".into(), questions: vec![], summary: None };
    Turn {
        number,
        state,
        prompt: "fix the parser\nplease".into(),
        images: vec![],
        backend: "demo".into(),
        model: None,
        agent: None,
        started_at: NOW - 60_000,
        ended_at: Some(NOW - 30_000),
        response: (state == TurnState::Completed).then_some(response),
        error: None,
        checkpoint: Some("89abcdef0123456789abcdef0123456789abcdef".into()),
        undone: false,
        usage: Usage::default(),
        raw: None,
    }
}

/// A child of the session that all samples are.
pub(crate) fn child(id: &str, status: Status) -> Session {
    Session {
        id: id.into(),
        title: "@explore subagent".into(),
        agent: Some("explore".into()),
        parent: Some("abcd2345".into()),
        handoff: Some("h_1".into()),
        changes: Changes::default(),
        ..session(status)
    }
}

/// How that child came to be.
pub(crate) fn handoff() -> Handoff {
    Handoff {
        handoff_id: "h_1".into(),
        parent_session_id: "abcd2345".into(),
        parent_turn_id: 1,
        child_session_id: "efgh3456".into(),
        child_turn_id: Some(1),
        child_agent_id: "explore".into(),
        persona: None,
        status: HandoffStatus::Running,
        label: "find the parser".into(),
        depth: 1,
        background: false,
        assistant_text: None,
        plan: None,
        error: None,
        pending_permission: None,
        pending_question: None,
        backend: "demo".into(),
        model: None,
        branch: "coppice/efgh3456/find-the-parser".into(),
        base_sha: "0123456789abcdef0123456789abcdef01234567".into(),
        head_sha: None,
        diffstat: Changes::default(),
        started_at: NOW - 60_000,
        finished_at: None,
        usage: Usage::default(),
        summary: None,
        questions: vec![],
        integration: Integration::Nothing {},
        thread_note: None,
    }
}

/// An agent that works and lists nothing.
pub(crate) fn backend(name: &str) -> Backend {
    Backend {
        name: name.into(),
        program: Some(format!("/bin/{name}")),
        version: None,
        problem: None,
        warning: None,
        install: None,
        login: None,
        scripted: false,
        default: false,
        listed_by: ListedBy::Agent,
        note: None,
        models: vec![],
    }
}

/// Files of rules, one of which is not there.
pub(crate) fn rule_files() -> Vec<RuleFileInfo> {
    let file = |path: &str, rules, note: Option<&str>| RuleFileInfo {
        path: format!("/src/app/.coppice/{path}"),
        rules,
        note: note.map(str::to_owned),
    };
    vec![
        file("permissions.json", Some(12), Some("2 allow rules need `coppice trust`")),
        file("permissions.local.json", None, None),
    ]
}
