//! Which clients are here, and whether they are connected.

use serde::Serialize;

use super::super::{
    failure::CommandFailure,
    output::{self, Output},
    table::{name, text},
};
use crate::client_files::{Client, ClientPlaces, OurAddress, our_entry_in};

/// One client.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct ClientRow {
    pub(in crate::cli) client: Client,
    pub(in crate::cli) file: String,
    /// Whether there are signs of it.
    pub(in crate::cli) found: bool,
    pub(in crate::cli) connected: bool,
    /// The name of our entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) name: Option<String>,
    /// What is wrong with its file, or with our entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) error: Option<String>,
}

/// Every client that can be connected.
pub(in crate::cli) fn rows(places: &ClientPlaces, us: &OurAddress) -> Vec<ClientRow> {
    let clients = Client::ALL.into_iter();
    clients
        .filter_map(|client| row(places, us, client))
        .collect()
}

fn row(places: &ClientPlaces, us: &OurAddress, client: Client) -> Option<ClientRow> {
    let file = places.file_to_connect(client, false)?;
    let mut row = ClientRow {
        client,
        file: file.path.display().to_string(),
        found: places.is_present(client),
        connected: false,
        name: None,
        error: None,
    };
    match file.read() {
        Ok(None) => (),
        Ok(Some(found)) => {
            if let Some(ours) = our_entry_in(&found, &file, us) {
                row.name = Some(ours.name.clone());
                row.connected = us.is_us(ours);
                if !row.connected {
                    row.error = Some(
                        "its entry leads to an address where this mcpproxy does not listen"
                            .to_owned(),
                    );
                }
            }
        }
        Err(fault) => row.error = Some(fault.to_string()),
    }
    Some(row)
}

pub(super) fn print(
    rows: &[ClientRow],
    is_running: bool,
    out: Output,
) -> Result<(), CommandFailure> {
    if out.is_json() {
        #[derive(Serialize)]
        struct Clients<'a> {
            clients: &'a [ClientRow],
        }
        return output::json(&output::as_json(&Clients { clients: rows })?);
    }
    let found: Vec<&ClientRow> = rows.iter().filter(|row| row.found).collect();
    let cells: Vec<[String; 4]> = found
        .iter()
        .map(|row| {
            let state = match (&row.name, &row.error) {
                (_, Some(error)) => error.clone(),
                (Some(name), None) => format!("connected as {name:?}"),
                (None, None) => "not connected".to_owned(),
            };
            let step = if row.connected {
                "-".to_owned()
            } else {
                format!("mcpproxy connect {}", row.client.id())
            };
            [row.client.name().to_owned(), state, row.file.clone(), step]
        })
        .collect();
    if cells.is_empty() {
        out.note("no client that is known was found here; next step: `mcpproxy connect CLIENT`, which makes its file");
        return Ok(());
    }
    let columns = [
        name("CLIENT"),
        text("STATE", 3),
        text("FILE", 2),
        text("NEXT STEP", 2),
    ];
    output::table(columns, cells)?;
    let absent: Vec<&str> = rows
        .iter()
        .filter(|row| !row.found)
        .map(|row| row.client.id())
        .collect();
    if !absent.is_empty() {
        out.note(&format!("not found here: {}", absent.join(", ")));
    }
    if !is_running {
        out.note("no daemon runs; next step: `mcpproxy serve`, or `mcpproxy service install`");
    }
    Ok(())
}
