//! Other programs: the person's editor, a login, the tour, a command for news; and the clipboard.

#![expect(clippy::disallowed_methods, reason = "the editor and the commands of the person start here")]

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustix::process::Signal;

use crate::api::error::{Error, ErrorKind};
use crate::api::image::Image;

mod job;

pub(super) use job::{is_watched, suspend};

/// The person's editor, as it is spelled in the environment.
pub(super) fn editor() -> String {
    ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned())
}

/// Opens a file in the editor, at a line, and waits for its end. The directory is an agent's: an editor that stood in it
/// would obey what lies there (`.exrc`, `.dir-locals.el`, `.nvim.lua`), so it stands at the root.
pub(super) fn edit(editor: &str, directory: &Path, path: &str, line: Option<u32>) -> io::Result<()> {
    // An agent chose the name. From the root on it can be nothing but a path: editors obey `+…` and `-…`.
    let path = directory.join(path);
    // The variable may hold arguments and quotes, as git reads it too.
    let child = Command::new("sh")
        .arg("-c")
        .arg(format!("exec {editor} \"$@\""))
        .arg(editor)
        .args(place(editor, &path.to_string_lossy(), line))
        .current_dir("/")
        .spawn()?;
    let status = job::wait(&child)?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("the editor `{editor}` ended with {status}"))),
    }
}

/// How an editor is told a line: most take `+12`, some a suffix.
fn place(editor: &str, path: &str, line: Option<u32>) -> Vec<String> {
    let program = editor.split_whitespace().next().unwrap_or_default();
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match (name, line) {
        (_, None) => vec![path.to_owned()],
        ("code" | "code-insiders" | "codium" | "cursor" | "windsurf", Some(line)) => {
            vec!["--goto".to_owned(), format!("{path}:{line}")]
        }
        ("hx" | "helix" | "zed" | "subl", Some(line)) => vec![format!("{path}:{line}")],
        (_, Some(line)) => vec![format!("+{line}"), path.to_owned()],
    }
}

/// A text as the person leaves it in the editor.
pub(crate) fn edit_text(text: &str) -> io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("coppice-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    let path = file.into_temp_path();
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    edit(&editor(), &directory, &path.to_string_lossy(), None)?;
    let written = fs::read(&path)?;
    Ok(String::from_utf8_lossy(&written).trim_end_matches('\n').to_owned())
}

/// Runs a command of the person's in the terminal and waits for a key afterwards. It says first how to leave it: a login
/// may wait for a browser for ever.
pub(super) fn run(command: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "[coppice runs `{command}`: Ctrl+C leaves it]\r\n")?;
    out.flush()?;
    // The shell becomes the command, so that a command that stops itself is seen to stop.
    let status = job::wait(&Command::new("sh").args(["-c", command]).spawn()?)?;
    match status.signal() {
        // Whoever left it has seen enough.
        Some(signal) if signal == Signal::INT.as_raw() => Ok(()),
        Some(_) | None => {
            let wait = "printf '\\n[back to coppice: press Enter] '; read -r _";
            job::wait(&Command::new("sh").args(["-c", wait]).spawn()?).map(drop)
        }
    }
}

/// The tour, from this very program.
pub(super) fn demo() -> io::Result<()> {
    let program = env::current_exe()?;
    let quoted = program.to_string_lossy().replace('\'', r"'\''");
    run(&format!("'{quoted}' demo"))
}

/// Tells a command of the person's about news; nobody waits for it.
pub(super) fn tell(command: &[String], variables: &[(&str, &str)]) -> io::Result<()> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let mut child = Command::new(program)
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Its end is taken note of, so that no dead process is left behind.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Puts a text into tmux's own clipboard, and from there into that of the terminal around it. What a program inside
/// tells its terminal about clipboards, tmux ignores unless it is set to listen.
pub(super) fn copy_in_tmux(text: &str) -> io::Result<()> {
    let mut child = Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let written = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    child.wait()?;
    written.unwrap_or(Ok(()))
}

/// What a terminal is told to put its clipboard to this text; it works over ssh too.
pub(super) fn clipboard_bytes(text: &str) -> Vec<u8> {
    format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text)).into_bytes()
}

/// What the clipboard of this machine holds.
pub(super) enum Clip {
    Image(Image),
    Text(String),
}

/// Looks into the clipboard of this machine; that of a terminal over ssh cannot be read.
pub(super) fn clip() -> Result<Clip, Error> {
    let failed = |error: arboard::Error| {
        tracing::warn!(%error, "the clipboard is not read");
        Error::new(ErrorKind::Failed, "the clipboard of this machine cannot be read")
            .with_hint("paste the path of an image file, or `coppice send ID --image FILE`")
    };
    let mut clipboard = arboard::Clipboard::new().map_err(failed)?;
    match clipboard.get_image() {
        Ok(image) => Ok(Clip::Image(encode(&image)?)),
        Err(_) => clipboard.get_text().map(Clip::Text).map_err(failed),
    }
}

fn encode(image: &arboard::ImageData<'_>) -> Result<Image, Error> {
    let failed = |error: png::EncodingError| because("the image of the clipboard cannot be used", &error);
    let size = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size(image.width), size(image.height));
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&image.bytes).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(Image { name: None, data: BASE64_STANDARD.encode(bytes) })
}

/// An image file that the person named.
pub(super) fn read_image(directory: &Path, path: &Path) -> Result<Image, Error> {
    let path = directory.join(path);
    let bytes = fs::read(&path).map_err(|error| because(format!("failed to read `{}`", path.display()), &error))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Image { name, data: BASE64_STANDARD.encode(bytes) })
}

/// A failure with its cause.
pub(super) fn because(message: impl Into<String>, cause: &dyn std::error::Error) -> Error {
    Error { causes: vec![cause.to_string()], ..Error::new(ErrorKind::Failed, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_is_told_the_line_in_its_own_way() {
        for (editor, line, expected) in [
            ("vi", Some(12), "+12 src/a.rs"),
            ("vi", None, "src/a.rs"),
            ("/usr/bin/nvim -f", Some(3), "+3 src/a.rs"),
            ("code --wait", Some(3), "--goto src/a.rs:3"),
            ("hx", Some(3), "src/a.rs:3"),
        ] {
            assert_eq!(place(editor, "src/a.rs", line).join(" "), expected, "{editor}");
        }
    }

    #[test]
    fn an_editor_with_arguments_gets_the_file() {
        let directory = tempfile::tempdir().unwrap();
        edit("env LANG=C touch", directory.path(), "a b.txt", None).unwrap();
        assert!(directory.path().join("a b.txt").exists());
        // What looks like an option is a name.
        edit("touch", directory.path(), "-d yesterday", None).unwrap();
        assert!(directory.path().join("-d yesterday").exists());
        assert!(edit("false", directory.path(), "a", None).is_err());
        // Where an agent has written, no editor stands.
        edit("sh -c 'pwd > \"$1\"' --", directory.path(), "stands", None).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("stands")).unwrap(), "/\n");
    }
}
