//! Anthropic Messages as clouds serve them: the model is part of the path, and Bedrock streams the events in binary frames.

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A request for a message from a cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CloudRequest<'a> {
    pub(super) cloud: Cloud,
    pub(super) model: &'a str,
    pub(super) is_streamed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cloud {
    Bedrock,
    Vertex,
}

impl<'a> CloudRequest<'a> {
    /// Reads the path of a request; `None` for one that is for Anthropic itself.
    pub(super) fn read(path: &'a str) -> Option<Self> {
        let path = path.split('?').next()?;
        if let Some(rest) = path.strip_prefix("/model/") {
            let (model, is_streamed) = match rest.split_once('/')? {
                (model, "invoke") => (model, false),
                (model, "invoke-with-response-stream") => (model, true),
                _ => return None,
            };
            return Some(Self { cloud: Cloud::Bedrock, model, is_streamed });
        }
        let (_, rest) = path.strip_prefix("/projects/")?.split_once("/publishers/anthropic/models/")?;
        let (model, is_streamed) = match rest.split_once(':')? {
            (model, "rawPredict") => (model, false),
            (model, "streamRawPredict") => (model, true),
            _ => return None,
        };
        Some(Self { cloud: Cloud::Vertex, model, is_streamed })
    }
}

/// The type of a stream of [`frame`]s.
pub(super) const FRAMES: &str = "application/vnd.amazon.eventstream";

/// One event as a message of an AWS event stream.
pub(super) fn frame(event: &Value) -> Bytes {
    let payload = json!({"bytes": STANDARD.encode(event.to_string())}).to_string();
    let mut headers = Vec::new();
    for (name, value) in [(":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event")] {
        headers.push(u8::try_from(name.len()).unwrap());
        headers.extend(name.as_bytes());
        // The value is text.
        headers.push(7);
        headers.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        headers.extend(value.as_bytes());
    }
    // Two lengths and a checksum in front, a checksum at the end.
    let length = 12 + headers.len() + payload.len() + 4;
    let mut message: Vec<u8> = [length, headers.len()].map(|n| u32::try_from(n).unwrap().to_be_bytes()).concat();
    message.extend(checksum(&message).to_be_bytes());
    message.extend(headers);
    message.extend(payload.as_bytes());
    message.extend(checksum(&message).to_be_bytes());
    message.into()
}

/// CRC-32, as zlib has it.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
