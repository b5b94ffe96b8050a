//! JSON of a program that is not trusted, read into a value whose size in memory is bounded.
//!
//! Two bytes of text can become hundreds of bytes in memory: an array of one number, for example. So the values are counted
//! before they are made.

use serde_json::Value;

/// How much memory a value may take, apart from its text.
const VALUE_LIMIT: usize = 128 << 20;

/// What an array or an object with one entry takes: the map of an object, and room for the first entries of either.
const CONTAINER_BYTES: usize = 512;

/// What a further entry takes: its value and its key, and the room that is kept for more.
const ENTRY_BYTES: usize = 192;

/// Why a text has no value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("too many values: they would take {} MiB of memory", bytes >> 20)]
    TooManyValues { bytes: usize },
    #[error("not JSON")]
    NotJson {
        #[source]
        source: serde_json::Error,
    },
}

/// Reads a text that may hold anything.
pub(crate) fn parse_untrusted(text: &[u8]) -> Result<Value, JsonError> {
    let bytes = estimate_memory(text);
    if bytes > VALUE_LIMIT {
        return Err(JsonError::TooManyValues { bytes });
    }
    serde_json::from_slice(text).map_err(|source| JsonError::NotJson { source })
}

/// Counts brackets and commas outside of strings. What is not JSON gets some number, too.
fn estimate_memory(text: &[u8]) -> usize {
    let (mut bytes, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'[' | b'{' if !is_string => bytes += CONTAINER_BYTES,
            b',' if !is_string => bytes += ENTRY_BYTES,
            _ => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        let (container, entry) = (CONTAINER_BYTES, ENTRY_BYTES);
        for (text, bytes) in [
            ("1", 0),
            ("[]", container),
            (r#"{"a":[1,2],"b":{}}"#, 3 * container + 2 * entry),
            (r#""[{,\"[{,\\""#, 0),
            (r#"["\\",1]"#, container + entry),
        ] {
            assert_eq!(estimate_memory(text.as_bytes()), bytes, "{text}");
        }
    }

    #[test]
    fn a_text_of_few_bytes_cannot_take_much_memory() {
        for part in ["[0],", r#"{"a":0},"#, "{},", "0,"] {
            let text = format!("[{}0]", part.repeat((16 << 20) / part.len()));
            let refused = parse_untrusted(text.as_bytes()).unwrap_err();
            assert!(matches!(refused, JsonError::TooManyValues { .. }), "{part}: {refused}");
        }
    }

    #[test]
    fn long_texts_and_many_lines_are_read() {
        let lines = vec!["[a line, of a patch]"; 300_000];
        let value = json!({"image": "x".repeat(8 << 20), "lines": lines});
        assert_eq!(parse_untrusted(value.to_string().as_bytes()).unwrap(), value);
        assert!(matches!(parse_untrusted(b"{"), Err(JsonError::NotJson { .. })));
    }
}
