//! The way in for bridges on the local socket: an HTTP upgrade on an MCP endpoint, after which the connection carries lines both
//! ways. So endpoints and identities are those of every other request.

use std::time::Duration;

use axum::{extract::Request, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{Inbound, answer, stdio::GRACE};
use crate::{access::Caller, router::View};

/// How long a client that has closed its input is given for its last answers. Requests end sooner by themselves.
const LAST_ANSWERS: Duration = Duration::from_mins(30);

/// What the connection is turned into.
pub const LINES: &str = "mcp-stdio";

/// Stands in requests that came over the local socket.
#[derive(Debug, Clone, Copy)]
pub struct Local;

/// Whether a request wants its connection for lines. Only bridges may: they stand on this machine, before one client each.
pub(super) fn wants_lines(request: &Request) -> bool {
    request.extensions().get::<Local>().is_some()
        && *request.method() == Method::GET
        && request.headers().get(header::UPGRADE) == Some(&HeaderValue::from_static(LINES))
}

impl Inbound {
    /// Takes the connection over and serves the client behind it.
    pub(super) fn attach(&self, caller: Caller, view: View, mut request: Request) -> Response {
        let connection = hyper::upgrade::on(&mut request);
        let inbound = self.clone();
        if self.0.tasks.is_closed() {
            return answer::empty(StatusCode::SERVICE_UNAVAILABLE);
        }
        let present = self.presence().enter();
        self.0.tasks.spawn(async move {
            match connection.await {
                Ok(connection) => inbound.serve_bridge(view, caller, connection).await,
                Err(error) => {
                    tracing::debug!(%error, "a bridge disconnected before it was attached");
                }
            }
            drop(present);
        });
        let mut response = answer::empty(StatusCode::SWITCHING_PROTOCOLS);
        response.headers_mut().extend(switching());
        response
    }

    /// Serves the client behind a bridge until it leaves, or its token does not count any more.
    async fn serve_bridge(self, view: View, caller: Caller, connection: Upgraded) {
        let (input, output) = tokio::io::split(TokioIo::new(connection));
        let (access, who) = (self.0.access.clone(), caller.clone());
        tokio::select! {
            // A bridge waits for the answers itself: when its own input ends, it is gone.
            () = self.attend(view, caller, input, output, async { sleep(GRACE).await }) => (),
            () = access.withdrawn(&who) => {
                tracing::info!(caller = who.subject(), "client disconnected: its token was revoked");
            }
        }
    }

    /// Serves the client at the other end of these streams, until it leaves. `output_closed` returns when it reads no more.
    pub fn host(
        &self,
        view: View,
        caller: Caller,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
        output_closed: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let gone = async { drop(timeout(LAST_ANSWERS, output_closed).await) };
        let attending = self.clone().attend(view, caller, input, output, gone);
        self.0.tasks.spawn(attending)
    }

    /// Returns when no client is attached any more and no stream is written. No client can attach from the call on.
    pub async fn all_left(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

fn switching() -> HeaderMap {
    let version = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    HeaderMap::from_iter([
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static(LINES)),
        (header::SERVER, HeaderValue::from_static(version)),
    ])
}
