//! Iterates over the members of an object and the elements of an array without building a tree. Meant for text that is known to be
//! valid JSON; on anything else the iterators end early and never panic.

use std::{cmp::Ordering, ops::Range};

use super::window::{self, WINDOW};

/// The byte ranges of one member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSpan {
    /// The key with its quotes.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

impl MemberSpan {
    /// That of no member.
    pub(super) const NOWHERE: Self = Self {
        key: 0..0,
        value: 0..0,
    };

    /// Whether the key spells `name`, escapes resolved.
    pub fn is(&self, text: &[u8], name: &str) -> bool {
        let Some(key) = text.get(self.key.start + 1..self.key.end - 1) else {
            return false;
        };
        match key.len().cmp(&name.len()) {
            Ordering::Less => false,
            // An escape is longer than what it stands for: with one, a key as long as this spells something shorter.
            Ordering::Equal => key == name.as_bytes() && !key.contains(&b'\\'),
            Ordering::Greater => {
                key.contains(&b'\\') && self.name(text).is_some_and(|spelt| spelt == name)
            }
        }
    }

    /// The key, escapes resolved.
    pub fn name(&self, text: &[u8]) -> Option<String> {
        text_of(text.get(self.key.clone())?)
    }
}

/// The text of a string, unescaped. Most have no escapes, and are not read again.
pub(super) fn text_of(json: &[u8]) -> Option<String> {
    let inside = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inside.contains(&b'\\') {
        return serde_json::from_slice(json).ok();
    }
    str::from_utf8(inside).ok().map(str::to_owned)
}

/// The members of an object, in their order.
pub struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    /// No members unless `text` is an object.
    pub fn of(text: &'a [u8]) -> Self {
        let at = inside(text, b'{');
        Self { text, at }
    }

    fn step(&mut self) -> Option<MemberSpan> {
        let start = skip_separators(self.text, self.at);
        if self.text.get(start) != Some(&b'"') {
            return None;
        }
        let end = skip_string(self.text, start)?;
        let colon = skip_blanks(self.text, end);
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        let value_start = skip_blanks(self.text, colon + 1);
        let value_end = skip_value(self.text, value_start)?;
        self.at = value_end;
        Some(MemberSpan {
            key: start..end,
            value: value_start..value_end,
        })
    }
}

impl Iterator for Members<'_> {
    type Item = MemberSpan;

    fn next(&mut self) -> Option<MemberSpan> {
        let member = self.step();
        if member.is_none() {
            self.at = self.text.len();
        }
        member
    }
}

/// The byte range of one element of an array.
#[derive(Debug, Clone)]
pub struct Element {
    /// The value.
    pub value: Range<usize>,
}

/// The elements of an array, in their order.
pub struct Elements<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Elements<'a> {
    /// No elements unless `text` is an array.
    pub fn of(text: &'a [u8]) -> Self {
        let at = inside(text, b'[');
        Self { text, at }
    }

    /// Those that follow a place between two elements.
    pub fn following(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }
}

impl Iterator for Elements<'_> {
    type Item = Element;

    fn next(&mut self) -> Option<Element> {
        let start = skip_separators(self.text, self.at);
        let end = match self.text.get(start) {
            None | Some(b']') => None,
            Some(_) => skip_value(self.text, start),
        };
        self.at = end.unwrap_or(self.text.len());
        end.map(|end| Element { value: start..end })
    }
}

/// Where the inside begins of a text that `open` opens; the end of another.
fn inside(text: &[u8], open: u8) -> usize {
    if text.first() == Some(&open) {
        1
    } else {
        text.len()
    }
}

pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn skip_separators(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r' | b',')) {
        at += 1;
    }
    at
}

/// The position after the string that starts at `at`.
pub(super) fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut windows) = (at + 1, 0);
    while let Some(window) = text.get(at..).and_then(<[u8]>::first_chunk) {
        if windows == NEAR {
            match window::end_of_string::<false>(text, at) {
                Ok(end) => return Some(end),
                Err(rest) => (at, windows) = (rest, 0),
            }
            continue;
        }
        windows += 1;
        let [ends, backslashes, _] = window::of_window(window);
        let (from, mut quotes) = (at, ends | backslashes);
        at += WINDOW;
        while quotes != 0 {
            let found = from + quotes.trailing_zeros() as usize;
            if text.get(found) == Some(&b'"') {
                return Some(found + 1);
            }
            let next = found + 2;
            if next >= at {
                at = next;
                break;
            }
            quotes &= u32::MAX << (next - from);
        }
    }
    loop {
        at += match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => 2,
            _ => 1,
        };
    }
}

/// How many windows are looked at before blocks are: most strings end there.
pub(super) const NEAR: usize = 3;

/// The position after the value that starts at `at`.
fn skip_value(text: &[u8], at: usize) -> Option<usize> {
    match *text.get(at)? {
        b'"' => skip_string(text, at),
        b'{' | b'[' => skip_container(text, at),
        b',' | b'}' | b']' | b':' => None,
        _ => {
            let rest = &text[at..];
            let ends = |c: &u8| matches!(c, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            Some(at + rest.iter().position(ends).unwrap_or(rest.len()))
        }
    }
}

/// Counts brackets instead of recursing, so nesting uses no stack.
fn skip_container(text: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0_usize);
    loop {
        match *text.get(at)? {
            b'"' => {
                at = skip_string(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => (),
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests;
