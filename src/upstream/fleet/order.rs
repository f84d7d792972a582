//! Requests to the supervisor, and its reasons to refuse one.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    access::InstanceUser,
    failure::{ErrorCode, Failure},
    link::ClientKey,
    text::names::ServerName,
    upstream::{calls::handle::Upstream, instance_scope::InstanceScope},
};

/// A request to the supervisor.
pub(in crate::upstream) enum Order {
    /// An instance is wanted.
    Enter(Box<Entering>),
    /// The client's roots have changed: its next requests will name their workspace.
    Move(ClientKey, oneshot::Sender<()>),
}

/// A client that wants the instance of a scope.
pub(in crate::upstream) struct Entering {
    pub(in crate::upstream) server: ServerName,
    /// The client whose requests go there from now on; none where the instance is for all clients of a kind.
    pub(in crate::upstream) user: Option<InstanceUser>,
    /// Cancelled when the client has ended.
    pub(in crate::upstream) ended: Option<CancellationToken>,
    pub(in crate::upstream) scope: InstanceScope,
    pub(in crate::upstream) entered: oneshot::Sender<Result<Upstream, NotEntered>>,
}

/// Why a client gets no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::upstream) enum NotEntered {
    /// The server does not run any more, or the client is gone.
    Gone,
    /// Too many run already.
    Full,
}

impl NotEntered {
    pub(in crate::upstream) fn failure(self, server: &ServerName) -> Failure {
        let failure = match self {
            Self::Gone => Failure::not_run(
                ErrorCode::ServerUnavailable,
                format!("the server {server:?} was stopped or replaced"),
                "Try again.",
            ),
            Self::Full => Failure::not_run(
                ErrorCode::Overloaded,
                format!("too many clients use the server {server:?} at once"),
                "Try again later, or close unused clients.",
            ),
        };
        failure.of_server(server)
    }
}
