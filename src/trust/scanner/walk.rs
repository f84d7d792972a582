//! Visits every text of a definition once, wherever it stands: names, descriptions, and keys and values of schemas. Duplicate keys are all visited. A
//! part that cannot be read is itself a finding.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{Findings, Passage, PassageReader, Severity, excerpt::push_escaped, passage::Kind};
use crate::{text::beginning, wire::Raw};

/// Limit: levels of a definition (the deepest of 2,000 public ones has 14); bytes of its texts (ten times those of the largest public one); bytes of a
/// place, and of one key in it.
const DEPTH: usize = 40;
const BYTES: usize = 512 << 10;
const PLACE: usize = 240;
const KEY: usize = 48;

/// Keys and values that nearly every schema has. No rule objects to them, so they are not read.
#[rustfmt::skip]
const KEYS: [&str; 16] = [
    "type", "description", "properties", "items", "enum", "required", "default", "title", "minimum", "maximum", "format", "anyOf",
    "additionalProperties", "inputSchema", "annotations", "readOnlyHint",
];
const VALUES: [&str; 6] = ["string", "object", "integer", "number", "boolean", "array"];

/// Gives each text of a definition to `read`, but not those of [`KEYS`] and [`VALUES`].
pub(super) fn definition(
    definition: &Raw,
    reader: &PassageReader,
    findings: &mut Findings,
    read: impl FnMut(&Passage<'_>, &mut Findings),
) {
    let mut walker = Walker {
        reader,
        findings,
        read,
        place: String::new(),
        bytes_left: BYTES,
    };
    let mut json = serde_json::Deserializer::from_slice(definition.as_bytes());
    let step = Step {
        walker: &mut walker,
        kind: Kind::Value,
        depth: 0,
    };
    if let Err(error) = step.deserialize(&mut json) {
        let what = error.to_string();
        let place = std::mem::take(&mut walker.place);
        walker
            .findings
            .note("unread.text", Severity::Hold, &place, what);
    }
}

/// Gives a single text to `read`. A value that is not a string is ignored.
pub(super) fn prose(
    place: &str,
    value: &Raw,
    reader: &PassageReader,
    findings: &mut Findings,
    mut read: impl FnMut(&Passage<'_>, &mut Findings),
) {
    let text = match value.read::<Cow<'_, str>>() {
        Ok(text) => text,
        Err(error) if value.as_bytes().starts_with(b"\"") => {
            return findings.note("unread.text", Severity::Hold, place, error.to_string());
        }
        Err(_) => return,
    };
    let kept = beginning(&text, BYTES);
    if kept.len() < text.len() {
        let what = format!("{} bytes", text.len());
        findings.note("unread.size", Severity::Hold, place, what);
    }
    read(&Passage::new(place, Kind::Prose, kept, reader), findings);
}

struct Walker<'f, R> {
    reader: &'f PassageReader,
    findings: &'f mut Findings,
    read: R,
    place: String,
    bytes_left: usize,
}

impl<R: FnMut(&Passage<'_>, &mut Findings)> Walker<'_, R> {
    fn read(&mut self, text: &str, kind: Kind) {
        if text.len() > self.bytes_left {
            let what = format!("{} bytes", text.len());
            self.findings
                .note("unread.size", Severity::Hold, &self.place, what);
            return;
        }
        self.bytes_left -= text.len();
        if is_of_schemas(kind, text) {
            return;
        }
        let text = Passage::new(&self.place, kind, text, self.reader);
        (self.read)(&text, self.findings);
    }

    /// Appends a key to the place. Gives the length of the place before.
    fn enter(&mut self, key: &str) -> usize {
        let before = self.place.len();
        if before < PLACE {
            self.place.push('/');
            let shown = beginning(key, KEY);
            if shown == key && key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                self.place.push_str(key);
                return before;
            }
            for character in shown.chars() {
                match character {
                    '~' => self.place.push_str("~0"),
                    '/' => self.place.push_str("~1"),
                    other => push_escaped(&mut self.place, other),
                }
            }
            if shown != key {
                self.place.push('…');
            }
        }
        before
    }
}

/// Whether nearly every schema has this key or value.
fn is_of_schemas(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Key => KEYS.contains(&text),
        Kind::Value => VALUES.contains(&text),
        Kind::Name | Kind::Prose => false,
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The visit of one value.
struct Step<'w, 'f, R> {
    walker: &'w mut Walker<'f, R>,
    kind: Kind,
    depth: usize,
}

impl<R> Step<'_, '_, R> {
    fn is_too_deep(&mut self) -> bool {
        let too_deep = self.depth >= DEPTH;
        if too_deep {
            let what = format!("more than {DEPTH} levels");
            let place = &self.walker.place;
            let findings = &mut *self.walker.findings;
            findings.note("unread.depth", Severity::Hold, place, what);
        }
        too_deep
    }
}

impl<'de, R: FnMut(&Passage<'_>, &mut Findings)> DeserializeSeed<'de> for Step<'_, '_, R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: FnMut(&Passage<'_>, &mut Findings)> Visitor<'de> for Step<'_, '_, R> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.walker.read(text, self.kind);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        if self.is_too_deep() {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while let Some(Key(key)) = map.next_key()? {
            let before = self.walker.enter(&key);
            self.walker.read(&key, Kind::Key);
            let kind = kind_of(&key, self.depth);
            map.next_value_seed(Step {
                walker: &mut *self.walker,
                kind,
                depth: self.depth + 1,
            })?;
            self.walker.place.truncate(before);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        if self.is_too_deep() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        for i in 0_usize.. {
            let before = self.walker.enter(&i.to_string());
            let element = seq.next_element_seed(Step {
                walker: &mut *self.walker,
                kind: self.kind,
                depth: self.depth + 1,
            })?;
            self.walker.place.truncate(before);
            if element.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

fn kind_of(key: &str, depth: usize) -> Kind {
    match key {
        "name" if depth == 0 => Kind::Name,
        "description" | "title" | "$comment" => Kind::Prose,
        _ => Kind::Value,
    }
}

#[cfg(test)]
mod tests;
