//! Messages about a client that was connected or disconnected, and the report on all for programs.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::{Done, Output, output};
use crate::clients::{
    Client, ClientPlaces, ConnectOutcome, Connected, Reaching, TOKEN_VARIABLE, moved_from,
};

/// Says to people what happened to one client.
pub(super) fn say_done(done: &Connected, places: &ClientPlaces, out: Output) -> Done {
    if out.is_json() {
        return Ok(());
    }
    let client = done.client.name();
    let (file, name, undo) = (&done.file, &done.name, &done.undo);
    let backup = done.backup.as_ref().map(|copy| format!("; backup: {copy}"));
    match done.outcome {
        ConnectOutcome::Connected => {
            let undo = backup.map(|backup| format!("{backup}, undo: {undo}"));
            let undo = undo.unwrap_or_default();
            out.done(&format!("connected {client} as {name:?} in {file}{undo}"));
        }
        ConnectOutcome::AlreadyConnected => {
            out.done(&format!(
                "{client} is already connected, as {name:?} in {file}"
            ));
        }
        ConnectOutcome::Disconnected => {
            let backup = backup.unwrap_or_default();
            out.done(&format!("removed {name:?} from {file}{backup}"));
            if moved_from(places).contains(&PathBuf::from(&done.file)) {
                out.next(&format!(
                    "the servers that were moved from that file are still in mcpproxy; `mcpproxy import {} --undo` puts them back",
                    done.client.id()
                ));
            }
        }
        ConnectOutcome::PutBack => out.done(&format!(
            "restored {file}, which has an older entry {name:?}; {undo} removes that, too"
        )),
        ConnectOutcome::LeftAsFound => out.done(&format!(
            "kept {name:?} in {file}, which may be yours; {undo} removes it"
        )),
        ConnectOutcome::WouldConnect | ConnectOutcome::WouldDisconnect => {
            out.note(&format!("would change {file}; nothing was written"));
            output::print_foreign_text(&done.diff.join("\n"))?;
        }
    }
    if !done.is_found && done.outcome == ConnectOutcome::Connected {
        out.note(&format!("{client} was not found on this machine"));
    }
    Ok(())
}

/// The report for programs.
pub(super) fn report(done: &[(Client, Done<Connected>)]) -> Value {
    let rows = done.iter().map(|(client, outcome)| match outcome {
        Ok(done) => json!(done),
        Err(failure) => json!({
            "client": client,
            "outcome": "failed",
            "error": failure.in_words(),
            "next_step": failure.hint(),
        }),
    });
    json!({ "clients": rows.collect::<Vec<Value>>() })
}

/// Says what is left to do for these clients.
pub(super) fn say_hints(reaching: &Reaching, clients: &[Client], out: Output) {
    say_token(reaching, clients, out);
    if reaching.is_running {
        let names: Vec<&str> = clients.iter().map(|client| client.name()).collect();
        out.next(&format!("restart {}", names.join(", ")));
    } else {
        out.next("`mcpproxy start`, then restart the client");
    }
}

/// Says how these clients get a token, if one is required.
pub(in crate::cli) fn say_token(reaching: &Reaching, clients: &[Client], out: Output) {
    if reaching.needs_token && clients.iter().any(|client| client.speaks_http()) {
        out.note(&format!(
            "clients need a token (`serverAuth`): `mcpproxy connect CLIENT --token` issues one, or set {TOKEN_VARIABLE}"
        ));
    }
}
