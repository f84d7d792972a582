//! Fingerprints of definitions: a person approves a definition by its fingerprint, and a call is admitted for one.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use crate::wire::{Elements, MemberSpan, Members, Raw};

/// A digest of a definition. The order of keys and blanks between values do not matter; everything else does, also how numbers are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint([u8; 32]);

/// Whether a member of a tool's definition counts in its fingerprint. All that a client may show to a model does; icons and `_meta` do not.
pub fn counts(member: &str) -> bool {
    !matches!(member, "_meta" | "icons")
}

impl Fingerprint {
    /// The fingerprint of a raw tool definition: of the members that [`counts`].
    pub fn of_tool(definition: &Raw) -> Self {
        Self::of_members(definition, counts)
    }

    /// The fingerprint of a raw tool definition in which every member counts.
    pub fn of_whole_tool(definition: &Raw) -> Self {
        Self::of_members(definition, |_| true)
    }

    /// The fingerprint of the texts in the definition of a prompt, a resource or a template.
    pub fn of_texts(definition: &Raw) -> Self {
        Self::of_members(definition, |member| {
            matches!(member, "name" | "title" | "description" | "arguments")
        })
    }

    fn of_members(definition: &Raw, counts: impl Fn(&str) -> bool) -> Self {
        let whole = definition.as_bytes();
        // Members are written with a sign more.
        let mut text = Vec::with_capacity(whole.len() * 9 / 8);
        for (name, member) in sorted(whole, definition.members()) {
            if counts(&name) {
                push_string(whole.get(member.key).unwrap_or_default(), &mut text);
                push_canonical(whole.get(member.value).unwrap_or_default(), 0, &mut text);
                text.push(0);
            }
        }
        Self(*blake3::hash(&text).as_bytes())
    }

    /// The fingerprint of any value.
    pub fn of_value(value: &Raw) -> Self {
        let mut text = Vec::with_capacity(value.as_bytes().len());
        push_canonical(value.as_bytes(), 0, &mut text);
        Self(*blake3::hash(&text).as_bytes())
    }

    /// Reads [`Fingerprint::to_hex`] back.
    pub fn parse(hex: &str) -> Option<Self> {
        let hash = blake3::Hash::from_hex(hex).ok()?;
        Some(Self(*hash.as_bytes()))
    }

    /// Hexadecimal text.
    pub fn to_hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_hex()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a fingerprint"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.to_hex();
        write!(f, "Fingerprint({}…)", hex.get(..12).unwrap_or_default())
    }
}

/// Limit: levels of nesting. Deeper values are hashed as they are written: no schema has so many levels, and each level scans all that is inside
/// it again.
const DEPTH: usize = 128;

/// Writes a value, which is at this depth, with sorted keys and without blanks.
fn push_canonical(value: &[u8], depth: usize, text: &mut Vec<u8>) {
    let part = |range| value.get(range).unwrap_or_default();
    match value.first() {
        Some(b'{') if depth < DEPTH => {
            text.push(b'{');
            for (_, member) in sorted(value, Members::of(value)) {
                push_string(part(member.key), text);
                text.push(b':');
                push_canonical(part(member.value), depth + 1, text);
                text.push(b',');
            }
            text.push(b'}');
        }
        Some(b'[') if depth < DEPTH => {
            text.push(b'[');
            for element in Elements::of(value) {
                push_canonical(part(element.value), depth + 1, text);
                text.push(b',');
            }
            text.push(b']');
        }
        Some(b'"') => push_string(value, text),
        _ => text.extend_from_slice(value),
    }
}

/// Members of an object in the order of their names, each with its name.
fn sorted(
    object: &[u8],
    members: impl Iterator<Item = MemberSpan>,
) -> Vec<(Cow<'_, str>, MemberSpan)> {
    let named = members.filter_map(|member| {
        let key = object.get(member.key.start + 1..member.key.end - 1)?;
        let name = if key.contains(&b'\\') {
            Cow::Owned(member.name(object)?)
        } else {
            Cow::Borrowed(str::from_utf8(key).ok()?)
        };
        Some((name, member))
    });
    let mut named: Vec<_> = named.collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

/// Writes a string with the escapes that it needs.
fn push_string(string: &[u8], text: &mut Vec<u8>) {
    let has_escapes = string.contains(&b'\\');
    let spelt = has_escapes
        .then(|| serde_json::from_slice::<String>(string).ok())
        .flatten();
    match spelt {
        Some(spelt) => text.extend_from_slice(Raw::author(&spelt).as_bytes()),
        None => text.extend_from_slice(string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Fingerprint {
        Fingerprint::of_tool(&Raw::parse_str(text).expect("JSON"))
    }

    #[test]
    fn order_blanks_and_escapes_do_not_matter() {
        assert_eq!(
            of(
                r#"{"name":"a","inputSchema":{"type":"object","x":[1,{"b":1,"a":2}]},"description":"d"}"#
            ),
            of(
                r#"{ "description": "\u0064", "inputSchema": {"x":[1, {"a":2,"b":1}],"type":"object"}, "name":"a","icons":[]}"#
            ),
        );
    }

    #[test]
    fn what_programs_say_to_each_other_counts_in_the_whole_only() {
        let whole = |text: &str| Fingerprint::of_whole_tool(&Raw::parse_str(text).expect("JSON"));
        let plain = r#"{"name":"a","inputSchema":{}}"#;
        let more = r#"{"name":"a","inputSchema":{},"_meta":{"x":1}}"#;
        assert_eq!(of(plain), of(more));
        assert_eq!(of(plain), whole(plain));
        assert_ne!(whole(plain), whole(more));
    }

    #[test]
    fn what_a_model_acts_on_matters() {
        let plain = of(r#"{"name":"a","description":"d","inputSchema":{"x":[1,2]}}"#);
        for other in [
            r#"{"name":"b","description":"d","inputSchema":{"x":[1,2]}}"#,
            r#"{"name":"a","description":"e","inputSchema":{"x":[1,2]}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"x":[2,1]}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"x":[1,2.0]}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"x":[1,2]},"annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"a","inputSchema":{"x":[1,2]}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"x":[1,2]},"usage":"u"}"#,
            r#"{"name":"a","title":"t","description":"d","inputSchema":{"x":[1,2]}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"x":[1,2]},"outputSchema":{}}"#,
        ] {
            assert_ne!(plain, of(other), "{other}");
        }
    }

    #[test]
    fn deep_nesting_is_no_trouble() {
        let deep = format!(
            r#"{{"name":"a","inputSchema":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        of(&deep);
    }
}
