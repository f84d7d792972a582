//! Step 4 of `mcpproxy setup`: connects clients.

use super::{
    super::{connect, connection, failure::Done, output::Output},
    choice::Choice,
    report::{SetupReport, say_step},
};
use crate::{
    clients::{Client, ClientRow, ConnectRequest, Reaching, client_rows, home_places, our_address},
    daemon_client::DaemonClient,
    management::Files,
};

/// Connects the chosen clients.
pub(super) fn connect_clients(
    files: &Files,
    daemon: &DaemonClient,
    choice: &Choice,
    report: &mut SetupReport,
    out: Output,
) -> Done {
    let places = home_places(files)?;
    let location = connection::location_of(daemon);
    let us = our_address(files, location.as_ref());
    let mut rows = client_rows(&places, &us, true);
    let already = rows.iter().filter(|row| row.connected);
    report.already = already.map(|row| row.client).collect();
    rows.retain(|row| match choice {
        Choice::Nothing | Choice::Undecided => false,
        Choice::All => row.found,
        Choice::Named(words) => {
            let mut named = words.iter().filter_map(|word| Client::from_word(word));
            named.any(|client| client == row.client)
        }
        Choice::Ask => row.found && (row.connected || is_wanted(row, out)),
    });
    let reaching = Reaching::new(files, location.as_ref(), us)?;
    let mut names = Vec::new();
    for row in rows {
        let usual = ConnectRequest::usual(row.client);
        match connect::connect_client(&places, &reaching, &usual, out) {
            Ok(done) => {
                names.push(row.title);
                report.clients.push(done);
            }
            Err(failure) => {
                out.warning(&failure.in_words());
                failure.next_step.iter().for_each(|step| out.next(step));
                report.not_connected.push(row.client);
            }
        }
    }
    if !out.is_json() {
        let done: Vec<_> = report.clients.iter().collect();
        let step = connect::say_token(false, &done, out);
        if let Some(step) = step {
            out.next(&step);
        }
    }
    // A connected client that was not chosen stays connected.
    for client in &report.already {
        let name = client.name();
        if !names.contains(&name) && !report.not_connected.contains(client) {
            names.push(name);
        }
    }
    let text = if names.is_empty() {
        "clients: none connected; later: `mcpproxy connect --all`".to_owned()
    } else {
        format!("clients: {} connected", names.join(", "))
    };
    say_step(4, &text, out);
    Ok(())
}

fn is_wanted(row: &ClientRow, out: Output) -> bool {
    out.agrees(&format!(
        "Connect {}? Adds mcpproxy to {}, and keeps a copy of the file next to it.",
        row.title, row.file
    ))
}
