//! The configuration: where its file is, what it says, how it is changed, and when it changed.
//!
//! The only door to the JSONC parser, globs, the platform's folders and file watching. It decides nothing about running servers.

mod activity;
mod blank;
mod container_options;
mod credentials;
mod document;
pub mod duration;
mod edit;
mod entry_faults;
mod entry_switches;
mod fields;
mod file;
mod fingerprint;
mod foreign;
mod isolation;
mod keeper;
mod keyring;
mod keyring_place;
mod line_column;
mod listen;
mod lock_key;
pub mod loopback;
mod misplaced;
mod mistakes;
mod oauth;
mod otlp;
mod ourselves;
mod parse;
mod patch;
mod places;
mod profiles;
mod rate_limit;
mod read_entry;
mod read_groups;
mod read_isolation;
mod read_oauth;
mod read_otlp;
mod read_transport;
mod redacted_values;
mod references;
mod replace;
mod review;
mod rule_warnings;
mod schema;
mod secret_uses;
mod server_auth;
mod server_entry;
mod settings;
mod shown_file;
mod source;
mod splice;
mod strict;
mod supposed;
mod surroundings;
mod tool_filter;
mod tree;
mod trusted;
mod unknown_keys;
mod unknown_servers;
mod unrepeated;
mod watching;
mod wildcard;
mod write;

#[cfg(test)]
mod tests;

pub use activity::{ActivitySettings, Kept};
pub use blank::Blank;
pub use document::{json_and_repeated, json_of};
pub use edit::{Change, EditError, count_entries, edit, edit_all, written_entries, written_entry};
pub use entry_switches::EntryFlag;
pub use fingerprint::fingerprint_as_written;
pub use foreign::{json_with, json_without};
pub use isolation::{Isolation, Named};
pub use keeper::{Keeper, KeeperTask};
pub use keyring::{KeyringChoice, KeyringLookup, KeyringPlace, is_secret_name, no_values};
pub use line_column::LineColumn;
pub use listen::{BadListen, Listen, NotLoopback};
pub use mistakes::OtherMistakes;
pub use oauth::OAuth;
pub use otlp::OtlpEndpoint;
pub use ourselves::{LeadsTo, OurAddress, loopback_port_of};
pub use parse::{entry_fault, parse};
pub use patch::{BadPatch, PatchedEntry, ServerPatch, differing};
pub use places::{NoHome, Places, RequestedPlaces, SOCKET, Why};
pub use profiles::Profile;
pub use rate_limit::RateLimit;
pub use read_entry::is_entry_key;
pub use read_transport::is_set_for_each_request;
pub use references::{VariableLookup, lacks_variable, with_secrets_renamed, with_variables};
pub use review::{AgentTexts, ReviewedValue, ShownSettings, reviewed_entry, reviewed_values};
pub use schema::SCHEMA;
pub use secret_uses::{secret_uses, secrets_of};
pub use server_auth::{
    ANONYMOUS, Acl, AclRule, BearerToken, Forwarded, OPERATOR, Policy, Provider, ServerAuth,
    TokenHash, check_name, check_subject,
};
pub use server_entry::{
    Author, IdleTimeout, ProtocolEra, Remote, RemoteKind, Root, ServerEntry, SessionScope, Start,
    Stdio, ToolChanges, Transport,
};
pub use settings::{
    AgentManagement, BrokenEntry, CodeExecution, DemoOrigin, Environment, Inherit, RoutingMode,
    Settings,
};
pub use shown_file::shown_file;
pub use source::{DEMO, LoadError, Overrides, Variables, load, process_environment, secrets_place};
pub use supposed::{Supposed, load_supposing};
pub use surroundings::Surroundings;
pub use tool_filter::{BadGlob, Globs, ToolAcl, ToolClass, ToolFilter};
pub use unrepeated::{json_mistake, read_unrepeated, read_unrepeated_object};
pub use wildcard::{ComparedName, Coverage, Fold, NamePattern, UriPattern, Wildcard};
pub use write::{WriteError, rewrite};

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
    #[error("{}`{key}` {problem}", shown(*.place))]
    BadValue {
        /// Where it stands, where that is known.
        place: Option<LineColumn>,
        /// The key's path.
        key: String,
        /// What is wrong, and what is accepted.
        problem: String,
    },
    /// More than one key of the top level has a value that cannot be used.
    #[error("{first}{}", after_it(others))]
    BadValues {
        /// The one that was found first.
        first: Box<ConfigError>,
        /// Those after it.
        others: Vec<ConfigError>,
    },
    /// Access control is configured in a way that is not understood as a whole, so nobody is let in by it.
    #[error("line {line}, column {column}: `{key}` {problem}{others}")]
    AccessControl {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// The key's path.
        key: String,
        /// What is wrong, and what is accepted.
        problem: String,
        /// What else is wrong.
        others: OtherMistakes,
    },
}

impl From<fields::BadField> for ConfigError {
    fn from(bad: fields::BadField) -> Self {
        Self::BadValue {
            place: None,
            key: bad.key,
            problem: bad.problem,
        }
    }
}

impl ConfigError {
    /// With the place of the key in this text.
    fn placed(self, text: &str) -> Self {
        match self {
            Self::BadValue { key, problem, .. } => Self::BadValue {
                place: LineColumn::of_key(text, &key),
                key,
                problem,
            },
            Self::BadValues { first, others } => Self::BadValues {
                first: Box::new(first.placed(text)),
                others: others.into_iter().map(|one| one.placed(text)).collect(),
            },
            other => other,
        }
    }

    /// With what else is wrong, so that a person need not correct one after the other.
    fn and(self, others: Vec<Self>) -> Self {
        if others.is_empty() {
            return self;
        }
        Self::BadValues {
            first: Box::new(self),
            others,
        }
    }
}

fn after_it(others: &[ConfigError]) -> String {
    others.iter().fold(String::new(), |text, other| {
        text + "; " + &other.to_string()
    })
}

fn shown(place: Option<LineColumn>) -> String {
    place.map_or_else(String::new, |place| format!("{place}: "))
}
