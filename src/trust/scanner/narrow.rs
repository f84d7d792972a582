//! A folded text with one byte for each character, as the patterns read it: what they count are characters, and those of other alphabets
//! differ for them only in whether they are letters or digits.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use regex::Regex;

/// What stands for a letter, a digit and anything else that is not of ASCII.
const LETTER: u8 = 0xFF;
const NUMBER: u8 = 0xFE;
const OTHER: u8 = 0xFD;

/// What `\w` and `\d` are called here.
pub(super) const WORD: &str = r"[0-9A-Za-z_\xFE\xFF]";
pub(super) const DIGIT: &str = r"[0-9\xFE]";

/// The text and where its characters come from.
pub(super) struct Narrow<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where each character begins in the folded text, and where it ends; nothing where each is a byte.
    starts: Vec<usize>,
}

impl<'a> Narrow<'a> {
    pub(super) fn of(folded: &'a str) -> Self {
        if folded.is_ascii() {
            let bytes = Cow::Borrowed(folded.as_bytes());
            return Self {
                bytes,
                starts: Vec::new(),
            };
        }
        let starts = folded.char_indices().map(|(start, _)| start);
        Self {
            bytes: folded.chars().map(byte).collect(),
            starts: starts.chain([folded.len()]).collect(),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a part of it stands in the folded text.
    pub(super) fn in_folded(&self, range: Range<usize>) -> Range<usize> {
        let place = |at: usize| self.starts.get(at).copied().unwrap_or(at);
        place(range.start)..place(range.end)
    }
}

fn byte(character: char) -> u8 {
    static WORD: LazyLock<Regex> = LazyLock::new(|| compiled(r"^\w$"));
    static DIGIT: LazyLock<Regex> = LazyLock::new(|| compiled(r"^\d$"));
    if character.is_ascii() {
        return u8::try_from(character).unwrap_or(OTHER);
    }
    let mut buffer = [0; 4];
    let text: &str = character.encode_utf8(&mut buffer);
    match text {
        digit if character.is_numeric() && DIGIT.is_match(digit) => NUMBER,
        letter if WORD.is_match(letter) => LETTER,
        _ => OTHER,
    }
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is ours, and a test compiles it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_what_patterns_take_it_for() {
        let (word, digit) = (compiled(r"^\w$"), compiled(r"^\d$"));
        let (narrow_word, narrow_digit) = (narrow(WORD), narrow(DIGIT));
        for character in ('\0'..=char::MAX).filter(|c| !c.is_whitespace()) {
            let text = character.to_string();
            let byte = [byte(character)];
            assert_eq!(
                word.is_match(&text),
                narrow_word.is_match(&byte),
                "{text:?}"
            );
            assert_eq!(
                digit.is_match(&text),
                narrow_digit.is_match(&byte),
                "{text:?}"
            );
        }
    }

    fn narrow(class: &str) -> regex::bytes::Regex {
        regex::bytes::Regex::new(&format!("(?-u:^{class}$)")).expect("a class")
    }

    #[test]
    fn places_lead_back() {
        let narrow = Narrow::of("aé日3٣ b");
        assert_eq!(narrow.as_bytes(), b"a\xFF\xFF3\xFE b");
        assert_eq!(narrow.in_folded(1..3), 1..6);
        assert_eq!(narrow.in_folded(6..7), 10..11);
        assert_eq!(Narrow::of("abc").in_folded(1..3), 1..3);
    }
}
