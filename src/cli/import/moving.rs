//! What is said of servers that are removed from files of clients, and put back.

use serde::Serialize;

use super::super::{
    failure::CommandFailure,
    output::{self, Output},
};
use crate::{
    clients::{Client, ImportReport, MovedServers, home_places, move_back, our_address},
    management::{Management, OverFiles},
};

/// Whether the person at the terminal wants them removed.
pub(in crate::cli) fn is_wanted(out: Output) -> bool {
    out.agrees("Remove the imported servers from the clients' files, so that nothing runs twice?")
}

/// Says what was removed.
pub(in crate::cli) fn say(report: &ImportReport, out: Output) {
    for moved in &report.moved {
        let file = report.shown(&moved.file);
        let (n, client) = (
            output::count(moved.servers.len(), "server"),
            moved.client.id(),
        );
        match &moved.error {
            None => out.done(&format!(
                "removed {n} from {file}; undo: `mcpproxy import {client} --undo`"
            )),
            Some(why) => out.warning(&format!("{n} not removed from {file}: {why}")),
        }
    }
}

#[derive(Serialize)]
struct PutBack {
    put_back: Vec<MovedServers>,
}

/// Puts back what was removed from the files of these clients, or of all.
pub(super) fn undo(
    files: &Management<OverFiles>,
    from: &[String],
    out: Output,
) -> Result<(), CommandFailure> {
    let mut clients = Vec::new();
    for word in from {
        let client = Client::from_word(word);
        let unknown = || {
            let known: Vec<&str> = Client::all().map(Client::id).collect();
            let meant = Client::meant_by(word, &known).map(|meant| format!("; {meant}"));
            let meant = meant.unwrap_or_default();
            CommandFailure::usage(format!("no client {word:?}{meant}"))
        };
        clients.push(client.ok_or_else(unknown)?);
    }
    let is_meant = |client| clients.is_empty() || clients.contains(&client);
    let put_back = move_back(&home_places()?, &our_address(files, None), is_meant);
    let failed = put_back.iter().find_map(|one| one.error.clone());
    if put_back.is_empty() {
        let failure =
            CommandFailure::failed("nothing to put back: `import --move` has removed no servers");
        return Err(failure.next(
            "`mcpproxy config history` lists imports; `mcpproxy config undo NUMBER` undoes one",
        ));
    }
    if out.is_json() {
        output::json(&output::as_json(&PutBack { put_back })?)?;
    } else {
        for one in &put_back {
            let n = output::count(one.servers.len(), "server");
            match &one.error {
                None => out.done(&format!("put {n} back into {}", one.file)),
                Some(why) => out.warning(&format!("{} was left unchanged: {why}", one.file)),
            }
        }
    }
    match failed {
        Some(why) => Err(CommandFailure::failed(why).shown()),
        None => Ok(()),
    }
}
