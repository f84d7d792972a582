//! The full text index of the tools: one writer, and searchers that are published. The only module that uses tantivy.
//!
//! tantivy keeps the inverted index; the ranking across fields ([`bm25f`]) is ours, because tantivy scores each field separately.

mod analyser;
mod bm25f;
mod postings;
mod searcher;
mod terms;
#[cfg(test)]
mod tests;
mod texts;
mod writer;

pub use searcher::{Hit, Hits, Searcher, WordShare};
pub use writer::{IndexChanges, Writer};

/// The index failed. It is kept in memory, so this is a fault of the program, not of a disk.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing}")]
pub struct IndexError {
    doing: &'static str,
    source: tantivy::TantivyError,
}

impl IndexError {
    fn new(doing: &'static str) -> impl Fn(tantivy::TantivyError) -> Self {
        move |source| Self { doing, source }
    }
}
