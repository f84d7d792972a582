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
        let start = first(text, end, OTHER)?;
        end = first(text, start, PART | JOINT).unwrap_or(text.len());
        Some((start, text.get(start..end)?))
    });
    let names = words.filter(|(_, word)| is_distinctive(word));
    let is_sign = |c: char| !c.is_alphanumeric();
    let names = names.map(move |(start, word)| (start, word.trim_end_matches(is_sign)));
    // It may have been the sign at its end that was distinctive.
    names.filter(|(_, word)| is_distinctive(word))
}

/// The most names that are noted in a text.
const MOST: usize = 8;

/// Remarks on names of other servers' tools in a text. `orders` judges whether the text gives orders about them.
pub(super) fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    for range in strangers {
        findings.add("shadowing.mention", Remark, text, range.clone());
    }
}

/// Kinds of bytes: of no word, of any word, of a word where two of a name may be joined, and of characters beyond ASCII.
const OTHER: u8 = 1;
const PART: u8 = 2;
const JOINT: u8 = 4;
const BEYOND: u8 = 8;

/// The kind of each byte. All texts of a listing pass through this.
static KINDS: [u8; 256] = {
    let (mut kinds, mut byte) = ([BEYOND; 256], 0_u8);
    while byte.is_ascii() {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => PART,
            b'A'..=b'Z' | b'_' | b':' | b'/' => JOINT,
            _ => OTHER,
        };
        byte += 1;
    }
    kinds
};

fn is_of(byte: u8, kinds: u8) -> bool {
    KINDS[usize::from(byte)] & kinds != 0
}

/// The first position from `at` on with a character of words, if `passed` are the others, else with another one.
fn first(text: &str, mut at: usize, passed: u8) -> Option<usize> {
    loop {
        let mut rest = text.as_bytes().get(at..)?.iter().enumerate();
        let (length, byte) = rest.find(|(_, byte)| !is_of(**byte, passed))?;
        at += length;
        if byte.is_ascii() {
            return Some(at);
        }
        let character = text.get(at..)?.chars().next()?;
        if character.is_alphanumeric() == (passed == OTHER) {
            return Some(at);
        }
        at += character.len_utf8();
    }
}

/// Whether a word is a name and not an ordinary word: it has a separator or an upper-case letter inside.
fn is_distinctive(word: &str) -> bool {
    let mut inside = word.bytes().skip(1);
    if word.len() < 6 || !inside.any(|byte| is_of(byte, JOINT | BEYOND)) {
        return false;
    }
    let is_joint =
        |a: char, b: char| matches!(b, '_' | ':' | '/') || a.is_lowercase() && b.is_uppercase();
    let mut letters = word.chars().zip(word.chars().skip(1));
    letters.any(|(a, b)| is_joint(a, b))
}
