//! Who shares the connections of an upstream, and when they no longer do: a server that asks its clients gets one for each.

use super::handle::{Command, Live, UpstreamShared};
use crate::{
    config::SessionScope,
    upstream::instance_scope::{ClientReach, InstanceScope},
};

impl UpstreamShared {
    /// Whether the clients here are to have connections of their own once that is needed.
    pub(in crate::upstream) fn is_divisible(&self) -> bool {
        let is_shared = match self.instance_scope {
            None => !self.habits.is_stateless(),
            Some(InstanceScope::Legacy) => true,
            Some(_) => false,
        };
        self.scope == SessionScope::Auto && is_shared
    }

    /// The server has shown, by this method, that it has to be divided among its clients.
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

    /// The same, or the one that owns the connection by now.
    pub(in crate::upstream) fn client_of<'a>(&'a self, live: &'a Live) -> Option<&'a ClientReach> {
        let owner = || {
            live.owner
                .get()
                .filter(|_| live.link.owner().client().is_some())
        };
        self.own_client().or_else(owner)
    }
}
