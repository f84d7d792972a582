//! Messages about a client that was connected or disconnected, and the report on all for programs.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::{Done, Output, output};
use crate::clients::{Client, ClientPlaces, ConnectOutcome, Connected, TOKEN_VARIABLE, moved_from};

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
        ConnectOutcome::NotInFile => out.done(&format!("mcpproxy is not in {file}")),
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
pub(super) fn say_hints(is_running: bool, is_for_project: bool, done: &[&Connected], out: Output) {
    let start = (!is_running).then(|| "`mcpproxy start`".to_owned());
    let token = say_token(is_for_project, done, out);
    let restart = if is_running {
        let names: Vec<&str> = done.iter().map(|done| done.client.name()).collect();
        format!("restart {}", names.join(", "))
    } else {
        "restart the client".to_owned()
    };
    let steps: Vec<String> = start.into_iter().chain(token).chain([restart]).collect();
    out.next(&steps.join(", then "));
}

/// Says which of these clients lack a token; the step that gives them one.
pub(in crate::cli) fn say_token(
    is_for_project: bool,
    done: &[&Connected],
    out: Output,
) -> Option<String> {
    let lacking = done.iter().filter(|done| done.lacks_token);
    let (names, ids): (Vec<&str>, Vec<&str>) = lacking
        .map(|done| (done.client.name(), done.client.id()))
        .unzip();
    let (names, ids) = (names.join(", "), ids.join(" "));
    if ids.is_empty() {
        return None;
    }
    out.note(&format!(
        "mcpproxy requires a token, and none is stored for {names}"
    ));
    // Others may read a project's file.
    Some(if is_for_project {
        format!("set {TOKEN_VARIABLE} for {names}")
    } else {
        format!("`mcpproxy connect {ids} --token`")
    })
}
