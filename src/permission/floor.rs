//! What no rule and no person can allow: commands that end a machine, a home or the rights that hold an agent.
//! It reads the words of a command and knows nothing of sessions.

use super::shell;

const ENDINGS: &[&str] = &["sudo", "doas", "pkexec", "su", "shutdown", "reboot", "halt", "poweroff"];

/// Why a command must never run; `None` when nothing speaks against it for good.
pub fn catastrophe(text: &str) -> Option<String> {
    let commands = shell::parse(text)?;
    let first =
        commands.iter().filter_map(|simple| simple.words.first()).find(|word| ENDINGS.contains(&word.text.as_str()))?;
    Some(format!("`{}` never runs", first.text))
}
