//! Who calls a function and whom it calls, several calls deep.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::lsp::answer::{self, Callable};
use crate::tools::code::{Calls, Place};

use super::desk::{Desk, Opened, notices, told};

pub(super) async fn trace(desk: &Desk<'_>, at: &Place, mode: Calls, depth: u32, most: usize) -> Result<Value, String> {
    let opened = desk.ask_about(&at.path).await?;
    let method = "textDocument/prepareCallHierarchy";
    if let Some(notice) = opened.lacks(method) {
        return Ok(json!({ "supported": false, "nodes": [], "edges": [], "truncated": false, "notice": notice }));
    }
    let mut graph = Graph { nodes: Vec::new(), edges: Vec::new(), is_truncated: false, most };
    let exact = opened.exactly(at)?;
    let answer = opened.lease.server.ask(method, opened.at(exact.position)).await.map_err(told)?;
    let roots: Vec<_> = answer::callables(&answer).into_iter().filter_map(|callable| graph.add(callable)).collect();
    let ways: &[Way] = match mode {
        Calls::Callers => &[Way::Callers],
        Calls::Callees => &[Way::Callees],
        Calls::Graph => &[Way::Callers, Way::Callees],
    };
    for way in ways {
        graph.follow(&opened, &roots, *way, depth).await?;
    }
    let node = |(id, callable): (usize, &Callable)| {
        json!({
            "id": id,
            "name": callable.name,
            "kind": callable.kind,
            "path": desk.told(&callable.location.path),
            "line": callable.location.range.start.line + 1,
        })
    };
    let mut told = json!({
        "supported": true,
        "roots": roots,
        "nodes": graph.nodes.iter().enumerate().map(node).collect::<Vec<_>>(),
        "edges": graph.edges.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>(),
        "truncated": graph.is_truncated,
    });
    if let Some(notice) = notices([exact.choice(at), opened.notice()]) {
        told["notice"] = json!(notice);
    }
    Ok(told)
}

/// One way along calls.
#[derive(Clone, Copy)]
enum Way {
    Callers,
    Callees,
}

impl Way {
    /// The question, and the other end of a call in its answer.
    fn question(self) -> (&'static str, &'static str) {
        match self {
            Self::Callers => ("callHierarchy/incomingCalls", "from"),
            Self::Callees => ("callHierarchy/outgoingCalls", "to"),
        }
    }
}

struct Graph {
    nodes: Vec<Callable>,
    /// From the one who calls to the one who is called.
    edges: Vec<(usize, usize)>,
    is_truncated: bool,
    most: usize,
}

impl Graph {
    /// Goes along calls, nearest first.
    async fn follow(&mut self, opened: &Opened, roots: &[usize], way: Way, depth: u32) -> Result<(), String> {
        let (method, end) = way.question();
        let mut queue: VecDeque<(usize, u32)> = roots.iter().map(|root| (*root, 0)).collect();
        let mut seen: Vec<usize> = roots.to_vec();
        while let Some((node, distance)) = queue.pop_front() {
            if distance == depth {
                continue;
            }
            let item = self.nodes[node].raw.clone();
            let answer = opened.lease.server.ask(method, json!({ "item": item })).await.map_err(told)?;
            for other in answer::calls(&answer, end) {
                let Some(other) = self.add(other) else { continue };
                let edge = match way {
                    Way::Callers => (other, node),
                    Way::Callees => (node, other),
                };
                if !self.edges.contains(&edge) {
                    self.edges.push(edge);
                }
                if !seen.contains(&other) {
                    seen.push(other);
                    queue.push_back((other, distance + 1));
                }
            }
        }
        Ok(())
    }

    /// The number of a function; none when there are too many.
    fn add(&mut self, callable: Callable) -> Option<usize> {
        let known = self.nodes.iter().position(|known| known.location == callable.location);
        if known.is_none() {
            if self.nodes.len() >= self.most {
                self.is_truncated = true;
                return None;
            }
            self.nodes.push(callable);
        }
        known.or_else(|| self.nodes.len().checked_sub(1))
    }
}
