//! Publishes how the server is, and writes it to the activity log: of many failed attempts in a row only some.

use std::sync::Arc;

use super::{State, Worker};
use crate::{
    activity::ServerStep,
    catalog::ServerCatalog,
    config::{IdleTimeout, SessionScope, Transport, duration},
    gate,
    upstream::{calls::handle::Status, connect_error::ConnectError, instance_scope::InstanceScope},
    wire::Revision,
};

impl Worker {
    pub(super) fn set_status(&self, set: impl FnOnce(&mut Status)) {
        self.shared.status.send_modify(set);
    }

    /// Records how the server is.
    pub(super) fn record(&self, action: &'static str, step: ServerStep) {
        let activity = &self.context.connect.activity;
        activity.note_server(action, self.entry.name.as_str(), step);
    }

    /// That an attempt came to an end, and when it began.
    pub(super) fn attempt_ended(
        &mut self,
        error: Option<String>,
        detail: Option<String>,
    ) -> ServerStep {
        let began = self.life.attempt_began.take();
        ServerStep {
            error,
            detail,
            took: began.map(|began| began.elapsed()),
            times: None,
        }
    }

    /// Records failed attempts that no record says yet, before something else is recorded.
    pub(super) fn record_unrecorded(&mut self) {
        let status = self.shared.status.borrow().clone();
        let times = status.unrecorded_failures;
        if times > 0 {
            let step = ServerStep {
                error: status.last_error.map(|error| error.whole()),
                times: Some(times.into()),
                ..ServerStep::default()
            };
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        }
    }

    /// The first failures in a row are logged and recorded each, later ones about once an hour; the record says how many they are.
    pub(super) fn log_failure(&mut self, error: &ConnectError) {
        const EACH: u32 = 6;
        const ONE_OF: u32 = 60;

        let (server, reason) = (self.entry.name.clone(), &error.reason);
        let stderr = error.wrote.as_ref();
        let status = self.shared.status.borrow().clone();
        let attempt = status.state.failures();
        let retry_in = status.next_attempt_in();
        let asked = if self.is_held() {
            "when you review it"
        } else {
            "on the next call"
        };
        let retry_in = retry_in.map_or_else(|| asked.to_owned(), duration::show);
        if attempt <= EACH || attempt.is_multiple_of(ONE_OF) {
            tracing::warn!(%server, %reason, stderr, attempt, retry_in, "server failed to start");
            let mut step = self.attempt_ended(Some(error.whole()), None);
            let times = status.unrecorded_failures + 1;
            step.times = (times > 1).then_some(times.into());
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        } else {
            self.set_status(|status| status.unrecorded_failures += 1);
            tracing::debug!(%server, %reason, stderr, attempt, retry_in, "server failed to start");
        }
    }
}

// What a worker knows of its server without asking it: by its entry, and by what was listed before. It changes nothing.

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
