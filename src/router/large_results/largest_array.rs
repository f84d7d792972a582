//! Finds the array of records in a text that is JSON, or consists mostly of JSON. Pure.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::wire::{Elements, Members};

/// Limit: places of a text at which JSON is looked for. Each may cost a reading of the whole text.
const ATTEMPTS: usize = 8;

/// Limit: levels down to the array with the records. Each may cost a reading of the whole text.
const DEPTH: usize = 16;

/// Where the array with the records stands in a text: the largest one of the JSON that the text is, or that makes up more than half
/// of it.
pub(super) fn array_in(text: &str) -> Option<Range<usize>> {
    largest_array(text.as_bytes(), json_in(text)?)
}

/// Where the JSON value stands that the text is all about.
fn json_in(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut attempts = 0;
    while attempts < ATTEMPTS {
        at += memchr::memchr2(b'{', b'[', bytes.get(at..)?)?;
        if (text.len() - at) * 2 < text.len() {
            return None;
        }
        let end = begins_json(bytes, at).then(|| {
            attempts += 1;
            let rest = text.get(at..)?;
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            values.next()?.ok()?;
            Some(at + values.byte_offset())
        });
        match end.flatten() {
            Some(end) if (end - at) * 2 >= text.len() => return Some(at..end),
            Some(end) => at = end,
            None => at += 1,
        }
    }
    None
}

/// Whether what follows a bracket can be the first thing of an object or an array. Most brackets in prose are neither.
fn begins_json(text: &[u8], at: usize) -> bool {
    let next = text.get(at + 1..).unwrap_or_default().trim_ascii_start();
    match (text[at], next.first()) {
        (b'{', Some(c)) => matches!(c, b'"' | b'}'),
        (_, Some(c)) => matches!(
            c,
            b'{' | b'[' | b'"' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
        ),
        (_, None) => false,
    }
}

/// The array of several elements that the largest member of an object leads to. An array of one element is looked into, too.
fn largest_array(text: &[u8], value: Range<usize>) -> Option<Range<usize>> {
    let mut value = value;
    for _ in 0..DEPTH {
        let inner = text.get(value.clone())?;
        let found = if inner.first() == Some(&b'[') {
            let mut elements = Elements::of(inner);
            let first = elements.next()?;
            if elements.next().is_some() {
                return Some(value);
            }
            first.value
        } else {
            let values = Members::of(inner).map(|member| member.value);
            let containers = values.filter(|value| matches!(inner[value.start], b'{' | b'['));
            containers.max_by_key(ExactSizeIterator::len)?
        };
        value = value.start + found.start..value.start + found.end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_array_is_found_wherever_it_stands() {
        let check = |text: &str, expected: Option<&str>| {
            let found = array_in(text).and_then(|range| text.get(range));
            assert_eq!(found, expected, "{text}");
        };
        check("[1, 2]", Some("[1, 2]"));
        check(" \n[1,2]\n", Some("[1,2]"));
        check(
            r#"{"a":[1,2],"b":[1,2,3],"c":"[1,2,3,4,5,6,7,8]"}"#,
            Some("[1,2,3]"),
        );
        check(
            r#"{"data":{"n":7,"items":[{"a":1},{"a":2}]}}"#,
            Some(r#"[{"a":1},{"a":2}]"#),
        );
        check(r#"[{"rows":[[1],[2]]}]"#, Some("[[1],[2]]"));
        check(
            "Found these:\n```json\n[10,20,30,40,50,60,70,80,90]\n```\n",
            Some("[10,20,30,40,50,60,70,80,90]"),
        );
        check(
            "[note] see [1]: [\"aaaaaaaaaaaaaaaaaa\",\"bb\"] done",
            Some("[\"aaaaaaaaaaaaaaaaaa\",\"bb\"]"),
        );
        check(r#"{"a":1}"#, None);
        check(r#"{"a":[1]}"#, None);
        check("[]", None);
        check(
            "plain [1,2] text that is much longer than what it quotes",
            None,
        );
        check("[1,2", None);
        check("{\"a\":1}\n{\"a\":2}\n{\"a\":3}", None);
        check("", None);
    }

    #[test]
    fn hostile_texts_cost_a_few_readings() {
        for text in [
            "[".repeat(300_000),
            "{\"".repeat(300_000),
            "[1,".repeat(300_000),
        ] {
            assert_eq!(array_in(&text), None);
        }
        let deep = format!("{}1,2{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(array_in(&deep), None);
    }
}
