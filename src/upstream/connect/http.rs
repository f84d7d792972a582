//! Reaches a remote server: over the configured transport, or over Streamable HTTP and then HTTP+SSE where none is configured. Opens the
//! connection with or without a handshake, as the server wants it.

use std::{sync::Arc, time::Duration};

use super::{
    ConnectAttempt, ConnectError, Ready,
    era::{Era, ProbeError, probe},
    handshake::{self, OpenError},
};
use crate::{
    config::{ProtocolEra, Remote, RemoteKind},
    failure::NextStep,
    link::{self, Authorization, Connection, Endpoint, Link, LinkError, Noise},
    upstream::instance_scope::InstanceScope,
};

/// How long a server may take that was never met before. Many with a handshake say nothing to what they do not know.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects.
pub(super) async fn reach(
    attempt: &ConnectAttempt<'_>,
    remote: &Remote,
) -> Result<Ready, ConnectError> {
    let shared = attempt.shared;
    let login = shared.login.clone();
    let server = RemoteServer {
        attempt,
        endpoint: Endpoint {
            authorization: login.map(|login| login as Arc<dyn Authorization>),
            url: remote.url.clone(),
            headers: remote.headers.clone(),
            ca_file: remote.ca_file.clone(),
            client_cert: remote.client_cert.clone(),
            secrets: attempt.entry.secrets.clone(),
            instance: Some(attempt.context.ledger.instance().clone()),
        },
    };
    if matches!(shared.instance_scope, Some(InstanceScope::Legacy)) {
        return server.open_session().await;
    }
    match remote.kind {
        RemoteKind::Http => server
            .open_streamable()
            .await
            .map_err(|failed| *failed.error),
        RemoteKind::Sse => server.open_sse(None).await,
        RemoteKind::Auto => match server.open_streamable().await {
            Ok(ready) => Ok(ready),
            Err(failed) if failed.may_be_older => server.open_sse(Some(&failed.error)).await,
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

/// A remote server that is to be reached.
struct RemoteServer<'a> {
    attempt: &'a ConnectAttempt<'a>,
    endpoint: Endpoint,
}

impl RemoteServer<'_> {
    /// Opens it over Streamable HTTP. Asks what the server speaks unless a handshake has worked before, and asks after all when it
    /// refuses one.
    async fn open_streamable(&self) -> Result<Ready, Failed> {
        let entry = self.attempt.entry;
        let connection = self.prepare()?;
        let answer = match (entry.protocol_era, self.attempt.remembered) {
            (ProtocolEra::Legacy, _) => None,
            (ProtocolEra::Auto, Some(revision)) if revision.has_handshake() => None,
            (ProtocolEra::Auto, None) => {
                let probing = probe(&connection.link);
                tokio::time::timeout(PROBE_TIMEOUT, probing).await.ok()
            }
            // A server that is known needs no such deadline: its answer may take its time.
            (ProtocolEra::Auto, Some(_)) | (ProtocolEra::Modern, _) => {
                Some(probe(&connection.link).await)
            }
        };
        let may_probe = answer.is_none() && entry.protocol_era == ProtocolEra::Auto;
        match answer.transpose() {
            Ok(Some(Era::Modern(opened))) => return Ok(Ready { connection, opened }),
            Ok(Some(Era::Legacy)) if entry.protocol_era == ProtocolEra::Modern => {
                return Err(Failed::finally(ConnectError::wants_handshake()));
            }
            Ok(Some(Era::Legacy)) => (),
            // It was not asked, or has not answered.
            Ok(None) => connection.link.speak(None),
            Err(ProbeError::Link(LinkError::Lost(_)))
                if entry.protocol_era == ProtocolEra::Auto =>
            {
                connection.link.speak(None);
            }
            Err(error) => return Err(Failed::finally(ConnectError::of_probe(entry, &error))),
        }
        let link = connection.link.clone();
        let error = match self.shake_hands(connection).await {
            Ok(ready) => return Ok(ready),
            Err(error) => error,
        };
        if may_probe && error.is_refusal() {
            let connection = self.prepare()?;
            if let Ok(Era::Modern(opened)) = probe(&connection.link).await {
                return Ok(Ready { connection, opened });
            }
        }
        Err(Failed {
            error: Box::new(ConnectError::of_handshake(entry, &error)),
            may_be_older: matches!(link.refused_with(), Some(400 | 404 | 405)),
        })
    }

    /// Opens a server that needs no handshake with one, for clients that shake hands: of use only where it gives them a session.
    async fn open_session(&self) -> Result<Ready, ConnectError> {
        let habits = &self.attempt.shared.habits;
        let connection = self.prepare().map_err(|failed| *failed.error)?;
        let link = connection.link.clone();
        let error = match self.shake_hands(connection).await {
            Ok(ready) if link.has_session() => {
                habits.note_eras(Some(true));
                return Ok(ready);
            }
            Ok(_) => None,
            Err(error) if error.is_refusal() => None,
            Err(error) => Some(error),
        };
        link.close().await;
        if let Some(error) = error {
            return Err(ConnectError::of_handshake(self.attempt.entry, &error));
        }
        habits.note_eras(Some(false));
        let reason = "it opened no session in answer to initialize";
        Err(ConnectError::plain(reason, NextStep::Wait))
    }

    /// Opens it over HTTP+SSE. One that opens the stream speaks this; for another, what came `over_http` counts, too.
    async fn open_sse(&self, over_http: Option<&ConnectError>) -> Result<Ready, ConnectError> {
        use link::legacy_sse::StreamOpenError;

        let entry = self.attempt.entry;
        let numbers = self.attempt.shared.numbers.clone();
        let noise = Noise::new(&entry.name, entry.secrets.clone());
        let made = match link::legacy_sse::connect(&self.endpoint, numbers, noise).await {
            Ok(made) => made,
            Err(StreamOpenError::Endpoint(error)) => return Err(misconfigured(&error)),
            Err(StreamOpenError::Link(error)) => {
                let over_http = over_http.filter(|_| !matches!(error, LinkError::OddEndpoint(_)));
                let error = ConnectError::of_handshake(entry, &OpenError::Link(error));
                return Err(match over_http {
                    Some(first) => neither(first, &error),
                    None => error,
                });
            }
        };
        let shaken = self.shake_hands(made.by(Link::LegacySse)).await;
        shaken.map_err(|error| ConnectError::of_handshake(entry, &error))
    }

    /// A new connection for Streamable HTTP, on which nothing was sent yet.
    fn prepare(&self) -> Result<Connection, Failed> {
        let made = link::http::connect(&self.endpoint, self.attempt.shared.numbers.clone());
        made.map(|made| made.by(Link::Http))
            .map_err(|error| Failed::finally(misconfigured(&error)))
    }

    /// Does the handshake on a new connection.
    async fn shake_hands(&self, connection: Connection) -> Result<Ready, OpenError> {
        let declared = &self.attempt.declared;
        let opened = handshake::shake_hands(&connection.link, declared).await?;
        Ok(Ready { connection, opened })
    }
}

fn misconfigured(error: &link::EndpointError) -> ConnectError {
    let step = match error {
        link::EndpointError::File { what, .. } => {
            NextStep::fix_key(what, &format!("correct the path in `{what}`, or the file"))
        }
        link::EndpointError::Tls(_) => {
            NextStep::fix_key("ca_file", "name the certificates to trust in `ca_file`")
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
