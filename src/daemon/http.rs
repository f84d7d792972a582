//! Listens and serves HTTP/1.1: TCP for clients, and what else accepts connections.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::body::Body;
use http::{HeaderName, HeaderValue, StatusCode};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    auth_layer::AuthLayer,
    client_io::{AnsweredEarly, ClientIo},
    connections::{ClientConnection, ClientConnections},
    response_body::ResponseBody,
};
use crate::{
    access::Peer,
    config::{Listen, duration},
    runtime::{accepting::patiently, memory_budget::MemoryBudget, self_wakes::with_quiet},
    storage,
    telemetry::log_throttle::LogThrottle,
};

/// How long a connection may be without a request. One that is silent gives way to others.
const SILENCE: Duration = Duration::from_mins(10);

/// How often silent connections are looked for: a timer for each connection would have to be set for each request.
const LOOK: Duration = Duration::from_mins(1);

/// Clients read [`SILENCE`] here, and keep their connection between calls: a client without a session is known by its connection, and so is
/// what servers keep for it.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const KEPT: HeaderValue = HeaderValue::from_static("timeout=600");
/// Limit: bytes of the head of a request, and of what is read at once. Browsers with all their cookies send a tenth of it. hyper answers
/// 431 to a longer one, and to one of more than 100 headers.
const LONGEST_HEAD: usize = 128 << 10;

/// Limit: clients at a time that get the answer that there is no room; further ones are cut off.
const TURNED_AWAY: usize = 16;

/// How long such a client may take to read the answer.
const TURNING_AWAY: Duration = Duration::from_secs(1);

/// That answer.
const NO_ROOM: &str = r#"{"error":"nothing ran: all connections are busy","code":"overloaded","hint":"Retry in 1 s."}"#;

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}: {}", storage::in_words(reason))]
pub(super) struct NotBound {
    pub(super) address: SocketAddr,
    pub(super) reason: io::Error,
}

/// Binds every address: the first must succeed, the others are tried.
pub(super) async fn bind(listen: &Listen) -> Result<Vec<TcpListener>, NotBound> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for mut address in listen.addresses() {
        if let Some(first) = listeners.first().and_then(|l| l.local_addr().ok()) {
            address.set_port(first.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(reason) if listeners.is_empty() => return Err(NotBound { address, reason }),
            Err(error) => {
                tracing::debug!(%address, %error, "the second loopback address is not served");
            }
        }
    }
    Ok(listeners)
}

/// Something that accepts connections.
pub(super) trait Accept: Send + 'static {
    /// A connection.
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// The next connection.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Io, Peer)>> + Send;
}

impl Accept for TcpListener {
    type Io = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<(Self::Io, Peer)> {
        let (stream, address) = TcpListener::accept(self).await?;
        // Small answers must not wait for a full packet.
        if let Err(error) = stream.set_nodelay(true) {
            // The client has left already.
            tracing::debug!(%error, "a connection could not be set up");
        }
        Ok((stream, Peer::Network(address)))
    }
}

/// What all connections of a listener share.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) auth_layer: Arc<AuthLayer>,
    pub(super) connections: ClientConnections,
    pub(super) memory: MemoryBudget,
    pub(super) closing: CancellationToken,
}

/// Serves until `closing`, then lets the connections finish what they are at. Each connection is a task of its own: a panic in one
/// ends that one.
pub(super) async fn serve(listener: impl Accept, served: Served, drained: Duration) {
    let tasks = TaskTracker::new();
    let refused = LogThrottle::default();
    let refusals = Arc::new(Semaphore::new(TURNED_AWAY));
    let mut look = tokio::time::interval(LOOK);
    loop {
        let accepted = tokio::select! {
            () = served.closing.cancelled() => break,
            _ = look.tick() => {
                served.connections.end_silent(SILENCE);
                continue;
            }
            accepted = patiently(listener.accept()) => accepted,
        };
        let (io, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                note_refused(&refused, &error);
                served.connections.make_room();
                continue;
            }
        };
        if let Some(connection) = served.connections.enter(peer, &served.closing) {
            tasks.spawn(converse(io, peer, served.clone(), connection));
            continue;
        }
        note_refused(&refused, &"all connections are busy");
        if let Ok(place) = refusals.clone().try_acquire_owned() {
            tasks.spawn(turn_away(io, place));
        }
    }
    drop(listener);
    tasks.close();
    if timeout(drained, tasks.wait()).await.is_err() {
        let time = duration::in_words(drained);
        tracing::warn!("requests cut off at shutdown: they took longer than {time}");
    }
}

/// One client's connection, to its end.
async fn converse<Io: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    io: Io,
    peer: Peer,
    served: Served,
    connection: ClientConnection,
) {
    let Served {
        auth_layer, memory, ..
    } = served;
    // Programs on the local socket are the operator's own, and may be stopped for a while.
    let is_watched = matches!(peer, Peer::Network(_));
    let early = AnsweredEarly::default();
    let budget = is_watched.then(|| memory.clone());
    let mut io = ClientIo::new(io, budget, early.clone());
    if is_watched {
        io = io.with_head_deadline(connection.pauses());
    }
    let client = connection.of_client();
    let service = service_fn(|request: http::Request<Incoming>| {
        let (auth_layer, memory, early) = (auth_layer.clone(), memory.clone(), early.clone());
        let busy = connection.begin(request.method());
        let client = client.clone();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(client);
            let mut response = auth_layer.answer(peer, request).await;
            if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
                early.note();
            }
            response.headers_mut().insert(KEEP_ALIVE, KEPT);
            Ok::<_, Infallible>(response.map(|body| ResponseBody::new(body, memory, busy)))
        }
    });
    // hyper counts the silence before a head, too: those that are silent are ended by `end_silent`, and slow heads by `ClientIo`.
    let serving = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        biased;
        ended = with_quiet(serving.as_mut()) => ended,
        () = connection.last_answer().cancelled() => {
            if connection.over().is_cancelled() {
                tracing::debug!("connection without a request closed: it was idle for too long, or another one needed its place");
                return;
            }
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a client's connection ended early");
    }
}

/// Says that there is no room once the client has begun to ask, for some take no answer before that, and waits for it to hear that: what it
/// sent and nobody reads would take the answer with it.
async fn turn_away(mut io: impl AsyncRead + AsyncWrite + Unpin, place: OwnedSemaphorePermit) {
    let length = NO_ROOM.len();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{NO_ROOM}"
    );
    let answered = async {
        if io.read(&mut [0; 1024]).await? == 0 {
            return Ok(0);
        }
        io.write_all(answer.as_bytes()).await?;
        io.shutdown().await?;
        tokio::io::copy(&mut io, &mut tokio::io::sink()).await
    };
    if let Ok(Err(error)) = timeout(TURNING_AWAY, answered).await {
        tracing::debug!(%error, "a refused client did not read the answer");
    }
    drop(place);
}

fn note_refused(refused: &LogThrottle, why: &dyn std::fmt::Display) {
    if let Some(connections) = refused.due() {
        tracing::warn!(%why, connections, "connections could not be accepted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_how_long_a_connection_is_kept() {
        let kept = format!("timeout={}", SILENCE.as_secs());
        assert_eq!(KEPT.as_bytes(), kept.as_bytes());
    }
}
