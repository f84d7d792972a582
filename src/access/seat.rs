//! The client that a caller uses, and what it can do. A server may list other things for one client than for another, so lists are made
//! for a seat: a caller at a client.

use std::sync::OnceLock;

use crate::{
    link::ClientKey,
    trust::fingerprint::Fingerprint,
    wire::{Raw, Revision, capabilities},
};

/// The key of a connection that only one client uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InstanceUser {
    /// The client.
    pub client: ClientKey,
    /// What it can do, if each of its requests declares that anew.
    pub capabilities: Option<Fingerprint>,
}

/// A client for which lists are made.
#[derive(Debug)]
pub struct ClientSeat {
    /// The client.
    pub client: ClientKey,
    /// The capabilities that it declared.
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
    /// The seat at this client. Its capabilities are not read before they are needed.
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

    /// The same seat, with a session if it has one.
    #[must_use]
    pub fn in_session(self, has_session: bool) -> Self {
        Self {
            has_session,
            ..self
        }
    }

    /// The same seat, which wants log lines or none.
    #[must_use]
    pub fn with_lines(self, wants_lines: bool) -> Self {
        Self {
            wants_lines,
            ..self
        }
    }

    /// Whether a server's questions can reach it outside of its requests: it has a session, and its revision has such questions.
    pub fn can_be_reached(&self) -> bool {
        self.has_session && self.revision.has_server_requests()
    }

    /// Whether it needs a connection of its own to a server that asks questions or logs: it answers questions or wants log lines, and they
    /// can reach it.
    pub fn needs_own(&self) -> bool {
        let is_there = self.has_session || !self.revision.has_server_requests();
        is_there && (self.wants_lines || capabilities::answers_questions(&self.capabilities))
    }

    /// The key of the connections that only this client uses.
    pub fn user(&self) -> &InstanceUser {
        self.user.get_or_init(|| InstanceUser {
            client: self.client.clone(),
            capabilities: (!self.can_be_reached())
                .then(|| Fingerprint::of_value(&self.capabilities)),
        })
    }
}
