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

/// The weight of a synonym, relative to the word in the query.
pub(super) const SIMILAR: f32 = 0.2;

/// What a tool that has every word of a query gains over comparable others.
pub(super) const ALL_WORDS: f32 = 1.25;

/// What a term can add at most.
pub(super) const MOST: f32 = K1 + 1.0;

/// The mean lengths of the fields.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Means([f32; FIELDS]);

impl Means {
    /// Of tools with these lengths.
    pub(super) fn of<'a>(lengths: impl Iterator<Item = &'a [u16; FIELDS]>) -> Self {
        let (mut sums, mut count) = ([0_u32; FIELDS], 0_u16);
        for lengths in lengths {
            count = count.saturating_add(1);
            for (sum, length) in sums.iter_mut().zip(lengths) {
                *sum = sum.saturating_add(u32::from(*length));
            }
        }
        Self(sums.map(|sum| number(sum) / f32::from(count.max(1))))
    }

    /// What `frequency` occurrences in one field of this length weigh.
    pub(super) fn weigh(&self, field: usize, length: u16, frequency: u32) -> f32 {
        let mean = self.0[field].max(f32::MIN_POSITIVE);
        WEIGHTS[field] * number(frequency) / (1.0 - B + B * f32::from(length) / mean)
    }
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

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of tools and words are far below 2^24"
)]
fn count(n: usize) -> f32 {
    n as f32
}

#[expect(
    clippy::cast_precision_loss,
    reason = "frequencies and sums of lengths need no more than 24 bits"
)]
fn number(n: u32) -> f32 {
    n as f32
}
