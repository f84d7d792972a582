//! `mcpproxy connect CLIENT --token`: puts a token of the client's own into its entry, or removes it with `--undo`.

use std::path::Path;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    cli::{Done, Output, output},
    clients::{Client, ConnectOutcome},
    daemon_client::{self, AnswerDeadline, DaemonClient},
    storage,
};

/// The daemon's answer.
#[derive(Deserialize)]
struct Changed {
    file: String,
    outcome: ConnectOutcome,
    #[serde(default)]
    diff: Vec<String>,
    token: Option<String>,
}

/// Has the daemon change a client's entry and its token: `POST` issues one, or only shows what that would change, and `DELETE` revokes it.
pub(super) async fn change_own_token(
    daemon: &mut DaemonClient,
    client: Client,
    method: Method,
    is_dry: bool,
    out: Output,
) -> Done {
    let path = format!("/api/v1/clients/{}/token", client.id());
    let revokes = method == Method::DELETE;
    let body = (!revokes).then(|| json!({ "dry_run": is_dry }).to_string());
    let body = body.unwrap_or_default();
    let sending = daemon.send(method, &path, body, AnswerDeadline::Daemon);
    let body = sending.await?;
    if out.is_json() {
        return output::print_json(&body);
    }
    let Changed {
        file,
        outcome,
        diff,
        token,
    } = daemon_client::read(&path, &body)?;
    let (name, id) = (client.name(), client.id());
    match token {
        token if revokes => {
            let and = token.map(|token| format!("; revoked its token {token:?}"));
            let done = match outcome {
                ConnectOutcome::NotInFile => "left unchanged:",
                ConnectOutcome::PutBack => "restored",
                ConnectOutcome::Disconnected => "removed mcpproxy from",
                _ => "removed the token from",
            };
            out.done(&format!("{done} {file}{}", and.unwrap_or_default()));
        }
        Some(token) => {
            out.done(&format!(
                "{name} now sends the token {token:?}, stored in {file}; undo: `mcpproxy connect {id} --token --undo`"
            ));
            if storage::is_open_to_others(Path::new(&file)) {
                out.warning(&format!(
                    "the file's mode lets other users read it: `chmod 600 {file}`"
                ));
            }
        }
        None => {
            out.note(&format!("would change {file}; nothing was written"));
            return output::print_foreign_text(&diff.join("\n"));
        }
    }
    out.next(&format!("restart {name}"));
    Ok(())
}
