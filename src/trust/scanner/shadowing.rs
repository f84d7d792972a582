//! Texts that name the tools of other servers: a tool has no business with strangers' tools but to steer how they are used.

use std::ops::Range;

use super::{Findings, Neighbours, Passage, Severity::Remark, passage::Kind};

/// The names of tools that others have and `server` has not.
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

/// The words of a text that may name a tool, and where they begin.
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

/// How many mentions are noted in one text.
const MOST: usize = 8;

/// Remarks on names that stand in a text. Whether the text orders something is for `orders` to judge.
pub(super) fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    for range in strangers {
        findings.add("shadowing.mention", Remark, text, range.clone());
    }
}

/// The first place from this one on where a part of a word begins, or something else.
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

/// Whether a word is a name and no word of a language: it has joints inside.
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
