//! What the supervisor is asked, and why it may refuse.

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::instance_scope::{InstanceKey, InstanceScope, SessionKey};
use crate::{
    error_code::{ErrorCode, Failure},
    names::ServerName,
    upstream::calls::handle::Upstream,
};

/// What the supervisor is asked.
pub(in crate::upstream) enum Order {
    /// Requests of this session go to the instance of this scope from now on.
    Enter {
        server: ServerName,
        session_key: SessionKey,
        /// The session's end.
        ended: Option<CancellationToken>,
        scope: InstanceScope,
        entered: oneshot::Sender<Result<Upstream, NotEntered>>,
    },
    /// The instance of this scope, which is no session's: it runs as long as its server does, or until it is given back.
    Start {
        /// The server as whoever asks knows it: of another one there is nothing to be had.
        base: Upstream,
        scope: InstanceScope,
        started: oneshot::Sender<Result<StartedInstance, NotEntered>>,
    },
    /// Nobody uses this instance any more.
    GiveBack(ServerName, InstanceKey),
    /// The session's roots are others now: its next requests will name the workspace that they go to.
    Move(SessionKey, oneshot::Sender<()>),
}

/// An instance that belongs to no session.
pub(in crate::upstream) struct StartedInstance {
    pub(in crate::upstream) upstream: Upstream,
    /// Stops it when it is dropped, where it is for whoever asked alone.
    pub(in crate::upstream) _stop: Option<DropGuard>,
}

/// Why there is no instance.
pub(in crate::upstream) enum NotEntered {
    /// The server does not run any more, or the session is gone.
    Gone,
    /// Too many run already.
    Full,
}

impl NotEntered {
    pub(in crate::upstream) fn failure(self, server: &ServerName) -> Failure {
        let (code, error, hint) = match self {
            Self::Gone => (
                ErrorCode::ServerUnavailable,
                format!("the server {server:?} was stopped or replaced"),
                "Try again.",
            ),
            Self::Full => (
                ErrorCode::Overloaded,
                format!("too many instances of the server {server:?} run already"),
                "End sessions that are not needed, or share the server.",
            ),
        };
        Failure::new(code, error, hint).of_server(server)
    }
}
