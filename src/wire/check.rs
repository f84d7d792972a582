//! Finds what a server may not be able to read, or may read in another way: values that nest too deep, halves of characters, and keys
//! that appear twice. The text is known to be JSON.

use std::collections::HashSet;

use super::scan::{skip_string, text_of};

/// Limit: how deep messages may nest. Who reads by recursion ends at some hundreds of levels: a server, which other clients share, or a
/// client.
const DEEPEST: usize = 512;

/// Why text that is JSON must not be sent on to servers, whose readers it may end.
pub(super) fn why_unreadable(text: &[u8]) -> Option<&'static str> {
    why_too_deep(text).or_else(|| {
        let why = "contains an escape of half a character (a lone surrogate, such as \\ud800)";
        has_lone_surrogate(text).then_some(why)
    })
}

/// Why text that is JSON must not be sent on to anybody whose reader recurses.
pub(super) fn why_too_deep(text: &[u8]) -> Option<&'static str> {
    is_deeper_than(text, DEEPEST).then_some("nests deeper than 512 levels")
}

/// Whether values nest deeper than so many levels in text that is JSON; the outermost one is the first.
pub(super) fn is_deeper_than(text: &[u8], levels: usize) -> bool {
    // Nearly everything has fewer brackets than levels are allowed.
    if memchr::memchr2_iter(b'{', b'[', text).nth(levels).is_none() {
        return false;
    }
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(c) = text.get(at) {
        match c {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                // It is JSON, so every string ends.
                let Some(end) = skip_string(text, at) else {
                    return false;
                };
                at = end - 1;
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
    if memchr::memmem::find(text, b"\\u").is_none() {
        return false;
    }
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

/// A key that an object has twice, at any depth of text that is JSON.
pub(super) fn repeated_key(text: &[u8]) -> Option<String> {
    let mut open: Vec<HashSet<String>> = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at) {
        let from = at;
        at += 1;
        match c {
            b'{' | b'[' => open.push(HashSet::new()),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                at = skip_string(text, from)?;
                let follows = text.get(at..)?.trim_ascii_start();
                if follows.first() == Some(&b':')
                    && let (Some(seen), Some(key)) = (open.last_mut(), text_of(&text[from..at]))
                    && !seen.insert(key.clone())
                {
                    return Some(key);
                }
            }
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_appear_once_in_each_object() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(repeated_key(text.as_bytes()).as_deref(), expected, "{text}");
        };
        check(r#"{"a":{"a":[{"a":"a"},{"a":"a"}],"b":"a"},"b":{}}"#, None);
        check(r#"{"a":"a : \":","b":["a","a"]}"#, None);
        check(r#"{"a":[{"b":1,"c":{"b":1},"\u0062" : 2}]}"#, Some("b"));
        check(r#"{"a":{},"a":1}"#, Some("a"));
        check("1", None);
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
}
