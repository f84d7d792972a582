//! AI clients and other proxies: where they keep their MCP servers and what stands there, which servers are imported from them, and how
//! an entry of ours is put into their files and taken out. The command line, REST and the page share it.
//!
//! The only door to the TOML and YAML parsers. It reads and changes files of others; our own configuration is `config`'s.

mod add_commands;
mod client;
mod client_list;
mod connect;
mod containers;
mod conversion;
mod convert;
mod copies;
mod default_name;
mod edit;
mod endpoint;
mod fault;
mod file;
mod file_change;
mod formats;
mod from_others;
mod gather;
mod install_links;
mod keeping;
mod line_diff;
mod line_words;
mod literal_secrets;
mod moving;
mod needs;
mod our_entry;
mod our_text;
mod own_token;
mod pasted;
mod pasted_lines;
mod placeholders;
mod places;
mod plan;
mod reach;
mod references;
mod replace;
mod report;
mod rows;
mod secret_names;
mod sent_token;
mod servers;
mod start_check;
mod table;
mod toml;
mod written_files;
mod yaml;

pub use self::{
    client::Client,
    client_list::{ClientList, ClientRow, client_rows, is_free, judged_rows},
    connect::{
        ConnectOutcome, ConnectRequest, Connected, UnknownClient, all_connected, client_of_word,
        connect, disconnect, entry_name, may_be_connected,
    },
    endpoint::{check_endpoint, endpoint_path, why_refused},
    fault::{CORRECT_PASTED, PASTE},
    file::{ClientFile, FoundFile},
    from_others::may_lower_protection,
    gather::{gather, gather_pasted, home_places, our_address, real_path},
    keeping::to_keyring,
    moving::{
        MovedHere, MovesBack, kept_copies, move_back, move_out, moved_from, moved_here, put_back,
    },
    needs::{NeededKind, NeededValue},
    own_token::{give_token, shown_token, take_token},
    placeholders::{Placeholder, is_placeholder},
    places::ClientPlaces,
    plan::plan,
    reach::Reaching,
    report::{FoundOutcome, FoundServer, ImportReport, MovedServers},
    secret_names::SecretNames,
    sent_token::TOKEN_VARIABLE,
    servers::ClientServer,
    start_check::look as check_starts,
};
