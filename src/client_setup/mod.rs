//! Taking servers over from the files of clients, and putting us into those files: what the command line, REST and the page share. Which
//! files there are and how they are written is the business of `client_files`.

mod client_list;
mod connecting;
mod gathering;
mod import_report;
mod line_diff;
mod picking;
mod reaching;

pub use self::{
    client_list::{ClientList, ClientRow, client_rows, is_free},
    connecting::{
        ConnectOutcome, ConnectRequest, Connected, check_endpoint, client_of_word, connect,
        disconnect, endpoint_path, entry_name, has_file, may_be_connected,
    },
    gathering::{Gathered, RepeatedKey, UnreadFile, gather, home_places, our_address, real_path},
    import_report::{
        AddedServer, ImportReport, NewEntry, chosen_entries, import_report, is_set, outcome_of,
    },
    picking::{here_already, picked_by},
    reaching::{Reaching, TOKEN_VARIABLE},
};
