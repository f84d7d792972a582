//! Finds phrases in folded text: one pass for the words without which no pattern can match, then only the patterns they call for.

use std::{array, cell::OnceCell, ops::Range};

use super::{
    families::TERMS,
    pattern::Pattern,
    phrase::{Hint, Meaning, Phrase},
    signals::SIGNALS,
    topics::TOPICS,
    vocabulary::DIRECT,
    word_table::{WordAt, WordTable, count},
};

/// Where a phrase stands in the folded text.
#[derive(Clone)]
pub(super) struct Match {
    pub(super) meaning: Meaning,
    pub(super) range: Range<usize>,
    /// The pattern that found it; none where it is a term or the name of a tool.
    pub(super) pattern: Option<&'static str>,
}

impl Match {
    /// The words of it without which it would be none.
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

/// At how many places one phrase is noted in one text.
const PLACES: usize = 12;

const TABLES: [&[Phrase]; 4] = [DIRECT, SIGNALS, TERMS, TOPICS];

/// How many phrases there are.
const PHRASES: usize = DIRECT.len() + SIGNALS.len() + TERMS.len() + TOPICS.len();

static WORDS: WordTable<{ count(TABLES) }> = WordTable::of(TABLES);

/// The phrases of the tables, of which each pattern is read when it is first wanted.
pub(super) struct Phrases([OnceCell<Pattern>; PHRASES]);

impl Default for Phrases {
    fn default() -> Self {
        Self(array::from_fn(|_| OnceCell::new()))
    }
}

impl Phrases {
    /// All phrases in a folded text, each at a bounded number of places.
    pub(super) fn find(&self, folded: &str) -> Vec<Match> {
        let mut found = Vec::new();
        let mut counts = [0; PHRASES];
        WORDS.find(folded, |word: WordAt| {
            if let Some(count) = counts.get_mut(word.phrase)
                && let Some(phrase) = phrase(word.phrase)
            {
                *count += 1;
                if phrase.pattern.is_empty() && *count <= PLACES && word.is_whole {
                    found.push(Match {
                        meaning: phrase.meaning,
                        range: word.range,
                        pattern: None,
                    });
                }
            }
        });
        let wanted = self.0.iter().enumerate().zip(counts);
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
