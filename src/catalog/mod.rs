//! What the upstreams offer: the last known lists of every server, connected or not, as one published snapshot.
//!
//! The catalog never sends a request to an upstream. Workers pass on what they listed; one task publishes it in the next snapshot and
//! saves it, and the index is updated in the background.

mod approval;
mod definitions;
mod difference;
mod findings;
mod handle;
mod index;
mod indexer;
mod ingest;
mod offered_uris;
mod opening;
mod own_listings;
mod pinning;
mod query;
pub mod saved_listings;
mod saver;
mod server_catalog;
mod server_habits;
mod shapes;
mod snapshot;
mod task;
mod thesaurus;
mod tokenizer;
mod trust_changes;
mod uri_templates;
pub mod without_values;

pub use approval::{
    ApprovalRequest, ApprovalWithdrawal, SEEN_LENGTH, approve_in_files, seen, withdraw_in_files,
};
pub use definitions::ListedDefinition;
pub use difference::{Difference, OwnDifference};
pub use findings::{ThingFindings, findings, findings_of, findings_of_tool};
pub use handle::Catalog;
pub use index::{Hit, Hits, IndexChanges, IndexError, Searcher, WordShare, Writer};
pub use offered_uris::{OfferedTemplate, Owner};
pub use own_listings::{OwnKey, OwnListing, OwnSnapshot, SeenSnapshot};
pub use pinning::with_pins_of_files;
pub use query::{Filter, LONGEST_QUERY, MOST_FILTERS, MOST_PHRASES, Matching, Query};
pub use server_catalog::{
    Hints, Listing, Problem, Prompt, Resource, ServerCatalog, Template, Tool, closest_template,
};
pub use server_habits::ServerHabits;
pub use snapshot::Snapshot;
pub use task::{CatalogTask, KnownServer};
pub use uri_templates::{ComparedUri, fits, literal_length};
