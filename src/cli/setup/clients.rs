//! The clients that are connected.

use super::{
    super::{connect, failure::CommandFailure, import, output::Output},
    report::SetupReport,
    step,
    words::Choice,
};
use crate::{
    client_files::Client,
    client_setup::{
        self, ConnectRequest, Reaching, client_of_word, client_rows, home_places, our_address,
    },
    daemon_client::DaemonClient,
    error_code::as_step,
    management::{Management, OverFiles},
};

/// That every name is that of a client, before anything is done.
pub(super) fn check(choice: &Choice) -> Result<(), CommandFailure> {
    let Choice::Named(words) = choice else {
        return Ok(());
    };
    for word in words {
        client_of_word(word).map_err(|known| {
            CommandFailure::usage(format!("--connect {word}: no such client; {known}"))
        })?;
    }
    Ok(())
}

/// Connects them.
pub(super) fn connect(
    files: &Management<OverFiles>,
    daemon: &DaemonClient,
    choice: &Choice,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let places = home_places()?;
    let location = import::location_of(Some(daemon));
    let us = our_address(files, location.as_ref());
    let rows = client_rows(&places, &us, true);
    let found = rows.iter().filter(|row| row.found).map(|row| row.client);
    let wanted: Vec<Client> = match choice {
        Choice::Nothing | Choice::Unsaid => Vec::new(),
        Choice::All => found.collect(),
        Choice::Named(words) => words
            .iter()
            .filter_map(|word| Client::from_word(word))
            .collect(),
        Choice::Ask => rows
            .iter()
            .filter(|row| row.found)
            .filter(|row| row.connected || asks(row.client, &row.file, out))
            .map(|row| row.client)
            .collect(),
    };
    let reaching = Reaching::new(files, location.as_ref(), us)?;
    let mut names = Vec::new();
    for client in wanted {
        match client_setup::connect(&places, &reaching, &ConnectRequest::usual(client)) {
            Ok(done) => {
                if !out.is_json() {
                    connect::say_done(&done, &places, out)?;
                }
                names.push(client.name());
                report.clients.push(done);
            }
            Err(failure) => {
                out.warning(&format!(
                    "{}; next step: {}",
                    failure.error,
                    as_step(&failure.hint)
                ));
                report.not_connected.push(client);
            }
        }
    }
    if !out.is_json() {
        connect::say_token(&reaching, &report.connected(), out);
    }
    let text = if names.is_empty() {
        "clients: none was connected; `mcpproxy connect` lists them and connects them at any time"
            .to_owned()
    } else {
        report.next_steps.insert(
            0,
            "start your clients anew, so that they read their files".to_owned(),
        );
        format!("clients: {} connected", names.join(", "))
    };
    step(4, &text, out);
    Ok(())
}

fn asks(client: Client, file: &str, out: Output) -> bool {
    let question = format!("Connect {} ({file})? [Y/n]", client.name());
    let answer = out
        .answer_to(&question)
        .map(|answer| answer.trim().to_ascii_lowercase());
    matches!(answer.as_deref(), Some("" | "y" | "yes"))
}
