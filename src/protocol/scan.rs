//! Checks one JSON object character by character, and decodes its strings on the way.
//!
//! The parser and the streaming filter both stand on this machine, so they cannot disagree about what an object is.
//! It builds no value: `serde_json` does that once the object is complete.

/// Deeper objects are not responses; the bound also keeps a hostile text from costing more than linear time.
const MAX_DEPTH: usize = 64;

/// What one character meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Nothing a reader of keys and strings wants to know.
    Quiet,
    /// One decoded character of a key.
    KeyChar(char),
    /// The colon after a key.
    KeyEnd,
    /// One decoded character of a string that is a value.
    TextChar(char),
    /// The brace that completes the object.
    Closed,
}

/// Why a text is not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the text ends inside the object")]
    Unfinished,
    #[error("unexpected character")]
    Unexpected,
    #[error("unescaped control character in a string")]
    ControlCharacter,
    #[error("invalid escape in a string")]
    BadEscape,
    #[error("unpaired surrogate in a string")]
    LoneSurrogate,
    #[error("nested too deeply")]
    TooDeep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Object,
    Array,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    FirstKey,
    Key,
    Colon,
    FirstItem,
    Value,
    AfterValue,
    Text(Role, Escape),
    Literal(&'static str),
    Number(Number),
}

/// Where inside an escape a string is; `high` is the first half of a surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Backslash {
        high: Option<u32>,
    },
    Hex {
        left: u8,
        value: u32,
        high: Option<u32>,
    },
    /// A high surrogate is complete: only the backslash of its low half may follow.
    Low {
        high: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// The machine; it is fed from the opening brace to the closing one.
#[derive(Debug)]
pub(super) struct Scanner {
    stack: Vec<Frame>,
    state: State,
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self { stack: Vec::new(), state: State::Start }
    }

    /// How many objects and arrays are open.
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Takes the next character; after a fault or `Closed` the machine is spent.
    pub(super) fn step(&mut self, c: char) -> Result<Event, Fault> {
        match self.state {
            State::Text(role, escape) => return self.text(role, escape, c),
            State::Literal(rest) => return self.literal(rest, c),
            State::Number(number) => {
                if let Some(next) = number.step(c) {
                    return self.quiet(State::Number(next));
                }
                if !number.may_end() {
                    return Err(Fault::Unexpected);
                }
                // A number has no end of its own: the character after it belongs to what follows.
                self.state = State::AfterValue;
            }
            State::Start
            | State::FirstKey
            | State::Key
            | State::Colon
            | State::FirstItem
            | State::Value
            | State::AfterValue => {}
        }
        self.structure(c)
    }

    fn structure(&mut self, c: char) -> Result<Event, Fault> {
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            return Ok(Event::Quiet);
        }
        match (self.state, c) {
            (State::Start, '{') => self.open(Frame::Object, State::FirstKey),
            (State::FirstKey | State::Key, '"') => self.quiet(State::Text(Role::Key, Escape::None)),
            (State::FirstKey, '}') => self.close(Frame::Object),
            (State::Colon, ':') => self.quiet(State::Value).map(|_| Event::KeyEnd),
            (State::FirstItem, ']') => self.close(Frame::Array),
            (State::FirstItem | State::Value, _) => self.value(c),
            (State::AfterValue, ',') => match self.stack.last() {
                Some(Frame::Object) => self.quiet(State::Key),
                Some(Frame::Array) => self.quiet(State::Value),
                None => Err(Fault::Unexpected),
            },
            (State::AfterValue, '}') => self.close(Frame::Object),
            (State::AfterValue, ']') => self.close(Frame::Array),
            (
                State::Start
                | State::FirstKey
                | State::Key
                | State::Colon
                | State::AfterValue
                | State::Text(..)
                | State::Literal(_)
                | State::Number(_),
                _,
            ) => Err(Fault::Unexpected),
        }
    }

    fn value(&mut self, c: char) -> Result<Event, Fault> {
        match c {
            '{' => self.open(Frame::Object, State::FirstKey),
            '[' => self.open(Frame::Array, State::FirstItem),
            '"' => self.quiet(State::Text(Role::Value, Escape::None)),
            't' => self.quiet(State::Literal("rue")),
            'f' => self.quiet(State::Literal("alse")),
            'n' => self.quiet(State::Literal("ull")),
            '-' => self.quiet(State::Number(Number::Minus)),
            '0' => self.quiet(State::Number(Number::Zero)),
            '1'..='9' => self.quiet(State::Number(Number::Integer)),
            _ => Err(Fault::Unexpected),
        }
    }

    fn text(&mut self, role: Role, escape: Escape, c: char) -> Result<Event, Fault> {
        let (next, decoded) = match (escape, c) {
            (Escape::None, '"') => {
                return self.quiet(match role {
                    Role::Key => State::Colon,
                    Role::Value => State::AfterValue,
                });
            }
            (Escape::None, '\\') => (Escape::Backslash { high: None }, None),
            (Escape::None, '\0'..='\x1f') => return Err(Fault::ControlCharacter),
            (Escape::None, c) => (Escape::None, Some(c)),
            (Escape::Low { high }, '\\') => (Escape::Backslash { high: Some(high) }, None),
            (Escape::Low { .. }, _) => return Err(Fault::LoneSurrogate),
            (Escape::Backslash { high }, 'u') => (Escape::Hex { left: 4, value: 0, high }, None),
            (Escape::Backslash { high: Some(_) }, _) => return Err(Fault::LoneSurrogate),
            (Escape::Backslash { high: None }, c) => (Escape::None, Some(short_escape(c).ok_or(Fault::BadEscape)?)),
            (Escape::Hex { left, value, high }, c) => {
                let value = value << 4 | c.to_digit(16).ok_or(Fault::BadEscape)?;
                match left {
                    1 => unit(value, high)?,
                    _ => (Escape::Hex { left: left - 1, value, high }, None),
                }
            }
        };
        self.state = State::Text(role, next);
        Ok(match (decoded, role) {
            (None, _) => Event::Quiet,
            (Some(c), Role::Key) => Event::KeyChar(c),
            (Some(c), Role::Value) => Event::TextChar(c),
        })
    }

    fn literal(&mut self, rest: &'static str, c: char) -> Result<Event, Fault> {
        match rest.strip_prefix(c) {
            None => Err(Fault::Unexpected),
            Some("") => self.quiet(State::AfterValue),
            Some(rest) => self.quiet(State::Literal(rest)),
        }
    }

    fn open(&mut self, frame: Frame, state: State) -> Result<Event, Fault> {
        if self.stack.len() == MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.stack.push(frame);
        self.quiet(state)
    }

    fn close(&mut self, frame: Frame) -> Result<Event, Fault> {
        if self.stack.pop() != Some(frame) {
            return Err(Fault::Unexpected);
        }
        self.state = State::AfterValue;
        Ok(if self.stack.is_empty() { Event::Closed } else { Event::Quiet })
    }

    fn quiet(&mut self, state: State) -> Result<Event, Fault> {
        self.state = state;
        Ok(Event::Quiet)
    }
}

impl Number {
    fn step(self, c: char) -> Option<Self> {
        Some(match (self, c) {
            (Self::Minus, '0') => Self::Zero,
            (Self::Minus, '1'..='9') | (Self::Integer, '0'..='9') => Self::Integer,
            (Self::Zero | Self::Integer, '.') => Self::Point,
            (Self::Point | Self::Fraction, '0'..='9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, 'e' | 'E') => Self::Exponent,
            (Self::Exponent, '+' | '-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, '0'..='9') => Self::ExponentDigits,
            (
                Self::Minus
                | Self::Zero
                | Self::Integer
                | Self::Point
                | Self::Fraction
                | Self::Exponent
                | Self::ExponentSign
                | Self::ExponentDigits,
                _,
            ) => return None,
        })
    }

    fn may_end(self) -> bool {
        match self {
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits => true,
            Self::Minus | Self::Point | Self::Exponent | Self::ExponentSign => false,
        }
    }
}

/// Joins a complete `\uXXXX` with the half before it, or waits for the half after it.
fn unit(value: u32, high: Option<u32>) -> Result<(Escape, Option<char>), Fault> {
    match (high, value) {
        (None, 0xd800..=0xdbff) => Ok((Escape::Low { high: value }, None)),
        (Some(high), 0xdc00..=0xdfff) => {
            let joined = 0x10000 + ((high - 0xd800) << 10) + (value - 0xdc00);
            Ok((Escape::None, Some(char::from_u32(joined).ok_or(Fault::LoneSurrogate)?)))
        }
        (Some(_), _) => Err(Fault::LoneSurrogate),
        (None, _) => Ok((Escape::None, Some(char::from_u32(value).ok_or(Fault::LoneSurrogate)?))),
    }
}

fn short_escape(c: char) -> Option<char> {
    Some(match c {
        '"' | '\\' | '/' => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        _ => return None,
    })
}
