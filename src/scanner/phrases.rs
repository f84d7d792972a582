//! Finds phrases in folded text: one pass for the words without which no pattern can match, then only the patterns they call for.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::{
    Severity,
    signals::{SIGNALS, Signal},
    vocabulary::DIRECT,
};

/// What a phrase means when it is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A finding by itself.
    Finding(&'static str, Severity),
    /// A part of one, if others stand near.
    Part(Signal),
}

/// A phrase. Patterns are written for folded text; ` ` stands for any blanks, `\b` is that of ASCII.
pub(super) struct Phrase {
    pub(super) meaning: Meaning,
    /// Words of which one must be there; the pattern is not tried without.
    pub(super) words: &'static [&'static str],
    pub(super) pattern: &'static str,
}

/// Where a phrase stands in the folded text.
pub(super) struct Match {
    pub(super) meaning: Meaning,
    pub(super) range: Range<usize>,
}

/// Limit: places where one phrase is noted in one text.
const PLACES: usize = 12;

struct Reader {
    words: AhoCorasick,
    /// The phrase of each word.
    phrases: Vec<usize>,
    patterns: Vec<(Meaning, Regex)>,
}

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let table = || DIRECT.iter().chain(SIGNALS);
    let mut words = Vec::new();
    let mut phrases = Vec::new();
    for (i, phrase) in table().enumerate() {
        words.extend_from_slice(phrase.words);
        phrases.extend(phrase.words.iter().map(|_| i));
    }
    let pattern = |phrase: &Phrase| {
        let pattern = phrase.pattern.replace(r"\b", r"(?-u:\b)");
        Regex::new(&pattern).expect("the patterns are ours, and a test compiles them")
    };
    Reader {
        words: AhoCorasick::new(words).expect("the words are ours, few and short"),
        phrases,
        patterns: table()
            .map(|phrase| (phrase.meaning, pattern(phrase)))
            .collect(),
    }
});

/// All phrases in a folded text, each at a bounded number of places.
pub(super) fn find(folded: &str) -> Vec<Match> {
    let reader = &*READER;
    let mut wanted = vec![false; reader.patterns.len()];
    for word in reader.words.find_overlapping_iter(folded) {
        if let Some(wanted) = reader
            .phrases
            .get(word.pattern().as_usize())
            .and_then(|i| wanted.get_mut(*i))
        {
            *wanted = true;
        }
    }
    let mut found = Vec::new();
    let wanted = reader
        .patterns
        .iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted);
    for ((meaning, pattern), _) in wanted {
        found.extend(pattern.find_iter(folded).take(PLACES).map(|place| Match {
            meaning: *meaning,
            range: place.range(),
        }));
    }
    found
}

/// Reads the patterns now, so that the first definition does not wait for it.
pub(super) fn prepare() {
    LazyLock::force(&READER);
}
