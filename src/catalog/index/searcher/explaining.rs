//! Why a tool has its score: what each word of the query adds to it, and in which field the word stands.

use std::collections::{HashMap, HashSet};

use super::Searcher;
use crate::catalog::{
    Query,
    index::{
        IndexError, bm25f,
        terms::{QueryTerm, QueryTerms, wanted},
        texts::FIELDS,
    },
    thesaurus::similar,
};

/// What one word of a query adds to the score of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct WordShare {
    /// The word, as it was typed; of a part of a word, that part.
    pub word: String,
    /// Whether the tool has it, and not only a similar one.
    pub has: bool,
    /// How much of the score it adds by standing in the name, the description, the parameters and the server.
    pub shares: [f32; FIELDS],
}

/// What the terms of one word weigh in the fields of the tools that are explained.
type Weights = HashMap<usize, [f32; FIELDS]>;

impl Searcher {
    /// Explains the scores of these tools, given as server and place. What all words add up to is the score.
    pub fn explain(
        &self,
        query: &Query,
        tools: &[(&str, usize)],
    ) -> Result<Vec<Vec<WordShare>>, IndexError> {
        let wanted = wanted(&query.words);
        let places: HashMap<(&str, usize), usize> = self
            .tools
            .iter()
            .enumerate()
            .map(|(at, tool)| ((tool.server.server.as_str(), tool.place), at))
            .collect();
        let places_of_tools: Vec<Option<usize>> =
            tools.iter().map(|tool| places.get(tool).copied()).collect();
        let explained: HashSet<usize> = places_of_tools.iter().copied().flatten().collect();
        let mut words = words_of(&wanted);
        let mut most = 0.0;
        let mut covered: HashMap<usize, u64> = HashMap::new();
        for term in &wanted.terms {
            let (weights, factor) = self
                .weigh(term, &wanted.terms, &explained, &mut covered)
                .map_err(IndexError::new("search the index"))?;
            most += factor * bm25f::most();
            let word = word_of(&mut words, term);
            for (place, fields) in weights {
                let sum: f32 = fields.iter().sum();
                let added = factor * bm25f::saturated(sum) / sum.max(f32::MIN_POSITIVE);
                let shares = word.shares.entry(place).or_default();
                for (share, weight) in shares.iter_mut().zip(fields) {
                    *share += weight * added;
                }
            }
        }
        let most = most * bm25f::all_words();
        let of_tool = |place: Option<usize>| {
            let covered = place
                .and_then(|place| covered.get(&place))
                .copied()
                .unwrap_or(0);
            let has_all = covered == wanted.required;
            let factor = if has_all { bm25f::all_words() } else { 1.0 };
            let share = |word: &Word| WordShare {
                word: word.text.clone(),
                has: covered & word.bits != 0,
                shares: place
                    .and_then(|place| word.shares.get(&place))
                    .map_or([0.0; FIELDS], |shares| {
                        shares.map(|share| share * factor / most)
                    }),
            };
            let typed = words
                .iter()
                .filter(|word| word.bits != 0 || !word.shares.is_empty());
            typed.map(share).collect()
        };
        Ok(places_of_tools.into_iter().map(of_tool).collect())
    }

    /// What a term weighs in these tools, and the factor of its contribution.
    fn weigh(
        &self,
        term: &QueryTerm,
        terms: &[QueryTerm],
        explained: &HashSet<usize>,
        covered: &mut HashMap<usize, u64>,
    ) -> tantivy::Result<(Weights, f32)> {
        let (mut weights, mut having) = (Weights::new(), HashSet::new());
        let Some(index) = &self.index else {
            return Ok((weights, 0.0));
        };
        let others = similar(&term.text).iter();
        let others = others.filter(|other| terms.iter().all(|one| one.text != **other));
        let texts = std::iter::once((&*term.text, 1.0));
        let texts = texts.chain(others.map(|other| (&**other, bm25f::similar_share())));
        let mut own = None;
        for (text, share) in texts {
            index.each_posting(text, |field, place, frequency| {
                having.insert(place);
                if !explained.contains(&place) {
                    return;
                }
                let length = self.tools[place].lengths[field];
                let fields = weights.entry(place).or_default();
                fields[field] += share * self.means.weigh(field, length, frequency);
                if share >= 1.0 {
                    *covered.entry(place).or_default() |= term.covers;
                }
            })?;
            own.get_or_insert(having.len());
        }
        // As the search itself has it: a word that no tool has is as rare as its synonyms.
        let n_having = own.filter(|own| *own > 0).unwrap_or(having.len());
        let rarity = bm25f::rarity(n_having, self.tools.len());
        Ok((weights, bm25f::repeated(term.times) * rarity))
    }
}

/// A word of the query, and what its terms add.
struct Word {
    text: String,
    bits: u64,
    shares: HashMap<usize, [f32; FIELDS]>,
}

fn words_of(wanted: &QueryTerms) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (text, bits) in &wanted.words {
        // Words of one stem are one word here.
        let known = words.iter_mut().find(|word| word.bits & bits != 0);
        match known {
            Some(word) => word.bits |= bits,
            None => words.push(Word {
                text: text.clone(),
                bits: *bits,
                shares: HashMap::new(),
            }),
        }
    }
    words
}

/// The word that a term belongs to. What belongs to none, a part of one, stands for itself.
fn word_of<'a>(words: &'a mut Vec<Word>, term: &QueryTerm) -> &'a mut Word {
    let known = words
        .iter()
        .position(|word| word.bits & term.covers != 0 || word.bits == 0 && word.text == term.text);
    let at = known.unwrap_or_else(|| {
        words.push(Word {
            text: term.text.clone(),
            bits: 0,
            shares: HashMap::new(),
        });
        words.len() - 1
    });
    &mut words[at]
}
