//! JSON read by serde alone: the reference for our own walks over it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A member of an object, key and value as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key with its quotes.
    pub key: &'a str,
    /// The value.
    pub value: &'a str,
}

impl Member<'_> {
    /// The key without quotes and escapes; `None` where it holds half a character.
    pub fn name(&self) -> Option<String> {
        serde_json::from_str(self.key).ok()
    }
}

/// The members of an object, repeated ones included; `None` for anything else.
pub fn members(text: &[u8]) -> Option<Vec<Member<'_>>> {
    let members: Members<'_> = serde_json::from_slice(text).ok()?;
    Some(members.0)
}

/// The elements of an array; `None` for anything else.
pub fn elements(text: &[u8]) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

struct Members<'a>(Vec<Member<'a>>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collector)
    }
}

struct Collector;

impl<'de> Visitor<'de> for Collector {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push(Member {
                key: key.get(),
                value: value.get(),
            });
        }
        Ok(Members(members))
    }
}
