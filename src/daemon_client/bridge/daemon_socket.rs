//! Opens a connection to the daemon's local socket and turns it into a line stream (HTTP upgrade).

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
    daemon_client::{self, DaemonError, not_opened, open_socket},
    failure::ErrorCode,
    inbound::LINES,
    management,
    text::secret::Secret,
    wire::instance::{INSTANCE, IS_OURSELVES},
};

/// How long the upgrade may take: the daemon answers out of what it knows.
const UPGRADE_WITHIN: Duration = Duration::from_secs(5);

/// Limit: the body of a refusal.
const LARGEST_REFUSAL: usize = 64 << 10;

/// Where the daemon is, and who we are.
pub struct DaemonSocket {
    /// The local socket.
    pub path: PathBuf,
    /// The MCP endpoint, as in `/mcp/all`.
    pub endpoint: String,
    /// What shows the daemon who the client is.
    pub token: Option<Secret>,
    /// The mark of the server that we are, or are a part of: its daemon knows it, and lets nobody in to itself.
    pub mark: Option<HeaderValue>,
}

/// Lines both ways.
pub(super) type DaemonConnection = TokioIo<Upgraded>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum DaemonSocketError {
    /// No daemon, or one that is just ending.
    #[error("no daemon answers on {}", .0.display())]
    NotRunning(PathBuf),
    #[error("the daemon on {} did not answer within {} s", .0.display(), UPGRADE_WITHIN.as_secs())]
    TimedOut(PathBuf),
    /// It has started us.
    #[error("{IS_OURSELVES}")]
    Ourselves,
    #[error("{why}")]
    Refused {
        why: String,
        /// The kind, where the daemon says one that this version knows.
        code: Option<ErrorCode>,
        /// The daemon's own next step.
        hint: Option<String>,
    },
    #[error("the daemon on {} cannot be reached: {reason}", socket.display())]
    Unreachable { socket: PathBuf, reason: String },
    #[error("{0}")]
    NotOpened(DaemonError),
}

impl DaemonSocketError {
    /// Its code for the client.
    pub(super) fn code(&self) -> ErrorCode {
        match self {
            Self::Ourselves => ErrorCode::ServerMisconfigured,
            Self::Refused { code, .. } => code.unwrap_or(ErrorCode::Internal),
            _ => ErrorCode::Internal,
        }
    }

    /// What to do about it, in a terminal.
    pub(super) fn step(&self) -> String {
        let step = match self {
            Self::Refused { code, hint, .. } => match (code, hint) {
                (Some(ErrorCode::Unauthorized), _) => {
                    "`mcpproxy token add NAME`, then give its token with --token or $MCPPROXY_TOKEN"
                }
                (Some(ErrorCode::UnknownServer), _) => {
                    "`mcpproxy upstream list` shows the servers, `mcpproxy token list` what a token may use"
                }
                (Some(ErrorCode::UnknownProfile), _) => {
                    "correct --endpoint, or add the profile: `mcpproxy config edit`"
                }
                (Some(ErrorCode::UnknownPath | ErrorCode::InvalidArguments), _) => {
                    "give --endpoint a path such as /mcp, /mcp/all, /mcp/server/NAME or /mcp/p/NAME"
                }
                (_, Some(hint)) => hint.as_str(),
                (_, None) => "`mcpproxy doctor`",
            },
            Self::NotOpened(_) => {
                "run this as the owner of the data folder, or name a folder of your own with --data-dir"
            }
            _ => "`mcpproxy doctor`",
        };
        step.to_owned()
    }
}

impl DaemonSocket {
    /// Connects. A daemon of another version comes with what to tell a person about it.
    pub(super) async fn connect(
        &self,
    ) -> Result<(DaemonConnection, Option<String>), DaemonSocketError> {
        match timeout(UPGRADE_WITHIN, self.upgrade()).await {
            Ok(opened) => opened,
            Err(_) => Err(DaemonSocketError::TimedOut(self.path.clone())),
        }
    }

    async fn upgrade(&self) -> Result<(DaemonConnection, Option<String>), DaemonSocketError> {
        let stream = open_socket(&self.path)
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => self.not_running(),
                _ => DaemonSocketError::NotOpened(not_opened(&self.path, &error)),
            })?;
        // What breaks off before an answer belongs to a daemon that ends.
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|_| self.not_running())?;
        let connection = connection.with_upgrades();
        let _carried = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        let answer = sender
            .send_request(self.request()?)
            .await
            .map_err(|_| self.not_running())?;
        match answer.status() {
            StatusCode::SWITCHING_PROTOCOLS => (),
            StatusCode::LOOP_DETECTED => return Err(DaemonSocketError::Ourselves),
            _ => return Err(self.refused(answer).await),
        }
        let version_note = version_of(answer.headers()).and_then(management::version_note);
        let upgraded = upgrade::on(answer).await.map_err(|_| self.not_running())?;
        Ok((TokioIo::new(upgraded), version_note))
    }

    fn request(&self) -> Result<Request<Empty<Bytes>>, DaemonSocketError> {
        let mut request = Request::get(&self.endpoint)
            .header(header::HOST, "mcpproxy")
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, LINES);
        if let Some(mark) = &self.mark {
            request = request.header(INSTANCE, mark);
        }
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

    async fn refused(&self, answer: http::Response<Incoming>) -> DaemonSocketError {
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST_REFUSAL).collect();
        let body = body.await.map(http_body_util::Collected::to_bytes);
        let body = body.unwrap_or_default();
        // One that ends says nothing more; one that has no room says so.
        if status == StatusCode::SERVICE_UNAVAILABLE && body.is_empty() {
            return self.not_running();
        }
        let refusal = daemon_client::refusal(status, &body);
        let is_elsewhere = match refusal.code {
            Some(code) => matches!(code, ErrorCode::UnknownPath | ErrorCode::MethodNotAllowed),
            None => {
                status.is_success() || status.is_redirection() || status == StatusCode::NOT_FOUND
            }
        };
        let (why, code) = if is_elsewhere {
            let why = format!("there is no endpoint {}", self.endpoint);
            (why, Some(ErrorCode::UnknownPath))
        } else {
            (refusal.to_string(), refusal.code)
        };
        let hint = refusal.hint;
        DaemonSocketError::Refused { why, code, hint }
    }

    fn not_running(&self) -> DaemonSocketError {
        DaemonSocketError::NotRunning(self.path.clone())
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> DaemonSocketError {
        DaemonSocketError::Unreachable {
            socket: self.path.clone(),
            reason: error.to_string(),
        }
    }
}

fn version_of(headers: &HeaderMap) -> Option<&str> {
    let server = headers.get(header::SERVER)?.to_str().ok()?;
    server.strip_prefix("mcpproxy/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_is_that_of_the_refusal() {
        let check = |code, hint: Option<&str>, expected: &str| {
            let refused = DaemonSocketError::Refused {
                why: String::new(),
                code,
                hint: hint.map(str::to_owned),
            };
            assert!(refused.step().starts_with(expected), "{}", refused.step());
        };
        check(
            Some(ErrorCode::UnknownProfile),
            Some("x"),
            "correct --endpoint",
        );
        check(Some(ErrorCode::Unauthorized), Some("x"), "`mcpproxy token");
        let of_token = "`mcpproxy upstream list` shows the servers, `mcpproxy token list`";
        check(Some(ErrorCode::UnknownServer), Some("x"), of_token);
        check(Some(ErrorCode::AccessDenied), Some("Wait."), "Wait.");
        check(None, None, "`mcpproxy doctor`");
    }
}
