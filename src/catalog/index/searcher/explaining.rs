//! Why a tool has its score: what each word of the query adds to it, and in which field the word stands.

use super::{Indexed, Searcher};
use crate::{
    catalog::{
        Query,
        index::{
            IndexError, bm25f,
            terms::{QueryTerm, QueryTerms, wanted},
            texts::{self, FIELDS},
        },
    },
    runtime::long_work::Stop,
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

impl Searcher {
    /// Explains the scores of these tools, given as server and place. What all words add up to is the score.
    pub fn explain(
        &self,
        query: &Query,
        tools: &[(&str, usize)],
    ) -> Result<Vec<Vec<WordShare>>, IndexError> {
        let Some(index) = &self.index else {
            return Ok(vec![Vec::new(); tools.len()]);
        };
        let mut wanted = wanted(&query.words);
        let is = |tool: &Indexed, of: &(&str, usize)| {
            tool.place == of.1 && tool.server.server.as_str() == of.0
        };
        let places: Vec<Option<usize>> = tools
            .iter()
            .map(|of| self.tools.iter().position(|tool| is(tool, of)))
            .collect();
        let mut words = words_of(&wanted, tools.len());
        let (mut most, mut covered) = (0.0, vec![0; tools.len()]);
        let terms = std::mem::take(&mut wanted.terms);
        let in_names = self
            .each_term(index, terms, &Stop::default(), |term, factor, found| {
                most += factor * bm25f::MOST;
                let word = word_of(&mut words, term, tools.len());
                for (n, place) in places.iter().enumerate() {
                    let Some(place) = *place else { continue };
                    let mut fields = found.weights[place];
                    fields[texts::SERVER] += found.carried[self.tools[place].at];
                    let sum: f32 = fields.iter().sum();
                    let added = factor * bm25f::saturated(sum) / sum.max(f32::MIN_POSITIVE);
                    for (share, weight) in word.shares[n].iter_mut().zip(fields) {
                        *share += weight * added;
                    }
                    if found.itself().contains(&place) {
                        covered[n] |= term.covers_itself();
                    }
                }
            })
            .map_err(IndexError::new("search the index"))?;
        let most = most * bm25f::MOST_FACTOR;
        words.retain(|word| {
            word.bits != 0 || word.shares.iter().flatten().any(|share| *share > 0.0)
        });
        let of_tool = |(n, covered): (usize, &u64)| {
            let has_all = *covered == wanted.required;
            let factor = places[n].map_or(1.0, |place| self.factor(place, has_all, &in_names));
            let share = |word: &Word| WordShare {
                word: word.text.clone(),
                has: covered & word.bits != 0,
                shares: word.shares[n].map(|share| share * factor / most),
            };
            words.iter().map(share).collect()
        };
        Ok(covered.iter().enumerate().map(of_tool).collect())
    }
}

/// A word of the query, and what its terms add.
struct Word {
    text: String,
    bits: u64,
    /// By tool.
    shares: Vec<[f32; FIELDS]>,
}

fn words_of(wanted: &QueryTerms, n_tools: usize) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (text, bits) in &wanted.words {
        // Words of one stem are one word here.
        let known = words.iter_mut().find(|word| word.bits & bits != 0);
        match known {
            Some(word) => word.bits |= bits,
            None => words.push(Word {
                text: text.clone(),
                bits: *bits,
                shares: vec![[0.0; FIELDS]; n_tools],
            }),
        }
    }
    words
}

/// The word that a term belongs to. What belongs to none, a part of one, stands for itself.
fn word_of<'a>(words: &'a mut Vec<Word>, term: &QueryTerm, n_tools: usize) -> &'a mut Word {
    let known = words
        .iter()
        .position(|word| word.bits & term.covers != 0 || word.bits == 0 && word.text == term.text);
    let at = known.unwrap_or_else(|| {
        words.push(Word {
            text: term.text.clone(),
            bits: 0,
            shares: vec![[0.0; FIELDS]; n_tools],
        });
        words.len() - 1
    });
    &mut words[at]
}
