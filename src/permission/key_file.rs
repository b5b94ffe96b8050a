//! Names of files that usually hold keys and passwords, for commands that name one.

#[cfg(test)]
mod tests;

use super::shell::{Word, is_one_of};

/// Names of files and directories.
const NAMES: &str = ".aws .azure .coppice .docker .env .git-credentials .gnupg .htpasswd .kube .netrc .npmrc .password-store \
                     .pgpass .pypirc .ssh .vault-token credentials.json environ gcloud gshadow gshadow- hosts.yml shadow shadow-";

/// How such names begin and end.
const BEGINNINGS: &[&str] = &[".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
const ENDS: &[&str] =
    &[".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk", ".tfvars", ".tfvars.json"];

/// Ends of names of files that only show what such a file looks like.
const TEMPLATES: &[&str] = &[".dist", ".example", ".pub", ".sample", ".template"];

/// Whether a word may name what holds keys or passwords.
pub(super) fn names_credentials(word: &Word) -> bool {
    // Some disks do not tell cases apart.
    let text = word.text.to_ascii_lowercase();
    if !text.contains(['.', '/', '_']) {
        return false;
    }
    text.split(|c: char| c.is_whitespace() || "/=:,'\"()`".contains(c)).any(|part| {
        let has_end = |ends: &[&str]| ends.iter().any(|end| part.len() > end.len() && part.ends_with(end));
        // A pattern for hidden files.
        let is_open = word.is_glob && part.contains(['*', '?', '[']) && part.starts_with(['.', '?', '[']);
        let is_named = BEGINNINGS.iter().any(|name| part.starts_with(name)) || has_end(ENDS);
        is_one_of(NAMES, part)
            || is_named && !has_end(TEMPLATES)
            || part.starts_with('-') && part.contains(".env")
            || is_open
            || part == "credentials" && text.contains('/')
    })
}
