//! Whose tools a turn has, and why it does not have the others.

use super::super::served::{Needs, Row, rows};
use super::super::survey::{Missing, survey};
use super::*;
use crate::permission::compact::Action;
use crate::permission::{Effect, usual};
use crate::tool::Tool;

#[test]
fn what_is_served_follows_the_profile_and_the_consent() {
    let all = |_: Tool| true;
    for profile in Profile::ALL {
        for mutations in [Mutations::Withheld, Mutations::Served] {
            let context = Context { profile, mutations, ..context(&all, Facade::Delegate, &[]) };
            for row in rows() {
                let by_profile = match row.needs {
                    Needs::Instead | Needs::InsteadInPart | Needs::NoShell => profile != Profile::Native,
                    Needs::Mutations => mutations == Mutations::Served,
                    Needs::Nothing | Needs::Children | Needs::Todos | Needs::Skills => true,
                    Needs::Planning => false,
                };
                let reads = row.effect == Effect::Reads || matches!(row.needs, Needs::InsteadInPart);
                let expected = by_profile && (profile != Profile::ReadOnly || reads);
                assert_eq!(is_served(&context, row.name), expected, "{} in {profile:?}, {mutations:?}", row.name);
            }
        }
    }
}

#[test]
fn who_only_reads_is_served_nothing_that_changes_something() {
    for profile in [Profile::Native, Profile::Enforced] {
        let mutations = Mutations::Served;
        let context =
            Context { profile, mutations, access: Access::ReadOnly, ..context(&|_| true, Facade::Delegate, &[]) };
        assert!(served(&context).iter().all(|tool| tool.effect == Effect::Reads));
        // Its words decide what it does, and only those that look are for them.
        assert_eq!(is_served(&context, "git"), profile == Profile::Enforced);
    }
}

#[test]
fn hints_match_what_is_asked_about() {
    for row in rows() {
        let expected = usual(row.name) == Some(Action::Allow);
        assert_eq!(row.effect == Effect::Reads, expected, "{}", row.name);
        assert!(Tool::named(row.name).is_some(), "{}", row.name);
    }
}

#[test]
fn a_tool_that_is_missing_has_its_first_reason() {
    let (all, none) = (|_: Tool| true, |_: Tool| false);
    let agents = [offer("general", &[])];
    let usual = context(&all, Facade::Delegate, &agents);
    let own = |name, needs, effect| Row { name, description: "", schema: || Value::Null, needs, effect };
    let hidden = Context { delegation: Delegation::Hidden, ..usual };
    let nothing = Context { has: &none, ..usual };
    let only_reads = Context { profile: Profile::ReadOnly, ..usual };
    for (needs, effect, context, expected) in [
        (Needs::Nothing, Effect::Destroys, usual, None),
        (Needs::Nothing, Effect::Destroys, only_reads, Some(Missing::ReadOnly)),
        (Needs::Nothing, Effect::Reads, nothing, Some(Missing::Surface)),
        (Needs::Children, Effect::Reads, hidden, Some(Missing::Delegation)),
        (Needs::Todos, Effect::Reads, Context { todos: Todos::Native, ..usual }, Some(Missing::Todos)),
        (Needs::Skills, Effect::Reads, Context { skills: Skills::Absent, ..usual }, Some(Missing::Skills)),
        (Needs::Planning, Effect::Adds, usual, Some(Missing::Planning)),
        (Needs::Planning, Effect::Adds, Context { planning: Planning::On, has: &none, ..usual }, None),
        (Needs::Instead, Effect::Reads, usual, Some(Missing::Native)),
        (Needs::Instead, Effect::Reads, Context { profile: Profile::Enforced, ..usual }, None),
        (Needs::Instead, Effect::Reads, nothing, Some(Missing::Surface)),
        (Needs::Instead, Effect::Destroys, only_reads, Some(Missing::ReadOnly)),
        (Needs::NoShell, Effect::Reads, usual, Some(Missing::Shell)),
        (Needs::NoShell, Effect::Reads, Context { names: &all, ..usual }, None),
        (Needs::NoShell, Effect::Reads, Context { shell: Shell::Absent, ..usual }, None),
        (Needs::NoShell, Effect::Reads, Context { profile: Profile::Enforced, ..usual }, None),
        (Needs::NoShell, Effect::Reads, Context { names: &all, ..nothing }, Some(Missing::Surface)),
        (Needs::InsteadInPart, Effect::Destroys, only_reads, None),
        (Needs::InsteadInPart, Effect::Destroys, usual, Some(Missing::Native)),
        (Needs::Mutations, Effect::Adds, usual, Some(Missing::Mutations)),
        (Needs::Mutations, Effect::Adds, Context { mutations: Mutations::Served, ..usual }, None),
        (
            Needs::Mutations,
            Effect::Adds,
            Context { mutations: Mutations::Served, ..only_reads },
            Some(Missing::ReadOnly),
        ),
    ] {
        assert_eq!(own("wait", needs, effect).missing(&context), expected);
    }
    let delegate = |context: &Context<'_>| survey(context)[0].missing;
    assert_eq!(delegate(&usual), None);
    assert_eq!(delegate(&nothing), Some(Missing::Surface));
    assert_eq!(delegate(&hidden), Some(Missing::Delegation));
    assert_eq!(delegate(&Context { agents: &[], ..usual }), Some(Missing::Agents));
}

#[test]
fn a_survey_tells_of_every_tool_what_is_served() {
    for profile in Profile::ALL {
        let context = Context { profile, ..context(&|_| true, Facade::Task, &[]) };
        let surveyed = survey(&context);
        let shown: Vec<_> = surveyed.iter().filter(|one| one.missing.is_none()).map(|one| one.name).collect();
        assert_eq!(shown, names(&context));
        assert_eq!(surveyed.len(), rows().count() + 1);
    }
    let words: std::collections::BTreeSet<_> = Missing::ALL.iter().map(|missing| missing.as_str()).collect();
    assert_eq!(words.len(), Missing::ALL.len());
}
