//! Finds which words of the phrases stand in a text, by a hash table that is made at compile time. It has no pointers in it, because pages with pointers
//! are copied when the program starts.

use std::ops::Range;

use super::phrase::Phrase;

/// A word in a text.
pub(super) struct WordAt<'t> {
    /// The number of its phrase.
    pub(super) phrase: usize,
    pub(super) range: Range<usize>,
    text: &'t str,
    may_go_on: bool,
}

/// The number of chains of words, a power of two.
const CHAINS: usize = 4096;

/// The words of phrases, in chains by a hash of their first three bytes, or of all bytes of shorter ones.
pub(super) struct WordTable<const WORDS: usize, const LETTERS: usize> {
    /// The beginning of each chain in `words`, where the chain before ends.
    starts: [u16; CHAINS + 1],
    words: [Word; WORDS],
    /// The letters of all words.
    letters: [u8; LETTERS],
    /// The first bytes of words with less than three bytes.
    begins_short: [bool; 256],
}

#[derive(Clone, Copy)]
struct Word {
    /// Its first four bytes, filled up with zeros.
    key: u32,
    phrase: u16,
    /// The beginning of its letters, their number, and the last one.
    letters: (u16, u8),
    last: u8,
    /// Whether the word may continue in the text: it had a star.
    may_go_on: bool,
}

/// The number of words of these phrases, and of the letters of these words.
pub(super) const fn count<const N: usize>(tables: [&'static [Phrase]; N]) -> (usize, usize) {
    let (mut words, mut letters) = (0, 0);
    let mut at = Place::FIRST;
    while let Some(word) = at.word(&tables) {
        words += 1;
        letters += word.len();
        at = at.next(&tables);
    }
    (words, letters)
}

/// The place of a word in the tables.
#[derive(Clone, Copy)]
struct Place {
    table: usize,
    phrase: usize,
    word: usize,
    /// The number of the phrase among those of all tables.
    number: u16,
}

impl Place {
    const FIRST: Self = Self {
        table: 0,
        phrase: 0,
        word: 0,
        number: 0,
    };

    const fn word(self, tables: &[&'static [Phrase]]) -> Option<&'static str> {
        if self.table == tables.len() {
            return None;
        }
        Some(tables[self.table][self.phrase].words[self.word])
    }

    const fn next(mut self, tables: &[&'static [Phrase]]) -> Self {
        self.word += 1;
        if self.word == tables[self.table][self.phrase].words.len() {
            (self.word, self.phrase, self.number) = (0, self.phrase + 1, self.number + 1);
        }
        if self.phrase == tables[self.table].len() {
            (self.phrase, self.table) = (0, self.table + 1);
        }
        self
    }
}

impl<const WORDS: usize, const LETTERS: usize> WordTable<WORDS, LETTERS> {
    /// Makes the table of all words of these phrases, which are numbered in this order. Each phrase must have a word, and no word may be empty.
    #[expect(clippy::cast_possible_truncation, reason = "larger ones do not build")]
    pub(super) const fn of<const N: usize>(tables: [&'static [Phrase]; N]) -> Self {
        let none = Word {
            key: 0,
            phrase: 0,
            letters: (0, 0),
            last: 0,
            may_go_on: false,
        };
        let mut made = Self {
            starts: [0; CHAINS + 1],
            words: [none; WORDS],
            letters: [0; LETTERS],
            begins_short: [false; 256],
        };
        // `starts` first has the number of words of each chain, then the end of each. Chains are filled from their ends, which makes these the starts.
        let mut at = Place::FIRST;
        while let Some(word) = at.word(&tables) {
            made.starts[chain(key(word.as_bytes()))] += 1;
            at = at.next(&tables);
        }
        let mut number = 0;
        while number < CHAINS {
            made.starts[number + 1] += made.starts[number];
            number += 1;
        }
        let (mut at, mut letters) = (Place::FIRST, 0);
        while let Some(word) = at.word(&tables) {
            let word = word.as_bytes();
            let may_go_on = word[word.len() - 1] == b'*';
            let length = word.len() - may_go_on as usize;
            assert!(length > 2 || !may_go_on, "its star would be a letter");
            let (word, _) = word.split_at(length);
            assert!(length < 1 << 8 && letters < 1 << 16, "too many letters");
            let mut letter = 0;
            while letter < length {
                made.letters[letters + letter] = word[letter];
                letter += 1;
            }
            let place = &mut made.starts[chain(key(word))];
            *place -= 1;
            made.words[*place as usize] = Word {
                key: key(word),
                phrase: at.number,
                letters: (letters as u16, length as u8),
                last: word[length - 1],
                may_go_on,
            };
            if word.len() < 3 {
                made.begins_short[word[0] as usize] = true;
            }
            letters += length;
            at = at.next(&tables);
        }
        made
    }

    /// Gives the words in a text to `found`, from the beginning of the text to its end.
    pub(super) fn find<'t>(&self, text: &'t str, mut found: impl FnMut(WordAt<'t>)) {
        let bytes = text.as_bytes();
        let mut next = bytes.iter().skip(4);
        let mut here = key(bytes);
        for (at, a) in bytes.iter().copied().enumerate() {
            let rest = bytes.get(at..).unwrap_or_default();
            let mut show = |key: u32| {
                for word in self.chain(key) {
                    let is_near = word.key == key || word.key == key & !0xFF;
                    let ends = || rest.get(usize::from(word.letters.1) - 1) == Some(&word.last);
                    if is_near && ends() && rest.starts_with(self.letters(word)) {
                        found(WordAt {
                            phrase: word.phrase.into(),
                            range: at..at + usize::from(word.letters.1),
                            text,
                            may_go_on: word.may_go_on,
                        });
                    }
                }
            };
            if rest.len() > 2 {
                show(here);
            }
            here = here << 8 | next.next().copied().map_or(0, u32::from);
            if self.begins_short.get(usize::from(a)).is_some_and(|is| *is) {
                show(key(&[a]));
                if let [a, b, ..] = *rest {
                    show(key(&[a, b]));
                }
            }
        }
    }

    fn chain(&self, key: u32) -> &[Word] {
        let chain = chain(key);
        let [start, end] = [chain, chain + 1].map(|chain| usize::from(self.starts[chain]));
        self.words.get(start..end).unwrap_or_default()
    }

    fn letters(&self, word: &Word) -> &[u8] {
        let (start, length) = (usize::from(word.letters.0), usize::from(word.letters.1));
        self.letters.get(start..start + length).unwrap_or_default()
    }
}

impl WordAt<'_> {
    /// Whether it is a whole word in the text.
    pub(super) fn is_whole(&self) -> bool {
        let (before, inside, after) = (
            self.text.get(..self.range.start).unwrap_or_default(),
            self.text.get(self.range.clone()).unwrap_or_default(),
            self.text.get(self.range.end..).unwrap_or_default(),
        );
        let begins = !joins(before.chars().next_back(), inside.chars().next());
        begins && (self.may_go_on || !joins(inside.chars().next_back(), after.chars().next()))
    }
}

/// Whether two neighbouring characters belong to one word. Chinese has no blanks between words, so its characters do not.
fn joins(one: Option<char>, other: Option<char>) -> bool {
    let is_of_word = |c: Option<char>| {
        c.is_some_and(|c| c.is_alphanumeric() && !('\u{3000}'..='\u{9FFF}').contains(&c))
    };
    is_of_word(one) && is_of_word(other)
}

/// The first four bytes of a word as a number.
const fn key(word: &[u8]) -> u32 {
    u32::from_be_bytes(match *word {
        [a, b, c, d, ..] => [a, b, c, d],
        [a, b, c] => [a, b, c, 0],
        [a, b] => [a, b, 0, 0],
        [a] => [a, 0, 0, 0],
        [] => [0; 4],
    })
}

/// The number of the chain for the first three bytes of a key.
const fn chain(key: u32) -> usize {
    ((key >> 8).wrapping_mul(0x9E37_79B1) >> 13) as usize % CHAINS
}
