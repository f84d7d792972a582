//! Finds the phrases of the tables in folded text. One pass finds terms, and the words without which a pattern cannot match; then only the patterns
//! whose words are there are tried.

use std::{
    array,
    cell::{OnceCell, RefCell},
    ops::Range,
    sync::Arc,
};

use super::{
    families::{TERMS, TOPICS},
    pattern::Pattern,
    phrase::{Hint, Meaning, Phrase},
    signals::SIGNALS,
    vocabulary::DIRECT,
    word_table::{WordAt, WordTable, count},
};
use crate::runtime::quick_map::QuickMap;

/// A phrase in a folded text.
#[derive(Clone)]
pub(super) struct Match {
    pub(super) meaning: Meaning,
    pub(super) range: Range<usize>,
    /// The pattern that found it; `None` for terms and names of tools.
    pub(super) pattern: Option<&'static str>,
}

impl Match {
    /// Its shortest part that still matches.
    pub(super) fn words(&self, folded: &str) -> Range<usize> {
        let Some((pattern, matched)) = self.pattern.zip(folded.get(self.range.clone())) else {
            return self.range.clone();
        };
        let part = Pattern::new(pattern).shortest(matched);
        self.range.start + part.start..self.range.start + part.end
    }

    pub(super) fn hint(&self) -> Option<Hint> {
        match self.meaning {
            Meaning::Part(hint) => Some(hint),
            Meaning::Finding(..) | Meaning::Topic(_) => None,
        }
    }
}

/// The most matches of one phrase in a text.
const PLACES: usize = 12;

const TABLES: [&[Phrase]; DIRECT.len() + 3] = {
    let [a, b, c, d, e, f] = DIRECT;
    [a, b, c, d, e, f, SIGNALS, TERMS, TOPICS]
};

/// The number of phrases in the tables.
const PHRASES: usize = {
    let (mut phrases, mut table) = (0, 0);
    while table < TABLES.len() {
        phrases += TABLES[table].len();
        table += 1;
    }
    phrases
};

static WORDS: WordTable<{ count(TABLES).0 }, { count(TABLES).1 }> = WordTable::of(TABLES);

/// Limit: texts of which something is remembered, and bytes of one. Many parameters have the same description.
const KNOWN: usize = 256;
const KNOWN_BYTES: usize = 1024;

/// What is remembered of short texts.
pub(super) type KnownTexts<V> = RefCell<QuickMap<Box<str>, V>>;

/// Remembers something of a text.
pub(super) fn remember<V>(known: &KnownTexts<V>, text: &str, what: V) {
    if text.len() <= KNOWN_BYTES {
        let mut known = known.borrow_mut();
        if known.len() == KNOWN {
            known.clear();
        }
        known.insert(text.into(), what);
    }
}

/// Finds phrases, and remembers the matches of short texts.
pub(super) struct Phrases {
    /// The pattern of each phrase, parsed when it is needed first.
    patterns: [OnceCell<Pattern>; PHRASES],
    known: KnownTexts<Arc<[Match]>>,
}

impl Default for Phrases {
    fn default() -> Self {
        Self {
            patterns: array::from_fn(|_| OnceCell::new()),
            known: KnownTexts::default(),
        }
    }
}

impl Phrases {
    /// All phrases in a folded text, each at most [`PLACES`] times.
    pub(super) fn find(&self, folded: &str) -> Arc<[Match]> {
        if let Some(known) = self.known.borrow().get(folded) {
            return Arc::clone(known);
        }
        let found: Arc<[Match]> = self.read(folded).into();
        remember(&self.known, folded, Arc::clone(&found));
        found
    }

    fn read(&self, folded: &str) -> Vec<Match> {
        let mut found = Vec::new();
        let mut counts = [0_u8; PHRASES];
        WORDS.find(folded, |word: WordAt<'_>| {
            if let Some(count) = counts.get_mut(word.phrase)
                && let Some(phrase) = phrase(word.phrase)
            {
                *count = count.saturating_add(1);
                if phrase.pattern.is_empty() && usize::from(*count) <= PLACES && word.is_whole() {
                    found.push(Match {
                        meaning: phrase.meaning,
                        range: word.range,
                        pattern: None,
                    });
                }
            }
        });
        let wanted = self.patterns.iter().enumerate().zip(counts);
        for ((number, pattern), _) in wanted.filter(|(_, count)| *count > 0) {
            let Some(phrase) = phrase(number).filter(|phrase| !phrase.pattern.is_empty()) else {
                continue;
            };
            let pattern = pattern.get_or_init(|| Pattern::new(phrase.pattern));
            let places = pattern.places(folded, PLACES).into_iter();
            found.extend(places.map(|range| Match {
                meaning: phrase.meaning,
                range,
                pattern: Some(phrase.pattern),
            }));
        }
        found
    }
}

fn phrase(mut number: usize) -> Option<&'static Phrase> {
    for table in TABLES {
        if let Some(phrase) = table.get(number) {
            return Some(phrase);
        }
        number -= table.len();
    }
    None
}
