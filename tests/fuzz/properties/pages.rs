//! The pages of a long text: put together they are the text, each has its size, and ends where the text has an end.
//!
//! The first two bytes of an input are the size of a page, the rest is a text.

use mcpproxy::router::large_results::LongText;
use serde_json::value::RawValue;

/// Texts with fewer characters are never read by record.
const SHORTEST: usize = 256;

/// A size and a text.
pub fn check(input: &[u8]) {
    let Some((size, text)) = input.split_at_checked(2) else {
        return;
    };
    let most = usize::from(u16::from_le_bytes([size[0], size[1]])).max(1);
    let text = String::from_utf8_lossy(text).into_owned();
    let long = LongText::of_text(text.clone());
    assert_eq!(long.chars(), text.chars().count());
    let ends = ends_of_records(&text).filter(|_| long.chars() > SHORTEST);
    // Bytes that were read, which are those of the text, and characters.
    let (mut read, mut from) = (0, 0);
    while let Some(page) = long.page(from, most) {
        assert!(page.chars.start == from && page.chars.end > from && page.chars.len() <= most);
        let said = long.text(&page);
        assert_eq!(said.chars().count(), page.chars.len());
        assert_eq!(page.is_last(), page.chars.end == long.chars());
        let start = read;
        assert!(text.split_at(start).1.starts_with(&*said));
        read += said.len();
        if let Some(ends) = &ends {
            let done = ends.partition_point(|end| *end <= read);
            assert_eq!(page.records, Some((done, ends.len())));
        }
        if !page.is_last() {
            check_end(&text, start, &said, most, ends.as_deref());
        }
        from = page.chars.end;
    }
    assert_eq!(read, text.len());
    assert!(long.page(from, most).is_none());
}

/// The page ends with the last record that has room; where there is none, with the last line; where there is none, it is full.
fn check_end(text: &str, start: usize, said: &str, most: usize, ends: Option<&[usize]>) {
    let rest = text.split_at(start).1;
    let full = rest
        .char_indices()
        .nth(most)
        .map_or(rest.len(), |(at, _)| at);
    let room = start + 1..=start + full;
    let record = ends.and_then(|ends| ends.iter().rfind(|end| room.contains(end)));
    let line = rest.as_bytes()[..full]
        .iter()
        .rposition(|byte| *byte == b'\n');
    let expected = match (record, line) {
        (Some(end), _) => end - start,
        // What is no array may hold one.
        (None, _) if ends.is_none() && text.contains(['[', '{']) => return,
        (None, Some(line)) => line + 1,
        (None, None) => full,
    };
    assert_eq!(said.len(), expected);
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Where the elements of an array end, with the commas behind them; only of a text that is an array of several, and not blanks for the
/// most part.
fn ends_of_records(text: &str) -> Option<Vec<usize>> {
    if text.trim_matches(BLANKS).len() * 2 < text.len() {
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let [_, _, ..] = elements[..] else {
        return None;
    };
    let end_of = |element: &&RawValue| {
        let element = element.get();
        let end = element.as_ptr() as usize - text.as_ptr() as usize + element.len();
        let rest = text.split_at(end).1;
        let behind = rest.trim_start_matches(BLANKS);
        text.len() - behind.len() + usize::from(behind.starts_with(','))
    };
    Some(elements.iter().map(end_of).collect())
}
