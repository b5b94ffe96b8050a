//! The definitions of all commands, looked at together.

use clap::{Command, CommandFactory, Parser};

use super::Cli;

/// Every command and command of a command, with its whole name.
fn commands() -> Vec<(String, Command)> {
    fn below(prefix: &str, command: &Command) -> Vec<(String, Command)> {
        let name = format!("{prefix}{}", command.get_name());
        let inner = command.get_subcommands().flat_map(|inner| below(&format!("{name} "), inner));
        std::iter::once((name.clone(), command.clone())).chain(inner).collect()
    }
    below("", &Cli::command())
}

#[test]
fn the_definitions_are_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_commands_are_the_contract() {
    let names: Vec<_> = commands().into_iter().map(|(name, _)| name.replacen("coppice ", "", 1)).skip(1).collect();
    assert_eq!(
        names.join(", "),
        "new, run, list, show, events, wait, inbox, send, queue, answer, stop, resume, approve, deny, posture, attach, \
         shell, diff, comment, review, undo, merge, rebase, resolve, integrate, push, pr, pr create, pr update, pr show, pr review, archive, \
         rm, restore, agents, agents list, agents show, agents check, agents init, tools, \
         backends, backends list, backends add, backends check, models, permissions, permissions explain, permissions import, plan, plan list, plan show, plan resume, doctor, config, config get, \
         config set, config unset, config path, trust, project, project relink, demo, mcp, mcp import, daemon, daemon run, daemon start, \
         daemon stop, daemon status, daemon logs, store, store verify, store backup, store rebuild, completions, man"
    );
}

#[test]
fn every_command_says_what_it_does_and_shows_examples() {
    for (name, command) in commands() {
        assert!(command.get_about().is_some(), "{name} has no description");
        let is_top = name.matches(' ').count() < 2;
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(!is_top || examples.contains("Examples:\n"), "{name} has no examples");
    }
}

#[test]
fn every_example_that_is_only_ours_parses() {
    for (name, command) in commands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.lines().map(str::trim).filter(|line| line.starts_with("coppice "));
        for example in examples.filter(|line| !line.contains(['|', '<', '>', '$', '&'])) {
            // The overview puts a description two blanks behind the command.
            let words = split(example.split("  ").next().unwrap_or_default());
            if let Err(refusal) = Cli::try_parse_from(words) {
                panic!("{name}: `{example}`: {refusal}");
            }
        }
    }
}

/// Words as a shell would see them, double quotes included.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (place, part) in line.split('"').enumerate() {
        match place % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn options_without_an_effect_are_not_offered() {
    const ABSENT: &[&str] = &["persona"];
    for (name, command) in commands() {
        for option in command.get_arguments().filter_map(|option| option.get_long()) {
            assert!(!ABSENT.contains(&option), "{name} offers --{option}");
        }
    }
}

#[test]
fn what_prints_data_prints_json() {
    const TALK: &[&str] = &[
        "attach",
        "shell",
        "pr",
        "backends",
        "config",
        "daemon",
        "store",
        "project",
        "completions",
        "man",
        "demo",
        "mcp",
        "coppice",
    ];
    for (name, command) in commands() {
        let last = name.split(' ').next_back().unwrap_or_default();
        let has_json = command.get_arguments().any(|option| option.get_long() == Some("json"));
        let is_talk = TALK.contains(&last)
            || ["config path", "daemon run", "daemon stop", "daemon logs"].iter().any(|quiet| name.ends_with(quiet));
        assert!(has_json || is_talk, "{name} has no --json");
    }
}
