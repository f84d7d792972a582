//! Opens a connection with a handshake and looks after every one. Those with a handshake have an rmcp client on their control
//! lane, and this is the only door to rmcp; those without need none.
//!
//! rmcp sees frames of its own requests only. Lists are read on the raw lane, because its typed model would lose what it does not
//! know; the raw answer of `initialize` is kept for the same reason.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::{
    Peer, RoleClient, ServiceExt,
    model::{
        ClientCapabilities, ClientConfig, ClientRequest, Implementation, PingRequest,
        ProtocolVersion,
    },
    service::{
        ClientInitializeError, PeerRequestOptions, RunningService, RxJsonRpcMessage, ServiceError,
        TxJsonRpcMessage,
    },
    transport::{DynamicTransportError, Transport},
};

use super::{era::Description, own_requests};
use crate::{
    link::{ControlLane, ControlSender, Link, LinkError},
    process::Exit,
    wire::{
        Edit, Message, Outcome, Raw, Response, Revision, RpcError, instance::IS_OURSELVES, method,
        request_frame, splice,
    },
};

/// Looks after a connection that is open.
pub(in crate::upstream) enum Control {
    /// It was opened with a handshake.
    Session(RunningService<RoleClient, ClientConfig>),
    /// Its requests are stateless.
    Stateless {
        /// Carries the requests for a sign of life.
        link: Link,
        /// What is spoken.
        revision: Revision,
        /// Where a goodbye goes.
        lane: ControlSender,
    },
}

/// What came of asking for a sign of life.
#[derive(Debug)]
pub(in crate::upstream) enum Ping {
    /// It answered.
    Answered,
    /// It did not in time.
    Unanswered(String),
    /// No request reaches it any more, or it is not what it was.
    Failed(String),
}

/// What opening a connection brought.
pub(in crate::upstream) struct Opened {
    /// Looks after the connection from here on.
    pub(in crate::upstream) control: Control,
    /// The result of `initialize` or `server/discover`, as it came.
    pub(in crate::upstream) initialize: Raw,
    /// The revision that is spoken.
    pub(in crate::upstream) revision: Revision,
}

impl Opened {
    /// A server without a handshake needs its description alone.
    pub(in crate::upstream) fn without_handshake(
        link: Link,
        lane: ControlSender,
        description: Description,
    ) -> Self {
        let revision = description.revision;
        Self {
            control: Control::Stateless {
                link,
                revision,
                lane,
            },
            initialize: description.text,
            revision,
        }
    }
}

/// Why there is no connection. The text is for the operator; [`OpenError::outside`] is for clients.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::upstream) enum OpenError {
    /// The transport failed.
    #[error("{0}")]
    Link(LinkError),
    /// The connection ended.
    #[error("the connection ended before initialize was answered")]
    Ended,
    /// The program ended.
    #[error("the server ended before it answered: {0}")]
    Exited(Exit),
    /// The server answered `initialize` with an error.
    #[error("the server refused initialize: {message} ({code})")]
    Refused {
        /// The error's code.
        code: i32,
        /// The error's message, in the server's words.
        message: String,
    },
    /// The server answered with something else.
    #[error("{0}")]
    Unusable(String),
}

impl OpenError {
    /// Whether the connection is over.
    pub(in crate::upstream) fn is_an_end(&self) -> bool {
        matches!(
            self,
            Self::Ended
                | Self::Exited(_)
                | Self::Link(LinkError::NotDelivered(_) | LinkError::Lost(_))
        )
    }

    /// Whether the server answered that it wants no handshake, perhaps.
    pub(in crate::upstream) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Unusable(_))
    }

    /// How long the server asks to wait before the next attempt.
    pub(in crate::upstream) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Link(error) => error.retry_after(),
            _ => None,
        }
    }

    /// What a client may read: nothing in the server's own words, which may name paths or say more than is good.
    pub(in crate::upstream) fn outside(&self) -> String {
        match self {
            Self::Link(error) => error.outside(),
            Self::Ended | Self::Exited(_) => self.to_string(),
            Self::Refused { code, .. } => format!("it refused initialize with the error {code}"),
            Self::Unusable(_) => "its answer to initialize is unusable".to_owned(),
        }
    }
}

/// The client capabilities declared to a server with a handshake.
#[derive(Debug, Clone)]
pub(in crate::upstream) enum Declared {
    /// Those of any client. A client without one of them has the question refused for it.
    Bridged {
        /// Whether there are roots to name.
        roots: bool,
    },
    /// What one client declares, in its own words.
    Exactly(Raw),
}

/// Does the handshake. Has no deadline of its own.
pub(in crate::upstream) async fn open(
    lane: ControlLane,
    declared: &Declared,
) -> Result<Opened, OpenError> {
    let initialize = Arc::new(OnceLock::new());
    let transport = Lane {
        outgoing: lane.outgoing,
        incoming: lane.incoming,
        initialize: initialize.clone(),
        declared: match declared {
            Declared::Bridged { .. } => None,
            Declared::Exactly(capabilities) => Some(capabilities.clone()),
        },
    };
    // Boxed, because it is large.
    let service = Box::pin(ourselves(declared).serve(transport))
        .await
        .map_err(|error| reason(&error))?;
    let revision = service
        .peer_info()
        .and_then(|server| Revision::parse(server.protocol_version.as_str()))
        .unwrap_or(Revision::NEWEST_LEGACY);
    let initialize = initialize
        .get()
        .cloned()
        .ok_or_else(|| OpenError::Unusable("the server did not answer initialize".to_owned()))?;
    Ok(Opened {
        control: Control::Session(service),
        initialize,
        revision,
    })
}

/// How we present ourselves to a legacy server.
fn ourselves(declared: &Declared) -> ClientConfig {
    let roots = matches!(declared, Declared::Bridged { roots: true });
    let mut capabilities = ClientCapabilities::default();
    capabilities.sampling = Some(rmcp::model::SamplingCapability::default());
    capabilities.elicitation = Some(
        rmcp::model::ElicitationCapability::new()
            .with_form(rmcp::model::FormElicitationCapability::new())
            .with_url(rmcp::model::UrlElicitationCapability::new()),
    );
    if roots {
        capabilities.roots = Some(rmcp::model::RootsCapabilities::default());
    }
    let mut me = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    me.title = Some("mcpproxy".to_owned());
    ClientConfig::new(capabilities, me)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

impl Control {
    /// Whether its sign of life is a ping.
    pub(in crate::upstream) fn is_pinged(&self) -> bool {
        matches!(self, Self::Session(_))
    }

    /// Asks for a sign of life.
    pub(in crate::upstream) fn ping(&self, deadline: Duration) -> BoxFuture<'static, Ping> {
        match self {
            Self::Session(service) => ping(service.peer().clone(), deadline).boxed(),
            Self::Stateless { link, revision, .. } => {
                let (link, revision) = (link.clone(), *revision);
                async move {
                    let answer = tokio::time::timeout(deadline, describe(&link, revision));
                    let unanswered = "no answer to server/discover".to_owned();
                    answer.await.unwrap_or(Ping::Unanswered(unanswered))
                }
                .boxed()
            }
        }
    }

    /// Says goodbye and ends the lane.
    pub(in crate::upstream) async fn close(self) {
        match self {
            Self::Session(mut service) => {
                // A timeout is logged by rmcp; the process or the socket ends right after in any case.
                let _ = service.close_with_timeout(crate::link::GOODBYE).await;
            }
            Self::Stateless { lane, .. } => lane.close().await,
        }
    }
}

/// A server that answers with an error is alive.
async fn ping(peer: Peer<RoleClient>, deadline: Duration) -> Ping {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    let options = PeerRequestOptions::with_timeout(deadline);
    let answer = match peer.send_request_with_option(ping, options).await {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(_) | Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => Ping::Answered,
        Err(ServiceError::Timeout { .. }) => Ping::Unanswered("no answer to a ping".to_owned()),
        Err(ServiceError::TransportSend(error)) => {
            Ping::Failed(format!("a ping failed: {}", of_link(&error)))
        }
        Err(error) => Ping::Failed(format!("a ping failed: {error}")),
    }
}

/// A server that answers in another way than it did has been replaced by one of another era: it is to be met anew.
async fn describe(link: &Link, revision: Revision) -> Ping {
    match own_requests::ask(link, method::DISCOVER, &own_requests::params(revision, &[])).await {
        Ok(Outcome::Result(_)) => Ping::Answered,
        Ok(Outcome::Error(error)) => {
            let code = error.get("code").and_then(|code| code.read::<i64>().ok());
            if code == Some(RpcError::INTERNAL) {
                return Ping::Answered;
            }
            Ping::Failed("it does not speak the revision any more that it spoke".to_owned())
        }
        Err(error) => Ping::Failed(format!("server/discover failed: {error}")),
    }
}

/// The link's own error; rmcp would show it with the name of our type before it.
fn of_link(error: &DynamicTransportError) -> LinkError {
    let link = error.error.downcast_ref::<LinkError>();
    link.cloned()
        .unwrap_or_else(|| LinkError::Lost(error.error.to_string()))
}

fn reason(error: &ClientInitializeError) -> OpenError {
    match error {
        ClientInitializeError::JsonRpcError(error) if error.message == IS_OURSELVES => {
            OpenError::Link(LinkError::Ourselves)
        }
        ClientInitializeError::JsonRpcError(error) => OpenError::Refused {
            code: error.code.0,
            message: error.message.to_string(),
        },
        ClientInitializeError::TransportError { error, .. } => OpenError::Link(of_link(error)),
        ClientInitializeError::ConnectionClosed(_) => OpenError::Ended,
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => OpenError::Unusable(format!(
            "no common protocol version; the server speaks {server_supported:?}"
        )),
        _ => OpenError::Unusable(
            "the server's answer to initialize is not an initialize result".to_owned(),
        ),
    }
}

/// An `initialize` with these capabilities.
fn declaring(frame: &Bytes, capabilities: &Raw) -> Bytes {
    let Ok(Message::Request(request)) = Message::parse(frame) else {
        return frame.clone();
    };
    let empty = Raw::empty_object();
    let params = request.params.as_ref().unwrap_or(&empty);
    let edits = [("capabilities", Edit::Set(capabilities.clone()))];
    match splice(params, &edits) {
        Ok(params) => request_frame(&request.id, &request.method, Some(&params)),
        Err(_) => frame.clone(),
    }
}

/// The link as rmcp sees it.
struct Lane {
    outgoing: ControlSender,
    incoming: tokio::sync::mpsc::Receiver<Bytes>,
    /// The first answer of the connection, which is that of `initialize`.
    initialize: Arc<OnceLock<Raw>>,
    /// The capabilities that `initialize` names, where they are not ours: rmcp knows only some of what may stand there.
    declared: Option<Raw>,
}

impl Transport<RoleClient> for Lane {
    type Error = LinkError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        // The first message is `initialize`.
        let declared = self.declared.take();
        async move {
            let frame =
                serde_json::to_vec(&message).map_err(|e| LinkError::NotDelivered(e.to_string()))?;
            let frame = match declared {
                Some(capabilities) => declaring(&frame.into(), &capabilities),
                None => frame.into(),
            };
            outgoing.send(frame).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let frame = self.incoming.recv().await?;
            if self.initialize.get().is_none()
                && let Ok(Message::Response(Response {
                    outcome: Outcome::Result(result),
                    ..
                })) = Message::parse(&frame)
            {
                // Set once; the loser of a race would be the same frame.
                let _ = self.initialize.set(result.detached());
            }
            match serde_json::from_slice(&frame) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "rmcp cannot read a control answer"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.outgoing.close().await;
        Ok(())
    }
}
