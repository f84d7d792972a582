//! Finds texts that name tools of other servers: the only reason for that is to steer how they are used.

use std::ops::Range;

use super::{Findings, Neighbours, Passage, Severity::Remark, passage::Kind};

/// The places of names of tools that other servers have and `server` has not.
pub(super) fn strangers(
    text: &Passage<'_>,
    server: &str,
    neighbours: &Neighbours,
) -> Vec<Range<usize>> {
    if text.kind == Kind::Key || text.kind == Kind::Name || neighbours.are_none() {
        return Vec::new();
    }
    let strange = names_in(text.text).filter(|(_, word)| neighbours.is_strange(server, word));
    let places = strange.map(|(start, word)| start..start + word.len());
    places.take(MOST).collect()
}

/// The words of a text that may name a tool, each with its position.
pub(super) fn names_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    let words = std::iter::from_fn(move || {
        let start = first(text, end, true)?;
        end = first(text, start, false).unwrap_or(text.len());
        let word = text.get(start..end)?;
        Some((start, word.trim_end_matches(|c: char| !c.is_alphanumeric())))
    });
    words.filter(|(_, word)| is_distinctive(word))
}

/// The most names that are noted in a text.
const MOST: usize = 8;

/// Remarks on names of other servers' tools in a text. `orders` judges whether the text gives orders about them.
pub(super) fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    for range in strangers {
        findings.add("shadowing.mention", Remark, text, range.clone());
    }
}

/// The first position from `at` on with a character of words, or with another one if not `is_wanted`. Reads ASCII by bytes, which all texts of a
/// listing pass through.
fn first(text: &str, mut at: usize, is_wanted: bool) -> Option<usize> {
    while let Some(byte) = text.as_bytes().get(at) {
        let (is_found, length) = if byte.is_ascii() {
            (is_part(char::from(*byte)), 1)
        } else {
            let character = text.get(at..)?.chars().next()?;
            (is_part(character), character.len_utf8())
        };
        if is_found == is_wanted {
            return Some(at);
        }
        at += length;
    }
    None
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ':' | '/')
}

/// Whether a word is a name and not an ordinary word: it has a separator or an upper-case letter inside.
fn is_distinctive(word: &str) -> bool {
    if word.len() < 6 {
        return false;
    }
    let is_joint =
        |a: char, b: char| matches!(b, '_' | ':' | '/') || a.is_lowercase() && b.is_uppercase();
    if word.is_ascii() {
        let mut pairs = word.as_bytes().windows(2);
        return pairs.any(|pair| is_joint(char::from(pair[0]), char::from(pair[1])));
    }
    let mut letters = word.chars().zip(word.chars().skip(1));
    letters.any(|(a, b)| is_joint(a, b))
}
