//! The full text index of the tools, in memory: one writer, and searchers that are published.

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
