//! What has to change so that those servers run which the settings want.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    access::InstanceUser,
    config::ServerEntry,
    failure::error_code::{ErrorCode, Failure},
    link::ClientKey,
    text::names::ServerName,
    upstream::{
        calls::{followed::Kinship, handle::Upstream},
        instance_scope::InstanceScope,
    },
};

/// What has to be done to one server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerChange {
    Start(ServerName),
    Stop(ServerName),
    Replace(ServerName),
}

/// From running to wanted workers; names with the fingerprints of their settings.
pub(super) fn plan<I: PartialEq>(
    wanted: &BTreeMap<ServerName, I>,
    running: &BTreeMap<ServerName, I>,
) -> Vec<WorkerChange> {
    let gone = running
        .keys()
        .filter(|name| !wanted.contains_key(*name))
        .cloned()
        .map(WorkerChange::Stop);
    let rest = wanted
        .iter()
        .filter_map(|(name, identity)| match running.get(name) {
            None => Some(WorkerChange::Start(name.clone())),
            Some(current) if current != identity => Some(WorkerChange::Replace(name.clone())),
            Some(_) => None,
        });
    gone.chain(rest).collect()
}

// A worker as the supervisor holds it.

/// A worker that runs.
pub(super) struct RunningWorker {
    pub(super) upstream: Upstream,
    /// What its client's caller follows is subscribed to there, too.
    pub(super) _joined: Option<Kinship>,
    pub(super) entry: Arc<ServerEntry>,
    pub(super) stop: CancellationToken,
    /// Set where the server was taken out of the configuration: its log goes when it has ended.
    pub(super) forgotten: Arc<AtomicBool>,
    pub(super) task: JoinHandle<()>,
}

// Requests to the supervisor, and its reasons to refuse one.

/// A request to the supervisor.
pub(in crate::upstream) enum Order {
    /// An instance is wanted.
    Enter(Box<Entering>),
    /// The client's roots are others now: its next requests will name the workspace that they go to.
    Move(ClientKey, oneshot::Sender<()>),
}

/// Somebody who wants the instance of a scope.
pub(in crate::upstream) struct Entering {
    pub(in crate::upstream) server: ServerName,
    /// The client whose requests go there from now on; none where they do by what the client can do.
    pub(in crate::upstream) user: Option<InstanceUser>,
    /// The client's end.
    pub(in crate::upstream) ended: Option<CancellationToken>,
    pub(in crate::upstream) scope: InstanceScope,
    pub(in crate::upstream) entered: oneshot::Sender<Result<Upstream, NotEntered>>,
}

/// Why there is no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::upstream) enum NotEntered {
    /// The server does not run any more, or the client is gone.
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
                format!("too many clients use the server {server:?} at once"),
                "Nothing ran. Try again later, or close unused clients.",
            ),
        };
        Failure::new(code, error, hint).of_server(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_touched() {
        let set = |pairs: &[(&str, &str)]| -> BTreeMap<ServerName, String> {
            pairs
                .iter()
                .map(|(name, digest)| {
                    (
                        ServerName::parse(name).expect("a name"),
                        (*digest).to_owned(),
                    )
                })
                .collect()
        };
        let name = |text| ServerName::parse(text).expect("a name");
        let running = set(&[("same", "1"), ("changed", "1"), ("gone", "1")]);
        let wanted = set(&[("same", "1"), ("changed", "2"), ("new", "1")]);
        assert_eq!(
            plan(&wanted, &running),
            [
                WorkerChange::Stop(name("gone")),
                WorkerChange::Replace(name("changed")),
                WorkerChange::Start(name("new"))
            ]
        );
        assert!(plan(&running, &running).is_empty());
    }
}
