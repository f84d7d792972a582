//! An entry of a client while it is made into one of ours: what of it was not read yet, and what came of the rest.

use std::path::Path;

use serde_json::{Map, Value};

use super::{
    clients::Client,
    needs::{self, NeededValue},
    references::{self, Meanings, Spelling},
};

/// An entry on its way.
pub(super) struct Conversion<'a> {
    pub(super) client: Client,
    pub(super) project: Option<&'a Path>,
    pub(super) meanings: Meanings<'a>,
    /// What of the client's entry was not read yet.
    pub(super) rest: Map<String, Value>,
    pub(super) entry: Map<String, Value>,
    pub(super) needs: Vec<NeededValue>,
}

impl Conversion<'_> {
    /// A text with references of ours.
    pub(super) fn text(&mut self, text: &str, is_address: bool) -> Result<String, String> {
        let spelling = Spelling::of(self.client, is_address);
        references::carried(text, spelling, &self.meanings, &mut self.needs)
    }

    pub(super) fn need(&mut self, need: NeededValue) {
        needs::note(&mut self.needs, need);
    }

    /// Of the keys the first that is there.
    pub(super) fn take(&mut self, keys: &[&str]) -> Option<Value> {
        let mut found = None;
        for key in keys {
            let value = self
                .rest
                .shift_remove(*key)
                .filter(|value| !value.is_null());
            found = found.or(value);
        }
        found
    }

    pub(super) fn take_text(&mut self, keys: &[&str]) -> Option<String> {
        let value = self.take(keys)?;
        value.as_str().map(str::to_owned)
    }

    /// A map of texts; numbers and switches are written as texts.
    pub(super) fn take_texts(
        &mut self,
        keys: &[&str],
        is_address: bool,
    ) -> Result<Map<String, Value>, String> {
        let Some(found) = self.take(keys) else {
            return Ok(Map::new());
        };
        let Value::Object(found) = found else {
            return Err(format!("its `{}` is no map", keys.first().unwrap_or(&"")));
        };
        let mut texts = Map::new();
        for (key, value) in found {
            if let Some(text) = as_text(&value) {
                let text = self.text(&text, is_address)?;
                texts.insert(key, Value::from(text));
            }
        }
        Ok(texts)
    }
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
