//! The program that really runs: npm installs a script of Node in front of it, which costs 40 MB and a fifth of a second.

use std::env;
use std::path::{Path, PathBuf};

/// Lies at the top of what is unpacked for one platform.
const PACKAGE: &str = "codex-package.json";

/// The package and the directory of the native program on this machine; `None` where npm has none.
fn platform() -> Option<(&'static str, &'static str)> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Some(("codex-linux-x64", "x86_64-unknown-linux-musl")),
        ("linux", "aarch64") => Some(("codex-linux-arm64", "aarch64-unknown-linux-musl")),
        ("macos", "x86_64") => Some(("codex-darwin-x64", "x86_64-apple-darwin")),
        ("macos", "aarch64") => Some(("codex-darwin-arm64", "aarch64-apple-darwin")),
        _ => None,
    }
}

/// The native program behind `program`, if `program` is the script of npm and the other is where npm puts it.
pub(super) fn native(program: &Path) -> Option<PathBuf> {
    let (package, triple) = platform()?;
    let script = program.canonicalize().ok()?;
    if script.file_name()? != "codex.js" {
        return None;
    }
    let own = script.parent()?.parent()?;
    let vendors = [
        own.join("node_modules/@openai").join(package).join("vendor"),
        own.parent()?.join(package).join("vendor"),
        own.join("vendor"),
    ];
    let mut programs = vendors.iter().map(|vendor| vendor.join(triple).join("bin/codex"));
    programs.find(|program| program.is_file())
}

/// What belongs to a program: its package, where it has one, or only its own file.
pub(super) fn installation(program: &Path) -> PathBuf {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let package = program.parent().and_then(Path::parent).filter(|dir| dir.join(PACKAGE).is_file());
    package.map_or_else(|| program.clone(), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_script_of_npm_leads_to_the_program_beside_it() {
        let Some((package, triple)) = platform() else { return };
        let dir = tempfile::tempdir().unwrap();
        let modules = dir.path().canonicalize().unwrap().join("node_modules");
        let script = modules.join("@openai/codex/bin/codex.js");
        let shim = modules.join(".bin/codex");
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        fs::create_dir_all(shim.parent().unwrap()).unwrap();
        fs::write(&script, "#!/usr/bin/env node\n").unwrap();
        symlink("../@openai/codex/bin/codex.js", &shim).unwrap();
        assert_eq!(native(&shim), None);

        for vendor in
            [format!("@openai/{package}/vendor"), format!("@openai/codex/node_modules/@openai/{package}/vendor")]
        {
            let program = modules.join(vendor).join(triple).join("bin/codex");
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(&program, "").unwrap();
            assert_eq!(native(&shim), Some(program.clone()));
            assert_eq!(installation(&program), program);
            let package = program.ancestors().nth(2).unwrap();
            fs::write(package.join(PACKAGE), "{}").unwrap();
            assert_eq!(installation(&program), package);
        }
    }

    #[test]
    fn any_other_program_is_run_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("codex");
        fs::write(&program, "").unwrap();
        assert_eq!(native(&program), None);
        assert_eq!(native(Path::new("/no/such/codex")), None);
    }
}
