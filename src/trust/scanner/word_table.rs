//! Which words of phrases stand in a text. The table is made when the program is compiled.

use std::ops::Range;

use super::phrase::Phrase;

/// A word that stands in a text.
pub(super) struct WordAt {
    /// The number of its phrase.
    pub(super) phrase: usize,
    pub(super) range: Range<usize>,
    /// Whether it begins and ends there as a word.
    pub(super) is_whole: bool,
}

/// How many chains of words there are, by their first letters; a power of two.
const CHAINS: usize = 4096;

/// What stands for no word.
const NONE: u16 = u16::MAX;

/// The words of phrases, by the first three bytes of each; shorter ones by what they have, and zeros.
pub(super) struct WordTable<const WORDS: usize> {
    /// The first word of each chain.
    first: [u16; CHAINS],
    /// The word after each in its chain.
    next: [u16; WORDS],
    words: [(&'static str, u16); WORDS],
    /// With which bytes those begin that have less than three.
    begins_short: [bool; 256],
}

/// How many words these phrases have.
pub(super) const fn count<const N: usize>(tables: [&'static [Phrase]; N]) -> usize {
    let (mut table, mut words) = (0, 0);
    while table < N {
        let mut phrase = 0;
        while phrase < tables[table].len() {
            words += tables[table][phrase].words.len();
            phrase += 1;
        }
        table += 1;
    }
    words
}

impl<const WORDS: usize> WordTable<WORDS> {
    /// The table of all words of these phrases, which are numbered in this order.
    pub(super) const fn of<const N: usize>(tables: [&'static [Phrase]; N]) -> Self {
        let mut made = Self {
            first: [NONE; CHAINS],
            next: [NONE; WORDS],
            words: [("", 0); WORDS],
            begins_short: [false; 256],
        };
        let (mut table, mut phrase_number, mut word_number) = (0, 0, 0);
        while table < N {
            let mut phrase = 0;
            while phrase < tables[table].len() {
                let words = tables[table][phrase].words;
                let mut word = 0;
                while word < words.len() {
                    made.add(word_number, words[word], phrase_number);
                    word_number += 1;
                    word += 1;
                }
                phrase_number += 1;
                phrase += 1;
            }
            table += 1;
        }
        made
    }

    const fn add(&mut self, number: u16, word: &'static str, phrase: u16) {
        let at = number as usize;
        self.words[at] = (word, phrase);
        let chain = match *word.as_bytes() {
            [a, b, c, ..] => chain(a, b, c),
            [a, b] => chain(a, b, 0),
            [a] => chain(a, 0, 0),
            [] => return,
        };
        if let [first] | [first, _] = *word.as_bytes() {
            self.begins_short[first as usize] = true;
        }
        self.next[at] = self.first[chain];
        self.first[chain] = number;
    }

    /// Shows the words that stand in a text.
    pub(super) fn find(&self, text: &str, mut found: impl FnMut(WordAt)) {
        let bytes = text.as_bytes();
        for (at, a) in bytes.iter().copied().enumerate() {
            let rest = bytes.get(at..).unwrap_or_default();
            let mut show = |chain: usize, is_short: bool| {
                let first = self.first.get(chain).copied();
                self.each(first.unwrap_or(NONE), |word, phrase| {
                    let letters = word.strip_suffix(b"*").unwrap_or(word);
                    if (word.len() < 3) == is_short && rest.starts_with(letters) {
                        found(WordAt::at(text, at, word, phrase));
                    }
                });
            };
            let (b, c) = (rest.get(1).copied(), rest.get(2).copied());
            if let Some((b, c)) = b.zip(c) {
                show(chain(a, b, c), false);
            }
            if self.begins_short.get(usize::from(a)).is_some_and(|is| *is) {
                show(chain(a, 0, 0), true);
                if let Some(b) = b {
                    show(chain(a, b, 0), true);
                }
            }
        }
    }

    fn each(&self, first: u16, mut show: impl FnMut(&[u8], usize)) {
        let mut number = first;
        while let Some((word, phrase)) = self.words.get(usize::from(number)) {
            show(word.as_bytes(), usize::from(*phrase));
            number = self.next.get(usize::from(number)).copied().unwrap_or(NONE);
        }
    }
}

impl WordAt {
    fn at(text: &str, at: usize, word: &[u8], phrase: usize) -> Self {
        let letters = word.strip_suffix(b"*").unwrap_or(word);
        let range = at..at + letters.len();
        let (before, inside, after) = (
            text.get(..at).unwrap_or_default(),
            text.get(range.clone()).unwrap_or_default(),
            text.get(range.end..).unwrap_or_default(),
        );
        let begins = !joins(before.chars().next_back(), inside.chars().next());
        let may_go_on = letters.len() < word.len();
        let ends = may_go_on || !joins(inside.chars().next_back(), after.chars().next());
        Self {
            phrase,
            range,
            is_whole: begins && ends,
        }
    }
}

/// Whether two characters beside each other are of one word. Chinese has no blanks between words.
fn joins(one: Option<char>, other: Option<char>) -> bool {
    let is_of_word = |c: Option<char>| {
        c.is_some_and(|c| c.is_alphanumeric() && !('\u{3000}'..='\u{9FFF}').contains(&c))
    };
    is_of_word(one) && is_of_word(other)
}

const fn chain(a: u8, b: u8, c: u8) -> usize {
    let key = (a as usize) << 16 | (b as usize) << 8 | c as usize;
    (key.wrapping_mul(0x9E37_79B1) >> 13) % CHAINS
}
