//! `mcpproxy connect CLIENT --token`: a token of its own in a client's entry, and the file as it was before that.

use std::path::Path;

use http::Method;
use serde::Deserialize;

use crate::{
    cli::{Done, Output, output},
    clients::Client,
    daemon_client::{self, AnswerDeadline, DaemonClient},
    storage,
};

/// What the daemon did.
#[derive(Deserialize)]
struct Given {
    file: String,
    #[serde(default)]
    diff: Vec<String>,
    token: Option<String>,
}

/// Has the daemon give a client its token, or take it again.
pub(super) async fn own_token(
    daemon: &mut DaemonClient,
    client: Client,
    is_undo: bool,
    is_dry: bool,
    out: Output,
) -> Done {
    let path = format!("/api/v1/clients/{}/token", client.id());
    let (method, body) = if is_undo {
        (Method::DELETE, Vec::new())
    } else {
        let body = output::as_json(&serde_json::json!({ "dry_run": is_dry }))?;
        (Method::POST, body)
    };
    let sending = daemon.send(method, &path, body, AnswerDeadline::Daemon);
    let body = sending.await?;
    if out.is_json() {
        return output::json(&body);
    }
    let Given { file, diff, token } = daemon_client::read(&path, &body)?;
    let (name, id) = (client.name(), client.id());
    if is_undo {
        let revoked = token.map(|token| format!("; revoked its token {token:?}"));
        out.done(&format!("restored {file}{}", revoked.unwrap_or_default()));
    } else if let Some(token) = token {
        out.done(&format!(
            "{name} now sends the token {token:?}, stored in {file}; undo: `mcpproxy connect {id} --token --undo`"
        ));
        if storage::is_open_to_others(Path::new(&file)) {
            out.warning(&format!("other users can read it: `chmod 600 {file}`"));
        }
    } else {
        out.note(&format!("would change {file}; nothing was written"));
        return output::foreign_text(&diff.join("\n"));
    }
    out.next(&format!("restart {name}"));
    Ok(())
}
