//! The terms of a query, without duplicates, and which of them a tool must have to match the whole query. Pure.

use std::collections::HashMap;

use crate::catalog::tokenizer::{TokenKind, tokens_of, words_of};

/// A term of the query.
pub(super) struct QueryTerm {
    pub(super) text: String,
    /// How often it occurs in the query.
    pub(super) times: usize,
    /// Which required terms it covers, as bits.
    pub(super) covers: u64,
}

/// Limit: terms that are looked up. Each may be in every tool; the longest requests known have half as many.
const MOST: usize = 256;

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
    let mut wanted: Vec<QueryTerm> = Vec::new();
    let mut places = HashMap::new();
    for token in &tokens {
        if wanted.len() == MOST && !places.contains_key(&*token.text) {
            continue;
        }
        let place = *places.entry(&*token.text).or_insert_with(|| {
            wanted.push(QueryTerm {
                text: token.text.clone(),
                times: 0,
                covers: 0,
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
    let written = words_of(words);
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let words =
        words.filter_map(|token| Some((written.get(token.position)?.clone(), bit(&token.text))));
    QueryTerms {
        words: words.filter(|(_, bit)| *bit != 0).collect(),
        terms: wanted,
        required,
    }
}
