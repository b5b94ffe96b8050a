//! Where a program is installed: what has to be readable for it to run at all.
//!
//! It looks at links and first lines of files; it starts nothing.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::backend::Launch;
use crate::backend::transport::spawn::Needs;

/// Readable for every process anyway.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc"];

/// Directories of packages: a package is of no use without those that it needs.
const PACKAGES: &[&str] = &["node_modules", ".pnpm"];

/// Directories below the home directory that hold the files of many programs, and keys among them.
const SHARED: &[&str] = &[".cache", ".config", ".local", ".local/share", ".local/state"];

/// How often one script leads to the next before it is given up.
const DEPTH: usize = 4;

/// The kernel reads no more of the line that names an interpreter.
const FIRST_LINE: u64 = 256;

/// Variables that name certificates of the user's own network.
const CERTIFICATES: &[&str] =
    &["CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"];

/// What the program of a conversation cannot do without: itself, our own program where that is its way to the served
/// tools, and the certificates that it checks its service by.
pub(crate) fn needs(launch: &Launch) -> Needs {
    let env = launch.environment();
    let mut read = of_command(&launch.argv, &env);
    read.extend(launch.bridge.first().map(PathBuf::from));
    let certificates =
        env.iter().filter(|(name, value)| CERTIFICATES.contains(&name.as_str()) && value.starts_with('/'));
    read.extend(certificates.map(|(_, path)| PathBuf::from(path)));
    read.sort_unstable();
    read.dedup();
    Needs { read, write: Vec::new() }
}

/// The places of a command: its program, and whatever else it names by an absolute path.
pub(crate) fn of_command(argv: &[String], env: &[(String, String)]) -> Vec<PathBuf> {
    let value = |wanted: &str| env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let search = Search { path: value("PATH").unwrap_or_default(), home: value("HOME").map(Path::new) };
    let named = argv.iter().map(Path::new).filter(|path| path.is_absolute());
    let mut places: Vec<PathBuf> = named.flat_map(|path| search.places(path)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// What to open for a program: the directory of all packages around it, else its own. A directory that is too wide is
/// not opened for one program, but the program alone.
pub(crate) fn program_place(program: &Path, home: Option<&Path>) -> PathBuf {
    let is_packages = |dir: &&Path| dir.file_name().is_some_and(|name| PACKAGES.iter().any(|known| name == *known));
    // The outermost one holds the others.
    let packages = program.ancestors().filter(is_packages).last();
    // A virtual environment of Python: the packages are beside the directory of programs.
    let environment = program.ancestors().nth(2).filter(|dir| dir.join("pyvenv.cfg").is_file());
    let dir = packages.or(environment).or_else(|| program.parent()).unwrap_or(program);
    if is_too_wide(dir, home) { program.to_owned() } else { dir.to_owned() }
}

/// Whether npm put a program there, or one that works like it.
pub(crate) fn is_in_packages(program: &Path) -> bool {
    let file = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    file.ancestors().filter_map(Path::file_name).any(|name| PACKAGES.iter().any(|known| name == *known))
}

struct Search<'a> {
    path: &'a str,
    home: Option<&'a Path>,
}

impl Search<'_> {
    /// The places of a program and of the interpreters behind it.
    fn places(&self, program: &Path) -> Vec<PathBuf> {
        let mut places = Vec::new();
        let mut next = Some(program.to_owned());
        for _ in 0..DEPTH {
            let Some(file) = next.as_deref().and_then(|path| fs::canonicalize(path).ok()).filter(|path| path.is_file())
            else {
                break;
            };
            if !SYSTEM.iter().any(|dir| file.starts_with(dir)) {
                places.push(program_place(&file, self.home));
            }
            next = first_line(&file).and_then(|line| self.interpreter(&line));
        }
        places
    }

    /// The program that a first line names.
    fn interpreter(&self, line: &str) -> Option<PathBuf> {
        let mut words = line.strip_prefix("#!")?.split_whitespace();
        let program = Path::new(words.next()?);
        if !program.ends_with("env") {
            return Some(program.to_owned());
        }
        let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        let dirs = std::env::split_paths(self.path).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
    }
}

/// Whether a directory holds the home directory, or the files of many programs in it, whatever links lead there.
fn is_too_wide(dir: &Path, home: Option<&Path>) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (dir, home) = (real(dir), home.map(real));
    let holds_too_much =
        |home: PathBuf| home.starts_with(&dir) || SHARED.iter().any(|name| real(&home.join(name)) == dir);
    dir.parent().is_none() || home.is_some_and(holds_too_much)
}

fn first_line(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(FIRST_LINE).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    String::from_utf8(line.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A home with programs as package managers leave them.
    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            fs::canonicalize(self.0.path()).unwrap().join(name)
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn link(&self, name: &str, to: &Path) -> PathBuf {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(to, &path).unwrap();
            path
        }

        #[track_caller]
        fn check(&self, argv: &[&Path], expected: &[&str]) {
            let argv: Vec<String> = argv.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
            let path = self.path("node/bin").to_str().unwrap().to_owned();
            let home = self.path("").to_str().unwrap().trim_end_matches('/').to_owned();
            let env = [("PATH".to_owned(), path), ("HOME".to_owned(), home)];
            let expected: Vec<PathBuf> = expected.iter().map(|name| self.path(name)).collect();
            assert_eq!(of_command(&argv, &env), expected);
        }
    }

    #[test]
    fn a_package_needs_its_neighbours_and_its_interpreter() {
        let home = Home::new();
        home.file("node/bin/node", "ELF");
        let script =
            home.file("npm/lib/node_modules/@google/cli/bundle/a.js", "#!/usr/bin/env -S node --no-warnings\n");
        let program = home.link("npm/bin/agent", &script);
        home.check(&[&program], &["node/bin", "npm/lib/node_modules"]);
        let nested = home.file("x/node_modules/a/node_modules/b/cli", "ELF");
        home.check(&[&nested], &["x/node_modules"]);
        let pnpm = home.file("p/.pnpm/a@1/node_modules/a/cli", "ELF");
        home.check(&[&pnpm], &["p/.pnpm"]);
    }

    #[test]
    fn a_program_in_a_virtual_environment_needs_all_of_it() {
        let home = Home::new();
        home.file("pipx/venvs/agent/pyvenv.cfg", "");
        let python = home.file("python/bin/python3", "ELF");
        let link = home.link("pipx/venvs/agent/bin/python", &python);
        let first = format!("#!{}\n", link.display());
        let script = home.file("pipx/venvs/agent/bin/agent", &first);
        home.check(&[&home.link("bin/agent", &script)], &["pipx/venvs/agent", "python/bin"]);
    }

    #[test]
    fn a_native_program_needs_its_directory() {
        let home = Home::new();
        let binary = home.file(".local/share/agent/versions/1.2.3", "ELF");
        home.check(&[&home.link(".local/bin/agent", &binary)], &[".local/share/agent/versions"]);
        home.check(&[Path::new("/bin/sh"), Path::new("-c"), Path::new("relative/x")], &[]);
        home.check(&[Path::new("/nowhere/agent")], &[]);
        let script = home.file("opt/agent.js", "no first line");
        home.check(&[Path::new("/bin/sh"), &script], &["opt"]);
    }

    #[test]
    fn a_home_is_never_opened_for_one_file() {
        let home = Home::new();
        home.check(&[&home.file("agent", "ELF")], &["agent"]);
        for (file, expected) in [
            ("/home/me/agent", "/home/me/agent"),
            ("/home/agent", "/home/agent"),
            ("/agent", "/agent"),
            ("/home/me/bin/agent", "/home/me/bin"),
            ("/home/you/agent", "/home/you"),
            ("/home/me/.local/share/agent", "/home/me/.local/share/agent"),
            ("/home/me/.local/share/agent/agent", "/home/me/.local/share/agent"),
        ] {
            assert_eq!(program_place(Path::new(file), Some(Path::new("/home/me"))), Path::new(expected));
        }
    }

    #[test]
    fn no_name_of_a_home_opens_it() {
        let home = Home::new();
        home.file("bin/agent", "ELF");
        home.file("agent", "ELF");
        home.link("elsewhere/home", &home.path(""));
        for name in ["agent", "bin/../agent", "elsewhere/home/agent"] {
            let program = home.path(name);
            assert_eq!(program_place(&program, Some(&home.path(""))), program);
        }
        assert_eq!(program_place(&home.path("bin/agent"), Some(&home.path(""))), home.path("bin"));
    }
}
