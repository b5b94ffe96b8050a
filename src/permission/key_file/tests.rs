//! Rows of names of files that usually hold keys, and of others.

use crate::permission::verb::only_reads;

#[test]
fn a_file_that_usually_holds_keys_is_known_by_its_name() {
    for name in [
        "certs/server.key",
        "a.pem",
        "config/master.key",
        ".envrc",
        ".env-local",
        ".env_prod",
        ".htpasswd",
        "prod.tfvars",
        "a.p12",
        "a.pfx",
        ".vault-token",
        "id_rsa.bak",
    ] {
        assert!(!only_reads(&format!("cat {name}")), "{name}");
    }
    for name in [".env.example", "id_rsa.pub", "src/key.rs", "docs/keys.md", "environment.yml", "a.env-loader.ts"] {
        assert!(only_reads(&format!("cat {name}")), "{name}");
    }
}
