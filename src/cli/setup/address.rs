//! The address that a person chose for the daemon: it is written to the configuration, so that whatever starts the daemon later, and
//! whatever connects to it, goes by the same one.

use serde_json::json;

use super::super::failure::CommandFailure;
use crate::{
    config::{self, EditError, Listen},
    daemon_client::DaemonClient,
    management::{Management, OverFiles, StatusReport},
};

/// The address in what was asked for.
pub(super) fn asked(
    listen: Option<&str>,
    port: Option<u16>,
) -> Result<Option<Listen>, CommandFailure> {
    let port = port.map(|port| format!("127.0.0.1:{port}"));
    let Some(text) = listen.map(str::to_owned).or(port) else {
        return Ok(None);
    };
    let listen: Listen = text
        .parse()
        .map_err(|bad: config::BadListen| CommandFailure::usage(bad.to_string()))?;
    if listen.port() == 0 {
        let what = "port 0 is another one at every start of the daemon, and the files of clients name one address";
        return Err(CommandFailure::usage(what).next("name a port that is free, such as 8081"));
    }
    if !listen.is_loopback() {
        let what = format!(
            "{listen} can be reached from other machines, and everything sent there is plain text"
        );
        return Err(CommandFailure::usage(what)
            .next("set up on 127.0.0.1; docs/operations.md says how to serve a team"));
    }
    Ok(Some(listen))
}

/// Refuses another address than that of a daemon that runs: it would be in force at its next start only, and clients would be connected to
/// an address where nobody is.
pub(super) fn check(asked: Listen, running: &DaemonClient) -> Result<(), CommandFailure> {
    let status: Option<StatusReport> = serde_json::from_slice(running.status()).ok();
    let location = status.map(|status| status.location);
    let listens = location.as_ref().map(|location| location.listen.as_slice());
    let port = asked.port();
    let has_port = |address: &String| {
        let of = address.rsplit_once(':').map(|(_, port)| port);
        of.is_some_and(|of| of == port.to_string())
    };
    if listens.unwrap_or_default().iter().any(has_port) {
        return Ok(());
    }
    let at = location.and_then(|location| location.url);
    let at = at.unwrap_or_else(|| "its local socket only".to_owned());
    Err(CommandFailure::failed(format!(
        "the daemon runs already, at {at}, and an address is in force from its start on"
    ))
    .next(format!(
        "`mcpproxy stop`, then run `mcpproxy setup` with {asked} again"
    )))
}

/// Writes it down. Says whether the configuration changed.
pub(super) fn write(files: &Management<OverFiles>, asked: Listen) -> Result<bool, CommandFailure> {
    let keys = ["listen".to_owned()];
    let put = |text: &str| {
        let written = config::json_with(text, &keys, &json!(asked.to_string()));
        written.map_err(EditError::from)?.ok_or(EditError::NoKey)
    };
    files.rewrite_text(put).map_err(CommandFailure::from)
}
