//! What of the user's own set-up of each program sessions leave out on purpose, as checks of the doctor.

use crate::api::import::ImportState;
use crate::api::project::{Check, CheckState};
use crate::api::request::Environment;
use crate::backend::user_setup::{UnusedPart, UserSetup};

use super::super::Engine;
use super::super::fault::Fault;
use super::servers::{KnownServers, judge_server};

impl Engine {
    /// One check for each program that has something; what was taken over is in use.
    pub(in super::super) async fn check_setups(
        &self,
        cwd: Option<String>,
        environment: &Environment,
    ) -> Result<Vec<Check>, Fault> {
        let (setups, known) = (self.read_setups(cwd, environment).await?, self.configured_servers()?);
        let mut checks = Vec::new();
        for (backend, setup) in setups {
            let rules = if setup.rule_file.is_some() { self.count_unused_rules(environment)? } else { 0 };
            checks.extend(describe_setup(&backend, &setup, rules, &known));
        }
        Ok(checks)
    }
}

fn describe_setup(backend: &str, setup: &UserSetup, rules: usize, known: &KnownServers) -> Option<Check> {
    let is_unused = |state| match state {
        ImportState::Ready | ImportState::ByName | ImportState::Clash | ImportState::Unusable => true,
        ImportState::Present | ImportState::Imported => false,
    };
    let servers: Vec<_> =
        setup.servers.iter().filter(|server| is_unused(judge_server(server, None, known).state)).collect();
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    let servers = servers.first().map(|first| {
        let (names, file) = (names.join(", "), first.file.display());
        format!("MCP servers of `{file}` ({names}): each would run in every session; `coppice mcp import` adds those you choose")
    });
    let rules = setup.rule_file.as_ref().filter(|_| rules > 0).map(|file| {
        let advice = "they are consent for one program; `coppice permissions import` adds those you choose";
        format!("`allow` rules of `{}` ({rules}): {advice}", file.display())
    });
    let part = |part: &UnusedPart| format!("{} of `{}`: {}", part.what, part.place.display(), part.advice);
    let parts: Vec<_> = servers.into_iter().chain(rules).chain(setup.unused.iter().map(part)).collect();
    let unused = (!parts.is_empty()).then(|| "deliberately not used in sessions:".to_owned());
    let broken = setup.broken.iter().map(|broken| format!("cannot be read: {broken}"));
    let detail: Vec<_> = broken.chain(unused).chain(parts).collect();
    let state = if setup.broken.is_empty() { CheckState::Good } else { CheckState::Warning };
    let check = Check { name: format!("set-up of {backend}"), state, detail: detail.join("\n"), hint: None };
    (!check.detail.is_empty()).then_some(check)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::backend::user_setup::{FoundServer, ServerConnection, ServerSwitch};

    #[test]
    fn a_set_up_is_described_by_what_is_left_out_of_it() {
        let server = |name: &str| FoundServer {
            name: name.to_owned(),
            file: "/h/.x.json".into(),
            connection: ServerConnection::Remote { url: "https://h".to_owned() },
            switch: ServerSwitch::On,
        };
        let part = UnusedPart { what: "hooks", place: PathBuf::from("/h/.x"), advice: "they run programs" };
        let setup = UserSetup {
            servers: vec![server("db"), server("docs")],
            unused: vec![part],
            rule_file: Some("/h/.x/s.json".into()),
            broken: Vec::new(),
        };
        let describe = |setup: &UserSetup, rules| {
            describe_setup("x", setup, rules, &KnownServers::new())
                .map(|check| format!("{:?} {}", check.state, check.detail))
        };
        insta::assert_snapshot!(describe(&setup, 2).unwrap(), @r"
        Good deliberately not used in sessions:
        MCP servers of `/h/.x.json` (db, docs): each would run in every session; `coppice mcp import` adds those you choose
        `allow` rules of `/h/.x/s.json` (2): they are consent for one program; `coppice permissions import` adds those you choose
        hooks of `/h/.x`: they run programs
        ");
        let broken = UserSetup { broken: vec!["/h/.x:1:2: odd".to_owned()], ..UserSetup::default() };
        assert_eq!(describe(&broken, 0).as_deref(), Some("Warning cannot be read: /h/.x:1:2: odd"));
        assert_eq!(describe(&UserSetup { rule_file: setup.rule_file, ..UserSetup::default() }, 0), None);
    }
}
