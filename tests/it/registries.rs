//! Settings for package registries: a session knows which registry serves what, and logs in only if the person says so.

use std::fs;

use crate::env::TestEnv;

const REPORT: &str = "@report cat \"$npm_config_userconfig\" \"$PIP_CONFIG_FILE\"; echo \"uv=$UV_DEFAULT_INDEX\"; \
                      echo \"cargo=$CARGO_REGISTRIES_OURS_TOKEN\"; git config --get-regexp '^url'; \
                      cat ~/.npmrc >/dev/null 2>&1 || echo closed";

fn environment() -> TestEnv {
    let mut env = TestEnv::new();
    env.set("UV_DEFAULT_INDEX", "https://me:s3cret@uv.example.org/simple");
    for (file, text) in [
        (".npmrc", "@ours:registry=https://npm.example.org/\n//npm.example.org/:_authToken=s3cret\n"),
        (".config/pip/pip.conf", "[global]\nindex-url = https://me:s3cret@pip.example.org/simple\n"),
        (".cargo/credentials.toml", "[registries.ours]\ntoken = \"s3cret\"\n[registry]\ntoken = \"publish\"\n"),
        (".gitconfig", "[url \"https://mirror.example.org/\"]\n\tinsteadOf = https://h/\n"),
    ] {
        let path = env.path("home").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, before + text).unwrap();
    }
    env
}

#[test]
fn registries_are_known_and_their_logins_are_not() {
    let env = environment();
    let id = env.create_ready(REPORT);
    let answer = env.last_answer(&id);
    for line in [
        "@ours:registry=https://npm.example.org/",
        "index-url = https://pip.example.org/simple",
        "uv=https://uv.example.org/simple",
        "cargo=",
        "url.https://mirror.example.org/.insteadof https://h/",
        "closed",
    ] {
        assert!(answer.lines().any(|found| found.trim() == line), "{line}: {answer}");
    }
    assert!(!answer.contains("s3cret"), "{answer}");
    let doctor = env.coppice(&["doctor"]).transcript();
    assert!(doctor.contains(".npmrc (without its logins)"), "{doctor}");
}

#[test]
fn the_person_hands_over_logins_at_registries_and_a_repository_does_not() {
    let env = environment();
    env.write(".coppice/config.toml", "[sandbox]\nregistry_tokens = true\n");
    env.commit("settings");
    let refused = env.coppice(&["trust"]).transcript();
    assert!(refused.contains("cannot be set by a repository"), "{refused}");
    env.git(&["rm", "--quiet", ".coppice/config.toml"]);
    env.commit("no settings");
    let id = env.create_ready(REPORT);
    env.coppice(&["config", "set", "sandbox.registry_tokens", "true"]).succeeds();
    env.send_ready(&id, &[], REPORT);
    let answer = env.last_answer(&id);
    for line in [
        "//npm.example.org/:_authToken=s3cret",
        "index-url = https://me:s3cret@pip.example.org/simple",
        "uv=https://me:s3cret@uv.example.org/simple",
        "cargo=s3cret",
    ] {
        assert!(answer.lines().any(|found| found.trim() == line), "{line}: {answer}");
    }
    assert!(!answer.contains("publish"), "{answer}");
}
