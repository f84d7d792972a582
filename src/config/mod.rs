//! The configuration: finds its file, reads it into settings, changes it, notices changes, and keeps their history.
//!
//! Only this room uses the JSONC parser, globs, the platform's folders and file watching. It decides nothing about running servers.

mod activity;
mod after_restart;
mod blank;
mod care;
mod container_options;
mod credentials;
mod data_folder_note;
mod demo;
mod document;
pub mod duration;
mod edit;
mod entry_switches;
mod file;
mod finding;
mod fingerprint;
mod foreign;
mod guards;
mod history;
mod impossible_senders;
mod isolation;
mod issued;
mod keeper;
mod keyring;
mod listen;
mod load_error;
pub mod loopback;
mod masks;
mod not_undone;
mod oauth;
mod otlp;
mod ourselves;
mod patch;
mod places;
mod profiles;
mod rate_limit;
mod raw;
mod references;
mod replace;
mod resolve;
mod review;
mod safe_variables;
mod schema_keys;
mod secret_uses;
mod server_auth;
mod server_entry;
mod setting_change;
mod settings;
mod shown_file;
mod source;
mod spanned;
mod splice;
mod supposed;
mod surroundings;
mod text_change;
mod tool_filter;
mod tree;
mod unknown_callers;
mod unknown_keys;
mod unrepeated;
mod values;
mod warning;
mod warnings;
mod watching;
mod wildcard;
mod write;

#[cfg(test)]
mod tests;

pub use activity::{ActivitySettings, Kept};
pub use blank::{Blank, is_blank};
pub use container_options::is_followed_by_value;
pub use demo::{DEMO, DemoProgram};
pub use document::{Document, json_and_repeated, json_of};
pub use edit::{
    Change, EditError, count_entries, edit, edit_all, entry_line, written_entries, written_entry,
};
pub use entry_switches::EntryFlag;
pub use file::read_text;
pub use finding::{ConfigError, ConfigFinding, FindingKind, LineColumn};
pub use fingerprint::fingerprint_as_written;
pub use foreign::{json_with, json_with_written, json_without};
pub use history::{
    ChangeAuthor, ChangeNote, ChangeOf, ChangeToUndo, ChangeWay, ChangedValue, GivenApprovals,
    History, HistoryEntry, Needs, NotedApprovals, TextMark, UndoTarget,
};
pub use isolation::{Isolation, Named};
pub use issued::{AllowedCalls, IssuedToken, IssuedTokens, TokenError};
pub use keeper::{DemoRefused, Keeper, KeeperTask};
pub use keyring::{
    KeyringChoice, KeyringLookup, KeyringPlace, NoSecret, is_secret_name, no_values,
};
pub use listen::{BadListen, Listen, NotLoopback};
pub use load_error::{LoadError, RESTORE};
pub use not_undone::NotUndone;
pub use oauth::OAuth;
pub use otlp::OtlpEndpoint;
pub use ourselves::{LeadsTo, OurAddress, plain_address};
pub use patch::{BadPatch, PatchedEntry, ServerPatch, differing};
pub use places::{ChosenBy, LONGEST_SOCKET_PATH, NoHome, Places, RequestedPlaces};
pub use profiles::Profile;
pub use rate_limit::RateLimit;
pub use raw::{WrittenTransport, schema};
pub use references::{VariableLookup, with_secrets_renamed, with_variables};
pub use resolve::{EntryFault, entry_fault, is_entry_key, is_set_for_each_request, parse};
pub use review::{AgentTexts, ReviewedValue, ShownSettings, reviewed_entry, reviewed_values};
pub use schema_keys::{KeyLookup, default_of, look_up};
pub use secret_uses::{secret_uses, secrets_of, variables_of};
pub use server_auth::{
    ANONYMOUS, Acl, AclRule, BearerToken, Forwarded, OPERATOR, Policy, Provider, ServerAuth,
    TokenHash, check_name, check_subject,
};
pub use server_entry::{
    Author, IdleTimeout, NewTools, ProtocolEra, Remote, RemoteKind, Root, ServerEntry,
    SessionScope, Start, Stdio, ToolChanges, Transport, TransportKind,
};
pub use setting_change::{JudgedText, SettingEdit, WantedValue, judged, keys_of_path, with_edits};
pub use settings::{
    AgentManagement, BrokenEntry, CodeExecution, DemoOrigin, Environment, Inherit, RoutingMode,
    Settings,
};
pub use shown_file::shown_file;
pub use source::{Overrides, Variables, load, load_text, process_environment, secrets_place};
pub use supposed::{Supposed, load_supposing};
pub use surroundings::Surroundings;
pub use text_change::{EditedFile, TextChange};
pub use tool_filter::{BadGlob, Globs, ToolAcl, ToolClass, ToolFilter};
pub use unrepeated::{NO_OBJECT, json_mistake, read_unrepeated_object};
pub use warning::Warning;
pub use wildcard::{ComparedName, Coverage, Fold, NamePattern, UriPattern, Wildcard};
pub use write::{WriteError, rewrite};
