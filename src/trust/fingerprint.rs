//! Fingerprints of tool definitions: what a person approved, and what a call was admitted for.

use std::fmt;

use crate::wire::Raw;

/// A digest of what a model or a client acts on in a tool's definition: every member that [`counts`]. The order of keys and blanks do not
/// matter; everything else does, number text included.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// Whether a member of a definition counts: whatever a client may show to a model does, but not pictures and what programs say to each
/// other.
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

    /// The fingerprint of the texts of a prompt, a resource or a template for people and models.
    pub fn of_texts(definition: &Raw) -> Self {
        Self::of_members(definition, |member| {
            matches!(member, "name" | "title" | "description" | "arguments")
        })
    }

    fn of_members(definition: &Raw, counts: impl Fn(&str) -> bool) -> Self {
        let mut hasher = blake3::Hasher::new();
        let whole = definition.as_bytes();
        let members = definition.members();
        let named = members.filter_map(|m| Some((m.name(whole)?, definition.part(m.value))));
        let mut counted: Vec<(String, Raw)> = named.filter(|(name, _)| counts(name)).collect();
        counted.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, value) in counted {
            hasher.update(Raw::author(&name).as_bytes());
            canonical(value.as_bytes(), &mut hasher);
            hasher.update(b"\0");
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The fingerprint of any value.
    pub fn of_value(value: &Raw) -> Self {
        let mut hasher = blake3::Hasher::new();
        canonical(value.as_bytes(), &mut hasher);
        Self(*hasher.finalize().as_bytes())
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

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.to_hex();
        write!(f, "Fingerprint({}…)", hex.get(..12).unwrap_or_default())
    }
}

/// Limit: values nested deeper than this are hashed as they are written. No schema nests so deep, and each level scans everything
/// inside it again.
const DEPTH: usize = 128;

/// One step of the traversal, so that nesting uses the heap and not the stack.
enum Step {
    Value(Raw, usize),
    Text(&'static [u8]),
    Key(String),
}

/// Hashes the value with sorted keys and without whitespace.
fn canonical(text: &[u8], hasher: &mut blake3::Hasher) {
    let Ok(root) = Raw::parse(&bytes::Bytes::copy_from_slice(text)) else {
        return;
    };
    let mut steps = vec![Step::Value(root, 0)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => drop(hasher.update(text)),
            Step::Key(key) => drop(hasher.update(Raw::author(&key).as_bytes())),
            Step::Value(value, depth) => open(&value, depth, &mut steps, hasher),
        }
    }
}

fn open(value: &Raw, depth: usize, steps: &mut Vec<Step>, hasher: &mut blake3::Hasher) {
    let from = steps.len();
    match value.as_bytes().first() {
        Some(b'{') if depth < DEPTH => {
            let mut members: Vec<(String, Raw)> = value
                .members()
                .filter_map(|m| Some((m.name(value.as_bytes())?, value.part(m.value))))
                .collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            steps.push(Step::Text(b"{"));
            for (key, value) in members {
                steps.extend([
                    Step::Key(key),
                    Step::Text(b":"),
                    Step::Value(value, depth + 1),
                    Step::Text(b","),
                ]);
            }
            steps.push(Step::Text(b"}"));
        }
        Some(b'[') if depth < DEPTH => {
            steps.push(Step::Text(b"["));
            for element in value.elements() {
                steps.extend([Step::Value(element, depth + 1), Step::Text(b",")]);
            }
            steps.push(Step::Text(b"]"));
        }
        Some(b'"') => match value.string() {
            Some(text) => drop(hasher.update(Raw::author(&text).as_bytes())),
            None => drop(hasher.update(value.as_bytes())),
        },
        _ => drop(hasher.update(value.as_bytes())),
    }
    // A stack returns the last step first.
    if let Some(new) = steps.get_mut(from..) {
        new.reverse();
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
