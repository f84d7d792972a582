//! A value as it may be kept: names of members, pairs, lists and JSON in texts say what is secret in it; of the rest so much.

use serde_json::{Map, Value};

use super::{
    ListContext, TextKind,
    list_context::{is_named_value, names_secret},
    table::{is_secret_name, redacted, redacted_value},
};
use crate::text::secret::MASK;

/// Limit: how deep a value is looked into, and bytes of the name of a member.
const DEPTH: usize = 24;
const NAME: usize = 256;

/// Members whose own members are variables or headers, which may be secret whatever their names are.
const HOLDERS: [&str; 4] = ["env", "env_json", "headers", "headers_json"];

/// A name whose value is redacted in all its parts.
const SECRET: &str = "secret";

/// Stands for what is left out.
const LEFT_OUT: &str = "…";

/// How much is kept, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Of one text.
    pub text: usize,
    /// Of all.
    pub total: usize,
}

/// Masks what is known of a text, or of the beginning of a longer one.
type Known<'a> = dyn Fn(&str, bool) -> String + 'a;

/// One value on its way to where it is kept.
pub struct Walk<'a> {
    known: &'a Known<'a>,
    guesses: bool,
    bounds: Bounds,
    /// In bytes.
    left: usize,
}

impl<'a> Walk<'a> {
    /// Masks what is known, and with `guesses` also what looks like a secret.
    pub fn new(known: &'a Known<'a>, guesses: bool, bounds: Bounds) -> Self {
        Self {
            known,
            guesses,
            bounds,
            left: bounds.total,
        }
    }

    /// The value as it may be kept.
    pub fn value(mut self, value: Value) -> Value {
        self.walk("", value, DEPTH)
    }

    /// The value of a member of this name.
    fn walk(&mut self, name: &str, value: Value, depth: usize) -> Value {
        if self.left == 0 || depth == 0 {
            return LEFT_OUT.into();
        }
        match value {
            Value::Null | Value::Bool(_) => {
                self.spend(4);
                value
            }
            Value::Number(number) => {
                let text = number.to_string();
                self.spend(text.len());
                if self.shown(name, &text, false) == text {
                    Value::Number(number)
                } else {
                    MASK.into()
                }
            }
            Value::String(text) => self.text(name, &text, depth),
            Value::Array(elements) => Value::Array(self.list(name, elements, depth)),
            Value::Object(members) => self.object(name, members, depth),
        }
    }

    fn list(&mut self, name: &str, elements: Vec<Value>, depth: usize) -> Vec<Value> {
        let mut shown = Vec::new();
        let mut before = ListContext::default();
        for element in elements {
            if self.left == 0 {
                shown.push(LEFT_OUT.into());
                break;
            }
            self.spend(2);
            let is_secret = match &element {
                Value::String(text) => before.hide(text),
                Value::Number(number) => before.hide(&number.to_string()),
                Value::Array(_) | Value::Object(_) => before.hide_other(),
                Value::Bool(_) => {
                    before.hide_other();
                    false
                }
                // What comes after nothing is still looked at.
                Value::Null => false,
            };
            let is_secret = is_secret && self.guesses;
            shown.push(match element {
                Value::String(_) | Value::Number(_) if is_secret => MASK.into(),
                element => {
                    let name = if is_secret { SECRET } else { name };
                    self.walk(name, element, depth - 1)
                }
            });
        }
        shown
    }

    /// An object, which is itself the value of a member of this name.
    fn object(&mut self, name: &str, members: Map<String, Value>, depth: usize) -> Value {
        let mut shown = Map::new();
        let named = members.iter().find_map(|(key, value)| {
            let text = value.as_str()?;
            names_secret(key, text).then(|| text.to_owned())
        });
        let is_within_secret = is_secret_name(name);
        for (key, value) in members {
            if self.left == 0 {
                shown.insert(LEFT_OUT.to_owned(), LEFT_OUT.into());
                break;
            }
            self.spend(key.len() + 4);
            let shown_key = self.name(&key);
            let called = match &named {
                _ if is_within_secret => name,
                Some(named) if is_named_value(&key) => named,
                // Who reads it sees no other name.
                _ if is_secret_name(&shown_key) => &shown_key,
                _ => &key,
            };
            let value = if self.guesses && HOLDERS.contains(&key.as_str()) {
                with_values_redacted(value)
            } else {
                value
            };
            let value = self.walk(called, value, depth - 1);
            shown.insert(shown_key, value);
        }
        Value::Object(shown)
    }

    /// A name of a member, whatever else is redacted.
    fn name(&self, key: &str) -> String {
        shorten(key, NAME, |key, is_cut| {
            let known = (self.known)(key, is_cut);
            redacted(&known, TextKind::Record).into_owned()
        })
    }

    fn text(&mut self, name: &str, text: &str, depth: usize) -> Value {
        // JSON in a text has names of its own that say what is secret.
        let is_json = text.trim_start().starts_with(['{', '[']);
        let inner = is_json.then(|| serde_json::from_str(text));
        if let Some(Ok(inner)) = inner {
            let shown = self.walk(name, inner, depth - 1).to_string();
            return cut(shown, self.bounds.text, false).into();
        }
        let longest = self.bounds.text.min(self.left);
        let shown = shorten(text, longest, |text, is_cut| self.shown(name, text, is_cut));
        self.spend(shown.len() + 2);
        shown.into()
    }

    fn shown(&self, name: &str, text: &str, is_cut: bool) -> String {
        let known = (self.known)(text, is_cut);
        if self.guesses {
            redacted_value(name, &known, TextKind::Record).into_owned()
        } else {
            known
        }
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// An object, also as JSON in a text, of which only the names are shown.
fn with_values_redacted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let redacted = members.into_iter().map(|(name, value)| {
                let shown = if value.is_null() { value } else { MASK.into() };
                (name, shown)
            });
            Value::Object(redacted.collect())
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(inner @ Value::Object(_)) => with_values_redacted(inner).to_string().into(),
            _ => Value::String(text),
        },
        other => other,
    }
}

/// A text as it is redacted, of at most so many bytes. It is cut last, because what is cut can no longer be found as a whole; but nobody
/// searches megabytes for nothing. `mask` also learns whether there is more.
pub fn shorten(text: &str, longest: usize, mask: impl FnOnce(&str, bool) -> String) -> String {
    let (begin, rest) = text.split_at(text.floor_char_boundary(longest.saturating_mul(4)));
    let is_cut = !rest.is_empty();
    cut(mask(begin, is_cut), longest, is_cut)
}

/// At most so many bytes, and then whether there is more.
fn cut(mut text: String, longest: usize, is_cut: bool) -> String {
    if is_cut || text.len() > longest {
        text.truncate(text.floor_char_boundary(longest));
        text.push_str(LEFT_OUT);
    }
    text
}
