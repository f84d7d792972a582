//! An entry of a client while it is converted into one of ours: the keys that are still to be read, and our entry so far. Which key means
//! what is for `convert` to say.

use serde_json::{Map, Value};

use super::{
    Client, NeededValue,
    our_text::{OurText, is_variable},
    references::{self, Meanings, Spelling},
};

/// An entry while it is converted.
pub(super) struct Conversion<'a> {
    pub(super) client: Client,
    pub(super) meanings: Meanings<'a>,
    /// How its texts refer to variables.
    pub(super) spelling: Spelling,
    /// The keys of the client's entry that were not read yet.
    pub(super) rest: Map<String, Value>,
    /// Our entry.
    pub(super) entry: Map<String, Value>,
    /// What our entry refers to.
    pub(super) needs: Vec<NeededValue>,
}

impl Conversion<'_> {
    /// Gives the entry a key. An empty list or map says nothing.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        let is_empty = match &value {
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        if !is_empty {
            self.entry.insert(key.to_owned(), value);
        }
    }

    /// A text with references of ours.
    pub(super) fn text(&mut self, text: &str) -> Result<String, String> {
        self.parts(text)?.written()
    }

    /// The same in parts, which can still be looked at.
    pub(super) fn parts(&mut self, text: &str) -> Result<OurText, String> {
        references::carried(text, self.spelling, &self.meanings, &mut self.needs)
    }

    /// A reference to a variable that a key of the entry names, behind `before`. What such a key holds is not repeated: it may be a secret
    /// that was written in its place.
    pub(super) fn variable(
        &mut self,
        before: &str,
        name: &str,
        key: &str,
    ) -> Result<Value, String> {
        let mut text = OurText::literal(before);
        if !text.push_variable(name, None, &mut self.needs) {
            return Err(not_a_variable(key));
        }
        text.written().map(Value::from)
    }

    /// A reference to a secret that a key of the entry names, as the variable that it is for.
    pub(super) fn secret(&mut self, name: &str, about: String, key: &str) -> Result<Value, String> {
        if !is_variable(name) {
            return Err(not_a_variable(key));
        }
        let mut text = OurText::default();
        let need = NeededValue::secret(name.to_owned(), Some(about));
        text.push_secret(need, &mut self.needs);
        text.written().map(Value::from)
    }

    /// Gives every text in a value references of ours.
    pub(super) fn refer(&mut self, value: &mut Value) -> Result<(), String> {
        change_texts(value, &mut |text| {
            *text = self.text(text)?;
            Ok(())
        })
    }

    /// Of the keys the first that is there.
    pub(super) fn take(&mut self, keys: &[&str]) -> Option<Value> {
        let mut found = None;
        for key in keys {
            let value = self.rest.shift_remove(*key);
            found = found.or(value.filter(|value| !value.is_null()));
        }
        found
    }

    pub(super) fn take_text(&mut self, keys: &[&str]) -> Option<String> {
        let value = self.take(keys)?;
        value.as_str().map(str::to_owned)
    }

    /// A map of texts; numbers and switches are written as texts.
    pub(super) fn take_texts(&mut self, keys: &[&str]) -> Result<Map<String, Value>, String> {
        let Some(found) = self.take(keys) else {
            return Ok(Map::new());
        };
        let Value::Object(found) = found else {
            let key = keys.first().unwrap_or(&"");
            return Err(format!("its `{key}` is not a map"));
        };
        let mut texts = Map::new();
        for (key, value) in found {
            if let Some(text) = as_text(&value) {
                texts.insert(key, Value::from(self.text(&text)?));
            }
        }
        Ok(texts)
    }
}

/// Changes every text in a value, until one fails.
pub(super) fn change_texts<E>(
    value: &mut Value,
    change: &mut impl FnMut(&mut String) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => change(text),
        Value::Array(values) => values
            .iter_mut()
            .try_for_each(|value| change_texts(value, change)),
        Value::Object(members) => members
            .values_mut()
            .try_for_each(|value| change_texts(value, change)),
        _ => Ok(()),
    }
}

fn not_a_variable(key: &str) -> String {
    format!("its `{key}` contains something that is not the name of an environment variable")
}

/// A text, a number or a switch as text.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}
