//! One JSON value as the text it arrived in.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::scan::{Elements, Members};

/// One JSON value, never re-modelled: key order, number text, escapes and unknown fields are those of the sender. Cheap to clone;
/// a slice of the frame it came in.
///
/// Invariant: valid JSON in UTF-8, without blanks around it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Bytes);

/// What [`Raw::look_up`] finds under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The value; the first one of a key that stands there twice.
    pub value: Option<Raw>,
    /// How often the key stands there.
    pub times: usize,
}

impl Found {
    const NOTHING: Self = Self {
        value: None,
        times: 0,
    };
}

/// The text is not one JSON value.
#[derive(Debug, thiserror::Error)]
#[error("not JSON: {0}")]
pub struct NotJson(#[from] serde_json::Error);

impl NotJson {
    /// What the parser found.
    pub fn into_inner(self) -> serde_json::Error {
        self.0
    }
}

impl Raw {
    /// Checks that `text` is one JSON value and takes it in without copying.
    pub fn parse(text: &Bytes) -> Result<Self, NotJson> {
        let value: &RawValue = serde_json::from_slice(text)?;
        Ok(Self::slice_of(text, value))
    }

    /// The same for text that is not shared yet.
    pub fn parse_str(text: &str) -> Result<Self, NotJson> {
        Self::parse(&Bytes::copy_from_slice(text.as_bytes()))
    }

    /// Writes a value of ours. For what we author, never for what we forward.
    pub fn author(value: &impl Serialize) -> Self {
        let text = serde_json::to_vec(value).expect("our own types have string keys only");
        Self(text.into())
    }

    /// `{}`
    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// `value` must borrow from `frame`.
    pub(super) fn slice_of(frame: &Bytes, value: &RawValue) -> Self {
        Self(frame.slice_ref(value.get().as_bytes()))
    }

    /// Trusts that the bytes are one JSON value: for text put together from checked parts.
    pub(super) fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// Puts an array together from its elements.
    pub fn array<'a>(elements: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut text = vec![b'['];
        for (i, element) in elements.into_iter().enumerate() {
            if i > 0 {
                text.push(b',');
            }
            text.extend_from_slice(element.as_bytes());
        }
        text.push(b']');
        Self(text.into())
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes themselves, shared.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The text. Looks through all of it once; on hot paths use [`Raw::as_bytes`].
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked to be UTF-8 when it was taken in")
    }

    /// Reads the value, or a part of it, into a view that may borrow from it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        &self.0[..] == b"null"
    }

    /// The members of an object in their order; none for any other value.
    pub fn members(&self) -> Members<'_> {
        Members::of(&self.0)
    }

    /// The elements of an array in their order; none for any other value.
    pub fn elements(&self) -> impl Iterator<Item = Self> + '_ {
        Elements::of(&self.0).map(|element| Self(self.0.slice(element.value)))
    }

    /// The value of a member. Of a key that stands twice the first counts.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.members()
            .find(|member| member.is(&self.0, key))
            .map(|member| Self(self.0.slice(member.value)))
    }

    /// The values of several members, found in one walk.
    pub fn look_up<const N: usize>(&self, keys: [&str; N]) -> [Found; N] {
        let mut found = [const { Found::NOTHING }; N];
        for member in self.members() {
            let Some(i) = keys.iter().position(|key| member.is(&self.0, key)) else {
                continue;
            };
            found[i].times += 1;
            let first = &mut found[i].value;
            first.get_or_insert_with(|| Self(self.0.slice(member.value)));
        }
        found
    }

    /// A part of the text that is a value of its own, as [`Raw::members`] names it.
    #[must_use]
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self(self.0.slice(range))
    }

    /// A copy with memory of its own: for what outlives its frame, whose whole buffer a slice would keep.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// The text of a string value, unescaped; `None` for any other value.
    pub fn string(&self) -> Option<String> {
        self.read().ok()
    }
}

impl fmt::Debug for Raw {
    /// Shows the length only: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue =
            serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl From<&RawValue> for Raw {
    fn from(value: &RawValue) -> Self {
        Self(Bytes::copy_from_slice(value.get().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_members_are_found_in_one_walk() {
        let object = Raw::parse_str(r#"{"b":2,"a":1,"x":{"a":7},"\u0061":3}"#).expect("JSON");
        let found = object.look_up(["a", "b", "c"]).map(|found| {
            (
                found.value.map(|value| value.as_str().to_owned()),
                found.times,
            )
        });
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(found, [(text("1"), 2), (text("2"), 1), (None, 0)]);
    }
}
