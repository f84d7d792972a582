//! The terms of a query: each once, and what a tool must have to have them all. Pure.

use std::collections::HashMap;

use crate::catalog::tokenizer::{Kind, tokens_of};

/// A term of the query.
pub(super) struct Wanted {
    pub(super) text: String,
    /// How often it stands there.
    pub(super) times: usize,
    /// Which required terms it stands for, as bits.
    pub(super) covers: u64,
}

/// Limit: terms that are looked up. Each may be in every tool; the longest requests known have half as many.
const MOST: usize = 256;

/// The terms of a query, each once, and the bits of those that a tool must have to have all words.
pub(super) fn wanted(words: &str) -> (Vec<Wanted>, u64) {
    let mut tokens = tokens_of(words);
    if tokens.iter().any(|token| token.kind.ranks()) {
        tokens.retain(|token| token.kind.ranks());
    } else {
        // All that was typed are common words: they have to do.
        for token in &mut tokens {
            token.kind = Kind::Word;
        }
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut places = HashMap::new();
    for token in &tokens {
        if wanted.len() == MOST && !places.contains_key(&*token.text) {
            continue;
        }
        let place = *places.entry(&*token.text).or_insert_with(|| {
            wanted.push(Wanted {
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
            Kind::Word | Kind::Pair => bit(&token.text),
            // The word at its place and the one after that.
            Kind::Joined => tokens[i + 1..]
                .iter()
                .take_while(|part| part.position <= token.position + 1)
                .filter(|part| part.kind == Kind::Word)
                .fold(0, |bits, part| bits | bit(&part.text)),
            Kind::Common | Kind::Piece | Kind::Character => 0,
        };
        let Some(place) = places.get(&*token.text) else {
            continue;
        };
        wanted[*place].covers |= covers;
        if token.kind.is_required() {
            required |= covers;
        }
    }
    (wanted, required)
}
