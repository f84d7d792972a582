//! Listens and serves HTTP/1.1: TCP for clients, a socket in the data folder for the command line.

use std::{
    convert::Infallible, io, net::SocketAddr, path::Path, pin::pin, sync::Arc, time::Duration,
};

use axum::body::Body;
use http::{HeaderName, HeaderValue};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ServeError,
    client_io::ClientIo,
    connections::{ClientConnection, ClientConnections},
    entrance::Entrance,
    response_body::ResponseBody,
};
use crate::{access::Peer, config::Listen, log_limit::LogLimit, memory_budget::MemoryBudget};

/// How long a connection may be silent before it has sent the head of a request.
const HEAD_DEADLINE: Duration = Duration::from_mins(1);

/// Tells clients that, so that they do not open a connection for each of their calls: one without a session is known by it.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const KEPT: HeaderValue = HeaderValue::from_static("timeout=60");
/// Limit: bytes of the head of a request, and of what is read at once. Browsers with all their cookies send a tenth of it. hyper answers
/// 431 to a longer one, and to one of more than 100 headers.
const LONGEST_HEAD: usize = 128 << 10;

/// Accepting fails when file descriptors run out; it is tried again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limit: clients at a time that are told that there is no room; further ones are cut off.
const TURNED_AWAY: usize = 16;

/// How long such a client may take to hear it.
const TURNING_AWAY: Duration = Duration::from_secs(1);

/// What it is told.
const NO_ROOM: &str = r#"{"error":"every connection that mcpproxy may have is busy","code":"overloaded","hint":"Try again in a few seconds."}"#;

/// Binds every address: the first must succeed, the others are tried.
pub(super) async fn bind(listen: &Listen) -> Result<Vec<TcpListener>, ServeError> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for mut address in listen.addresses() {
        if let Some(first) = listeners.first().and_then(|l| l.local_addr().ok()) {
            address.set_port(first.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(error) if listeners.is_empty() => return Err(refused(address, &error)),
            Err(error) => {
                tracing::debug!(%address, %error, "the second loopback address is not served");
            }
        }
    }
    Ok(listeners)
}

fn refused(address: SocketAddr, error: &io::Error) -> ServeError {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there; stop it, or choose another with --listen"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need privileges; choose another with --listen"
        }
        _ => "choose another with --listen",
    };
    ServeError::Failed(format!("failed to listen on {address}: {error}; {hint}"))
}

/// The command line's socket: whoever may open it is the operator.
#[cfg(unix)]
pub(super) type LocalSocket = tokio::net::UnixListener;

/// There is none yet on this platform.
#[cfg(not(unix))]
pub(super) type LocalSocket = TcpListener;

/// Opens the socket in the data folder. We hold the folder's lock, so a socket that is there belongs to a daemon that is gone.
#[cfg(unix)]
pub(super) fn bind_locally(data_dir: &Path) -> Result<Option<LocalSocket>, ServeError> {
    use std::os::unix::fs::PermissionsExt;

    let path = data_dir.join(crate::daemon_client::SOCKET);
    let cannot = |error: io::Error| {
        let hint = "a shorter path may help: give --data-dir";
        ServeError::Failed(format!(
            "failed to open the socket {}: {error}; {hint}",
            path.display()
        ))
    };
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(cannot(error));
    }
    let socket = tokio::net::UnixListener::bind(&path).map_err(cannot)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(cannot)?;
    Ok(Some(socket))
}

/// Opens nothing.
#[cfg(not(unix))]
pub(super) fn bind_locally(_: &Path) -> Result<Option<LocalSocket>, ServeError> {
    tracing::warn!("the command line cannot speak to the daemon on this platform yet");
    Ok(None)
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

#[cfg(unix)]
impl Accept for tokio::net::UnixListener {
    type Io = tokio::net::UnixStream;

    /// Passes over whom the socket's mode should have kept out: between its making and its closing to others lies a moment.
    async fn accept(&self) -> io::Result<(Self::Io, Peer)> {
        loop {
            let (stream, _) = tokio::net::UnixListener::accept(self).await?;
            let user = stream.peer_cred()?.uid();
            if user == rustix::process::geteuid().as_raw() || user == 0 {
                return Ok((stream, Peer::LocalSocket));
            }
            tracing::warn!(user, "another user tried the local socket");
        }
    }
}

/// What the connections of one kind of clients have in common.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) entrance: Arc<Entrance>,
    pub(super) connections: ClientConnections,
    pub(super) memory: MemoryBudget,
    pub(super) closing: CancellationToken,
}

/// Serves until `closing`, then lets the connections finish what they are at. Each connection is a task of its own: a panic in one
/// ends that one.
pub(super) async fn serve(listener: impl Accept, served: Served, drained: Duration) {
    let tasks = TaskTracker::new();
    let refused = LogLimit::default();
    let refusals = Arc::new(Semaphore::new(TURNED_AWAY));
    loop {
        let accepted = tokio::select! {
            () = served.closing.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (io, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                note_refused(&refused, &error);
                served.connections.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Some(connection) = served.connections.enter() {
            tasks.spawn(converse(io, peer, served.clone(), connection));
            continue;
        }
        note_refused(&refused, &"every connection has a call in flight");
        if let Ok(place) = refusals.clone().try_acquire_owned() {
            tasks.spawn(turn_away(io, place));
        }
    }
    drop(listener);
    tasks.close();
    if timeout(drained, tasks.wait()).await.is_err() {
        tracing::warn!("requests were still running after the grace and were cut off");
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
        entrance,
        memory,
        closing,
        ..
    } = served;
    // Programs on the local socket are the operator's own, and may be stopped for a while.
    let watched = matches!(peer, Peer::Network(_)).then(|| memory.clone());
    let io = ClientIo::new(io, watched);
    let service = service_fn(|request: http::Request<Incoming>| {
        let (entrance, memory) = (entrance.clone(), memory.clone());
        let busy = connection.begin(request.method());
        let id = connection.id();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(id);
            let mut response = entrance.answer(peer, request).await;
            response.headers_mut().insert(KEEP_ALIVE, KEPT);
            Ok::<_, Infallible>(response.map(|body| ResponseBody::new(body, memory, busy)))
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = connection.over().cancelled() => {
            tracing::debug!("a connection gave way to another: too many are open");
            return;
        }
        () = either(&closing, connection.last_answer()) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a client's connection ended early");
    }
}

async fn either(one: &CancellationToken, other: &CancellationToken) {
    tokio::select! {
        () = one.cancelled() => (),
        () = other.cancelled() => (),
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
    let told = async {
        if io.read(&mut [0; 1024]).await? == 0 {
            return Ok(0);
        }
        io.write_all(answer.as_bytes()).await?;
        io.shutdown().await?;
        tokio::io::copy(&mut io, &mut tokio::io::sink()).await
    };
    if let Ok(Err(error)) = timeout(TURNING_AWAY, told).await {
        tracing::debug!(%error, "a client that was turned away did not listen");
    }
    drop(place);
}

fn note_refused(refused: &LogLimit, why: &dyn std::fmt::Display) {
    if let Some(connections) = refused.due() {
        tracing::warn!(%why, connections, "connections could not be accepted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_how_long_a_connection_is_kept() {
        let kept = format!("timeout={}", HEAD_DEADLINE.as_secs());
        assert_eq!(KEPT.as_bytes(), kept.as_bytes());
    }
}
