//! Families as clients see them, made of rows that are written directly.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::api::event::{Block, Live, Payload};
use crate::api::handoff::Integration;
use crate::api::request::{EventQuery, ListSessions};
use crate::api::session::{Changes, Usage};
use crate::engine::Options;
use crate::engine::record::{
    AgentRecord, ApprovalRecord, Body, ChildAccess, ChildRecord, DefinitionRecord, QuestionCall, State, json,
};
use crate::engine::shared;
use crate::sandbox::support::support;
use crate::store::{Change, Durability, HandoffRow, ProjectRow, WorkflowRow, Write};

fn id(number: u8) -> SessionId {
    SessionId::from_random([0, 0, 0, 0, number])
}

fn record(number: u8, status: Status) -> Record {
    let body = Body { title: format!("session {number}"), state: State::Turning, ..Body::default() };
    let at = i64::from(number);
    Record { id: id(number), project: "p".into(), created_at: at, updated_at: at, removed_at: None, status, body }
}

fn child(number: u8, parent: &Record, agent: &str, hold: ChildHold, status: Status) -> Record {
    let above = parent.body.child.as_ref();
    let mut child = record(number, status);
    child.body.agent = AgentRecord { id: agent.into(), ..AgentRecord::default() };
    child.body.child = Some(ChildRecord {
        handoff: format!("h_{number}"),
        parent: parent.id,
        root: above.map_or(parent.id, |above| above.root),
        depth: above.map_or(0, |above| above.depth) + 1,
        rules: String::new(),
        access: ChildAccess::Write,
        hold,
        timeout_ms: 0,
        note: None,
        definition: DefinitionRecord {
            scope: String::new(),
            format: String::new(),
            path: String::new(),
            text: String::new(),
        },
    });
    child
}

fn approval(name: &str, at: i64) -> ApprovalRecord {
    ApprovalRecord {
        id: name.into(),
        request: String::new(),
        tool: "execute".into(),
        title: format!("run {name}"),
        preview: None,
        reason: String::new(),
        layer: String::new(),
        rule: None,
        saves: Vec::new(),
        warnings: Vec::new(),
        call: None,
        requested_at: at,
        call_hash: String::new(),
        expired: false,
        decision: None,
    }
}

fn question(name: &str) -> QuestionCall {
    QuestionCall {
        id: name.into(),
        request: String::new(),
        text: format!("{name}?"),
        options: vec![],
        multiple: false,
        plan: None,
        proposal: None,
        asked_at: 0,
        call_hash: String::new(),
        expired: false,
        answer: None,
    }
}

fn handoff(child: &Record, status: HandoffStatus) -> Change {
    let made = child.body.child.as_ref().unwrap();
    let handoff = Handoff {
        handoff_id: made.handoff.clone(),
        parent_session_id: made.parent.to_string(),
        parent_turn_id: 1,
        child_session_id: child.id.to_string(),
        child_turn_id: None,
        child_agent_id: child.body.agent.id.clone(),
        persona: None,
        status,
        label: format!("label {}", made.handoff),
        depth: made.depth,
        background: made.hold == ChildHold::Background,
        assistant_text: None,
        plan: None,
        error: None,
        pending_permission: None,
        pending_question: None,
        backend: "demo".into(),
        model: None,
        branch: String::new(),
        base_sha: String::new(),
        head_sha: None,
        diffstat: Changes::default(),
        started_at: 0,
        finished_at: None,
        usage: Usage::default(),
        summary: None,
        questions: vec![],
        integration: Integration::Nothing {},
        thread_note: None,
    };
    Change::Handoff(HandoffRow {
        id: made.handoff.clone(),
        parent: made.parent,
        child: child.id,
        status: status.as_str().into(),
        created_at: child.created_at,
        updated_at: child.updated_at,
        record: json(&handoff),
    })
}

fn warning(record: &Record, message: &str) -> Change {
    shared::event(record.id, &Payload::Warning { message: message.into() })
}

struct House {
    engine: Engine,
    _dir: TempDir,
}

impl House {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (data, config) = (dir.path().join("data"), dir.path().join("config.toml"));
        let (executable, environment) = ("unused".into(), BTreeMap::new());
        let options = Options {
            data,
            config,
            executable,
            environment,
            passable_environment: BTreeMap::new(),
            support: support(),
        };
        let house = Self { engine: Engine::start(options).await.unwrap(), _dir: dir };
        house
            .write([Change::Project(ProjectRow { id: "p".into(), common_dir: "/r".into(), record: "{}".into() })])
            .await;
        house
    }

    async fn write(&self, changes: impl IntoIterator<Item = Change>) {
        let changes = changes.into_iter().collect();
        self.engine.shared.store.write(Write { durability: Durability::Normal, changes }).await.unwrap();
    }

    async fn add(&self, record: &Record) {
        self.write([Change::Session(record.row())]).await;
    }

    async fn adopt(&self, child: &Record, status: HandoffStatus) {
        self.write([Change::Session(child.row()), handoff(child, status)]).await;
    }

    async fn see(&self, record: &Record) -> Session {
        self.engine.session(record.id.as_str()).await.unwrap()
    }
}

fn of(record: &Record) -> EventQuery {
    EventQuery { session: Some(record.id.to_string()), ..EventQuery::default() }
}

fn read(facts: &[(u64, String)]) -> Vec<Value> {
    facts.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect()
}

#[tokio::test]
async fn every_event_of_a_descendant_is_wrapped_for_the_session_above() {
    let house = House::open().await;
    let root = record(1, Status::Running);
    house.add(&root).await;
    house.write([warning(&root, "own")]).await;
    let feed = house.engine.feed(&of(&root)).await.unwrap();

    // The feed is open before they exist.
    let worker = child(2, &root, "worker", ChildHold::Foreground, Status::Running);
    let explore = child(3, &worker, "explore", ChildHold::Foreground, Status::Running);
    house.adopt(&worker, HandoffStatus::Running).await;
    house.write([warning(&worker, "child")]).await;
    house.adopt(&explore, HandoffStatus::Running).await;
    house.write([warning(&explore, "grandchild"), warning(&root, "own again")]).await;

    let facts = read(&feed.facts(0, 9).await.unwrap());
    let seen: Vec<_> =
        facts.iter().map(|fact| (fact["seq"].as_u64().unwrap(), fact["type"].as_str().unwrap())).collect();
    assert_eq!(seen, [(1, "warning"), (2, "subagent_event"), (3, "subagent_event"), (4, "warning")]);
    assert!(facts.iter().all(|fact| fact["session"] == root.id.as_str()));
    let at = facts[2]["event"]["at"].clone();
    assert_eq!(
        facts[2],
        json!({
            "seq": 3, "session": root.id.as_str(), "at": at, "type": "subagent_event", "v": 1,
            "agentType": "worker", "sessionId": worker.id.as_str(), "handoffId": "h_2", "depth": 2,
            "label": "label h_2", "path": [worker.id.as_str(), explore.id.as_str()],
            "event": {
                "seq": 3, "session": explore.id.as_str(), "at": at, "type": "warning", "v": 1,
                "message": "grandchild",
            },
        })
    );
    assert_eq!(facts[1]["path"], json!([worker.id.as_str()]));
    assert_eq!(read(&feed.facts(2, 1).await.unwrap()), [facts[2].clone()], "it goes on behind any number");

    let page = |query| house.engine.events(query);
    assert_eq!(page(of(&root)).await.unwrap().items.len(), 4);
    let middle = page(of(&worker)).await.unwrap().items;
    assert!(middle[1].get().contains(r#""type":"subagent_event""#) && middle[1].get().contains(r#""depth":2"#));
    let alone = EventQuery { family: Some(false), ..of(&root) };
    assert_eq!(page(alone.clone()).await.unwrap().items.len(), 2);
    assert_eq!(house.engine.feed(&alone).await.unwrap().facts(0, 9).await.unwrap().len(), 2);
    let all = page(EventQuery::default()).await.unwrap().items;
    assert!(all.len() == 4 && all.iter().all(|event| !event.get().contains("subagent_event")));
}

#[tokio::test]
async fn a_page_on_the_way_back_says_where_the_one_before_it_ends() {
    let house = House::open().await;
    let root = record(1, Status::Running);
    let worker = child(2, &root, "worker", ChildHold::Foreground, Status::Running);
    house.add(&root).await;
    house.adopt(&worker, HandoffStatus::Running).await;
    for text in ["one", "two", "three"] {
        house.write([warning(&root, text), warning(&worker, text)]).await;
    }
    let check = async |query: EventQuery, (before, limit), expected: &[u64], next: Option<&str>| {
        let query = EventQuery { before: Some(before), limit: Some(limit), ..query };
        let page = house.engine.events(query).await.unwrap();
        let seen = page.items.iter().map(|event| serde_json::from_str::<Value>(event.get()).unwrap()["seq"].as_u64());
        assert_eq!((seen.map(Option::unwrap).collect::<Vec<_>>(), page.next.as_deref()), (expected.to_vec(), next));
    };
    let alone = EventQuery { family: Some(false), ..of(&root) };
    check(alone.clone(), (u64::MAX, 2), &[3, 5], Some("3")).await;
    check(alone.clone(), (3, 2), &[1], None).await;
    check(alone.clone(), (u64::MAX, 3), &[1, 3, 5], None).await;
    check(alone, (1, 3), &[], None).await;
    check(of(&root), (u64::MAX, 4), &[3, 4, 5, 6], Some("3")).await;
    check(of(&root), (3, 4), &[1, 2], None).await;
    check(EventQuery::default(), (6, 1), &[5], Some("5")).await;

    let page = house.engine.events(EventQuery { before: Some(3), ..of(&root) }).await.unwrap();
    assert!(page.items[1].get().contains(r#""type":"subagent_event""#), "{}", page.items[1]);
    let both = EventQuery { since: Some(1), before: Some(3), ..of(&root) };
    assert_eq!(
        house.engine.events(both).await.unwrap_err().message,
        "events are read after one number or before one, not both"
    );
}

#[tokio::test]
async fn live_records_of_descendants_are_wrapped_too() {
    let house = House::open().await;
    let (root, other) = (record(1, Status::Running), record(9, Status::Running));
    let worker = child(2, &root, "worker", ChildHold::Foreground, Status::Running);
    house.add(&root).await;
    house.add(&other).await;
    house.adopt(&worker, HandoffStatus::Running).await;
    let live = &house.engine.shared.live;
    for record in [&root, &other, &worker] {
        live.delta(record.id, 1, Block::Message, "hm");
    }

    let feed = house.engine.feed(&of(&root)).await.unwrap();
    let late: Vec<_> = feed.watch().in_progress.into_iter().filter_map(|marked| feed.show(marked.record)).collect();
    let mut sessions: Vec<_> =
        late.iter().map(|record| (record.session(), matches!(**record, Live::SubagentEvent { .. }))).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, [(root.id.as_str(), false), (root.id.as_str(), true)]);

    let younger = child(3, &root, "explore", ChildHold::Foreground, Status::Running);
    house.adopt(&younger, HandoffStatus::Running).await;
    let status =
        |record: &Record| std::sync::Arc::new(Live::Status { session: record.id.to_string(), status: record.status });
    assert_eq!(feed.show(status(&younger)), None, "it was not met");
    house.write([warning(&younger, "born")]).await;
    feed.facts(feed.begins(), 9).await.unwrap();
    let shown = feed.show(status(&younger)).unwrap();
    assert!(matches!(&*shown, Live::SubagentEvent { origin, .. } if origin.agent_type == "explore"));
    assert_eq!(feed.show(status(&other)), None);
}

#[tokio::test]
async fn a_parent_shows_what_the_children_of_its_turn_want() {
    let house = House::open().await;
    let root = record(1, Status::Running);
    house.add(&root).await;
    assert_eq!(house.see(&root).await.waiting_for, None);

    let mut worker = child(2, &root, "worker", ChildHold::Foreground, Status::Running);
    house.adopt(&worker, HandoffStatus::Running).await;
    let seen = house.see(&root).await;
    assert_eq!(
        (seen.children.as_slice(), seen.waiting_for),
        (&[worker.id.to_string()][..], Some(WaitingFor::Children))
    );

    let mut explore = child(3, &worker, "explore", ChildHold::Foreground, Status::Asking);
    explore.body.calls = vec![question("why")];
    house.adopt(&explore, HandoffStatus::PendingQuestion).await;
    let seen = house.see(&root).await;
    assert_eq!((seen.children.len(), seen.waiting_for), (1, Some(WaitingFor::Answer)));
    assert_eq!(seen.questions[0].session.as_deref(), Some(explore.id.as_str()));

    (worker.status, worker.body.approvals) = (Status::Approval, vec![approval("1", 5)]);
    house.adopt(&worker, HandoffStatus::PendingPermission).await;
    let mut apart = child(4, &root, "apart", ChildHold::Background, Status::Approval);
    apart.body.approvals = vec![approval("1", 1)];
    house.adopt(&apart, HandoffStatus::PendingPermission).await;
    let mut done = child(5, &root, "done", ChildHold::Foreground, Status::Asking);
    done.body.calls = vec![question("late")];
    house.adopt(&done, HandoffStatus::Completed).await;

    let seen = house.see(&root).await;
    assert_eq!((seen.children.len(), seen.waiting_for), (3, Some(WaitingFor::Approval)));
    let [asked] = seen.approvals.as_slice() else { panic!("{:?}", seen.approvals) };
    assert_eq!(
        (asked.id.as_str(), asked.session.as_deref(), asked.agent.as_deref()),
        (format!("{}/1", worker.id).as_str(), Some(worker.id.as_str()), Some("worker"))
    );
    assert_eq!(seen.next[..3], ["approve", "deny", "answer"]);
    let listed = house.engine.sessions(ListSessions::default()).await.unwrap().items;
    assert_eq!(listed.iter().find(|session| session.id == seen.id), Some(&seen));

    let inbox = house.engine.inbox().await.unwrap();
    let owners: Vec<_> =
        inbox.iter().map(|item| (item.session.as_str(), item.parent.as_deref(), item.agent.as_deref())).collect();
    assert!(owners.contains(&(worker.id.as_str(), Some(root.id.as_str()), Some("worker"))));
    assert_eq!(owners.iter().filter(|(session, ..)| *session == root.id.as_str()).count(), 0, "{owners:?}");
    assert_eq!(owners.iter().filter(|(session, ..)| *session == worker.id.as_str()).count(), 1, "{owners:?}");
}

#[tokio::test]
async fn what_a_session_at_rest_once_delegated_wants_nothing_of_it() {
    let house = House::open().await;
    let root = record(1, Status::Ready);
    let mut worker = child(2, &root, "worker", ChildHold::Foreground, Status::Approval);
    worker.body.approvals = vec![approval("1", 5)];
    house.add(&root).await;
    house.adopt(&worker, HandoffStatus::PendingPermission).await;
    let seen = house.see(&root).await;
    assert_eq!((seen.waiting_for, seen.approvals.len(), seen.children.len()), (None, 0, 1));
}

#[tokio::test]
async fn a_decision_at_the_parent_goes_to_whoever_asked() {
    let house = House::open().await;
    let mut root = record(1, Status::Running);
    let mut first = child(2, &root, "a", ChildHold::Foreground, Status::Approval);
    let mut second = child(3, &root, "b", ChildHold::Foreground, Status::Approval);
    first.body.approvals = vec![approval("7", 50)];
    second.body.approvals = vec![approval("7", 40)];
    second.body.calls = vec![question("x"), question("y")];
    first.body.calls = vec![question("z")];
    house.add(&root).await;
    house.adopt(&first, HandoffStatus::PendingPermission).await;
    house.adopt(&second, HandoffStatus::PendingPermission).await;
    let decider = async |request: &str| house.engine.decider(root.id, request).await.unwrap();
    assert_eq!(decider("oldest").await, (second.id, "7".to_owned()));
    assert_eq!(decider(&format!("{}/7", first.id)).await, (first.id, "7".to_owned()));
    let unknown = format!("{}/8", first.id);
    assert_eq!(decider(&unknown).await, (root.id, unknown.clone()), "the session itself says that it does not exist");
    assert_eq!(decider("7").await, (root.id, "7".to_owned()));

    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let shares = house.engine.answerers(root.id, texts(&["1", "2", "3"])).await.unwrap();
    let order: Vec<_> = house.see(&root).await.questions.into_iter().map(|question| question.text).collect();
    assert_eq!(order, ["z?", "x?", "y?"]);
    assert_eq!(shares, [(first.id, texts(&["1"])), (second.id, texts(&["2", "3"]))]);
    let error = house.engine.answerers(root.id, texts(&["1", "2", "3", "4"])).await.unwrap_err();
    assert_eq!(error.message, format!("session `{}` asks 3 questions, and 4 answers were given", root.id));

    (root.status, root.body.approvals) = (Status::Approval, vec![approval("9", 60)]);
    house.add(&root).await;
    assert_eq!(house.engine.decider(root.id, "oldest").await.unwrap(), (root.id, "oldest".to_owned()));
}

#[tokio::test]
async fn handoffs_and_the_workflow_are_read_by_any_member() {
    let house = House::open().await;
    let root = record(1, Status::Running);
    let worker = child(2, &root, "worker", ChildHold::Foreground, Status::Running);
    house.add(&root).await;
    house.adopt(&worker, HandoffStatus::Running).await;
    let handoffs = house.engine.handoffs(root.id.as_str()).await.unwrap().items;
    assert_eq!(handoffs.iter().map(|handoff| handoff.label.as_str()).collect::<Vec<_>>(), ["label h_2"]);
    assert_eq!(house.engine.handoffs(worker.id.as_str()).await.unwrap().items, []);

    assert_eq!(house.engine.workflow(worker.id.as_str()).await.unwrap(), Workflow::default());
    let text = r#"{"tasks":[{"task_id":"t1","title":"parse","status":"pending"}]}"#;
    house.write([Change::Workflow(WorkflowRow { session: root.id, record: text.into() })]).await;
    for member in [&root, &worker] {
        assert_eq!(house.engine.workflow(member.id.as_str()).await.unwrap().tasks[0].title, "parse");
    }
    let error = house.engine.integrate(root.id.as_str()).await.unwrap_err();
    assert_eq!(
        error.message,
        format!("session `{}` is nobody's child: there is no work tree to integrate it into", root.id)
    );
}
