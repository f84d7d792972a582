//! What the upstreams offer: the last known lists of every server, awake or asleep, as one published snapshot.
//!
//! The catalog never asks an upstream. Workers hand over what they listed; one task puts it into the next snapshot and on disk, and
//! the index follows the snapshots in the background.

mod index;
mod indexer;
mod ingest;
pub mod last_known;
mod query;
mod saver;
mod snapshot;
mod task;
mod thesaurus;
mod tokenizer;

pub use index::{Changes, Hit, Hits, IndexError, Matching, Searcher, Writer};
pub use ingest::{Hints, Listing, Problem, Prompt, Resource, ServerCatalog, Template, Tool};
pub use query::{Filter, LONGEST_QUERY, Query};
pub use snapshot::{Owner, Snapshot};
pub use task::{Catalog, CatalogTask, Difference};
pub use tokenizer::words_of;
