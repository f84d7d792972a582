//! Speaks REST to the daemon over its local socket. Knows connections, deadlines and the shape of errors; what the answers
//! mean is the commands' business.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{output, platform};
use crate::error_code::ErrorCode;

/// The socket's name in the data folder.
pub(super) const SOCKET: &str = "mcpproxy.sock";

/// How long connecting and the first, small answer may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Limit: an upstream's result may be large, but a command line that eats all memory helps nobody.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;

/// How long an answer may take.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// The daemon answers out of what it knows.
    Short,
    /// The answer waits for an upstream.
    Long,
}

impl Patience {
    fn duration(self) -> Duration {
        match self {
            Self::Short => Duration::from_secs(30),
            Self::Long => Duration::from_mins(10),
        }
    }
}

/// Why the daemon did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum DaemonError {
    /// Nobody listens. Some commands can go on without.
    #[error("the daemon is not running: nothing answers on {}", .0.display())]
    NotRunning(PathBuf),
    #[error("failed to reach the daemon on {}: {reason}", socket.display())]
    Unreachable { socket: PathBuf, reason: String },
    #[error("{0}")]
    Refused(Refusal),
    #[error("the daemon did not answer {request} within {} seconds", patience.duration().as_secs())]
    TimedOut { request: String, patience: Patience },
    #[error("lost the connection to the daemon during {request}: {reason}")]
    Lost { request: String, reason: String },
    #[error("the daemon's answer to {request} is not understood: {reason}")]
    BadAnswer { request: String, reason: String },
}

/// The daemon's own words for a failure.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(super) struct Refusal {
    error: String,
    /// Nothing when the daemon used a code that this version does not know.
    pub(super) code: Option<ErrorCode>,
    pub(super) hint: Option<String>,
}

#[derive(Deserialize)]
struct RefusalBody {
    error: String,
    code: Option<String>,
    hint: Option<String>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// A connection to the running daemon.
pub(super) struct Daemon {
    sender: http1::SendRequest<Full<Bytes>>,
    _connection: AbortOnDropHandle<()>,
    /// The body of `GET /api/v1/status`, which is the first thing asked.
    status: Bytes,
}

impl Daemon {
    /// Connects to the daemon of a data folder, and says so when it is of another version.
    pub(super) async fn connect(data_dir: &Path) -> Result<Self, DaemonError> {
        let socket = data_dir.join(SOCKET);
        let daemon = timeout(CONNECT, Self::greet(&socket)).await.map_err(|_| {
            let reason = format!("no answer within {} seconds", CONNECT.as_secs());
            DaemonError::Unreachable {
                socket: socket.clone(),
                reason,
            }
        })??;
        let ours = env!("CARGO_PKG_VERSION");
        match serde_json::from_slice::<Version>(&daemon.status) {
            Ok(theirs) if theirs.version == ours => {}
            Ok(theirs) => output::note(&format!(
                "this is mcpproxy {ours}, the daemon runs {}; restart the daemon so that both are the same",
                theirs.version
            )),
            Err(error) => {
                return Err(DaemonError::BadAnswer {
                    request: "GET /api/v1/status".to_owned(),
                    reason: error.to_string(),
                });
            }
        }
        Ok(daemon)
    }

    /// [`Daemon::connect`] for commands that can also do without: nothing when no daemon runs.
    pub(super) async fn running(data_dir: &Path) -> Result<Option<Self>, DaemonError> {
        match Self::connect(data_dir).await {
            Ok(daemon) => Ok(Some(daemon)),
            Err(DaemonError::NotRunning(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn greet(socket: &Path) -> Result<Self, DaemonError> {
        let unreachable = |reason: String| DaemonError::Unreachable {
            socket: socket.to_owned(),
            reason,
        };
        let stream = platform::open_socket(socket)
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    DaemonError::NotRunning(socket.to_owned())
                }
                _ => unreachable(error.to_string()),
            })?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        // Errors of the connection show in the request that is under way.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut daemon = Self {
            sender,
            _connection: AbortOnDropHandle::new(connection),
            status: Bytes::new(),
        };
        daemon.status = daemon
            .get("/api/v1/status")
            .await
            .map_err(|error| match error {
                DaemonError::Lost { reason, .. } => unreachable(reason),
                other => other,
            })?;
        Ok(daemon)
    }

    /// What the daemon said of itself when we connected.
    pub(super) fn status(&self) -> &Bytes {
        &self.status
    }

    /// The body of `GET path`.
    pub(super) async fn get(&mut self, path: &str) -> Result<Bytes, DaemonError> {
        self.send(Method::GET, path, Bytes::new(), Patience::Short)
            .await
    }

    /// The body of the answer to a request whose own body is JSON, or empty.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
        patience: Patience,
    ) -> Result<Bytes, DaemonError> {
        let name = format!("{method} {path}");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::HOST, "mcpproxy")
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, "application/json")
            .body(Full::new(body.into()))
            .map_err(|error| DaemonError::BadAnswer {
                request: name.clone(),
                reason: error.to_string(),
            })?;
        match timeout(patience.duration(), self.exchange(request)).await {
            Err(_) => Err(DaemonError::TimedOut {
                request: name,
                patience,
            }),
            Ok(Err(reason)) => Err(DaemonError::Lost {
                request: name,
                reason,
            }),
            Ok(Ok((status, body))) if status.is_success() => Ok(body),
            Ok(Ok((status, body))) => Err(DaemonError::Refused(refusal(status, &body))),
        }
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), String> {
        self.sender
            .ready()
            .await
            .map_err(|error| error.to_string())?;
        let answer = self
            .sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER)
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        Ok((status, body.to_bytes()))
    }
}

/// Reads the body of an answer that says no.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> Refusal {
    match serde_json::from_slice::<RefusalBody>(body) {
        Ok(RefusalBody { error, code, hint }) => Refusal {
            error,
            code: code.as_deref().and_then(ErrorCode::parse),
            hint,
        },
        Err(_) => Refusal {
            error: format!("the daemon answered with HTTP status {status}"),
            code: None,
            hint: None,
        },
    }
}

/// Reads an answer.
pub(super) fn read<'a, T: Deserialize<'a>>(
    request: &str,
    body: &'a [u8],
) -> Result<T, DaemonError> {
    serde_json::from_slice(body).map_err(|error| DaemonError::BadAnswer {
        request: request.to_owned(),
        reason: error.to_string(),
    })
}

/// Percent-encodes what becomes one part of a path, or one value of a query.
pub(super) fn encoded(part: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn path_parts_are_percent_encoded() {
        assert_eq!(encoded("my-server_1.2~"), "my-server_1.2~");
        assert_eq!(encoded("a:b/c d?é"), "a%3Ab%2Fc%20d%3F%C3%A9");
    }
}
