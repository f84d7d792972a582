//! The configuration: where its file is, what it says, how it is changed, and when it changed.
//!
//! The only door to the JSONC parser, globs, the platform's folders and file watching. It decides nothing about running servers.

mod activity;
mod document;
pub mod duration;
mod edit;
mod entry_faults;
mod fields;
mod fingerprint;
mod keeper;
mod listen;
mod masking;
mod parse;
mod places;
mod read_entry;
mod read_transport;
mod references;
mod schema;
mod server_entry;
mod settings;
mod source;
mod splice;
mod surroundings;
mod tool_filter;
mod tree;
mod unknown_keys;
mod watching;
mod write;

#[cfg(test)]
mod tests;

pub use activity::{ActivitySettings, Kept};
pub use edit::{Change, EditError, edit, edit_all, written_entry};
pub use keeper::{Keeper, KeeperTask};
pub use listen::{BadListen, Listen, NotLoopback};
pub use masking::{mask_text_of_strangers, mask_value};
pub use parse::{entry_fault, parse};
pub use places::{NoHome, Places, RequestedPlaces, Why};
pub use references::VariableLookup;
pub use schema::SCHEMA;
pub use server_entry::{
    Author, IdleTimeout, ProtocolEra, Remote, RemoteKind, Root, ServerEntry, SessionScope, Start,
    Stdio, ToolChanges, Transport,
};
pub use settings::{AgentManagement, BrokenEntry, Environment, Inherit, RoutingMode, Settings};
pub use source::{LoadError, Overrides, Variables, load, process_environment};
pub use surroundings::Surroundings;
pub use tool_filter::{BadGlob, Globs, ToolAcl, ToolClass, ToolFilter};
pub use write::{WriteError, rewrite, write};

/// Why a configuration as a whole cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not JSON with comments.
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What the parser stumbled over.
        problem: String,
    },
    /// The text is JSON, but no object.
    #[error("line {line}: the configuration must be an object {{…}}")]
    NotAnObject {
        /// Where the value begins, counted from 1.
        line: usize,
    },
    /// A key of the top level has a value that cannot be used.
    #[error("`{key}` {problem}")]
    BadValue {
        /// The key's path.
        key: String,
        /// What is wrong, and what is accepted.
        problem: String,
    },
    /// Access rules are asked for and this version would not enforce them.
    #[error(
        "`{key}` is not enforced by this version yet, so it refuses to start rather than to let everybody in; remove `{key}` to go without access control"
    )]
    AccessControl {
        /// The key as written.
        key: String,
    },
}

impl From<fields::BadField> for ConfigError {
    fn from(bad: fields::BadField) -> Self {
        Self::BadValue {
            key: bad.key,
            problem: bad.problem,
        }
    }
}
