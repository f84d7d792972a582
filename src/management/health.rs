//! Whether all is well, in a few numbers.

use serde::Serialize;

use super::Management;
use crate::{
    gate::{self, Standing},
    upstream::{State, Upstream},
};

/// The answer of `GET /health`.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// `ok`, or `degraded` when a server that should work does not.
    pub status: &'static str,
    /// The daemon's version.
    pub version: &'static str,
    /// Servers that are switched on.
    pub backends_configured: usize,
    /// Servers that are connected now.
    pub backends_connected: usize,
    /// Tools known.
    pub tools: usize,
    /// Client sessions open.
    pub active_clients: usize,
    /// Servers that do not work, each with its reason; absent when all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Ailing>,
}

/// A server that does not work.
#[derive(Debug, Clone, Serialize)]
pub struct Ailing {
    /// Its name.
    pub name: String,
    /// Why, in words that name no path of this machine.
    pub reason: String,
}

impl Management {
    /// How the house is. Looks at what is published only, so it never waits. A server that sleeps is well.
    pub fn health(&self, active_clients: usize) -> Health {
        let settings = self.settings();
        let mut ailing: Vec<Ailing> = settings
            .broken
            .iter()
            .map(|broken| Ailing {
                name: broken.name.clone(),
                reason: broken.reason.clone(),
            })
            .collect();
        let mut connected = 0;
        for upstream in self.0.upstreams.all() {
            let status = upstream.status();
            match status.state {
                State::Ready { .. } => connected += 1,
                State::Waiting { .. } | State::Failed { .. } => ailing.push(Ailing {
                    name: upstream.name().to_string(),
                    reason: status
                        .last_error
                        .map_or_else(|| "it is not available".to_owned(), |e| e.outside),
                }),
                State::Asleep | State::Connecting { .. } => {
                    let instances = self.0.upstreams.instances(upstream.name().as_str());
                    let ready = |one: &Upstream| matches!(one.status().state, State::Ready { .. });
                    connected += usize::from(instances.iter().any(ready));
                }
            }
        }
        ailing.sort_by(|a, b| a.name.cmp(&b.name));
        Health {
            status: if ailing.is_empty() { "ok" } else { "degraded" },
            version: env!("CARGO_PKG_VERSION"),
            backends_configured: settings
                .servers
                .values()
                .filter(|entry| gate::standing(entry) != Standing::Disabled)
                .count(),
            backends_connected: connected,
            tools: self.0.catalog.glance().tool_count(),
            active_clients,
            servers: ailing,
        }
    }
}
