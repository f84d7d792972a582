//! The health of the daemon: whether all servers work, and a few numbers.

use serde::Serialize;

use super::Management;
use crate::{
    catalog::Snapshot,
    failure::ErrorCode,
    gate,
    text::names::ServerName,
    upstream::{State, Upstream},
};

/// The answer of `GET /health`.
#[derive(Debug, Clone, Serialize)]
pub struct HealthReport {
    /// `ok`, or `degraded` when a server that should work does not, or calls are not recorded.
    pub status: &'static str,
    /// The daemon's version.
    pub version: &'static str,
    /// Servers that are switched on: fewer than stand in the configuration where some are disabled.
    pub backends_configured: usize,
    /// Servers that are connected now.
    pub backends_connected: usize,
    /// Tools known.
    pub tools: usize,
    /// Tools that are held until you approve them; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub held_tools: usize,
    /// Client sessions open.
    pub active_clients: usize,
    /// Servers that do not work, each with its reason; absent when all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<UnhealthyServer>,
    /// That calls are not recorded, in words that name no path of this machine; absent when they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<&'static str>,
}

/// A server that does not work.
#[derive(Debug, Clone, Serialize)]
pub struct UnhealthyServer {
    /// Its name.
    pub name: String,
    /// Why, in words that name no path of this machine.
    pub reason: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde wants")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The number of held tools of servers that may be used.
pub(super) fn held_tools(lists: &Snapshot) -> usize {
    let pins = lists.pins.values().filter(|pins| !pins.is_untrusted);
    pins.map(|pins| pins.held_tools()).sum()
}

impl Management {
    /// The health now. Reads published state only, so it never waits. A server that sleeps is well.
    pub fn health(&self, active_clients: usize) -> HealthReport {
        let view = self.view_in_force();
        let (settings, lists) = (&view.settings, &view.lists);
        let mut ailing: Vec<UnhealthyServer> = settings
            .broken
            .iter()
            // A quarantined server is not meant to work.
            .filter(|broken| !gate::is_quarantined(settings, &broken.name))
            .map(|broken| UnhealthyServer {
                name: broken.name.clone(),
                reason: broken.reason.clone(),
            })
            .collect();
        let mut connected = 0;
        for upstream in self.0.upstreams.all() {
            let status = upstream.status();
            if let Some(trouble) = upstream.login_trouble() {
                ailing.push(UnhealthyServer {
                    name: upstream.name().to_string(),
                    reason: trouble.to_string(),
                });
                continue;
            }
            match status.state {
                State::Ready { .. } => connected += 1,
                // As above.
                _ if gate::is_quarantined(settings, upstream.name().as_str()) => (),
                _ if status.is_failing() => ailing.push(UnhealthyServer {
                    name: upstream.name().to_string(),
                    reason: status.explained(
                        status
                            .last_error
                            .as_ref()
                            .map_or("not available", |error| &error.outside),
                    ),
                }),
                _ => {
                    let instances = self.0.upstreams.instances(upstream.name().as_str());
                    let ready = |one: &Upstream| matches!(one.status().state, State::Ready { .. });
                    connected += usize::from(instances.iter().any(ready));
                }
            }
        }
        let is_disabled = |name: &ServerName| {
            let refusal = view.server_refusal(name.as_str());
            refusal.is_some_and(|failure| failure.code == ErrorCode::ServerDisabled)
        };
        ailing.sort_by(|a, b| a.name.cmp(&b.name));
        let problem = self.0.activity.status().problem;
        let activity = problem.map(|_| "calls are not recorded; `mcpproxy doctor` says why");
        let is_well = ailing.is_empty() && activity.is_none();
        HealthReport {
            status: if is_well { "ok" } else { "degraded" },
            version: env!("CARGO_PKG_VERSION"),
            backends_configured: settings
                .servers
                .keys()
                .filter(|name| !is_disabled(name))
                .count(),
            backends_connected: connected,
            tools: lists.tool_count(),
            held_tools: held_tools(lists),
            active_clients,
            servers: ailing,
            activity,
        }
    }
}
