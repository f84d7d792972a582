//! Which client a caller uses: what tells it from other clients of the same caller, and what it can do. A server may list something else for
//! it than for others.

use std::sync::OnceLock;

use crate::{
    link::ClientKey,
    trust::fingerprint::Fingerprint,
    wire::{Raw, Revision, capabilities},
};

/// The key of clients that have connections of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InstanceUser {
    /// The client.
    pub client: ClientKey,
    /// What it can do, where each of its requests says that anew.
    pub capabilities: Option<Fingerprint>,
}

/// A client that lists are made for.
#[derive(Debug)]
pub struct ClientSeat {
    /// The client.
    pub client: ClientKey,
    /// What it declared.
    pub capabilities: Raw,
    /// The revision that it speaks.
    pub revision: Revision,
    /// Whether it has a session, and with it a way to be reached outside of its requests.
    has_session: bool,
    /// Whether it wants log lines.
    pub wants_lines: bool,
    user: OnceLock<InstanceUser>,
}

impl ClientSeat {
    /// Of this client. Reads nothing of what it declared before that is needed.
    pub fn new(client: ClientKey, capabilities: Raw, revision: Revision) -> Self {
        Self {
            client,
            capabilities,
            revision,
            has_session: false,
            wants_lines: false,
            user: OnceLock::new(),
        }
    }

    /// The same with a session, if it has one.
    #[must_use]
    pub fn in_session(self, has_session: bool) -> Self {
        Self {
            has_session,
            ..self
        }
    }

    /// The same, which wants log lines or none.
    #[must_use]
    pub fn with_lines(self, wants_lines: bool) -> Self {
        Self {
            wants_lines,
            ..self
        }
    }

    /// Whether questions reach it outside of its requests: it has a session, and they exist in its revision.
    pub fn can_be_reached(&self) -> bool {
        self.has_session && self.revision.has_server_requests()
    }

    /// Whether it has a connection of its own to a server that asks or logs: it answers questions or wants log lines, and there is a way
    /// to it.
    pub fn needs_own(&self) -> bool {
        let is_there = self.has_session || !self.revision.has_server_requests();
        is_there && (self.wants_lines || capabilities::answers_questions(&self.capabilities))
    }

    /// The key of its own connections.
    pub fn user(&self) -> &InstanceUser {
        self.user.get_or_init(|| InstanceUser {
            client: self.client.clone(),
            capabilities: (!self.can_be_reached())
                .then(|| Fingerprint::of_value(&self.capabilities)),
        })
    }
}
