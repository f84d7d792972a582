//! The daemon's door for bridges: one connection to the local socket, taken over for lines after a single HTTP exchange.

use std::{io, path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    body::Incoming,
    client::conn::http1,
    upgrade::{self, Upgraded},
};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    cli::{daemon_client, output, platform},
    inbound::LINES,
    secret::Secret,
};

/// How long a daemon may take to let us in: it answers out of what it knows.
const PATIENCE: Duration = Duration::from_secs(5);

/// Limit: the body of a refusal.
const LARGEST_REFUSAL: usize = 64 << 10;

/// Where the daemon is, and who we are.
pub(in crate::cli) struct Door {
    /// The local socket.
    pub(in crate::cli) socket: PathBuf,
    /// The MCP endpoint, as in `/mcp/all`.
    pub(in crate::cli) endpoint: String,
    /// What shows the daemon who the client is.
    pub(in crate::cli) token: Option<Secret>,
}

/// Lines both ways.
pub(super) type Connection = TokioIo<Upgraded>;

/// Why we are not in.
#[derive(Debug, thiserror::Error)]
pub(super) enum DoorError {
    /// No daemon, or one that is just ending.
    #[error("no daemon answers on {}", .0.display())]
    NobodyThere(PathBuf),
    #[error("the daemon on {} did not answer within {} seconds", .0.display(), PATIENCE.as_secs())]
    Silent(PathBuf),
    #[error("{0}")]
    Refused(String),
    #[error("the daemon on {} cannot be reached: {reason}", socket.display())]
    Unreachable { socket: PathBuf, reason: String },
}

impl Door {
    /// Goes in.
    pub(super) async fn open(&self) -> Result<Connection, DoorError> {
        match timeout(PATIENCE, self.knock()).await {
            Ok(opened) => opened,
            Err(_) => Err(DoorError::Silent(self.socket.clone())),
        }
    }

    async fn knock(&self) -> Result<Connection, DoorError> {
        let stream =
            platform::open_socket(&self.socket)
                .await
                .map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => self.nobody(),
                    _ => self.unreachable(&error),
                })?;
        // What breaks off before an answer belongs to a daemon that ends.
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|_| self.nobody())?;
        let connection = connection.with_upgrades();
        let _carried = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        let answer = sender
            .send_request(self.request()?)
            .await
            .map_err(|_| self.nobody())?;
        match answer.status() {
            StatusCode::SWITCHING_PROTOCOLS => note_version(answer.headers()),
            StatusCode::SERVICE_UNAVAILABLE => return Err(self.nobody()),
            _ => return Err(self.refused(answer).await),
        }
        let upgraded = upgrade::on(answer).await.map_err(|_| self.nobody())?;
        Ok(TokioIo::new(upgraded))
    }

    fn request(&self) -> Result<Request<Empty<Bytes>>, DoorError> {
        let mut request = Request::get(&self.endpoint)
            .header(header::HOST, "mcpproxy")
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, LINES);
        if let Some(token) = &self.token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            let mut value = value.map_err(|error| self.unreachable(&error))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        request
            .body(Empty::new())
            .map_err(|error| self.unreachable(&error))
    }

    async fn refused(&self, answer: http::Response<Incoming>) -> DoorError {
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST_REFUSAL).collect();
        let body = body.await.map(http_body_util::Collected::to_bytes);
        let refusal = daemon_client::refusal(status, &body.unwrap_or_default());
        let why = match (status, refusal.code) {
            (StatusCode::NOT_FOUND, None) => {
                "it has no such endpoint, or is of another version and has to be restarted"
                    .to_owned()
            }
            _ => refusal.to_string(),
        };
        DoorError::Refused(format!(
            "the daemon does not serve {}: {why}",
            self.endpoint
        ))
    }

    fn nobody(&self) -> DoorError {
        DoorError::NobodyThere(self.socket.clone())
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> DoorError {
        DoorError::Unreachable {
            socket: self.socket.clone(),
            reason: error.to_string(),
        }
    }
}

fn note_version(headers: &HeaderMap) {
    let theirs = headers.get(header::SERVER).and_then(|v| v.to_str().ok());
    let theirs = theirs.and_then(|server| server.strip_prefix("mcpproxy/"));
    let ours = env!("CARGO_PKG_VERSION");
    if let Some(theirs) = theirs.filter(|theirs| *theirs != ours) {
        output::note(&format!(
            "this is mcpproxy {ours}, the daemon runs {theirs}; restart the daemon so that both are the same"
        ));
    }
}
