//! One JSON value as the text it arrived in.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{error::Category, value::RawValue};

use super::{Elements, MemberSpan, Members, check, scan::text_of};

/// One JSON value, never re-modelled: key order, number text, escapes and unknown fields are those of the sender. Cheap to clone;
/// a slice of the frame it came in.
///
/// Invariant: valid JSON in UTF-8, without blanks around it.
#[derive(Clone)]
pub struct Raw {
    text: Bytes,
    /// Where the members are, once they were looked for; see [`Raw::known_members`].
    members: OnceLock<Option<Arc<[MemberSpan]>>>,
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Raw {}

impl Hash for Raw {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// For objects below this size, scanning again costs less than keeping the positions of their members.
const WORTH_KNOWING: usize = 4 << 10;

/// Limit: members whose positions are kept. An object with more of them is scanned each time.
pub(super) const KNOWN_MEMBERS: usize = 32;

/// Most requests have fewer: theirs are found without an allocation but for what is kept.
pub(super) const FEW_MEMBERS: usize = 4;

/// What [`Raw::look_up`] found under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// The value; the first one of a duplicate key.
    pub value: Option<Raw>,
    /// How often the key occurs.
    pub times: usize,
}

impl Lookup {
    const NOTHING: Self = Self {
        value: None,
        times: 0,
    };
}

/// The text is not one JSON value.
#[derive(Debug, thiserror::Error)]
#[error("{}", json_fault(.0))]
pub struct NotJson(#[from] serde_json::Error);

/// What is wrong with a text that should be JSON, and where, in words of ours: the library's are for who writes a parser.
pub fn json_fault(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        // The last line is empty.
        Category::Eof if column == 0 => "not JSON: it ends too early".to_owned(),
        Category::Eof => format!("not JSON at line {line}, column {column}: it ends too early"),
        Category::Syntax => format!("not JSON at line {line}, column {column}"),
        Category::Data | Category::Io => {
            let whole = error.to_string();
            let place = format!(" at line {line} column {column}");
            whole.strip_suffix(&place).unwrap_or(&whole).to_owned()
        }
    }
}

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
        Ok(Self::trusted(text.slice_ref(value.get().as_bytes())))
    }

    /// The same for text that is not shared yet.
    pub fn parse_str(text: &str) -> Result<Self, NotJson> {
        Self::parse(&Bytes::copy_from_slice(text.as_bytes()))
    }

    /// Writes an own value. For what mcpproxy authors, never for what it forwards.
    pub fn author(value: &impl Serialize) -> Self {
        let text = serde_json::to_vec(value).expect("our own types have string keys only");
        Self::trusted(text.into())
    }

    /// `{}`
    pub fn empty_object() -> Self {
        Self::trusted(Bytes::from_static(b"{}"))
    }

    /// Trusts also that these are the members of the object, or the first of more than are kept.
    pub(super) fn with_members(text: Bytes, members: Vec<MemberSpan>) -> Self {
        let known = (members.len() <= KNOWN_MEMBERS).then(|| members.into());
        Self {
            text,
            members: OnceLock::from(known),
        }
    }

    /// Trusts that the bytes are one JSON value: for text put together from checked parts.
    pub(super) fn trusted(text: Bytes) -> Self {
        Self {
            text,
            members: OnceLock::new(),
        }
    }

    /// Puts an array together from its elements.
    pub fn array<'a>(elements: impl IntoIterator<Item = &'a Self>) -> Self {
        let elements: Vec<&Self> = elements.into_iter().collect();
        let length = elements.iter().map(|element| element.text.len() + 1);
        let mut text = Vec::with_capacity(length.sum::<usize>() + 2);
        text.push(b'[');
        for (i, element) in elements.into_iter().enumerate() {
            if i > 0 {
                text.push(b',');
            }
            text.extend_from_slice(element.as_bytes());
        }
        text.push(b']');
        Self::trusted(text.into())
    }

    /// Why a client may not send it on to servers.
    pub fn why_unreadable(&self) -> Option<&'static str> {
        check::why_unreadable(&self.text)
    }

    /// A key that an object has twice, at any depth.
    pub fn repeated_key(&self) -> Option<String> {
        check::repeated_key(&self.text)
    }

    /// Whether it nests deeper than so many levels.
    pub fn is_deeper_than(&self, levels: usize) -> bool {
        check::is_deeper_than(&self.text, levels)
    }

    /// Whether a string in it contains an escape of half a character, which most readers of JSON refuse.
    pub fn has_lone_surrogate(&self) -> bool {
        check::has_lone_surrogate(&self.text)
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The bytes themselves, shared.
    pub fn bytes(&self) -> &Bytes {
        &self.text
    }

    /// The text. Checks all of it for UTF-8 again; on hot paths use [`Raw::as_bytes`].
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).expect("checked to be UTF-8 when it was taken in")
    }

    /// Reads the value, or a part of it, into a view that may borrow from it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.text)
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.text.first() == Some(&b'{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        &self.text[..] == b"null"
    }

    /// Whether the value is `true`.
    pub fn is_true(&self) -> bool {
        &self.text[..] == b"true"
    }

    /// The members of an object in their order; none for any other value.
    pub fn members(&self) -> impl Iterator<Item = MemberSpan> + '_ {
        let known = self.known_members();
        let unknown = known.is_none().then(|| Members::of(&self.text));
        let known = known.unwrap_or_default().iter().cloned();
        known.chain(unknown.into_iter().flatten())
    }

    /// Where the members of an object are, if it is large or was marked for frequent reading: it is scanned once then. Nothing is kept
    /// for those with very many members.
    fn known_members(&self) -> Option<&[MemberSpan]> {
        match self.members.get() {
            Some(known) => known.as_deref(),
            None if self.text.len() < WORTH_KNOWING => None,
            None => {
                self.remember_members();
                self.members.get()?.as_deref()
            }
        }
    }

    /// Scans an object now, however small it is: for one that is read often.
    pub fn remember_members(&self) {
        if !self.is_object() {
            return;
        }
        self.members.get_or_init(|| {
            let mut members = Members::of(&self.text);
            let mut few = [const { MemberSpan::NOWHERE }; FEW_MEMBERS];
            let mut count = 0;
            for (place, member) in few.iter_mut().zip(members.by_ref()) {
                *place = member;
                count += 1;
            }
            if count < FEW_MEMBERS {
                return Some(few.get(..count)?.into());
            }
            let mut many = few.to_vec();
            many.extend(members.by_ref().take(KNOWN_MEMBERS - FEW_MEMBERS));
            members.next().is_none().then(|| many.into())
        });
    }

    /// The elements of an array in their order; none for any other value.
    pub fn elements(&self) -> impl Iterator<Item = Self> + '_ {
        Elements::of(&self.text).map(|element| Self::trusted(self.text.slice(element.value)))
    }

    /// The value of a member; the first one of a duplicate key.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.members()
            .find(|member| member.is(&self.text, key))
            .map(|member| Self::trusted(self.text.slice(member.value)))
    }

    /// The values of several members, found in one scan.
    pub fn look_up<const N: usize>(&self, keys: [&str; N]) -> [Lookup; N] {
        let mut found = [const { Lookup::NOTHING }; N];
        let mut look = |member: &MemberSpan| {
            if let Some(i) = keys.iter().position(|key| member.is(&self.text, key)) {
                found[i].times += 1;
                let value = || Self::trusted(self.text.slice(member.value.clone()));
                found[i].value.get_or_insert_with(value);
            }
        };
        match self.known_members() {
            Some(known) => known.iter().for_each(look),
            None => Members::of(&self.text).for_each(|member| look(&member)),
        }
        found
    }

    /// A part of the text that is a value of its own, as [`Raw::members`] names it.
    #[must_use]
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self::trusted(self.text.slice(range))
    }

    /// A copy with memory of its own: for what outlives its frame, whose whole buffer a slice would keep.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self::trusted(Bytes::copy_from_slice(&self.text))
    }

    /// The text of a string value, unescaped; `None` for any other value.
    pub fn string(&self) -> Option<String> {
        text_of(&self.text)
    }
}

impl fmt::Debug for Raw {
    /// Shows the length only: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.text.len())
    }
}

impl Serialize for Raw {
    /// Validates the text again: `RawValue` has no constructor that trusts its caller. Where large values are embedded, put the
    /// text together with [`Raw::array`] and [`splice`](super::splice) instead.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue =
            serde_json::from_slice(&self.text).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*Box::<RawValue>::deserialize(deserializer)?))
    }
}

impl From<&RawValue> for Raw {
    fn from(value: &RawValue) -> Self {
        Self::trusted(Bytes::copy_from_slice(value.get().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_named_with_its_place() {
        let fault = |text| Raw::parse_str(text).expect_err(text).to_string();
        let cut = "not JSON at line 1, column 5: it ends too early";
        assert_eq!(fault("{\"a\":"), cut);
        assert_eq!(fault("{bad"), "not JSON at line 1, column 2");
        let number: Result<u8, _> = serde_json::from_str("\"x\"");
        let words = json_fault(&number.expect_err("no number"));
        assert_eq!(words, "invalid type: string \"x\", expected u8");
    }

    #[test]
    fn what_is_known_of_objects_is_what_stands_there() {
        for members in [0, 1, KNOWN_MEMBERS, KNOWN_MEMBERS + 1, 100] {
            for size in [1, 2 * WORTH_KNOWING] {
                let text = |n| format!(r#""m{n}":"{}""#, "x".repeat(size));
                let all: Vec<String> = (0..members).map(text).collect();
                let object = Raw::parse_str(&format!("{{{}}}", all.join(","))).expect("JSON");
                for is_asked_often in [false, true] {
                    if is_asked_often {
                        object.remember_members();
                    }
                    let stood: Vec<String> = object
                        .members()
                        .map(|m| object.part(m.key.start..m.value.end).as_str().to_owned())
                        .collect();
                    assert_eq!(stood, all);
                }
            }
        }
    }

    #[test]
    fn several_members_are_found_in_one_scan() {
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
