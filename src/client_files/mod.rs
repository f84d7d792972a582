//! The files in which AI clients and other proxies keep their MCP servers: where they are, what stands in them, and how an entry of ours
//! is put in and taken out.
//!
//! The only door to the TOML and YAML parsers. It reads and changes files of others; our own configuration is `config`'s.

mod change;
mod clients;
mod connect;
mod conversion;
mod convert;
mod convert_remote;
mod entries;
mod fault;
mod formats;
mod found;
mod import;
mod literal_secrets;
mod needs;
mod our_entry;
mod our_text;
mod ours;
mod places;
mod references;
mod replace;
mod same;
mod scope;
mod secret_names;
mod toml;
mod toml_change;
mod yaml;

pub use self::{
    clients::Client,
    connect::{ClientFileError, FileChange, Wanted, connected, disconnected, our_entry_in},
    convert::Carried,
    entries::ClientServer,
    fault::FileFault,
    formats::FileFormat,
    found::{ClientFile, FoundFile},
    import::{ImportOutcome, ImportPlan, PlannedServer, plan},
    literal_secrets::LiteralSecret,
    needs::{NeededKind, NeededValue},
    our_entry::ConnectTarget,
    places::ClientPlaces,
    replace::ReplaceError,
    scope::Scope,
    secret_names::{SecretNames, StoredLookup, StoredUnderName},
};
