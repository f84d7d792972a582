//! Which clients are here, and whether they are connected.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    client::Client, endpoint::why_refused, file_change::our_entry_in, places::ClientPlaces,
    reach::is_taken,
};
use crate::{
    config::{OurAddress, Settings},
    failure::Failure,
};

/// The clients that can be connected.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientList {
    /// The home folder below which clients' files are searched for.
    pub home: String,
    /// The clients, found on this machine or not.
    pub clients: Vec<ClientRow>,
}

/// A client.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ClientRow {
    /// The name of the client in commands and paths.
    pub client: Client,
    /// The title of the client.
    pub title: &'static str,
    /// The file with mcpproxy's entry, or for it.
    pub file: String,
    /// Whether the client was found on this machine.
    pub found: bool,
    /// Whether the client is connected to this daemon, which does not refuse it.
    pub connected: bool,
    /// The name of mcpproxy's entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the client sends a token, if it connects by URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shows_token: Option<bool>,
    /// What is wrong with the file or with mcpproxy's entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The next step, if connecting the client again is not it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

/// Every client that can be connected; `answers` says whether it is this mcpproxy that answers at its address, or would. Blocks.
pub fn client_rows(places: &ClientPlaces, us: &OurAddress, answers: bool) -> Vec<ClientRow> {
    judged_rows(places, us, answers, None)
}

/// The same; where the settings are known, an entry that gets only errors is not connected. Blocks.
pub fn judged_rows(
    places: &ClientPlaces,
    us: &OurAddress,
    answers: bool,
    settings: Option<&Settings>,
) -> Vec<ClientRow> {
    let clients = Client::all();
    clients
        .filter_map(|client| row(places, us, client, answers, settings))
        .collect()
}

/// Whether the port is free for a daemon that would be started.
pub fn is_free(us: &OurAddress) -> bool {
    !us.sockets.first().is_some_and(|socket| is_taken(*socket))
}

fn row(
    places: &ClientPlaces,
    us: &OurAddress,
    client: Client,
    answers: bool,
    settings: Option<&Settings>,
) -> Option<ClientRow> {
    let file = places.file_to_connect(client, false)?;
    let mut row = ClientRow {
        client,
        title: client.name(),
        file: file.path.display().to_string(),
        found: places.is_present(client),
        ..ClientRow::default()
    };
    match file.read() {
        Ok(None) => (),
        Ok(Some(found)) => {
            if let Some(ours) = our_entry_in(&found, &file, us) {
                row.name = Some(ours.name.clone());
                row.shows_token = ours.sends_token();
                if !us.is_us(ours) {
                    let why = "its entry has an address that this mcpproxy does not serve";
                    row.error = Some(why.to_owned());
                } else if !answers && row.shows_token.is_some() {
                    let why = "no mcpproxy answers at its address";
                    row.error = Some(why.to_owned());
                    row.next_step = Some("`mcpproxy doctor`".to_owned());
                } else {
                    let refused = settings.and_then(|now| why_refused(client, ours, us, now));
                    row.next_step = refused.as_ref().map(Failure::terminal_step);
                    row.error = refused.map(|refused| refused.error);
                }
                row.connected = row.error.is_none();
            }
        }
        Err(fault) => {
            row.error = Some(fault.to_string());
            row.next_step = Some(fault.step(&file.path));
        }
    }
    Some(row)
}
