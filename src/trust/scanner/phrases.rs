//! Finds phrases in folded text: one pass for the words without which no pattern can match, then only the patterns they call for.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::{
    narrow::Narrow,
    pattern::Pattern,
    phrase::{Hint, Meaning},
    signals::SIGNALS,
    vocabulary::DIRECT,
};

/// Where a phrase stands in the folded text.
#[derive(Clone)]
pub(super) struct Match {
    pub(super) meaning: Meaning,
    pub(super) range: Range<usize>,
    /// Which of the patterns found it; none where it is the name of a tool.
    pub(super) pattern: Option<usize>,
}

impl Match {
    /// The words of it without which it would be none.
    pub(super) fn words(&self, folded: &str) -> Range<usize> {
        let pattern = self.pattern.and_then(|i| READER.patterns.get(i));
        let Some(((_, pattern), matched)) = pattern.zip(folded.get(self.range.clone())) else {
            return self.range.clone();
        };
        let part = pattern.shortest(matched);
        self.range.start + part.start..self.range.start + part.end
    }

    pub(super) fn hint(&self) -> Option<Hint> {
        match self.meaning {
            Meaning::Part(hint) => Some(hint),
            Meaning::Finding(..) => None,
        }
    }
}

/// At how many places one phrase is noted in one text.
const PLACES: usize = 12;

struct Reader {
    words: AhoCorasick,
    /// The phrase of each word.
    phrases: Vec<usize>,
    patterns: Vec<(Meaning, Pattern)>,
}

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let table = || DIRECT.iter().chain(SIGNALS);
    let mut words = Vec::new();
    let mut phrases = Vec::new();
    for (i, phrase) in table().enumerate() {
        words.extend_from_slice(phrase.words);
        phrases.extend(phrase.words.iter().map(|_| i));
    }
    Reader {
        words: AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .expect("the words are ours, few and short"),
        phrases,
        patterns: table()
            .map(|phrase| (phrase.meaning, Pattern::new(phrase.pattern)))
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
    if !wanted.contains(&true) {
        return Vec::new();
    }
    let narrow = Narrow::of(folded);
    let mut found = Vec::new();
    let wanted = reader
        .patterns
        .iter()
        .enumerate()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted);
    for ((i, (meaning, pattern)), _) in wanted {
        let places = pattern.places(folded, &narrow, PLACES).into_iter();
        found.extend(places.map(|range| Match {
            meaning: *meaning,
            range,
            pattern: Some(i),
        }));
    }
    found
}
