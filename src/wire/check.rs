//! Validates a JSON object in one pass, several times as fast as `serde_json`, which also gives reasons. What is rejected here is
//! parsed again by `serde_json`, which decides and gives the reason. Also finds what nests too deep to be sent on.

use std::ops::Range;

use super::scan::{MemberSpan, find_end_of_run};

/// Limit: how deep values may nest here. Deeper ones are left to `serde_json`.
const DEPTH: u32 = 127;

/// Limit: how deep what a client sends may nest. A server that reads by recursion ends at some hundreds of levels, and other clients
/// share it.
const DEEPEST: usize = 512;

/// Limit: members of the outer object that are kept. A message has half a dozen.
const MEMBERS: usize = 16;

/// An object that is valid JSON as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CheckedObject {
    pub(super) members: Vec<MemberSpan>,
    /// Whether a string in it has an escape like `\u0041`, which half a character needs.
    pub(super) has_unicode_escapes: bool,
}

/// Reads an object. `None` if it is not valid JSON, or exceeds a limit here.
pub(super) fn object(text: &[u8]) -> Option<CheckedObject> {
    std::str::from_utf8(text).ok()?;
    let mut validator = Validator::new(text, 0);
    validator.members.reserve(6);
    validator.blanks();
    if validator.peek()? != b'{' {
        return None;
    }
    validator.value()?;
    validator.blanks();
    (validator.at == text.len()).then_some(CheckedObject {
        members: validator.members,
        has_unicode_escapes: validator.has_unicode_escapes,
    })
}

/// Why text that is JSON must not be sent on to servers, whose readers it may end.
pub(super) fn why_unreadable(text: &[u8]) -> Option<&'static str> {
    if is_deeper_than(text, DEEPEST) {
        Some("nests deeper than 512 levels")
    } else if has_lone_surrogate(text) {
        Some("has an escape of half a character (a lone surrogate, as \\ud800)")
    } else {
        None
    }
}

/// Whether values nest deeper than so many levels in text that is JSON; the outermost one is the first.
pub(super) fn is_deeper_than(text: &[u8], levels: usize) -> bool {
    // Each level opens and closes.
    if text.len() <= levels.saturating_mul(2) {
        return false;
    }
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(c) = text.get(at) {
        match c {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let mut validator = Validator::new(text, at);
                // It is JSON, so every string ends.
                let Some(()) = validator.string() else {
                    return false;
                };
                at = validator.at - 1;
            }
            _ => (),
        }
        if depth > levels {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether text that is JSON has an escape of half a character in it (`\ud800` alone), which most readers refuse.
pub(super) fn has_lone_surrogate(text: &[u8]) -> bool {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => return true,
            Some(_) => 6,
            None => 2,
        };
    }
    false
}

struct Validator<'a> {
    text: &'a [u8],
    at: usize,
    /// A stack of one bit per open container, 1 for an object and 0 for an array, below a leading 1.
    open: u128,
    members: Vec<MemberSpan>,
    /// Of the current member of the outer object.
    key: Range<usize>,
    value_start: usize,
    has_unicode_escapes: bool,
}

impl<'a> Validator<'a> {
    fn new(text: &'a [u8], at: usize) -> Self {
        Self {
            text,
            at,
            open: 1,
            members: Vec::new(),
            key: 0..0,
            value_start: 0,
            has_unicode_escapes: false,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn depth(&self) -> u32 {
        self.open.ilog2()
    }

    fn enter(&mut self, is_object: bool) -> Option<()> {
        if self.depth() >= DEPTH {
            return None;
        }
        self.open = self.open << 1 | u128::from(is_object);
        self.at += 1;
        self.blanks();
        Some(())
    }

    fn leave(&mut self) {
        self.open >>= 1;
        self.at += 1;
    }

    fn in_object(&self) -> bool {
        self.open & 1 == 1
    }

    /// Validates the value that begins here, without recursion.
    fn value(&mut self) -> Option<()> {
        loop {
            match self.peek()? {
                b'{' => {
                    self.enter(true)?;
                    if self.peek()? == b'}' {
                        self.leave();
                    } else {
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.enter(false)?;
                    if self.peek()? == b']' {
                        self.leave();
                    } else {
                        continue;
                    }
                }
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return None,
            }
            if !self.goes_on()? {
                return Some(());
            }
        }
    }

    /// After a value: closes the containers that end here. Returns whether another value follows.
    fn goes_on(&mut self) -> Option<bool> {
        loop {
            match self.depth() {
                0 => return Some(false),
                1 if self.in_object() && self.value_start > 0 => {
                    if self.members.len() == MEMBERS {
                        return None;
                    }
                    self.members.push(MemberSpan {
                        key: self.key.clone(),
                        value: self.value_start..self.at,
                    });
                    self.value_start = 0;
                }
                _ => (),
            }
            self.blanks();
            match (self.peek()?, self.in_object()) {
                (b',', true) => {
                    self.at += 1;
                    self.blanks();
                    self.key()?;
                    return Some(true);
                }
                (b',', false) => {
                    self.at += 1;
                    self.blanks();
                    return Some(true);
                }
                (b'}', true) | (b']', false) => self.leave(),
                _ => return None,
            }
        }
    }

    /// A key and its colon, up to the value.
    fn key(&mut self) -> Option<()> {
        let start = self.at;
        if self.peek()? != b'"' {
            return None;
        }
        self.string()?;
        let end = self.at;
        self.blanks();
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        self.blanks();
        if self.depth() == 1 {
            self.key = start..end;
            self.value_start = self.at;
        }
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..)?;
            let plain = find_end_of_run(rest)?;
            self.at += plain + 1;
            match rest[plain] {
                b'"' => return Some(()),
                b'\\' => (),
                _ => return None,
            }
            let escaped = self.peek()?;
            self.at += 1;
            match escaped {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => (),
                b'u' => {
                    self.has_unicode_escapes = true;
                    let digits = self.text.get(self.at..self.at + 4)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.at += 4;
                }
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        (self.text.get(self.at..end)? == word).then(|| self.at = end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, value::RawValue};

    use super::*;

    fn is_json(text: &[u8]) -> bool {
        serde_json::from_slice::<&RawValue>(text).is_ok()
    }

    /// What is accepted is an object to `serde_json` as well, with the same members.
    #[track_caller]
    fn check(text: &[u8]) {
        let Some(CheckedObject { members, .. }) = object(text) else {
            return;
        };
        let shown = String::from_utf8_lossy(text);
        assert!(is_json(text), "{shown}");
        let trimmed = text.trim_ascii();
        let offset = text.len() - text.trim_ascii_start().len();
        let scanned = super::super::scan::Members::of(trimmed);
        let expected: Vec<_> = scanned
            .map(|m| {
                (
                    m.key.start + offset..m.key.end + offset,
                    m.value.start + offset..m.value.end + offset,
                )
            })
            .collect();
        let found: Vec<_> = members.into_iter().map(|m| (m.key, m.value)).collect();
        assert_eq!(found, expected, "{shown}");
    }

    #[test]
    fn what_is_accepted_is_json_and_most_json_is_accepted() {
        let good = [
            "{}",
            " { } ",
            r#"{"a":1}"#,
            "\n{ \"a\" : [ ] , \"b\\u005f\" : { \"c\" : [ 1 , -0.1e+5 , true , false , null , \"\\\"\\n\" ] } }\r\n",
            r#"{"a":{"b":{"c":[[[{}]]]}},"a":"x"}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"grüße":"é"}"#,
        ];
        for text in good {
            assert!(object(text.as_bytes()).is_some(), "{text}");
            check(text.as_bytes());
        }
        let bad = [
            "",
            "{",
            "}",
            "[]",
            "7",
            "{]",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "{,}",
            r#"{"a":1 "b":2}"#,
            r#"{"a":01}"#,
            r#"{"a":-}"#,
            r#"{"a":1.}"#,
            r#"{"a":1e}"#,
            r#"{"a":.5}"#,
            r#"{"a":+1}"#,
            r#"{"a":tru}"#,
            r#"{"a":truex}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":"\u12g4"}"#,
            "{\"a\":\"\n\"}",
            "{\"a\":\"\u{1}\"}",
            r#"{"a":"x}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":[}"#,
            "{a:1}",
            r#"{"a":1}}"#,
            r#"{"a":1} x"#,
            r#"{"a":NaN}"#,
        ];
        for text in bad {
            assert_eq!(object(text.as_bytes()), None, "{text}");
            assert!(
                !is_json(text.as_bytes()) || !text.starts_with('{'),
                "{text}"
            );
        }
        assert_eq!(object(b"{\"a\":\"\xff\"}"), None);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(object(deep.as_bytes()), None, "too deep");
        let control_far_away = format!("{{\"a\":\"{}\n\"}}", "x".repeat(500));
        assert_eq!(object(control_far_away.as_bytes()), None);
    }

    #[test]
    fn depth_is_counted_outside_of_strings() {
        let check =
            |text: String, expected| assert_eq!(is_deeper_than(text.as_bytes(), DEEPEST), expected);
        let nested = |depth: usize, inner: &str| {
            format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth))
        };
        check(nested(512, ""), false);
        check(nested(513, ""), true);
        check(nested(512, r#""[{\"[\\","]""#), false);
        check(nested(511, r#"{"[":"[","a\\":{}}"#), true);
        check(format!("[{}1]", "{},[],".repeat(1000)), false);
        check(
            format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
            true,
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,80}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(".{0,8}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_object_passes(value in prop::collection::hash_map(".{0,8}", json(), 0..8)) {
            let value = Value::Object(value.into_iter().collect());
            for text in [value.to_string(), format!("{value:#}")] {
                prop_assert!(object(text.as_bytes()).is_some(), "{}", text);
                check(text.as_bytes());
            }
        }

        #[test]
        fn a_changed_byte_is_seen(
            value in prop::collection::hash_map(".{0,8}", json(), 0..4),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let value = Value::Object(value.into_iter().collect());
            let mut text = value.to_string().into_bytes();
            let place = place.index(text.len());
            text[place] = byte;
            check(&text);
        }

        #[test]
        fn any_text_of_json_characters(text in r#"[\[\]{},:"\\ 0-9eE.+\-truefalsn\n]{0,40}"#) {
            check(text.as_bytes());
            check(format!("{{\"a\":{text}}}").as_bytes());
        }
    }
}
