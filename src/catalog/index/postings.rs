//! The inverted index: which tools have a term, in which field and how often.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
};

use super::texts::FIELDS;
use crate::catalog::tokenizer::{Token, tokens_of};

/// A term, as its hash by the keys of this process: no server can choose two terms that meet.
pub(super) type TermHash = u64;

/// How often a term stands in a field of a tool.
#[derive(Clone, Copy)]
pub(super) struct Posting {
    /// The position of the tool.
    tool: u32,
    frequency: u16,
    field: u8,
}

impl Posting {
    pub(super) fn tool(self) -> usize {
        self.tool as usize
    }

    pub(super) fn field(self) -> usize {
        usize::from(self.field)
    }

    pub(super) fn frequency(self) -> u16 {
        self.frequency
    }
}

/// The terms of one tool, by field.
pub(super) struct ToolTerms([TextTerms; FIELDS]);

struct TextTerms {
    /// The words that phrases are made of, in order.
    in_phrases: Box<[TermHash]>,
    others: Box<[TermHash]>,
}

impl ToolTerms {
    /// Of these texts.
    pub(super) fn of(texts: &[String; FIELDS], keys: &RandomState) -> Self {
        Self(texts.each_ref().map(|text| {
            let (in_phrases, others): (Vec<_>, Vec<_>) = tokens_of(text)
                .into_iter()
                .partition(|token| token.kind.is_in_phrases());
            let hashes = |tokens: Vec<Token>| {
                let hashes = tokens.iter().map(|token| keys.hash_one(&*token.text));
                hashes.collect()
            };
            TextTerms {
                in_phrases: hashes(in_phrases),
                others: hashes(others),
            }
        }))
    }

    /// Whether a field has these terms next to each other.
    pub(super) fn has(&self, field: usize, phrase: &[TermHash]) -> bool {
        let mut windows = self.0[field].in_phrases.windows(phrase.len());
        windows.any(|terms| terms == phrase)
    }
}

/// The postings of one state of the index.
#[derive(Default)]
pub(super) struct Postings {
    keys: RandomState,
    of_terms: HashMap<TermHash, Vec<Posting>>,
}

impl Postings {
    /// None yet. The terms of tools are hashed with these keys.
    pub(super) fn new(keys: RandomState) -> Self {
        Self {
            keys,
            of_terms: HashMap::new(),
        }
    }

    /// Adds those of a tool, which follows the ones before.
    pub(super) fn add(&mut self, tool: u32, terms: &ToolTerms) {
        for (field, terms) in (0..).zip(&terms.0) {
            for term in terms.in_phrases.iter().chain(&terms.others) {
                let postings = self.of_terms.entry(*term).or_default();
                match postings.last_mut() {
                    Some(last) if last.tool == tool && last.field == field => {
                        last.frequency = last.frequency.saturating_add(1);
                    }
                    _ => postings.push(Posting {
                        tool,
                        frequency: 1,
                        field,
                    }),
                }
            }
        }
    }

    /// Those of a term, in the order of the tools.
    pub(super) fn of(&self, term: &str) -> &[Posting] {
        self.of_hash(self.keys.hash_one(term))
    }

    fn of_hash(&self, term: TermHash) -> &[Posting] {
        let found = self.of_terms.get(&term);
        found.map_or(&[], |postings| postings)
    }

    /// The stems of a phrase, and the postings of the rarest.
    pub(super) fn of_phrase(&self, phrase: &[String]) -> (Vec<TermHash>, &[Posting]) {
        let tokens = tokens_of(&phrase.join(" ")).into_iter();
        let stems = tokens.filter(|token| token.kind.is_in_phrases());
        let stems: Vec<_> = stems.map(|stem| self.keys.hash_one(&*stem.text)).collect();
        let postings = stems.iter().map(|stem| self.of_hash(*stem));
        let rarest = postings.min_by_key(|postings| postings.len());
        (stems, rarest.unwrap_or_default())
    }
}
