//! Adding servers that were chosen: through the daemon, or to the file where none runs.

use http::Method;
use serde_json::{Map, Value, json};

use super::super::{failure::CommandFailure, output::Output};
use crate::{
    client_setup::{AddedServer, Gathered, NewEntry, chosen_entries},
    daemon_client::{AnswerDeadline, DaemonClient},
    management::{Management, OverFiles},
};

/// Adds them one after the other; what fails with one leaves the others alone.
pub(in crate::cli) async fn add(
    files: &Management<OverFiles>,
    mut daemon: Option<&mut DaemonClient>,
    gathered: &Gathered,
    chosen: &[usize],
    is_held: bool,
    out: Output,
) -> Vec<AddedServer> {
    let mut added = Vec::new();
    for NewEntry { at, name, entry } in chosen_entries(gathered, chosen, is_held) {
        out.progress(&format!(
            "adding {name} ({} of {})",
            added.len() + 1,
            chosen.len()
        ));
        let done = if let Some(daemon) = &mut daemon {
            through(daemon, &name, entry).await
        } else {
            let done = files.add_server(&name, entry).await;
            done.map(drop).map_err(CommandFailure::from)
        };
        if let Err(failure) = &done {
            out.warning(&format!("{name} was not added: {}", failure.what));
        }
        let error = done.err().map(|failure| failure.what);
        added.push(AddedServer { at, name, error });
    }
    added
}

async fn through(
    daemon: &mut DaemonClient,
    name: &str,
    entry: Map<String, Value>,
) -> Result<(), CommandFailure> {
    let mut body = Map::from_iter([("name".to_owned(), json!(name))]);
    body.extend(entry);
    let (path, body) = ("/api/v1/servers", Value::Object(body).to_string());
    let answer = daemon.send(Method::POST, path, body, AnswerDeadline::Daemon);
    answer.await.map(drop).map_err(CommandFailure::from)
}
