//! What a worker knows of its server without asking it: from its entry, the settings, and what was listed before. Changes nothing.

use std::sync::Arc;

use super::Worker;
use crate::{
    catalog::ServerCatalog,
    config::{IdleTimeout, ServerEntry, SessionScope, Settings, Start, Transport},
    gate,
    upstream::{
        State,
        instance_scope::InstanceScope,
        state::{Need, Retries},
    },
    wire::Revision,
};

impl Worker {
    /// Whether the server should be connected even if nobody calls.
    pub(super) fn need(&self) -> Need {
        // A connection of the other era is of no use before the server is known to have both.
        let is_spare = self.is_of_other_era() && self.shared.habits.has_both_eras() != Some(true);
        let stays = self.stays()
            || (self.is_remote() && self.idle_timeout() == IdleTimeout::Never && !is_spare);
        let is_unknown = !self.is_instance() && !self.is_known();
        if (stays && !self.is_for_its_lists_only()) || self.is_listened_to() || is_unknown {
            Need::Permanent
        } else {
            Need::OnDemand
        }
    }

    /// How often a failed attempt is repeated.
    pub(super) fn retries(&self) -> Retries {
        if self.is_held() || self.is_of_other_era() {
            Retries::None
        } else if self.is_remote() {
            Retries::Unlimited
        } else {
            Retries::Limited
        }
    }

    /// Whether its entry wants it connected all the time (`start`).
    pub(super) fn stays(&self) -> bool {
        self.entry.start == Start::Eager && !self.is_for_its_lists_only()
    }

    /// The entry as the settings have it now. They may change while we are connected.
    pub(super) fn current_entry(&self) -> Arc<ServerEntry> {
        let settings = self.shared.settings.borrow();
        let current = settings.servers.get(&self.entry.name);
        current.unwrap_or(&self.entry).clone()
    }

    pub(super) fn settings(&self) -> Arc<Settings> {
        self.shared.settings.borrow().clone()
    }

    /// How long it stays connected without calls, as the settings have it now.
    pub(super) fn idle_timeout(&self) -> IdleTimeout {
        self.current_entry().idle_timeout
    }

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

    /// The last known lists of the server, as read with this configuration.
    pub(super) fn known(&self) -> Option<Arc<ServerCatalog>> {
        let snapshot = self.context.catalog.glance();
        let known = snapshot.servers.get(&self.entry.name);
        known
            .filter(|known| *known.entry == *self.entry.fingerprint)
            .cloned()
    }

    /// Whether its lists are known from a former connection with this configuration.
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
}
