//! Finds names that are taken for each other: by letters that look alike, and by one letter.

use std::collections::HashMap;

use unicode_security::confusable_detection::skeleton;

/// A set of names, in lower case.
#[derive(Debug, Default, Clone)]
pub(super) struct SimilarNames {
    /// By what they look like.
    looks: HashMap<String, Vec<String>>,
    /// By themselves, and with each one of their letters left out.
    gaps: HashMap<String, Vec<String>>,
    /// By their letters, without what joins words.
    letters: HashMap<String, Vec<String>>,
    /// Bytes of the longest of them.
    longest: usize,
}

impl SimilarNames {
    /// Adds a name that is not there yet.
    pub(super) fn add(&mut self, name: &str) {
        self.longest = self.longest.max(name.len());
        self.looks
            .entry(look(name))
            .or_default()
            .push(name.to_owned());
        self.letters
            .entry(letters(name))
            .or_default()
            .push(name.to_owned());
        for gap in with_gaps(name) {
            self.gaps.entry(gap).or_default().push(name.to_owned());
        }
    }

    /// Names that look the same; the name itself may be among them.
    pub(super) fn same_look(&self, name: &str) -> impl Iterator<Item = &String> {
        self.looks.get(&look(name)).into_iter().flatten()
    }

    /// Names of the same letters; the name itself may be among them.
    pub(super) fn other_joints(&self, name: &str) -> impl Iterator<Item = &String> {
        self.letters.get(&letters(name)).into_iter().flatten()
    }

    /// Names that differ by one letter that is more, less or other, or by two that changed places.
    pub(super) fn one_off(&self, name: &str) -> impl Iterator<Item = &String> {
        let may_be_near = name.len() <= self.longest + char::MAX.len_utf8();
        let gaps = may_be_near.then(|| with_gaps(name)).into_iter().flatten();
        let near = gaps.filter_map(|gap| self.gaps.get(&gap)).flatten();
        near.filter(move |other| *other != name && is_slip(name, other))
    }
}

/// Limit: letters of a name that are left out in turn; of a longer one the rest stays.
const LETTERS: usize = 128;

/// The name, and the name with each of its letters left out in turn.
fn with_gaps(name: &str) -> impl Iterator<Item = String> {
    let gaps = name.char_indices().take(LETTERS).map(|(at, character)| {
        let before = name.get(..at).unwrap_or_default();
        let after = name.get(at + character.len_utf8()..).unwrap_or_default();
        format!("{before}{after}")
    });
    gaps.chain([name.to_owned()])
}

/// Whether two names differ as a slip of the hand does: plurals, numbers and joints are differences that people mean.
fn is_slip(one: &str, other: &str) -> bool {
    let plain = |name: &str| -> String {
        let words = name
            .split(['_', '-', '.'])
            .map(|word| word.trim_end_matches('s'));
        words
            .flat_map(|word| word.chars().filter(|c| !c.is_ascii_digit()))
            .collect()
    };
    let (one, other) = (plain(one), plain(other));
    if one == other {
        return false;
    }
    // Another first letter of a word is another word: `get_line`, `set_line`.
    let changed = one
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    changed > 0 && one.len().abs_diff(other.len()) <= 1
}

/// What a name looks like: joints and letters that are taken for each other are one.
fn look(name: &str) -> String {
    let likes = |letter: char| match letter {
        '0' => 'o',
        '1' | '|' => 'l',
        'i' => 'i',
        other => other,
    };
    if name.is_ascii() {
        return name
            .chars()
            .map(likes)
            .collect::<String>()
            .replace("rn", "m");
    }
    let lower: String = skeleton(name)
        .flat_map(char::to_lowercase)
        .map(likes)
        .collect();
    lower.replace("rn", "m")
}

/// The letters of a name, without what joins its words.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}
