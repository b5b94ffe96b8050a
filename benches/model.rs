//! A model that gives every prompt the same answer, in the words of the Responses interface, on a port of loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use axum::Router;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Starts the model; it ends with this program.
pub(crate) fn start() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, Router::new().fallback(reply)).await.unwrap();
        });
    });
    address
}

async fn reply(method: Method) -> Response {
    if method != Method::POST {
        return StatusCode::NOT_FOUND.into_response();
    }
    let text = json!({"answer": "done", "questions": [], "summary": null}).to_string();
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let message =
        json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content});
    let begun = json!({"id": "r1", "object": "response", "status": "in_progress", "output": []});
    let details = json!({"cached_tokens": 0, "reasoning_tokens": 0});
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": details, "output_tokens": 20, "output_tokens_details": details,
        "total_tokens": 120,
    });
    let ended = json!({"id": "r1", "object": "response", "status": "completed", "output": [message], "usage": usage});
    let mut open = message.clone();
    (open["status"], open["content"]) = (json!("in_progress"), json!([]));
    let body = [
        event(json!({"type": "response.created", "response": begun})),
        event(json!({"type": "response.output_item.added", "output_index": 0, "item": open})),
        event(json!({
            "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "m1", "delta": text,
        })),
        event(json!({"type": "response.output_item.done", "output_index": 0, "item": message})),
        event(json!({"type": "response.completed", "response": ended})),
    ]
    .concat();
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn event(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}
