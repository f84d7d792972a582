//! Reading the keys of one JSON object: each key is taken once, what is left over is unknown.

use std::{fmt, ops::RangeInclusive, time::Duration};

use serde_json::{Map, Value};

use super::{
    duration,
    references::{self, Text, ValueLookup},
    tool_filter::Globs,
    unknown_keys,
};

/// A key with a value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {problem}")]
pub(super) struct BadField {
    /// The key's path inside the object it was read from.
    pub(super) key: String,
    /// What is wrong, and what is accepted.
    pub(super) problem: String,
}

impl BadField {
    pub(super) fn new(key: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self {
            key: key.into(),
            problem: problem.to_string(),
        }
    }
}

/// The keys of one object that nobody has taken yet. A null counts as absent.
pub(super) struct ObjectFields<'a> {
    left: Map<String, Value>,
    /// Put before keys in errors and warnings: empty, or a path that ends in a dot.
    prefix: String,
    /// Resolves references; without it strings are taken as they stand.
    lookup: Option<ValueLookup<'a>>,
}

impl<'a> ObjectFields<'a> {
    pub(super) fn new(object: Map<String, Value>, lookup: Option<ValueLookup<'a>>) -> Self {
        Self {
            left: object,
            prefix: String::new(),
            lookup,
        }
    }

    /// The keys that nobody has taken yet.
    pub(super) fn keys(&self) -> Vec<String> {
        self.left.keys().cloned().collect()
    }

    /// Whether strings are resolved here, so that their values are final.
    pub(super) fn resolves(&self) -> bool {
        self.lookup.is_some()
    }

    pub(super) fn is_array(&self, key: &str) -> bool {
        self.left.get(key).is_some_and(Value::is_array)
    }

    /// The object under a key, to be read in its turn.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<ObjectFields<'a>>, BadField> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(self.nested(key, object))),
            Some(_) => Err(self.bad(key, "must be an object {…}")),
        }
    }

    /// The value of a key that is not taken yet.
    pub(super) fn peek(&self, key: &str) -> Option<&Value> {
        self.left.get(key)
    }

    pub(super) fn value(&mut self, key: &str) -> Option<Value> {
        self.left.shift_remove(key).filter(|value| !value.is_null())
    }

    /// An object found inside a value of this one, to be read in its turn.
    pub(super) fn nested(&self, place: &str, object: Map<String, Value>) -> ObjectFields<'a> {
        ObjectFields {
            left: object,
            prefix: format!("{}{place}.", self.prefix),
            lookup: self.lookup,
        }
    }

    /// The value of a key, resolved if it is a string. An empty string counts as absent.
    pub(super) fn resolved(&mut self, key: &str) -> Result<Option<Value>, BadField> {
        match self.value(key) {
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(Value::String(self.expand(key, &text)?.value))),
            other => Ok(other),
        }
    }

    /// The one of several spellings that is present, under its name.
    pub(super) fn spelling(
        &mut self,
        keys: &[&'static str],
    ) -> Result<Option<&'static str>, BadField> {
        let mut found: Option<&'static str> = None;
        for key in keys {
            let Some(value) = self.left.get(*key).filter(|value| !value.is_null()) else {
                continue;
            };
            match found {
                None => found = Some(key),
                Some(first) if self.left.get(first) == Some(value) => {
                    self.left.shift_remove(*key);
                }
                Some(first) => {
                    return Err(self.bad(key, format_args!("says something else than `{first}`")));
                }
            }
        }
        Ok(found)
    }

    /// A string. An empty one counts as absent.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<Text>, BadField> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => self.expand(key, &text).map(Some),
            Some(_) => Err(self.bad(key, "must be a string")),
        }
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Option<Vec<Text>>, BadField> {
        let elements = match self.value(key) {
            None => return Ok(None),
            Some(Value::Array(elements)) => elements,
            Some(_) => return Err(self.bad(key, "must be an array of strings")),
        };
        let mut texts = Vec::with_capacity(elements.len());
        for (index, element) in elements.into_iter().enumerate() {
            let place = format!("{key}[{index}]");
            texts.push(self.scalar(&place, element)?);
        }
        Ok(Some(texts))
    }

    /// A map of names to strings, such as `env`.
    pub(super) fn named_texts(&mut self, key: &str) -> Result<Vec<(String, Text)>, BadField> {
        let entries = match self.value(key) {
            None => return Ok(Vec::new()),
            Some(Value::Object(entries)) => entries,
            Some(_) => return Err(self.bad(key, "must be an object of strings")),
        };
        let mut texts = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let text = self.scalar(&format!("{key}.{name}"), value)?;
            texts.push((name, text));
        }
        Ok(texts)
    }

    pub(super) fn globs(&mut self, key: &str) -> Result<Option<Globs>, BadField> {
        let Some(texts) = self.texts(key)? else {
            return Ok(None);
        };
        let patterns = texts.iter().map(|text| text.value.clone()).collect();
        Globs::new(patterns).map(Some).map_err(|mut error| {
            if let Some(text) = texts.iter().find(|text| text.value == error.pattern) {
                error.pattern.clone_from(&text.shown);
            }
            self.bad(key, format_args!("cannot be used: {error}"))
        })
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, BadField> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.bad(key, "must be true or false")),
        }
    }

    pub(super) fn count(
        &mut self,
        key: &str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<usize>, BadField> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        value
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .filter(|count| range.contains(count))
            .map(Some)
            .ok_or_else(|| {
                let (least, most) = range.into_inner();
                self.bad(
                    key,
                    format_args!("must be a whole number from {least} to {most}"),
                )
            })
    }

    /// A duration of at least `least`.
    pub(super) fn duration(
        &mut self,
        key: &str,
        least: Duration,
    ) -> Result<Option<Duration>, BadField> {
        let Some(value) = self.resolved(key)? else {
            return Ok(None);
        };
        match duration::from_json(&value) {
            Some(duration) if duration >= least => Ok(Some(duration)),
            Some(_) => Err(self.bad(
                key,
                format_args!("must be at least {}", duration::show(least)),
            )),
            None => Err(self.bad(key, format_args!("must be {}", duration::ACCEPTED))),
        }
    }

    /// One of a list of words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, BadField> {
        let written = self
            .left
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned);
        let Some(value) = self.resolved(key)? else {
            return Ok(None);
        };
        let chosen = choices
            .iter()
            .find(|(word, _)| value.as_str() == Some(*word));
        chosen.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
            let words: Vec<String> = choices
                .iter()
                .map(|(word, _)| format!("{word:?}"))
                .collect();
            // The text as written: what a reference gave may be a secret.
            let found = written.map_or_else(|| "no word".to_owned(), |word| format!("{word:?}"));
            self.bad(
                key,
                format_args!("is {found}; accepted are {}", words.join(", ")),
            )
        })
    }

    /// An error about a key of this object.
    pub(super) fn bad(&self, key: &str, problem: impl fmt::Display) -> BadField {
        BadField::new(format!("{}{key}", self.prefix), problem)
    }

    /// Paths of the keys that nobody took, each with the closest one of `known` where one is close.
    pub(super) fn unknown(&self, known: &[&str]) -> Vec<String> {
        self.left
            .keys()
            .map(|key| unknown_keys::ignored(&format!("{}{key}", self.prefix), key, known))
            .collect()
    }

    /// A string out of a list or map; numbers and booleans are taken as written.
    fn scalar(&self, place: &str, value: Value) -> Result<Text, BadField> {
        match value {
            Value::String(text) => self.expand(place, &text),
            Value::Number(_) | Value::Bool(_) => Ok(references::literal(&value.to_string())),
            _ => Err(self.bad(place, "must be a string")),
        }
    }

    fn expand(&self, place: &str, text: &str) -> Result<Text, BadField> {
        let Some(lookup) = self.lookup else {
            return Ok(references::literal(text));
        };
        references::expand(text, lookup).map_err(|error| self.bad(place, error))
    }
}
