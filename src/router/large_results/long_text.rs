//! The texts of one result, one after the other, and the pages in which they are read. A page ends after a record, a line or a text; if a line is
//! too long, between two characters. Pure.

use std::ops::Range;

use super::{
    characters::CharIndex,
    items::{TextFrame, plain},
    page::{Notice, Page, Piece},
    records::{Records, page_end},
};
use crate::wire::Raw;

/// Characters below which a text is never cut between its records, because it fits on the smallest page.
const NEVER_CUT: usize = 256;

/// The texts of a result.
#[derive(Debug)]
pub struct LongText {
    parts: Box<[Part]>,
    chars: usize,
    bytes: usize,
}

/// One of the texts.
#[derive(Debug)]
struct Part {
    frame: TextFrame,
    text: Box<str>,
    index: CharIndex,
    /// How many characters the texts before it have.
    start: usize,
    records: Option<Records>,
}

impl LongText {
    /// Of one text.
    pub fn of_text(text: String) -> Self {
        Self::new([(TextFrame::Plain(None), text)].into())
    }

    pub(super) fn new(texts: Vec<(TextFrame, String)>) -> Self {
        let (mut chars, mut bytes) = (0, 0);
        let parts = texts.into_iter().map(|(frame, text)| {
            let text = text.into_boxed_str();
            let index = CharIndex::of(&text);
            let may_be_cut = index.all() > NEVER_CUT;
            let records = may_be_cut.then(|| Records::find(&text)).flatten();
            let start = chars;
            chars += index.all();
            let marks = records.as_ref().map_or(0, Records::bytes);
            bytes += size_of::<Part>() + frame.bytes() + text.len() + index.bytes() + marks;
            Part {
                frame,
                text,
                index,
                start,
                records,
            }
        });
        Self {
            parts: parts.collect(),
            chars,
            bytes,
        }
    }

    /// All characters.
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The page that begins at this character and has so many at most, at least one. There is none past the end.
    pub fn page(&self, from: usize, most: usize) -> Option<Page> {
        if from >= self.chars {
            return None;
        }
        let most = most.max(1);
        // Empty texts stand on the page of what comes before them.
        let is_before = |part: &Part| from > 0 && part.start + part.index.all() <= from;
        let first = self.parts.partition_point(is_before);
        let (mut pieces, mut at) = (Vec::new(), from);
        for (n, part) in self.parts.iter().enumerate().skip(first) {
            let left = most - (at - from);
            let (begin, rest) = (at - part.start, part.start + part.index.all() - at);
            let bytes = if rest <= left {
                part.byte_of(begin)..part.text.len()
            } else if !pieces.is_empty() && (part.index.all() <= most || left * 4 < most) {
                // It is whole on the next page, or most of it is.
                break;
            } else {
                part.cut(begin, left)
            };
            let piece = Piece {
                part: n,
                is_whole: bytes == (0..part.text.len()),
                goes_on: bytes.end < part.text.len(),
                bytes,
            };
            at = part.start + part.index.before(&part.text, piece.bytes.end);
            let goes_on = piece.goes_on;
            pieces.push(piece);
            if goes_on {
                break;
            }
        }
        Some(Page {
            chars: from..at,
            all: self.chars,
            records: pieces.last().and_then(|piece| self.records_until(piece)),
            pieces,
        })
    }

    fn records_until(&self, piece: &Piece) -> Option<(usize, usize)> {
        let part = &self.parts[piece.part];
        let records = part.records.as_ref()?;
        let before = records.before(&part.text, piece.bytes.end);
        Some((before, records.all()))
    }

    /// The text of a piece.
    fn piece_text(&self, piece: &Piece) -> &str {
        let text = &self.parts[piece.part].text;
        text.get(piece.bytes.clone()).unwrap_or_default()
    }

    /// What a page says, the texts as they stand one after the other.
    pub fn text(&self, page: &Page) -> String {
        let pieces = page.pieces.iter();
        pieces.map(|piece| self.piece_text(piece)).collect()
    }

    /// The item for a piece. Words on how to go on stand in the text that they are about.
    pub(super) fn item(&self, piece: &Piece, notice: &Notice<'_>) -> Vec<Raw> {
        let (frame, text) = (&self.parts[piece.part].frame, self.piece_text(piece));
        match frame {
            TextFrame::Plain(_) if piece.goes_on => {
                vec![frame.with(&format!("{text}\n\n{notice}"))]
            }
            TextFrame::Resource(_) if piece.goes_on => {
                vec![frame.with(text), plain(&notice.to_string())]
            }
            _ => vec![frame.with(text)],
        }
    }

    /// The items of a page, and after the last of them how to go on.
    pub fn items(&self, page: &Page, notice: &Notice<'_>) -> Vec<Raw> {
        let pieces = page.pieces.iter();
        let mut items: Vec<Raw> = pieces.flat_map(|piece| self.item(piece, notice)).collect();
        if !page.ends_inside() {
            items.push(plain(&notice.to_string()));
        }
        items
    }
}

impl Part {
    fn byte_of(&self, char: usize) -> usize {
        self.index.byte_of(&self.text, char)
    }

    /// The bytes of a page of at most so many characters, fewer than are left.
    fn cut(&self, from: usize, chars: usize) -> Range<usize> {
        let (begin, most) = (self.byte_of(from), self.byte_of(from + chars));
        begin..page_end(&self.text, self.records.as_ref(), begin, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(texts: &[&str]) -> LongText {
        let plain = |text: &&str| (TextFrame::Plain(None), (*text).to_owned());
        LongText::new(texts.iter().map(plain).collect())
    }

    /// Reads all pages, and holds them against the whole.
    fn read(texts: &[&str], most: usize) -> Vec<String> {
        let long = long(texts);
        let (mut pages, mut at) = (Vec::new(), 0);
        while let Some(page) = long.page(at, most) {
            assert_eq!(page.chars.start, at);
            let text = long.text(&page);
            let chars = text.chars().count();
            assert!(chars <= most && chars == page.chars.len(), "{texts:?}");
            assert!(chars > 0, "{texts:?}");
            at = page.chars.end;
            pages.push(text);
        }
        assert_eq!(at, long.chars());
        assert_eq!(pages.concat(), texts.concat());
        pages
    }

    #[test]
    fn a_page_ends_with_a_text_where_that_fits() {
        assert_eq!(read(&["abc", "def", "ghi"], 7), ["abcdef", "ghi"]);
        assert_eq!(read(&["abc", "defghijkl"], 5), ["abcde", "fghij", "kl"]);
        assert_eq!(read(&["abcd", "efghijkl"], 5), ["abcd", "efghi", "jkl"]);
        assert_eq!(read(&["", "ab", "", ""], 1), ["a", "b"]);
        assert_eq!(read(&["äöü", "€€"], 3), ["äöü", "€€"]);
        assert!(long(&[]).page(0, 5).is_none() && long(&[""]).page(0, 5).is_none());
    }

    #[test]
    fn every_text_is_read_whole_whatever_the_page() {
        let records: Vec<String> = (0..200)
            .map(|n| format!(r#"{{"n":{n},"t":"ä😀"}}"#))
            .collect();
        let array = format!("[{}]", records.join(","));
        let object = format!("{{\"meta\":{{\"n\":1}},\n\"items\":{array},\n\"next\":null}}");
        let lines: Vec<String> = (0..300).map(|n| format!("line {n} €\n")).collect();
        let lines = lines.concat();
        let endless = "😀a€".repeat(1000);
        for most in [1, 2, 3, 7, 100, 488, 1000, 5000, 100_000] {
            for text in [&array, &object, &lines, &endless] {
                read(&[text], most);
                read(&["a", text, "", "b\n", text], most);
            }
        }
    }

    #[test]
    fn pages_begin_wherever_they_are_asked_to() {
        let text = "äöü€\n".repeat(100);
        let long = long(&[&text, "end"]);
        let page = long.page(13, 20).expect("a page");
        assert_eq!(long.text(&page), "€\näöü€\näöü€\näöü€\n");
        let page = long.page(500, 20).expect("a page");
        assert_eq!((long.text(&page), page.is_last()), ("end".to_owned(), true));
        assert!(long.page(503, 20).is_none());
    }

    #[test]
    fn records_are_counted_in_the_text_that_a_page_ends_in() {
        let records: Vec<String> = (0..100).map(|n| format!("{{\"n\":{n}}}")).collect();
        let long = long(&["some words", &format!("[{}]", records.join(","))]);
        let page = long.page(0, 410).expect("a page");
        assert_eq!(page.records, Some((45, 100)));
        assert_eq!(long.page(0, 10).expect("a page").records, None);
        let last = long.page(page.chars.end, 1000).expect("a page");
        assert_eq!(last.records, Some((100, 100)));
    }
}
