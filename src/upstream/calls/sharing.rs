//! Which clients share a connection to an upstream. A server that asks its clients is divided: each client gets a connection of its own.

use super::handle::{Command, Live, Upstream, UpstreamShared};
use crate::{
    config::{ProtocolEra, RemoteKind, SessionScope, Transport},
    upstream::instance_scope::{ClientReach, InstanceScope},
};

/// Which clients share a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// All clients.
    All,
    /// Those that cannot answer its questions and want no log lines; each of the others has its own.
    Unable,
    /// Nobody.
    Nobody,
    /// Clients with the same roots.
    Workspace,
}

/// What is known of connections to a server in the other era than the one that all clients share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherEra {
    /// There are none: all clients are served over the shared one.
    None,
    /// Nobody has tried whether there can be one.
    Untried,
    /// The server opens sessions for clients that shake hands.
    Open,
}

impl Upstream {
    /// Which clients share a connection to the server, as far as is known now.
    pub fn sharing(&self) -> Sharing {
        match self.0.scope {
            // Over HTTP without a handshake all that a server asks and logs comes with a request.
            SessionScope::Auto if self.0.is_divided() && !self.0.habits.is_stateless() => {
                Sharing::Unable
            }
            SessionScope::Auto | SessionScope::Shared => Sharing::All,
            SessionScope::Client => Sharing::Nobody,
            SessionScope::Workspace => Sharing::Workspace,
        }
    }

    /// The same for clients that shake hands, where these have connections in their era (see [`Upstream::other_era`]).
    pub fn legacy_sharing(&self) -> Sharing {
        match self.0.scope {
            SessionScope::Auto if self.0.is_divided() => Sharing::Unable,
            _ => self.sharing(),
        }
    }

    /// Whether the last connection had no handshake.
    pub fn is_stateless(&self) -> bool {
        self.0.habits.is_stateless()
    }

    /// What is known of connections with a handshake, where the shared one has none.
    pub fn other_era(&self) -> OtherEra {
        let settings = self.0.settings.borrow();
        let entry = settings.servers.get(self.name());
        let may_have = entry.is_some_and(|entry| {
            entry.protocol_era == ProtocolEra::Auto
                && entry.session_scope != SessionScope::Workspace
                && matches!(&entry.transport, Transport::Remote(remote) if remote.kind != RemoteKind::Sse)
        });
        match self.0.habits.has_both_eras() {
            _ if !may_have || !self.0.habits.is_stateless() => OtherEra::None,
            None => OtherEra::Untried,
            Some(false) => OtherEra::None,
            Some(true) => OtherEra::Open,
        }
    }

    /// Whether it runs for one client alone, which its questions can reach at any time.
    pub fn asks_its_client(&self) -> bool {
        self.0.own_client().is_some()
    }
}

impl UpstreamShared {
    /// Whether the clients of this upstream get connections of their own once the server asks them.
    pub(in crate::upstream) fn is_divisible(&self) -> bool {
        let is_shared = match self.instance_scope {
            None => !self.habits.is_stateless(),
            Some(InstanceScope::Legacy) => true,
            Some(_) => false,
        };
        self.scope == SessionScope::Auto && is_shared
    }

    /// Divides the server among its clients, because it has sent a message of this method.
    pub(in crate::upstream) fn divide(&self, method: &str) {
        if self.is_divisible() && self.habits.note_asks() {
            tracing::info!(server = %self.name, method, "server gets a connection per client from now on");
            // If its queue is full, a later start finds it out anew.
            let _ = self.commands.try_send(Command::NoteHabits);
        }
    }

    /// Whether the server is divided among its clients.
    pub(in crate::upstream) fn is_divided(&self) -> bool {
        self.scope == SessionScope::Auto && self.habits.asks()
    }

    /// The client for which alone this instance runs, if it can be reached outside of its calls.
    pub(in crate::upstream) fn own_client(&self) -> Option<&ClientReach> {
        self.instance_scope.as_ref()?.sole_client()?.reach.as_ref()
    }

    /// The same, or else the only client that has called over this connection so far.
    pub(in crate::upstream) fn client_of<'a>(&'a self, live: &'a Live) -> Option<&'a ClientReach> {
        let owner = || {
            live.owner
                .get()
                .filter(|_| live.link.owner().client().is_some())
        };
        self.own_client().or_else(owner)
    }
}
