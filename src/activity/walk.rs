//! Writes a JSON value for a record: redacted and cut. What is secret follows from names of members, pairs of name and value, lists, and JSON
//! inside strings. Strings are masked before they are cut, and read only as far as needed.

use std::{borrow::Cow, cell::Cell};

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Number, value::RawValue};

use crate::{
    text::{
        ListContext, MASK, Secrets, TextKind, cut,
        redact::{
            is_bare_name, is_named_value, is_naming_key, is_secret_name, redacted, redacted_value,
        },
    },
    wire::{Elements, MemberSpan, Members, Raw},
};

/// Limit: levels of a value that are written, and bytes of the name of a member.
const DEPTH: usize = 24;
const NAME: usize = 256;

/// Members whose own members are variables or headers. Their values are masked, whatever their names are.
const HOLDERS: [&str; 4] = ["env", "env_json", "headers", "headers_json"];

/// A name whose value is masked in all its parts.
const SECRET: &str = "secret";

/// A secret that begins in the part of a string that is kept, and is no longer than this, is found whole. In bytes.
const LONGEST_SECRET: usize = 512;

/// The mark for a part that is left out.
const LEFT_OUT: &str = "…";

/// The bytes that are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Of one string.
    pub(super) text: usize,
    /// Of the whole value, about.
    pub(super) total: usize,
}

/// Writes one value.
pub(super) struct Walk<'a> {
    secrets: &'a Secrets,
    /// Whether values that look like secrets are masked, too.
    guesses: bool,
    bounds: Bounds,
    /// The bytes that may still be written.
    left: Cell<usize>,
}

/// Whether the values of an object's members are masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Shown,
    Hidden,
}

/// A part of the value: that of a member of this name, or of a list in it.
struct Part<'a> {
    walk: &'a Walk<'a>,
    name: &'a str,
    json: &'a [u8],
    depth: usize,
    values: Values,
}

/// A text for a record: redacted, and cut to at most so many bytes.
pub(super) fn record_text(secrets: &Secrets, text: &str, longest: usize) -> String {
    let (known, is_cut) = secrets.redacted_to_show(text, longest);
    let shown = redacted(&known, TextKind::Record).into_owned();
    cut::shortened_or_marked(shown, longest, is_cut)
}

impl<'a> Walk<'a> {
    /// Masks these secrets, and with `guesses` also values that look like one.
    pub(super) fn new(secrets: &'a Secrets, guesses: bool, bounds: Bounds) -> Self {
        Self {
            secrets,
            guesses,
            bounds,
            left: Cell::new(bounds.total),
        }
    }

    /// The value for a record.
    pub(super) fn value(&self, value: &Raw) -> Raw {
        Raw::author(&self.part("", value.as_bytes(), DEPTH))
    }

    fn part<'p>(&'p self, name: &'p str, json: &'p [u8], depth: usize) -> Part<'p> {
        Part {
            walk: self,
            name,
            json,
            depth,
            values: Values::Shown,
        }
    }

    /// The name of a member. It is redacted by guesses, too, in any case.
    fn key(&self, key: &str) -> String {
        record_text(self.secrets, key, NAME)
    }

    fn shown(&self, name: &str, text: &str, is_cut: bool) -> String {
        let known = if is_cut {
            self.secrets.redacted_beginning(text)
        } else {
            self.secrets.redacted(text)
        };
        if self.guesses {
            redacted_value(name, &known, TextKind::Record).into_owned()
        } else {
            known.into_owned()
        }
    }

    fn spend(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
    }

    fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.walk.is_spent() || self.depth == 0 {
            return to.serialize_str(LEFT_OUT);
        }
        match self.json {
            [b'{', ..] => self.object(to),
            [b'[', ..] => self.list(to),
            [b'"', ..] => to.serialize_str(&self.text()),
            [b'-' | b'0'..=b'9', ..] => self.number(to),
            other => {
                self.walk.spend(4);
                match other {
                    b"true" => to.serialize_bool(true),
                    b"false" => to.serialize_bool(false),
                    _ => to.serialize_unit(),
                }
            }
        }
    }
}

impl Part<'_> {
    fn number<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Ok(number) = serde_json::from_slice::<Number>(self.json) else {
            // Beyond the range of numbers.
            return to.serialize_str(LEFT_OUT);
        };
        let text = number.to_string();
        self.walk.spend(text.len());
        if self.walk.shown(self.name, &text, false) == text {
            number.serialize(to)
        } else {
            to.serialize_str(MASK)
        }
    }

    fn list<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let walk = self.walk;
        let mut shown = to.serialize_seq(None)?;
        let mut before = ListContext::default();
        for element in Elements::of(self.json) {
            if walk.is_spent() {
                shown.serialize_element(LEFT_OUT)?;
                break;
            }
            walk.spend(2);
            let json = self.json.get(element.value).unwrap_or_default();
            let is_secret = walk.guesses && is_announced(&mut before, json);
            match json {
                [b'"' | b'-' | b'0'..=b'9', ..] if is_secret => shown.serialize_element(MASK)?,
                _ => {
                    let name = if is_secret { SECRET } else { self.name };
                    shown.serialize_element(&walk.part(name, json, self.depth - 1))?;
                }
            }
        }
        shown.end()
    }

    fn object<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let walk = self.walk;
        let members: Vec<MemberSpan> = Members::of(self.json).collect();
        let part =
            |range: &std::ops::Range<usize>| self.json.get(range.clone()).unwrap_or_default();
        // The member that names the others may stand anywhere among them.
        let named = members.iter().filter(|_| walk.guesses).find_map(|member| {
            let is_name = is_naming_key(&whole(part(&member.key)));
            let text = is_name.then(|| text_of(part(&member.value))).flatten()?;
            is_bare_name(&text).then_some(text)
        });
        let is_within_secret = is_secret_name(self.name);
        let mut shown = to.serialize_map(None)?;
        for member in &members {
            if walk.is_spent() {
                shown.serialize_entry(LEFT_OUT, LEFT_OUT)?;
                break;
            }
            let (key, json) = (whole(part(&member.key)), part(&member.value));
            walk.spend(key.len() + 4);
            let shown_key = walk.key(&key);
            if self.values == Values::Hidden && json != b"null" {
                walk.spend(MASK.len() + 2);
                shown.serialize_entry(&shown_key, MASK)?;
                continue;
            }
            let called = match &named {
                _ if is_within_secret => self.name,
                Some(named) if is_named_value(&key) => named,
                // The shown name may look like that of a secret when the full one does not.
                _ if is_secret_name(&shown_key) => &shown_key,
                _ => &*key,
            };
            let holds = walk.guesses && HOLDERS.contains(&&*key);
            let values = if holds { Values::Hidden } else { Values::Shown };
            let value = walk.part(called, json, self.depth - 1);
            shown.serialize_entry(&shown_key, &Part { values, ..value })?;
        }
        shown.end()
    }

    fn text(&self) -> String {
        let walk = self.walk;
        let longest = walk.bounds.text.min(walk.left.get());
        // Masked before it is cut, because a cut secret is not found; but only so much more is searched.
        let (mut text, mut is_cut) = beginning(self.json, longest.saturating_add(LONGEST_SECRET));
        if is_cut && is_json(&text) {
            (text, is_cut) = beginning(self.json, usize::MAX);
        }
        // JSON inside a string has names of its own that say what is secret.
        let inner = is_json(&text).then(|| serde_json::from_str::<&RawValue>(&text));
        if let Some(Ok(inner)) = inner {
            let inner = walk.part(self.name, inner.get().as_bytes(), self.depth - 1);
            let inner = Part {
                values: self.values,
                ..inner
            };
            let shown = serde_json::to_string(&inner).unwrap_or_default();
            return cut::shortened(shown, walk.bounds.text);
        }
        let shown = walk.shown(self.name, &text, is_cut);
        let shown = cut::shortened_or_marked(shown, longest, is_cut);
        walk.spend(shown.len() + 2);
        shown
    }
}

/// Whether a text begins like a JSON object or list, or is blank so far.
fn is_json(text: &str) -> bool {
    matches!(text.trim_start().bytes().next(), None | Some(b'{' | b'['))
}

/// Takes the next element of a list. Whether it is a secret because of those before it.
fn is_announced(before: &mut ListContext, json: &[u8]) -> bool {
    match json {
        [b'"', ..] => before.hide(&whole(json)),
        [b'{' | b'[', ..] => before.hide_other(),
        [b't' | b'f', ..] => {
            before.hide_other();
            false
        }
        // `null` does not end what the element before announces.
        [b'n', ..] => false,
        number => {
            let number = serde_json::from_slice::<Number>(number);
            before.hide(&number.map(|number| number.to_string()).unwrap_or_default())
        }
    }
}

fn text_of(json: &[u8]) -> Option<Cow<'_, str>> {
    json.starts_with(b"\"").then(|| whole(json))
}

/// The text of a JSON string.
fn whole(json: &[u8]) -> Cow<'_, str> {
    beginning(json, usize::MAX).0
}

/// The beginning of the text of a JSON string, of `most` bytes or slightly more, and whether there is more. An escape that is no character ends
/// it.
fn beginning(json: &[u8], most: usize) -> (Cow<'_, str>, bool) {
    let inside = json
        .get(1..json.len().saturating_sub(1))
        .unwrap_or_default();
    let plain = plain_beginning(inside, most);
    if plain.len() == inside.len() || plain.len() >= most {
        return (String::from_utf8_lossy(plain), plain.len() < inside.len());
    }
    let (mut text, mut at) = (Vec::with_capacity(most.min(inside.len())), 0);
    while text.len() < most
        && let Some(rest @ [first, ..]) = inside.get(at..)
    {
        if *first == b'\\' {
            let Some((character, length)) = unescaped(rest) else {
                break;
            };
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            at += length;
        } else {
            let plain = plain_beginning(rest, most - text.len());
            text.extend_from_slice(plain);
            at += plain.len();
        }
    }
    let text = String::from_utf8(text).unwrap_or_default();
    (Cow::Owned(text), at < inside.len())
}

/// The characters before the first escape of a text, `most` bytes of them or slightly more.
fn plain_beginning(text: &[u8], most: usize) -> &[u8] {
    let is_within = |byte: Option<&u8>| byte.is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut end = most.min(text.len());
    while is_within(text.get(end)) {
        end += 1;
    }
    let text = text.get(..end).unwrap_or_default();
    memchr::memchr(b'\\', text).map_or(text, |escape| &text[..escape])
}

/// Bytes of `\uXXXX`, of which two may stand for one character.
const ESCAPE: usize = 6;

/// The character of the escape at the beginning, and the length of the escape.
fn unescaped(json: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let character = match json.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let units = [unit(0)?, unit(ESCAPE).unwrap_or_default()];
            let character = char::decode_utf16(units).next()?.ok()?;
            return Some((character, ESCAPE * character.len_utf16()));
        }
        itself => char::from(*itself),
    };
    Some((character, 2))
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::text::redact::is_harmless_json;

    const TOKEN: &str = "ghp_0123456789abcdef";

    fn shown(json: &str, bounds: Bounds) -> String {
        let raw = Raw::parse_str(json).expect("JSON");
        let shown = Walk::new(&Secrets::default(), true, bounds).value(&raw);
        shown.as_str().to_owned()
    }

    const USUAL: Bounds = Bounds {
        text: 512,
        total: 4096,
    };

    #[test]
    fn a_name_far_behind_its_value_hides_it() {
        let (long, value) = ("a b ".repeat(5_000), r#""value":"swordfish""#);
        let name = r#""name":"DB_PASSWORD""#;
        for json in [
            format!(r#"{{{value},"x":"{long}",{name}}}"#),
            format!(r#"{{"x":"{long}",{name},{value}}}"#),
        ] {
            let shown = shown(&json, USUAL);
            assert!(!shown.contains("sword") && shown.contains("***"), "{shown}");
            assert!(shown.contains('…') && shown.len() < 700, "{shown}");
        }
    }

    #[test]
    fn a_cut_shows_no_part_of_what_looks_like_a_secret() {
        for filling in ["x ", r"\n", r"\u0041 ", r"\ud83d\ude00 ", "ä "] {
            let width = serde_json::from_str::<String>(&format!("\"{filling}\"")).expect("a text");
            let before = USUAL.text / width.len();
            for shift in 0..24 {
                let beginning = filling.repeat(before - shift.min(before));
                let json = format!(r#"["{beginning} {TOKEN} {}"]"#, filling.repeat(4_000));
                let shown = shown(&json, USUAL);
                assert!(shown.contains('…'), "{shown}");
                assert!(!shown.contains("ghp") && !shown.contains("0123"), "{shown}");
            }
        }
    }

    #[test]
    fn numbers_and_texts_that_nobody_can_read_hide_nothing_else() {
        let shown = shown(
            r#"{"a":1e999,"b":"x\ud800y","c":1.50,"d":[true,null]}"#,
            USUAL,
        );
        assert_eq!(shown, r#"{"a":"…","b":"x…","c":1.5,"d":[true,null]}"#);
    }

    #[test]
    fn json_in_a_long_text_is_looked_into_as_a_whole() {
        let inner = format!(r#"{{"a":"{}","token":"swordfish"}}"#, "a b ".repeat(3_000));
        for blanks in ["", &" ".repeat(3_000)] {
            let json = serde_json::json!([format!("{blanks}{inner}")]).to_string();
            let shown = shown(&json, USUAL);
            assert!(shown.starts_with(r#"["{\"a\":\"a b a"#), "{shown}");
            assert!(!shown.contains("sword") && shown.len() < 600, "{shown}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = select(vec![
            "a", " ", "\n", "\\", "\"", "\u{1}", "ä", "😀", "name", "token", ": ", "=", "key", "{",
            "[1", "7",
        ]);
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    /// A text as JSON, with some of its characters escaped that need not be.
    fn spelled(text: &str, every: usize) -> String {
        let characters = text.chars().enumerate().map(|(n, c)| {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            let escaped = || {
                let units: Vec<String> = units.map(|unit| format!("\\u{unit:04x}")).collect();
                units.concat()
            };
            let needs = c < ' ' || c == '"' || c == '\\';
            if needs || n % every == 0 {
                escaped()
            } else {
                c.to_string()
            }
        });
        format!("\"{}\"", characters.collect::<String>())
    }

    proptest! {
        #[test]
        fn the_beginning_of_a_text_is_what_it_spells(text in text(), every in 1_usize..9, most in 0_usize..80) {
            let json = spelled(&text, every);
            let (found, is_cut) = beginning(json.as_bytes(), most);
            prop_assert!(text.starts_with(&*found));
            prop_assert_eq!(is_cut, found.len() < text.len());
            prop_assert!(!is_cut || (most..most + 8).contains(&found.len()));
            prop_assert_eq!(whole(json.as_bytes()), text);
        }

        #[test]
        fn what_is_harmless_is_kept_as_it_is(text in text(), name in text()) {
            let json = serde_json::json!({ name: [text, {"n": [1, null, true]}] }).to_string();
            if is_harmless_json(&json) {
                prop_assert_eq!(shown(&json, USUAL), json);
            }
        }

        #[test]
        fn no_value_panics_or_is_more_than_was_wanted(texts in prop::collection::vec(text(), 0..40), total in 1_usize..300) {
            let value = serde_json::json!({ "a": texts, "env": { "b": texts }, "c": { "name": "k", "value": texts } });
            let shown = shown(&value.to_string(), Bounds { text: 64, total });
            prop_assert!(shown.len() < 6 * total + 400, "{}", shown.len());
        }
    }
}
