//! Reaches a remote server over the transport that it speaks: the configured one, or the newer one and then the older.

use super::{
    connect::{ConnectError, Shaken, logs_hint, shake_hands},
    control,
    link::{self, Connection, Endpoint},
};
use crate::config::{Remote, RemoteKind, ServerEntry};

/// Connects and does the handshake.
pub(super) async fn reach(entry: &ServerEntry, remote: &Remote) -> Result<Shaken, ConnectError> {
    let endpoint = Endpoint {
        url: remote.url.clone(),
        headers: remote.headers.clone(),
        ca_file: remote.ca_file.clone(),
        client_cert: remote.client_cert.clone(),
    };
    match remote.kind {
        RemoteKind::Http => streamable(entry, &endpoint)
            .await
            .map_err(|failed| failed.error),
        RemoteKind::Sse => legacy_sse(entry, &endpoint).await,
        RemoteKind::Auto => match streamable(entry, &endpoint).await {
            Ok(shaken) => Ok(shaken),
            Err(failed) if failed.may_be_older => legacy_sse(entry, &endpoint)
                .await
                .map_err(|second| neither(entry, &failed.error, &second)),
            Err(failed) => Err(failed.error),
        },
    }
}

/// Why there is no connection over Streamable HTTP.
struct Failed {
    error: ConnectError,
    /// The server refused in the way of those that speak HTTP+SSE only (revision 2025-11-25, transports, "Backwards
    /// Compatibility").
    may_be_older: bool,
}

async fn streamable(entry: &ServerEntry, endpoint: &Endpoint) -> Result<Shaken, Failed> {
    let made = link::http::connect(endpoint).map_err(|error| Failed {
        error: misconfigured(&error),
        may_be_older: false,
    })?;
    let link = made.0.clone();
    let connection: Connection = made.into();
    shake_hands(connection, entry)
        .await
        .map_err(|error| Failed {
            error: ConnectError::of_handshake(entry, &error),
            may_be_older: matches!(link.refused_with(), Some(400 | 404 | 405)),
        })
}

async fn legacy_sse(entry: &ServerEntry, endpoint: &Endpoint) -> Result<Shaken, ConnectError> {
    use link::legacy_sse::OpenError;

    let made = match link::legacy_sse::connect(endpoint).await {
        Ok(made) => made,
        Err(OpenError::Endpoint(error)) => return Err(misconfigured(&error)),
        Err(OpenError::Link(error)) => {
            let error = control::OpenError::Link(error);
            return Err(ConnectError::of_handshake(entry, &error));
        }
    };
    let shaken = shake_hands(made.into(), entry).await;
    shaken.map_err(|error| ConnectError::of_handshake(entry, &error))
}

fn misconfigured(error: &link::EndpointError) -> ConnectError {
    ConnectError {
        reason: error.to_string(),
        outside: "its configuration cannot be used".to_owned(),
        next_step: "correct the entry in the configuration".to_owned(),
    }
}

fn neither(entry: &ServerEntry, first: &ConnectError, second: &ConnectError) -> ConnectError {
    let text =
        |first: &str, second: &str| format!("over Streamable HTTP {first}; over HTTP+SSE {second}");
    ConnectError {
        reason: text(&first.reason, &second.reason),
        outside: text(&first.outside, &second.outside),
        next_step: logs_hint(entry),
    }
}
