//! The terms of a query, without duplicates, and which of them a tool must have to match the whole query. Pure.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::bm25f;
use crate::catalog::tokenizer::{TokenKind, stem, tokens_of, words_of};

/// A term of the query.
pub(super) struct QueryTerm {
    pub(super) text: String,
    /// The word that it is the stem of, as it was typed first.
    word: String,
    /// How often it occurs in the query.
    pub(super) times: usize,
    /// Which required terms it covers, as bits.
    pub(super) covers: u64,
    /// What it is to the query.
    pub(super) role: Role,
}

impl QueryTerm {
    /// How much it counts, beside how rare it is.
    pub(super) fn weight(&self) -> f32 {
        let weight = match self.role {
            Role::Requesting => bm25f::REQUESTING,
            Role::Joined | Role::Part => bm25f::RESPELT,
            Role::Typed => 1.0,
        };
        weight * bm25f::repeated(self.times)
    }

    /// The required terms that a tool with this term has.
    pub(super) fn covers_itself(&self) -> u64 {
        if self.role == Role::Part {
            0
        } else {
            self.covers
        }
    }

    /// Whether it was typed as it is.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.role, Role::Typed | Role::Requesting)
    }
}

/// Words by which something is requested, whatever it is: a request of whole sentences has some.
const REQUESTING: &str = "need want help please tell know give provide would interested assist suggest recommend way thing \
     something anything understand";

fn is_requesting(term: &str) -> bool {
    static TERMS: LazyLock<HashSet<String>> =
        LazyLock::new(|| REQUESTING.split_whitespace().map(stem).collect());
    TERMS.contains(term)
}

/// What a term is to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It was typed.
    Typed,
    /// It was typed, and says that something is wanted rather than what.
    Requesting,
    /// Two words that were typed apart, as one: `websearch` for `web search`.
    Joined,
    /// A part of a word that no tool has: it counts less, and does not cover the word.
    Part,
}

/// Limit: terms that are looked up. Each may be in every tool; the longest requests known have half as many.
const MOST: usize = 256;

/// Limit: pairs of words that are looked for as one. Requests of whole sentences have none that matters.
const MOST_PAIRS: usize = 32;

/// The terms of a query.
pub(super) struct QueryTerms {
    /// Each once.
    pub(super) terms: Vec<QueryTerm>,
    /// The bits of those that a tool must have to have all words.
    pub(super) required: u64,
    /// The words as they are written, in lower case, with the bits of their terms.
    pub(super) words: Vec<(String, u64)>,
}

/// The terms of these words.
pub(super) fn wanted(words: &str) -> QueryTerms {
    let mut tokens = tokens_of(words);
    if tokens.iter().any(|token| token.kind.ranks()) {
        tokens.retain(|token| token.kind.ranks());
    } else {
        // The query has common words only, so they are searched.
        for token in &mut tokens {
            token.kind = TokenKind::Word;
        }
    }
    let written = words_of(words);
    let mut wanted: Vec<QueryTerm> = Vec::new();
    let mut places = HashMap::new();
    for token in &tokens {
        if wanted.len() == MOST && !places.contains_key(&*token.text) {
            continue;
        }
        let place = *places.entry(&*token.text).or_insert_with(|| {
            wanted.push(QueryTerm {
                text: token.text.clone(),
                word: written.get(token.position).cloned().unwrap_or_default(),
                times: 0,
                covers: 0,
                role: if is_requesting(&token.text) {
                    Role::Requesting
                } else {
                    Role::Typed
                },
            });
            wanted.len() - 1
        });
        wanted[place].times += 1;
    }
    let bit = |text: &str| {
        places
            .get(text)
            .and_then(|place| 1_u64.checked_shl(u32::try_from(*place).ok()?))
            .unwrap_or(0)
    };
    let mut required = 0;
    for (i, token) in tokens.iter().enumerate() {
        let covers = match token.kind {
            TokenKind::Word | TokenKind::Pair => bit(&token.text),
            // The word at its position and the one after it.
            TokenKind::Joined => tokens[i + 1..]
                .iter()
                .take_while(|part| part.position <= token.position + 1)
                .filter(|part| part.kind == TokenKind::Word)
                .fold(0, |bits, part| bits | bit(&part.text)),
            TokenKind::Common | TokenKind::Piece | TokenKind::Character => 0,
        };
        let Some(place) = places.get(&*token.text) else {
            continue;
        };
        wanted[*place].covers |= covers;
        if token.kind.is_required() {
            required |= covers;
        }
    }
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let words = words.filter_map(|token| {
        let word = written.get(token.position)?;
        Some((token.position, word, bit(&token.text)))
    });
    let words: Vec<_> = words.collect();
    let mut joined: Vec<QueryTerm> = Vec::new();
    for pair in words.windows(2).take(MOST_PAIRS) {
        let ((at, first, bits), (next, second, others)) = (pair[0], pair[1]);
        let word = format!("{first}{second}");
        let text = stem(&word);
        let is_known = places.contains_key(&*text) || joined.iter().any(|term| term.text == text);
        if next == at + 1 && !is_known && wanted.len() + joined.len() < MOST {
            joined.push(QueryTerm {
                text,
                word,
                times: 1,
                covers: bits | others,
                role: Role::Joined,
            });
        }
    }
    wanted.extend(joined);
    let words = words.into_iter().filter(|(_, _, bits)| *bits != 0);
    QueryTerms {
        words: words.map(|(_, word, bits)| (word.clone(), bits)).collect(),
        terms: wanted,
        required,
    }
}

/// Limit: words of a query whose parts are looked for. Nobody glues more together.
const MOST_PARTED: usize = 8;

/// A shorter part of a word is hardly a word.
const SHORTEST_PART: usize = 3;

/// Adds the two parts of words that no tool has, where tools have both. `having` says in how many fields of tools a term stands.
pub(super) fn add_parts<E>(
    terms: &mut Vec<QueryTerm>,
    having: impl Fn(&str) -> Result<u64, E>,
) -> Result<(), E> {
    let mut parts: Vec<QueryTerm> = Vec::new();
    let mut n_parted = 0;
    for term in terms.iter().filter(|term| term.is_whole()) {
        let n_chars = term.word.chars().count();
        if n_chars < 2 * SHORTEST_PART || n_parted == MOST_PARTED || having(&term.text)? > 0 {
            continue;
        }
        n_parted += 1;
        let mut best = None;
        for n in SHORTEST_PART..=n_chars - SHORTEST_PART {
            let first: String = term.word.chars().take(n).collect();
            let second: String = term.word.chars().skip(n).collect();
            let (first, second) = (stem(&first), stem(&second));
            let both = match having(&first)? {
                0 => 0,
                first => first.min(having(&second)?),
            };
            // The part that is rarer says how good a guess it is.
            if both > 0 && best.as_ref().is_none_or(|(most, _)| *most < both) {
                best = Some((both, [first, second]));
            }
        }
        for text in best.into_iter().flat_map(|(_, parts)| parts) {
            let mut known = terms.iter().chain(&parts);
            if known.all(|known| known.text != text) {
                parts.push(QueryTerm {
                    word: text.clone(),
                    text,
                    times: 1,
                    covers: term.covers,
                    role: Role::Part,
                });
            }
        }
    }
    terms.extend(parts);
    Ok(())
}
