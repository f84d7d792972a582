//! Reaches a remote server over the transport that it speaks, the configured one, or the newer one and then the older; and opens
//! the connection with or without a handshake as it wants it.

use std::{sync::Arc, time::Duration};

use super::{
    ConnectError, Ready,
    era::{Era, ProbeError, probe},
    handshake::{self, OpenError},
};
use crate::{
    config::{ProtocolEra, Remote, RemoteKind, ServerEntry},
    failure::NextStep,
    link::{self, Authorization, Connection, Endpoint, Link, LinkError, Noise},
    upstream::{calls::handle::UpstreamShared, instance_scope::InstanceScope},
    wire::{Raw, RequestNumbers, Revision, instance::InstanceId},
};

/// How long a server may take that was never met before. Many with a handshake say nothing to what they do not know.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects. `remembered` is what this server spoke when it was last met under this configuration.
pub(in crate::upstream) async fn reach(
    entry: &ServerEntry,
    remote: &Remote,
    declared: &Raw,
    remembered: Option<Revision>,
    shared: &UpstreamShared,
    instance: &InstanceId,
) -> Result<Ready, ConnectError> {
    let numbers = &shared.numbers;
    let login = shared.login.clone();
    let endpoint = Endpoint {
        authorization: login.map(|login| login as Arc<dyn Authorization>),
        url: remote.url.clone(),
        headers: remote.headers.clone(),
        ca_file: remote.ca_file.clone(),
        client_cert: remote.client_cert.clone(),
        secrets: entry.secrets.clone(),
        instance: Some(instance.clone()),
    };
    if matches!(shared.instance_scope, Some(InstanceScope::Legacy)) {
        return of_other_era(entry, &endpoint, declared, shared).await;
    }
    match remote.kind {
        RemoteKind::Http => streamable(entry, &endpoint, declared, remembered, numbers)
            .await
            .map_err(|failed| *failed.error),
        RemoteKind::Sse => legacy_sse(entry, &endpoint, declared, numbers).await,
        RemoteKind::Auto => match streamable(entry, &endpoint, declared, remembered, numbers).await
        {
            Ok(ready) => Ok(ready),
            Err(failed) if failed.may_be_older => legacy_sse(entry, &endpoint, declared, numbers)
                .await
                .map_err(|second| neither(&failed.error, &second)),
            Err(failed) => Err(*failed.error),
        },
    }
}

/// Why there is no connection over Streamable HTTP.
struct Failed {
    error: Box<ConnectError>,
    /// The server refused in the way of those that speak HTTP+SSE only (revision 2025-11-25, transports, "Backwards
    /// Compatibility").
    may_be_older: bool,
}

impl Failed {
    fn finally(error: ConnectError) -> Self {
        Self {
            error: Box::new(error),
            may_be_older: false,
        }
    }
}

/// Asks what the server speaks unless a handshake has worked before, and asks after all when it refuses one.
async fn streamable(
    entry: &ServerEntry,
    endpoint: &Endpoint,
    declared: &Raw,
    remembered: Option<Revision>,
    numbers: &RequestNumbers,
) -> Result<Ready, Failed> {
    let connection = prepared(endpoint, numbers)?;
    let answer = match (entry.protocol_era, remembered) {
        (ProtocolEra::Legacy, _) => None,
        (ProtocolEra::Auto, Some(revision)) if revision.has_handshake() => None,
        (ProtocolEra::Auto, None) => tokio::time::timeout(PROBE_TIMEOUT, probe(&connection.link))
            .await
            .ok(),
        // One that was met before may take its time, and one of which it is known.
        (ProtocolEra::Auto, Some(_)) | (ProtocolEra::Modern, _) => {
            Some(probe(&connection.link).await)
        }
    };
    let may_probe = answer.is_none() && entry.protocol_era == ProtocolEra::Auto;
    match answer.transpose() {
        Ok(Some(Era::Modern(description))) => {
            return Ok(Ready::new(connection, description.into()));
        }
        Ok(Some(Era::Legacy)) if entry.protocol_era == ProtocolEra::Modern => {
            return Err(Failed::finally(ConnectError::wants_handshake()));
        }
        Ok(Some(Era::Legacy)) => (),
        // It does not like the question, or says nothing to it.
        Ok(None) => connection.link.speak(None),
        Err(ProbeError::Link(LinkError::Lost(_))) if entry.protocol_era == ProtocolEra::Auto => {
            connection.link.speak(None);
        }
        Err(error) => return Err(Failed::finally(ConnectError::of_probe(entry, &error))),
    }
    let link = connection.link.clone();
    let error = match shake_hands(connection, declared).await {
        Ok(ready) => return Ok(ready),
        Err(error) => error,
    };
    if may_probe && is_refusal(&error) {
        let connection = prepared(endpoint, numbers)?;
        if let Ok(Era::Modern(description)) = probe(&connection.link).await {
            return Ok(Ready::new(connection, description.into()));
        }
    }
    Err(Failed {
        error: Box::new(ConnectError::of_handshake(entry, &error)),
        may_be_older: matches!(link.refused_with(), Some(400 | 404 | 405)),
    })
}

/// Opens a server that needs no handshake with one, for clients that shake hands: of use only where it gives them a session.
async fn of_other_era(
    entry: &ServerEntry,
    endpoint: &Endpoint,
    declared: &Raw,
    shared: &UpstreamShared,
) -> Result<Ready, ConnectError> {
    let connection = prepared(endpoint, &shared.numbers).map_err(|failed| *failed.error)?;
    let link = connection.link.clone();
    let error = match shake_hands(connection, declared).await {
        Ok(ready) if link.has_session() => {
            shared.habits.note_eras(Some(true));
            return Ok(ready);
        }
        Ok(_) => None,
        Err(error) if is_refusal(&error) => None,
        Err(error) => Some(error),
    };
    link.close().await;
    if let Some(error) = error {
        return Err(ConnectError::of_handshake(entry, &error));
    }
    shared.habits.note_eras(Some(false));
    let reason = "it opens no session for clients that begin with initialize";
    Err(ConnectError::plain(reason, NextStep::Wait))
}

/// Does the handshake on a new connection.
async fn shake_hands(connection: Connection, declared: &Raw) -> Result<Ready, OpenError> {
    let opened = handshake::shake_hands(&connection.link, declared).await?;
    Ok(Ready::new(connection, opened))
}

/// Whether the server has answered that it wants no handshake, perhaps.
fn is_refusal(error: &OpenError) -> bool {
    match error {
        OpenError::Refused { .. } => true,
        OpenError::Link(LinkError::Status { status, .. }) => !matches!(status, 401 | 403 | 500..),
        _ => false,
    }
}

fn prepared(endpoint: &Endpoint, numbers: &RequestNumbers) -> Result<Connection, Failed> {
    let made = link::http::connect(endpoint, numbers.clone());
    made.map(|made| made.by(Link::Http))
        .map_err(|error| Failed::finally(misconfigured(&error)))
}

async fn legacy_sse(
    entry: &ServerEntry,
    endpoint: &Endpoint,
    declared: &Raw,
    numbers: &RequestNumbers,
) -> Result<Ready, ConnectError> {
    use link::legacy_sse::StreamOpenError;

    let noise = Noise::new(&entry.name, entry.secrets.clone());
    let made = match link::legacy_sse::connect(endpoint, numbers.clone(), noise).await {
        Ok(made) => made,
        Err(StreamOpenError::Endpoint(error)) => return Err(misconfigured(&error)),
        Err(StreamOpenError::Link(error)) => {
            let error = OpenError::Link(error);
            return Err(ConnectError::of_handshake(entry, &error));
        }
    };
    let shaken = shake_hands(made.by(Link::LegacySse), declared).await;
    shaken.map_err(|error| ConnectError::of_handshake(entry, &error))
}

fn misconfigured(error: &link::EndpointError) -> ConnectError {
    let step = match error {
        link::EndpointError::File { what, .. } => {
            NextStep::fix_key(what, &format!("correct the path in `{what}`, or the file"))
        }
        _ => NextStep::FIX,
    };
    ConnectError {
        outside: "its configuration cannot be used".into(),
        ..ConnectError::plain(&error.to_string(), step)
    }
}

fn neither(first: &ConnectError, second: &ConnectError) -> ConnectError {
    let text =
        |first: &str, second: &str| format!("over Streamable HTTP {first}; over HTTP+SSE {second}");
    ConnectError {
        outside: text(&first.outside, &second.outside).into(),
        retry_after: first.retry_after.max(second.retry_after),
        // The newer transport says more of what is wrong, unless it is not there.
        ..ConnectError::plain(&text(&first.reason, &second.reason), first.step.clone())
    }
}
