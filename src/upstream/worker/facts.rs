//! What a worker knows of its server without asking it: by its entry, and by what was listed before. It changes nothing.

use std::sync::Arc;

use super::{State, Worker};
use crate::{
    catalog::ServerCatalog,
    config::{IdleTimeout, SessionScope, Transport},
    gate,
    upstream::instance_scope::InstanceScope,
    wire::Revision,
};

impl Worker {
    /// Whether this is an instance of the server that some clients have to themselves.
    pub(super) fn is_instance(&self) -> bool {
        self.shared.instance_scope.is_some()
    }

    /// Whether this is the connection of clients that shake hands to a server that needs no handshake.
    pub(super) fn is_of_other_era(&self) -> bool {
        matches!(self.shared.instance_scope, Some(InstanceScope::Legacy))
    }

    /// Whether the server waits for approval: nothing of it is executed then. This worker is replaced when that changes.
    pub(super) fn is_held(&self) -> bool {
        !gate::standing(&self.entry).is_usable()
    }

    /// Whether no call ever comes here, so that the connection ends once its lists are read: the server waits for approval, or it is a
    /// process and each client has one of its own. A remote server stays connected for what it announces.
    pub(super) fn is_for_its_lists_only(&self) -> bool {
        let is_divided = self.shared.scope == SessionScope::Client
            || (self.shared.is_divided() && !self.shared.habits.is_stateless());
        let is_never_called = is_divided && !self.is_instance();
        self.is_held() || (is_never_called && !self.is_remote())
    }

    /// Its last known lists, from this configuration of it.
    pub(super) fn known(&self) -> Option<Arc<ServerCatalog>> {
        let snapshot = self.context.catalog.glance();
        let known = snapshot.servers.get(&self.entry.name);
        known
            .filter(|known| *known.entry == *self.entry.fingerprint)
            .cloned()
    }

    /// Whether there are such.
    pub(super) fn is_known(&self) -> bool {
        self.known().is_some()
    }

    /// The revision of the last connection under this configuration; `None` if it may not hold any more.
    pub(super) fn remembered(&self) -> Option<Revision> {
        if self.shared.shakes_hands {
            return Some(Revision::NEWEST_LEGACY);
        }
        if self.life.in_doubt || !matches!(self.life.state, State::Connecting { failures: 0 }) {
            return None;
        }
        Some(self.known()?.listing.revision)
    }

    pub(super) fn is_remote(&self) -> bool {
        matches!(self.entry.transport, Transport::Remote(_))
    }

    pub(super) fn never_idle(&self) -> bool {
        matches!(self.policy(), IdleTimeout::Never)
    }

    pub(super) fn policy(&self) -> IdleTimeout {
        self.current_entry().idle_timeout
    }
}
