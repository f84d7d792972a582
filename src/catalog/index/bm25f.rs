//! BM25F (Zaragoza et al., TREC-13, 2004): a term's frequencies in all fields are weighted and set against the fields' lengths
//! first, and only their sum is saturated. Pure arithmetic.

use super::texts::FIELDS;

/// How much a field counts: name, description, parameters, server.
const WEIGHTS: [f32; FIELDS] = [5.0, 1.0, 0.4, 2.0];

/// How soon a term's frequency saturates.
const K1: f32 = 1.6;

/// How much a field's length counts against it.
const B: f32 = 0.75;

/// A term that is typed again counts a little more; long requests repeat what they are about.
const REPETITION: f32 = 0.3;

/// The weight of a word by which something is requested.
pub(super) const REQUESTING: f32 = 0.4;

/// What a tool that has every word of a query gains over comparable others.
const ALL_WORDS: f32 = 1.25;

/// What a tool gains if the query has every word of its name; of some of them, that share.
const WHOLE_NAME: f32 = 0.2;

/// What is left to a tool that calls itself deprecated.
const DEPRECATED: f32 = 0.5;

/// The weight of the parts of a word that no tool has, `web` and `scraper` for `webscraper`, and of two words as one.
pub(super) const RESPELT: f32 = 0.5;

/// What a tool has of the mean weight of its server's tools.
pub(super) const CARRIED: f32 = 0.2;

/// A query of so many terms rather describes a task than names a tool, so that servers count, too.
pub(super) const LONG: usize = 9;

/// What a term can add at most.
pub(super) const MOST: f32 = K1 + 1.0;

/// The greatest [`Merits::factor`].
pub(super) const MOST_FACTOR: f32 = ALL_WORDS * (1.0 + WHOLE_NAME);

/// What counts for or against a tool as a whole.
#[derive(Clone, Copy)]
pub(super) struct Merits {
    /// Whether it has every word of the query.
    pub(super) has_all: bool,
    /// How many words of its name are in the query, and how many there are.
    pub(super) in_name: (u16, u16),
    pub(super) is_deprecated: bool,
}

impl Merits {
    /// What the score is multiplied by.
    pub(super) fn factor(self) -> f32 {
        let (found, all) = self.in_name;
        let of_name = f32::from(found.min(all)) / f32::from(all.max(1));
        let all_words = if self.has_all { ALL_WORDS } else { 1.0 };
        let deprecated = if self.is_deprecated { DEPRECATED } else { 1.0 };
        all_words * (1.0 + WHOLE_NAME * of_name) * deprecated
    }
}

/// The mean lengths of the fields.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Means([f32; FIELDS]);

impl Means {
    /// Of tools with these lengths.
    pub(super) fn of<'a>(lengths: impl Iterator<Item = &'a [u16; FIELDS]>) -> Self {
        let (mut sums, mut tools) = ([0_usize; FIELDS], 0_usize);
        for lengths in lengths {
            tools += 1;
            for (sum, length) in sums.iter_mut().zip(lengths) {
                *sum += usize::from(*length);
            }
        }
        Self(sums.map(|sum| count(sum) / count(tools.max(1))))
    }

    /// What one occurrence in each field weighs in a tool whose fields have these lengths.
    pub(super) fn weights(&self, lengths: [u16; FIELDS]) -> [f32; FIELDS] {
        std::array::from_fn(|field| {
            let mean = self.0[field].max(f32::MIN_POSITIVE);
            WEIGHTS[field] / (1.0 - B + B * f32::from(lengths[field]) / mean)
        })
    }
}

/// What so many occurrences weigh together.
pub(super) fn occurring(weight: f32, frequency: u32) -> f32 {
    weight * count(frequency as usize)
}

/// How rare a term is that `having` of `all` tools have.
pub(super) fn rarity(having: usize, all: usize) -> f32 {
    let (having, all) = (count(having), count(all));
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// What a term adds to a tool's score; below [`MOST`] for any `weight`.
pub(super) fn saturated(weight: f32) -> f32 {
    weight * MOST / (weight + K1)
}

/// The weight of a term that occurs in the query this often.
pub(super) fn repeated(times: usize) -> f32 {
    1.0 + REPETITION * count(times.max(1)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "the counts are far below 2^24")]
pub(super) fn count(n: usize) -> f32 {
    n as f32
}
