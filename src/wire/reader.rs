//! Reads JSON in one pass: whether it is JSON, where the members of a message are, and what servers may not be able to read. It says only
//! yes. What it does not take may still be good, or seldom: `serde_json` looks at that again and says what is wrong.

use std::ops::Range;

use super::{
    scan::{MemberSpan, NEAR, skip_blanks},
    window::{self, WINDOW, is_short},
};

/// Limit: how deep what it takes nests.
const DEEPEST: usize = 256;

/// A text on the way.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    /// Whether a string so far has an escape of half a character.
    pub(super) has_lone_surrogate: bool,
}

impl<'a> Reader<'a> {
    /// At the beginning of a text.
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self {
            text,
            has_lone_surrogate: false,
        }
    }

    /// Reads the members of the object that begins at `at`: `each` reads a value that begins there and gives its end. Gives the end of all.
    pub(super) fn members(
        &mut self,
        at: usize,
        mut each: impl FnMut(&mut Self, Range<usize>, usize) -> Option<usize>,
    ) -> Option<usize> {
        self.take(at, b'{')?;
        let mut at = self.blanks(at + 1);
        if self.text.get(at) == Some(&b'}') {
            return Some(at + 1);
        }
        loop {
            let (key, value) = self.key(at)?;
            let end = each(self, key, value)?;
            at = self.blanks(end);
            match self.text.get(at)? {
                b',' => at = self.blanks(at + 1),
                b'}' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Reads the object that begins at `at`, and notes where in it its first members are, so many of them.
    pub(super) fn noted_members(
        &mut self,
        at: usize,
        members: &mut Vec<MemberSpan>,
        most: usize,
    ) -> Option<usize> {
        self.members(at, |reader, key, start| {
            let end = reader.value(start)?;
            if members.len() < most {
                members.push(MemberSpan {
                    key: key.start - at..key.end - at,
                    value: start - at..end - at,
                });
            }
            Some(end)
        })
    }

    /// The end of the value that begins at `at`.
    pub(super) fn value(&mut self, at: usize) -> Option<usize> {
        match self.text.get(at)? {
            b'{' | b'[' => self.container(at),
            _ => self.single(at),
        }
    }

    /// The end of the blanks that begin at `at`, if any do.
    pub(super) fn blanks(&self, at: usize) -> usize {
        skip_blanks(self.text, at)
    }

    fn take(&self, at: usize, byte: u8) -> Option<()> {
        (*self.text.get(at)? == byte).then_some(())
    }

    /// The key at `at`, and where its value begins.
    fn key(&mut self, at: usize) -> Option<(Range<usize>, usize)> {
        self.take(at, b'"')?;
        let end = self.string(at)?;
        let colon = self.blanks(end);
        self.take(colon, b':')?;
        Some((at..end, self.blanks(colon + 1)))
    }

    fn single(&mut self, at: usize) -> Option<usize> {
        match self.text.get(at)? {
            b'"' => self.string(at),
            b'-' | b'0'..=b'9' => self.number(at),
            b't' => self.literal(at, b"true"),
            b'f' => self.literal(at, b"false"),
            b'n' => self.literal(at, b"null"),
            _ => None,
        }
    }

    fn literal(&self, at: usize, literal: &[u8]) -> Option<usize> {
        let is_there = self.text.get(at..)?.starts_with(literal);
        is_there.then_some(at + literal.len())
    }

    /// An object or an array; how deep it nests takes no stack.
    fn container(&mut self, mut at: usize) -> Option<usize> {
        let mut open = Nesting::default();
        loop {
            match self.text.get(at)? {
                b'{' => {
                    open.enter(true)?;
                    at = self.blanks(at + 1);
                    if self.text.get(at) != Some(&b'}') {
                        (_, at) = self.key(at)?;
                        continue;
                    }
                }
                b'[' => {
                    open.enter(false)?;
                    at = self.blanks(at + 1);
                    if self.text.get(at) != Some(&b']') {
                        continue;
                    }
                }
                _ => at = self.single(at)?,
            }
            // Behind a value, or before the end of an empty one.
            loop {
                at = self.blanks(at);
                match (self.text.get(at)?, open.is_object()) {
                    (b',', true) => {
                        let next = self.blanks(at + 1);
                        (_, at) = self.key(next)?;
                        break;
                    }
                    (b',', false) => {
                        at = self.blanks(at + 1);
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        at += 1;
                        if open.leave() {
                            return Some(at);
                        }
                    }
                    _ => return None,
                }
            }
        }
    }

    fn number(&self, at: usize) -> Option<usize> {
        let byte = |at: usize| self.text.get(at).copied().unwrap_or_default();
        let digits = |at: usize| {
            let rest = self.text.get(at..).unwrap_or_default();
            let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (count > 0).then_some(at + count)
        };
        let start = at + usize::from(byte(at) == b'-');
        let mut end = if byte(start) == b'0' {
            start + 1
        } else {
            digits(start)?
        };
        if byte(end) == b'.' {
            end = digits(end + 1)?;
        }
        if matches!(byte(end), b'e' | b'E') {
            end += 1;
            end = digits(end + usize::from(matches!(byte(end), b'+' | b'-')))?;
        }
        Some(end)
    }

    /// The end of the string that begins at `at`.
    fn string(&mut self, at: usize) -> Option<usize> {
        let (text, mut at, mut windows) = (self.text, at + 1, 0);
        while let Some(window) = text.get(at..).and_then(<[u8]>::first_chunk) {
            if windows == NEAR {
                match window::end_of_string::<true>(text, at) {
                    Ok(end) => return Some(end),
                    Err(rest) => (at, windows) = (rest, 0),
                }
                continue;
            }
            windows += 1;
            let [quotes, backslashes, others] = window::of_window(window);
            let (from, mut specials) = (at, quotes | backslashes | others);
            at += WINDOW;
            while specials != 0 {
                let found = from + specials.trailing_zeros() as usize;
                let next = match *text.get(found)? {
                    b'"' => return Some(found + 1),
                    b'\\' if is_short(*text.get(found + 1)?) => found + 2,
                    _ => {
                        windows = 0;
                        self.odd(found)?
                    }
                };
                if next >= at {
                    at = next;
                    break;
                }
                specials &= u32::MAX << (next - from);
            }
        }
        loop {
            at = match text.get(at)? {
                b'"' => return Some(at + 1),
                b' '..=b'[' | b']'..=0x7f => at + 1,
                b'\\' if is_short(*text.get(at + 1)?) => at + 2,
                _ => self.odd(at)?,
            }
        }
    }

    /// The end of what stands in a string at `at` and is neither a plain character nor a short escape.
    #[inline(never)]
    fn odd(&mut self, at: usize) -> Option<usize> {
        match self.text.get(at)? {
            b'\\' => self.long_escape(at),
            0x80.. => self.characters(at),
            _ => None,
        }
    }

    fn long_escape(&mut self, at: usize) -> Option<usize> {
        match self.unit(at)? {
            0xd800..=0xdbff if matches!(self.unit(at + 6), Some(0xdc00..=0xdfff)) => Some(at + 12),
            0xd800..=0xdfff => {
                self.has_lone_surrogate = true;
                Some(at + 6)
            }
            _ => Some(at + 6),
        }
    }

    /// What an escape of four digits stands for.
    fn unit(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| {
            Some(unit << 4 | char::from(*digit).to_digit(16)?)
        })
    }

    /// The end of the characters outside of ASCII that begin at `at`.
    fn characters(&self, mut at: usize) -> Option<usize> {
        while let Some(lead @ 0x80..) = self.text.get(at) {
            let is = |n: usize, least: u8, most: u8| {
                let byte = self.text.get(at + n);
                byte.is_some_and(|byte| (least..=most).contains(byte))
            };
            let follows = |n| is(n, 0x80, 0xbf);
            let (is_good, length) = match lead {
                0xc2..=0xdf => (follows(1), 2),
                0xe0 => (is(1, 0xa0, 0xbf) && follows(2), 3),
                0xed => (is(1, 0x80, 0x9f) && follows(2), 3),
                0xe1..=0xef => (follows(1) && follows(2), 3),
                0xf0 => (is(1, 0x90, 0xbf) && follows(2) && follows(3), 4),
                0xf1..=0xf3 => (follows(1) && follows(2) && follows(3), 4),
                0xf4 => (is(1, 0x80, 0x8f) && follows(2) && follows(3), 4),
                _ => (false, 0),
            };
            if !is_good {
                return None;
            }
            at += length;
        }
        Some(at)
    }
}

/// Which of the containers that are open are objects.
#[derive(Default)]
struct Nesting {
    depth: usize,
    objects: [u64; DEEPEST / 64],
}

impl Nesting {
    fn enter(&mut self, is_object: bool) -> Option<()> {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        let word = self.objects.get_mut(word)?;
        *word = *word & !(1 << bit) | u64::from(is_object) << bit;
        self.depth += 1;
        Some(())
    }

    /// Whether that was the outermost.
    fn leave(&mut self) -> bool {
        self.depth -= 1;
        self.depth == 0
    }

    fn is_object(&self) -> bool {
        let last = self.depth.saturating_sub(1);
        let word = self.objects.get(last / 64).copied().unwrap_or_default();
        word >> (last % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};
    use serde_json::value::RawValue;

    use super::*;

    fn is_taken(text: &[u8]) -> bool {
        Reader::of(text).value(0) == Some(text.len())
    }

    /// Whether the parser takes it, without blanks around it.
    fn is_json(text: &[u8]) -> bool {
        let read: Option<&RawValue> = str::from_utf8(text)
            .ok()
            .and_then(|text| serde_json::from_str(text).ok());
        read.is_some_and(|read| read.get().len() == text.len())
    }

    #[test]
    fn what_stands_in_a_string_is_read_wherever_it_stands() {
        let pieces: &[&[u8]] = &[
            b"",
            b"x",
            b"\\n",
            b"\\\\",
            b"\\\"",
            b"\\/",
            b"\\x",
            b"\\",
            b"\n",
            b"\0",
            b"\x1f",
            b"\x7f",
            b"\"",
            b"\\u00e9",
            b"\\u12",
            b"\\u12g4",
            b"\\ud83d\\ude00",
            b"\\ud83d",
            b"\\ude00",
            b"\\ud83d\\u0041",
            "ä".as_bytes(),
            "€".as_bytes(),
            "😀".as_bytes(),
            "äöü€😀".as_bytes(),
            b"\xff",
            b"\xc3",
            b"\xc0\x80",
            b"\xe0\x80\x80",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xf0\x80\x80\x80",
            b"\xf5\x80\x80\x80",
            b"\x80",
            b"\xe2\x82",
            b"\xf0\x9f\x98",
        ];
        for before in (0..130).chain(170..180) {
            for after in [0, 1, 16, 64] {
                for piece in pieces {
                    let mut text = vec![b'"'];
                    text.extend(vec![b'a'; before]);
                    text.extend_from_slice(piece);
                    text.extend(vec![b'z'; after]);
                    text.push(b'"');
                    let (taken, is_json) = (is_taken(&text), is_json(&text));
                    assert_eq!(taken, is_json, "{}", text.escape_ascii());
                    let open = text.strip_suffix(b"\"").expect("it ends with one");
                    assert_eq!(
                        is_taken(open),
                        self::is_json(open),
                        "{}",
                        open.escape_ascii()
                    );
                }
            }
        }
    }

    #[test]
    fn numbers_and_words_are_those_of_json() {
        for text in [
            "0",
            "-0",
            "01",
            "-",
            "1",
            "12345678901234567890123",
            "1.",
            "1.5",
            ".5",
            "1e5",
            "1E+5",
            "1e-",
            "1e",
            "1.5e400",
            "+1",
            "0x1",
            "true",
            "tru",
            "false",
            "null",
            "nul",
            "nulll",
            "NaN",
            "",
            "[",
            "[]",
            "[1",
            "[1,]",
            "[,]",
            "{}",
            "{",
            "{]",
            "[}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":1"b":2}"#,
            r"{a:1}",
            r"[1 2]",
            r#"{"a":[{"b":[]},{}],"c":{"d":[[]]}}"#,
        ] {
            assert_eq!(
                is_taken(text.as_bytes()),
                is_json(text.as_bytes()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_nests_too_deep_is_left_to_others() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_taken(nested(DEEPEST).as_bytes()));
        assert!(!is_taken(nested(DEEPEST + 1).as_bytes()));
    }

    proptest! {
        #[test]
        fn it_takes_what_the_parser_takes(pieces in prop::collection::vec(select(vec![
            "{", "}", "[", "]", ",", ":", " ", "\n", "\"a\"", "\"\\u00e9 \\n\"", "\"key\":", "1", "-0.5e3", "true", "null", "{}", "[]",
        ]), 0..12)) {
            let text = pieces.concat();
            prop_assert_eq!(is_taken(text.as_bytes()), is_json(text.as_bytes()));
        }
    }
}
