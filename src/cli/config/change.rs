//! Has the daemon change the configuration for `config set` and `config undo`, and shows the outcome.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{
    Done, Output, client_warnings, connection, import, output,
    table::{name, text},
};
use crate::{
    config::{ChangedValue, Listen, Needs},
    daemon_client::{self, DaemonClient},
    management::{ConfigChange, Files, ShutOut, StatusReport},
};

/// The daemon's answer. Only `config undo` puts servers back.
#[derive(Deserialize)]
struct Answer {
    #[serde(flatten)]
    change: ConfigChange,
    #[serde(default)]
    put_back: Vec<PutBack>,
}

/// Moved servers that were put back into their client's file.
#[derive(Deserialize)]
struct PutBack {
    file: String,
    servers: Vec<String>,
    error: Option<String>,
}

/// Makes a change through the daemon, or on the files where none runs, and shows the outcome.
pub(super) async fn make(
    files: &Files,
    (method, path): (Method, &str),
    request: &impl Serialize,
    dry_run: bool,
    out: Output,
) -> Done {
    let mut daemon = connection::open_or_files(files, out).await?;
    let body = output::as_json(request)?;
    let body = daemon.ask(method, path, body).await?;
    let Answer { change, put_back } = daemon_client::read(path, &body)?;
    for warning in &change.warnings {
        out.warning(&warning.to_string());
    }
    for one in &change.shut_out {
        out.warning(&shut_out(one, dry_run));
    }
    if change.id.is_some() {
        let location = connection::location_of(&daemon);
        if change.changes.iter().any(takes_endpoint) {
            client_warnings::warn_of_refused(files, location.as_ref(), out);
        }
        if change.changes.iter().any(|one| one.path == ["listen"]) {
            client_warnings::warn_of_old_address(files, location.as_ref(), None, out);
        }
    }
    for one in put_back {
        let error = one.error.as_deref();
        import::moving::say_put_back((&one.file, &one.servers), error, dry_run, out);
    }
    say_end(&change, files, dry_run, out);
    if change.id.is_some() {
        say_restart(&change, files, &mut daemon, out).await?;
    }
    if out.is_json() {
        return output::print_json(&body);
    }
    if change.changes.is_empty() {
        return Ok(());
    }
    let columns = [name("KEY"), text("BEFORE", 1), text("AFTER", 1)];
    output::print_table(columns, change.changes.iter().map(cells))
}

/// Whether a change removes a server or a profile, and with it an endpoint.
fn takes_endpoint(change: &ChangedValue) -> bool {
    let first = change.path.first().map(String::as_str);
    change.after.is_none() && matches!(first, Some("mcpServers" | "profiles"))
}

fn shut_out(one: &ShutOut, dry_run: bool) -> String {
    let refused = if dry_run {
        "would be refused"
    } else {
        "is now refused"
    };
    let name = &one.name;
    match &one.client {
        Some(client) => {
            format!("{name} sends no token and {refused}: `mcpproxy connect {client} --token`")
        }
        None => format!("{name} is connected without a token and {refused}"),
    }
}

/// Says whether the change was written, and how to undo it.
fn say_end(change: &ConfigChange, files: &Files, dry_run: bool, out: Output) {
    match (change.id, change.changes.is_empty()) {
        (None, true) => out.note("nothing to change"),
        (None, false) if dry_run => out.note("nothing was written"),
        (None, false) => {
            let folder = files.data_dir().display();
            out.warning(&format!(
                "changed, but `config undo` cannot undo it: the history in {folder} cannot be written"
            ));
        }
        (Some(id), _) => out.done(&match change.undoes {
            Some(undone) => format!("undid change {undone}; saved as change {id}"),
            None => format!("saved as change {id}; `mcpproxy config undo {id}` undoes it"),
        }),
    }
}

/// Says to restart the daemon, if a changed value waits for that. None does if it is again the one that the daemon started with, or if an
/// option of `serve` has its place.
async fn say_restart(
    change: &ConfigChange,
    files: &Files,
    daemon: &mut DaemonClient,
    out: Output,
) -> Done {
    let mut addresses = change.changes.iter().filter_map(new_address).peekable();
    let may_wait = change.needs == Needs::Restart || addresses.peek().is_some();
    if may_wait && !daemon.is_over_files() {
        let status: StatusReport = daemon.fetch("/api/v1/status").await?;
        let mut keys = change.changes.iter().filter_map(|one| one.path.first());
        if !keys.any(|key| status.needs_restart.contains(key)) {
            return Ok(());
        }
        let is_refused = |address: Listen| status.location.refused(address).is_some();
        let faults = files.check(true).faults;
        out.next(&match (change.id, faults.first()) {
            // A restart would close the address to all clients.
            (Some(id), _) if addresses.any(is_refused) => format!(
                "`mcpproxy stop`, then `mcpproxy serve --insecure`; or `mcpproxy config undo {id}`"
            ),
            (Some(id), Some(fault)) => {
                out.warning(fault);
                format!("`mcpproxy config undo {id}`, because a restart would fail")
            }
            _ => "`mcpproxy restart`, so that it takes effect".to_owned(),
        });
    }
    Ok(())
}

/// The address to which a change sets `listen`.
fn new_address(change: &ChangedValue) -> Option<Listen> {
    let is_address = change.path == ["listen"];
    let after = change.after.as_ref().filter(|_| is_address)?;
    after.as_str()?.parse().ok()
}

fn cells(change: &ChangedValue) -> [String; 3] {
    [
        change.path.join("."),
        shown(change.before.as_ref()),
        shown(change.after.as_ref()),
    ]
}

/// A value in a cell or a command: a string without quotes, `-` for none.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}
