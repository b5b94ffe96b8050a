//! What the daemon and the process inside a cage say to each other: one JSON object per line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::tools::{Answer, Image, command, files};

/// What is to be performed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Command(command::Request),
    Files(files::Request),
}

/// A line to the process.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Call {
        id: u64,
        request: Request,
    },
    /// Nobody waits for this call any more.
    Cancel {
        id: u64,
    },
}

/// A line of the process: what a call came to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Ok {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Picture>,
    },
    Error(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Picture {
    mime: String,
    /// In base64.
    data: String,
}

impl From<Result<Answer, String>> for Outcome {
    fn from(outcome: Result<Answer, String>) -> Self {
        let picture = |image: Image| Picture { mime: image.mime, data: STANDARD.encode(image.bytes) };
        match outcome {
            Ok(Answer { text, images }) => Self::Ok { text, images: images.into_iter().map(picture).collect() },
            Err(text) => Self::Error(text),
        }
    }
}

impl From<Outcome> for Result<Answer, String> {
    fn from(outcome: Outcome) -> Self {
        let image = |picture: Picture| {
            let bytes = STANDARD.decode(picture.data).map_err(|error| format!("a picture is damaged: {error}"))?;
            Ok(Image { mime: picture.mime, bytes })
        };
        match outcome {
            Outcome::Ok { text, images } => {
                let images = images.into_iter().map(image).collect::<Result<_, String>>()?;
                Ok(Answer { text, images })
            }
            Outcome::Error(text) => Err(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let request = Request::Command(command::Request::Bash { command: "ls\n".to_owned() });
        let order = Order::Call { id: 7, request };
        let line = serde_json::to_string(&order).unwrap();
        assert_eq!(line, r#"{"call":{"id":7,"request":{"command":{"bash":{"command":"ls\n"}}}}}"#);
        assert_eq!(serde_json::from_str::<Order>(&line).unwrap(), order);

        let reply = Reply { id: 7, outcome: Err("no".to_owned()).into() };
        let line = serde_json::to_string(&reply).unwrap();
        assert_eq!(line, r#"{"id":7,"error":"no"}"#);
        assert_eq!(serde_json::from_str::<Reply>(&line).unwrap(), reply);
    }

    #[test]
    fn a_picture_survives_the_line() {
        let image = Image { mime: "image/png".to_owned(), bytes: vec![0, 10, 255] };
        let answer = Answer { text: "label".to_owned(), images: vec![image] };
        let reply = Reply { id: 1, outcome: Ok(answer.clone()).into() };
        let line = serde_json::to_string(&reply).unwrap();
        assert_eq!(line, r#"{"id":1,"ok":{"text":"label","images":[{"mime":"image/png","data":"AAr/"}]}}"#);
        let read: Reply = serde_json::from_str(&line).unwrap();
        assert_eq!(Result::from(read.outcome), Ok(answer));
    }
}
