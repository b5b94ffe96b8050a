//! Calls that went ahead by themselves: what let each pass, kept until its card is told.
//!
//! A backend asks about a call of its own by the call's id. A served call comes on another way than its card and names
//! only the tool and the arguments, in either order; the two are brought together here.

use std::collections::HashMap;

use serde_json::Value;

use crate::api::permission::AutoApproval;
use crate::backend::event::ToolCall;
use crate::permission::Verdict;

use super::Actor;

/// The card that a call is shown as.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CardOf {
    /// The backend's own id.
    Call(String),
    Served {
        tool: String,
        arguments: Value,
    },
    /// One that says already by what its call went ahead.
    Told,
}

/// What let the calls of a turn pass.
#[derive(Debug, Default)]
pub(super) struct Passes {
    known: HashMap<String, AutoApproval>,
    /// Served calls whose card is not known, the oldest first.
    loose: Vec<Loose>,
}

#[derive(Debug)]
struct Loose {
    tool: String,
    arguments: Value,
    auto: AutoApproval,
}

impl Passes {
    /// A call goes ahead; `open` are the cards of calls that run, the oldest first.
    fn passed(&mut self, card: CardOf, auto: AutoApproval, open: &[ToolCall]) {
        match card {
            CardOf::Told => {}
            CardOf::Call(call) => {
                self.known.insert(call, auto);
            }
            CardOf::Served { tool, arguments } => {
                let loose = Loose { tool, arguments, auto };
                let free = open.iter().filter(|card| !self.known.contains_key(&card.call));
                match free.into_iter().find(|card| loose.is(card)).map(|card| card.call.clone()) {
                    Some(call) => {
                        self.known.insert(call, loose.auto);
                    }
                    None => self.loose.push(loose),
                }
            }
        }
    }

    /// A card begins.
    pub(super) fn begun(&mut self, card: &ToolCall) -> Option<AutoApproval> {
        if let Some(auto) = self.known.get(&card.call) {
            return Some(auto.clone());
        }
        let at = self.loose.iter().position(|loose| loose.is(card))?;
        let auto = self.loose.remove(at).auto;
        self.known.insert(card.call.clone(), auto.clone());
        Some(auto)
    }

    /// A card ends, and is not asked for again.
    pub(super) fn ended(&mut self, call: &str, card: Option<&ToolCall>) -> Option<AutoApproval> {
        if let Some(card) = card {
            self.begun(card);
        }
        self.known.remove(call)
    }
}

impl Loose {
    /// Whether a card shows this call: its title names the tool, and what it says about the arguments agrees.
    fn is(&self, card: &ToolCall) -> bool {
        let is_name = |word: &str| word.strip_suffix(self.tool.as_str()).is_some_and(is_server);
        let mut words = card.title.split(|at: char| !at.is_alphanumeric() && at != '_');
        words.any(is_name) && card.input.as_ref().is_none_or(|input| *input == self.arguments)
    }
}

/// What may stand before the name of a tool: nothing, or the server it is of.
fn is_server(before: &str) -> bool {
    before.is_empty() || before.ends_with("__")
}

impl Actor {
    /// A call goes ahead that its tool alone would have made a person decide about.
    pub(super) fn passed(&mut self, card: CardOf, verdict: Verdict) {
        let posture = self.record.body.posture.posture().as_str().to_owned();
        let auto = AutoApproval { layer: verdict.layer.as_str().to_owned(), rule: verdict.rule, posture };
        if let Some(turn) = &mut self.turn {
            turn.passes.passed(card, auto, &turn.tools);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::event::ToolKind;

    fn auto(rule: &str) -> AutoApproval {
        AutoApproval { layer: "rules".into(), rule: Some(rule.into()), posture: "attended".into() }
    }

    fn card(call: &str, title: &str, input: Option<Value>) -> ToolCall {
        ToolCall { call: call.into(), title: title.into(), kind: ToolKind::Other, input }
    }

    fn served(tool: &str, path: &str) -> CardOf {
        CardOf::Served { tool: tool.into(), arguments: json!({ "path": path }) }
    }

    #[test]
    fn a_call_of_the_agents_own_is_known_by_its_id_before_and_after_it_begins() {
        let mut passes = Passes::default();
        let cards = [card("a", "touch one", None), card("b", "touch two", None)];
        passes.passed(CardOf::Call("a".into()), auto("one"), &[]);
        assert_eq!(passes.begun(&cards[0]), Some(auto("one")));
        assert_eq!(passes.begun(&cards[1]), None);
        passes.passed(CardOf::Call("b".into()), auto("two"), &cards);
        assert_eq!(passes.ended("b", Some(&cards[1])), Some(auto("two")));
        assert_eq!(passes.ended("a", None), Some(auto("one")));
        assert_eq!(passes.ended("a", Some(&cards[0])), None, "told once");
    }

    #[test]
    fn a_served_call_finds_its_card_by_tool_and_arguments_whichever_comes_first() {
        let mut passes = Passes::default();
        let cards = [
            card("r", "coppice.read_file", Some(json!({ "path": "a" }))),
            card("d", "mcp__coppice__delete_file (coppice)", None),
            card("e", "delete_file", Some(json!({ "path": "a" }))),
            card("f", "delete_file", Some(json!({ "path": "b" }))),
        ];
        // The card is there: the one without arguments is the oldest that fits.
        passes.passed(served("delete_file", "c"), auto("d"), &cards[..2]);
        passes.passed(served("delete_file", "b"), auto("f"), &cards);
        // The card comes later.
        passes.passed(served("delete_file", "a"), auto("e"), &cards[..2]);
        let told = |passes: &mut Passes, card: &ToolCall| passes.begun(card).and_then(|auto| auto.rule);
        assert_eq!(
            cards.each_ref().map(|card| told(&mut passes, card)),
            [None, Some("d"), Some("e"), Some("f")].map(|rule| rule.map(str::to_owned))
        );
    }

    #[test]
    fn equal_calls_get_one_each() {
        let mut passes = Passes::default();
        let cards = ["x", "y"].map(|call| card(call, "write_file", Some(json!({ "path": "a" }))));
        passes.passed(served("write_file", "a"), auto("1"), &cards);
        passes.passed(served("write_file", "a"), auto("2"), &cards);
        let told = cards.each_ref().map(|card| passes.ended(&card.call, Some(card)));
        assert_eq!(told, [Some(auto("1")), Some(auto("2"))]);
    }
}
