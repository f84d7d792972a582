//! Adding servers that were chosen: through the daemon, or to the file where none runs.

use http::Method;
use serde_json::{Map, Value, json};

use super::{
    super::{failure::CommandFailure, output::Output},
    gathered::Gathered,
};
use crate::{
    client_files::ImportOutcome,
    daemon_client::{AnswerDeadline, DaemonClient},
    management::{Management, OverFiles},
};

/// What came of one.
pub(in crate::cli) struct Added {
    /// Its place in the plan.
    pub(in crate::cli) at: usize,
    /// Its name here.
    pub(in crate::cli) name: String,
    /// Why it was not added.
    pub(in crate::cli) error: Option<String>,
}

/// Adds them one after the other; what fails with one leaves the others alone.
pub(in crate::cli) async fn add(
    files: &Management<OverFiles>,
    mut daemon: Option<&mut DaemonClient>,
    gathered: &Gathered,
    chosen: &[usize],
    is_held: bool,
    out: Output,
) -> Result<Vec<Added>, CommandFailure> {
    let mut added = Vec::new();
    for &at in chosen {
        let Some(ImportOutcome::New { name, carried, .. }) =
            gathered.plan.get(at).map(|server| &server.outcome)
        else {
            continue;
        };
        let mut entry = carried.entry.clone();
        if is_held {
            entry.insert("quarantined".to_owned(), json!(true));
        }
        out.progress(&format!(
            "adding {name} ({} of {})",
            added.len() + 1,
            chosen.len()
        ));
        let done = if let Some(daemon) = &mut daemon {
            through(daemon, name.as_str(), entry).await
        } else {
            let done = files.add_server(name.as_str(), entry).await;
            done.map(drop).map_err(CommandFailure::from)
        };
        if let Err(failure) = &done {
            out.warning(&format!("{name} was not added: {}", failure.what));
        }
        added.push(Added {
            at,
            name: name.to_string(),
            error: done.err().map(|failure| failure.what),
        });
    }
    Ok(added)
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
