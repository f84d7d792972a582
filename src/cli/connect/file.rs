//! The report on a client that was connected, or was not.

use serde::Serialize;

use super::super::{
    failure::CommandFailure,
    output::{self, Output},
};
use crate::clients::{Client, ClientPlaces, ConnectOutcome, Connected, Reaching, TOKEN_VARIABLE};

/// Says to people what was done with one client.
pub(super) fn say_done(
    done: &Connected,
    places: &ClientPlaces,
    out: Output,
) -> Result<(), CommandFailure> {
    if out.is_json() {
        return Ok(());
    }
    let client = done.client.name();
    let home = places.home().display().to_string();
    let short = |path: &str| match path.strip_prefix(&home) {
        Some(inside) if inside.starts_with('/') => format!("~{inside}"),
        _ => path.to_owned(),
    };
    let (file, name) = (short(&done.file), &done.name);
    match done.outcome {
        ConnectOutcome::Connected => {
            let copy = done.backup.as_deref().map(|copy| {
                format!("; what was there before is {}, and `mcpproxy connect {} --undo` takes it out again", short(copy), done.client.id())
            });
            out.note(&format!(
                "{client} is connected as {name:?} in {file}{}",
                copy.unwrap_or_default()
            ));
        }
        ConnectOutcome::AlreadyConnected => {
            out.note(&format!(
                "{client} is connected already, as {name:?} in {file}"
            ));
        }
        ConnectOutcome::Disconnected => {
            let copy = done.backup.as_deref();
            let copy = copy.map(|copy| format!("; what was there before is {}", short(copy)));
            out.note(&format!(
                "{name:?} was taken out of {file}{}",
                copy.unwrap_or_default()
            ));
        }
        ConnectOutcome::PutBack => out.note(&format!(
            "{file} is as it was before mcpproxy was connected: with {name:?}, which leads to where mcpproxy is not; `mcpproxy connect {} --undo` takes that out, too",
            done.client.id()
        )),
        ConnectOutcome::LeftAsFound => out.note(&format!(
            "{name:?} stays in {file}: it was there before, or somebody wrote it; `mcpproxy connect {} --undo` takes it out",
            done.client.id()
        )),
        ConnectOutcome::WouldConnect | ConnectOutcome::WouldDisconnect => {
            out.note(&format!("this would change in {file}; nothing was written"));
            output::foreign_text(&done.diff.join("\n"))?;
        }
    }
    if !done.is_found && done.outcome == ConnectOutcome::Connected {
        out.note(&format!(
            "there was no sign of {client} on this machine; it finds the entry when it is there"
        ));
    }
    Ok(())
}

/// The whole for programs.
#[derive(Serialize)]
pub(super) struct ConnectReport<'a> {
    clients: Vec<Row<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Done(&'a Connected),
    Failed {
        client: Client,
        outcome: &'static str,
        error: &'a str,
        next_step: Option<&'a str>,
    },
}

pub(super) fn report(done: &[(Client, Result<Connected, CommandFailure>)]) -> ConnectReport<'_> {
    let rows = done.iter().map(|(client, outcome)| match outcome {
        Ok(done) => Row::Done(done),
        Err(failure) => Row::Failed {
            client: *client,
            outcome: "failed",
            error: &failure.what,
            next_step: failure.next_step.as_deref(),
        },
    });
    ConnectReport {
        clients: rows.collect(),
    }
}

/// Says what is left to do for these clients.
pub(super) fn say_hints(reaching: &Reaching, clients: &[Client], out: Output) {
    say_token(reaching, clients, out);
    if reaching.is_running {
        out.note("next step: start the client anew, so that it reads its file");
    } else {
        out.note("next step: start the daemon (`mcpproxy serve`, or `mcpproxy service install`), then the client anew");
    }
}

/// Shows where these clients have their token from, where one is required.
pub(in crate::cli) fn say_token(reaching: &Reaching, clients: &[Client], out: Output) {
    if !reaching.needs_token {
        return;
    }
    let (refers, others): (Vec<Client>, Vec<Client>) = clients
        .iter()
        .partition(|client| client.refers_to_variables());
    let names = |clients: &[Client]| {
        let names: Vec<&str> = clients.iter().map(|client| client.name()).collect();
        names.join(", ")
    };
    if !refers.is_empty() {
        out.note(&format!(
            "clients have to show a token (`serverAuth`): set {TOKEN_VARIABLE} in the environment of {}",
            names(&refers)
        ));
    }
    if !others.is_empty() {
        out.note(&format!(
            "clients have to show a token (`serverAuth`), and files of {} refer to no variables: write it into the entry by hand",
            names(&others)
        ));
    }
}
