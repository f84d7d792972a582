//! Where a long text may be cut: between the records of the JSON in it, else between its lines, else between characters. Pure.

use std::ops::Range;

use super::largest_array::array_in;
use crate::wire::Elements;

/// How many bytes lie at least between two places that are remembered. What lies between them is read again.
const SPACING: usize = 32 << 10;

/// The records of a text: the elements of the array that it is, or holds.
#[derive(Debug)]
pub(super) struct Records {
    array: Range<usize>,
    all: usize,
    /// Some places between records, in their order; the beginning of the array is the first.
    ///
    /// Invariant: a place that is at least [`SPACING`] behind the mark before it is a mark.
    marks: Box<[Boundary]>,
}

/// A place between two records.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    byte: usize,
    /// How many records stand before it.
    records: usize,
}

impl Records {
    /// Those of a text, if it has several.
    pub(super) fn find(text: &str) -> Option<Self> {
        let array = array_in(text)?;
        let begin = Boundary {
            byte: array.start + 1,
            records: 0,
        };
        let mut marks = vec![begin];
        let (mut all, mut last) = (0, begin);
        for boundary in boundaries(text, &array, begin, array.end) {
            all = boundary.records;
            if boundary.byte - last.byte >= SPACING {
                marks.push(boundary);
                last = boundary;
            }
        }
        Some(Self {
            array,
            all,
            marks: marks.into(),
        })
    }

    /// How many there are.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// How many end before this byte, or with it.
    pub(super) fn before(&self, text: &str, byte: usize) -> usize {
        let found = self.last_before(text, byte);
        found.map_or(0, |found| found.records)
    }

    /// The last place between two records that comes after `from`, and not after `most`.
    fn between(&self, text: &str, from: usize, most: usize) -> Option<usize> {
        let found = self.last_before(text, most)?;
        (found.records > 0 && found.byte > from).then_some(found.byte)
    }

    /// Reads no more than what lies between two marks, or up to the byte, however long a record is.
    fn last_before(&self, text: &str, byte: usize) -> Option<Boundary> {
        let known = self.marks.partition_point(|mark| mark.byte <= byte);
        let mark = *self.marks.get(known.checked_sub(1)?)?;
        let end = byte.min(mark.byte + SPACING).saturating_add(1);
        let later = boundaries(text, &self.array, mark, end);
        let later = later.take_while(|found| found.byte <= byte);
        Some(later.last().unwrap_or(mark))
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.marks)
    }
}

/// The places between records after this one, each behind the comma; the last one is at the end of the array. Reads up to `end`; a record
/// or a comma that is not there by then is left out.
fn boundaries<'a>(
    text: &'a str,
    array: &Range<usize>,
    after: Boundary,
    end: usize,
) -> impl Iterator<Item = Boundary> + use<'a> {
    let end = end.min(array.end);
    let is_whole = end == array.end;
    let bytes = text.as_bytes().get(..end).unwrap_or_default();
    let elements = Elements::following(bytes, after.byte).zip(after.records + 1..);
    elements.map_while(move |(element, records)| {
        let end = element.value.end;
        let rest = bytes.get(end..)?;
        let blanks = rest.iter().take_while(|c| c.is_ascii_whitespace()).count();
        let byte = match rest.get(blanks) {
            Some(b',') => end + blanks + 1,
            _ if is_whole => end + blanks,
            _ => return None,
        };
        Some(Boundary { byte, records })
    })
}

/// Where a page ends that begins at byte `from` and may go up to `most`, which begins a character after it.
pub(super) fn page_end(text: &str, records: Option<&Records>, from: usize, most: usize) -> usize {
    if most >= text.len() {
        return text.len();
    }
    if let Some(end) = records.and_then(|records| records.between(text, from, most)) {
        return end;
    }
    let page = text.as_bytes().get(from..most).unwrap_or_default();
    memchr::memrchr(b'\n', page).map_or(most, |at| from + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of a text, each of so many bytes at most.
    fn pages(text: &str, most: usize) -> Vec<&str> {
        let records = Records::find(text);
        let (mut pages, mut from) = (Vec::new(), 0);
        while from < text.len() {
            let most = text.floor_char_boundary(from + most);
            let end = page_end(text, records.as_ref(), from, most);
            assert!(end > from && end <= most, "{text}");
            pages.push(text.get(from..end).expect("a boundary"));
            from = end;
        }
        assert_eq!(pages.concat(), text);
        pages
    }

    #[test]
    fn pages_end_with_records_else_with_lines_else_with_characters() {
        let check = |text: &str, most: usize, expected: &[&str]| {
            assert_eq!(pages(text, most), expected);
        };
        check("[10,20,30,40]", 7, &["[10,20,", "30,40]"]);
        check("[10 , 20,\n 30]", 9, &["[10 , 20,", "\n 30]"]);
        check(
            r#"{"n":1,"a":[10,20,30]}"#,
            18,
            &[r#"{"n":1,"a":[10,20,"#, "30]}"],
        );
        check("one\ntwo\nthree\n", 9, &["one\ntwo\n", "three\n"]);
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("äöü€", 5, &["äö", "ü€"]);
        // A record that is too long is cut as a text is.
        check(
            "[\"aaaaaa\",\"b\",\"c\"]",
            6,
            &["[\"aaaa", "aa\",", "\"b\",", "\"c\"]"],
        );
        check(
            "See:\n[1,2,3,4,5,6]\nEnd.\n",
            13,
            &["See:\n[1,2,3,", "4,5,6]\nEnd.\n"],
        );
        check("\n\n\n", 1, &["\n", "\n", "\n"]);
    }

    #[test]
    fn a_long_record_is_read_once() {
        let long = "x".repeat(4 * SPACING);
        let text = format!("[1,2,\"{long}\",3,4]");
        let records = Records::find(&text).expect("records");
        for byte in [6, SPACING, 2 * SPACING, 4 * SPACING, text.len() - 8] {
            assert_eq!(records.before(&text, byte), 2, "{byte}");
        }
        assert_eq!(records.before(&text, text.len() - 4), 3);
        let pages = pages(&text, SPACING);
        assert!(pages.len() < 8 && pages[0] == "[1,2,", "{}", pages.len());
    }

    #[test]
    fn records_are_counted_from_the_nearest_place_that_is_known() {
        let elements: Vec<String> = (0..50_000).map(|n| format!("{{\"n\": {n}}}")).collect();
        let text = format!("[{}]", elements.join(", "));
        let records = Records::find(&text).expect("records");
        assert!(records.marks.len() > 10 && records.all() == 50_000);
        let mut at = 1;
        for (n, element) in elements.iter().enumerate() {
            if n % 997 == 0 {
                assert_eq!(records.before(&text, at), n);
                assert_eq!(records.before(&text, at + element.len()), n);
            }
            at += element.len() + 2;
        }
        assert_eq!(records.before(&text, text.len()), 50_000);
        assert_eq!(records.before(&text, 0), 0);
    }
}
