//! The report of `mcpproxy setup`: what was done, for programs, and what is left to do, for people.

use std::{collections::HashSet, path::Path, time::Duration};

use serde::Serialize;

use super::super::{CommandFailure, Output, output};
use crate::{
    clients::{Client, ConnectOutcome, Connected, MovedServers},
    gate::Standing,
    management::{ServerRow, StatusReport},
};

/// Steps that are shown to people.
const MOST_STEPS: usize = 5;

/// Says what a step did.
pub(super) fn say_step(n: usize, text: &str, out: Output) {
    out.done(&format!("{n}/5 {text}"));
}

/// Everything that was done.
#[derive(Default, Serialize)]
pub(super) struct SetupReport {
    config_file: String,
    pub(super) config_created: bool,
    pub(super) imported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_imported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) moved: Vec<MovedServers>,
    /// The number of servers that could be imported, if nobody chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<usize>,
    pub(super) daemon: Option<DaemonRow>,
    /// Why the daemon does not run as a service, if it should.
    #[serde(skip)]
    pub(super) no_service: Option<CommandFailure>,
    servers: Vec<ServerSummary>,
    /// The number of known tools.
    tools: usize,
    /// The number of tools that a search finds.
    pub(super) callable_tools: usize,
    /// The number of tools that wait for a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held_tools: Option<usize>,
    pub(super) clients: Vec<Connected>,
    /// The clients that were connected before.
    #[serde(skip)]
    pub(super) already: Vec<Client>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_connected: Vec<Client>,
    pub(super) proof: Option<ProofRow>,
    /// An example of a call.
    #[serde(skip)]
    pub(super) example: Option<String>,
    took_ms: u64,
    pub(super) next_steps: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct DaemonRow {
    /// `running`, `service` or `background`.
    pub(super) how: &'static str,
    pub(super) url: String,
    /// Where a browser finds the web UI.
    pub(super) page: Option<String>,
    pub(super) pid: u32,
}

#[derive(Serialize)]
struct ServerSummary {
    name: String,
    state: String,
    tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
}

/// The test call.
#[derive(Serialize)]
pub(super) struct ProofRow {
    pub(super) url: String,
    pub(super) tool: &'static str,
    pub(super) milliseconds: f64,
}

impl SetupReport {
    pub(super) fn of(config_file: &Path) -> Self {
        Self {
            config_file: config_file.display().to_string(),
            ..Self::default()
        }
    }

    /// Why a server does not start.
    pub(super) fn error_of(&self, server: &str) -> Option<String> {
        let mut rows = self.servers.iter();
        rows.find(|row| row.name == server)?.error.clone()
    }

    /// Whether a server was not seen to fail.
    pub(super) fn works(&self, server: &str) -> bool {
        let mut rows = self.servers.iter();
        !rows.any(|row| row.name == server && (row.error.is_some() || row.next_step.is_some()))
    }

    /// Takes in the servers' states, and the steps for those that fail. `waiting` servers were not listed in time.
    pub(super) fn take_servers(
        &mut self,
        rows: &[ServerRow],
        waiting: usize,
        status: &StatusReport,
    ) {
        self.tools = rows.iter().filter_map(|row| row.tools).sum();
        self.callable_tools = status.callable_tools.unwrap_or(status.tools);
        let held = rows.iter().map(|row| match row.standing() {
            Standing::Usable => row.held_tools,
            Standing::Quarantined => row.tools.unwrap_or_default(),
            Standing::Disabled => 0,
        });
        self.held_tools = Some(held.sum()).filter(|held| *held > 0);
        self.servers = rows
            .iter()
            .map(|row| ServerSummary {
                name: row.name.clone(),
                state: row.shown_state.clone(),
                tools: row.tools,
                error: row.last_error.clone().filter(|_| row.is_failing()),
                next_step: row.next_step.clone().filter(|_| row.is_failing()),
            })
            .collect();
        for row in rows.iter().filter(|row| row.is_failing()) {
            let reason = row.reason.as_ref().or(row.last_error.as_ref());
            let reason = reason.map_or("it does not work", String::as_str);
            let (name, step) = (&row.name, row.next_step.as_deref());
            let step = step.map_or_else(String::new, |step| format!("; {step}"));
            self.next_steps
                .push(format!("server {name}: {reason}{step}"));
        }
        if waiting > 0 {
            let starting = output::count(waiting, "server");
            self.next_steps.push(format!("{starting} still starting; the first start can take up to 5 min: `mcpproxy upstream list`"));
        }
    }

    /// Notes that so many servers could be imported, and nobody chose.
    pub(super) fn offer(&mut self, offered: usize) {
        self.offered = Some(offered);
        if offered > 0 {
            let them = output::count(offered, "server");
            self.next_steps.push(format!(
                "import {them} from your clients: `mcpproxy setup --import all`, or choose with `mcpproxy import`"
            ));
        }
    }

    /// The chosen clients that are connected now.
    pub(super) fn connected(&self) -> Vec<Client> {
        let connected = self.clients.iter().filter(|done| done.is_connected());
        connected.map(|done| done.client).collect()
    }

    /// Adds the steps that only the whole report shows, and the duration.
    pub(super) fn finish(&mut self, took: Duration) {
        self.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if self.servers.is_empty() && self.offered.unwrap_or_default() == 0 {
            self.next_steps.push(
                "add a server: `mcpproxy upstream add time -- uvx mcp-server-time`".to_owned(),
            );
        }
        let changed = self.changed_clients();
        if !changed.is_empty() {
            let restart = format!("restart {}", changed.join(", "));
            self.next_steps.insert(0, restart);
        }
    }

    /// The clients whose files were changed, which they read when they start.
    fn changed_clients(&self) -> Vec<&'static str> {
        let connected = self.clients.iter();
        let connected = connected.filter(|done| done.outcome == ConnectOutcome::Connected);
        let moved = self.moved.iter().filter(|moved| moved.error.is_none());
        let moved = moved.map(|moved| moved.client);
        let changed = connected.map(|done| done.client).chain(moved);
        let mut known = HashSet::new();
        let names = changed.map(Client::name);
        names.filter(|name| known.insert(*name)).collect()
    }

    /// Says what is left to do.
    pub(super) fn say_end(&self, out: Output) {
        out.done("done");
        if !self.next_steps.is_empty() {
            out.done("left to do:");
        }
        for (n, step) in self.next_steps.iter().take(MOST_STEPS).enumerate() {
            out.done(&format!("  {}. {step}", n + 1));
        }
        if self.next_steps.len() > MOST_STEPS {
            let more = self.next_steps.len() - MOST_STEPS;
            out.done(&format!("  and {more} more: `mcpproxy doctor`"));
        }
        let has_tools = || self.servers.iter().any(|server| server.tools > Some(0));
        match &self.example {
            Some(call) => out.done(&format!("try a tool: `{call}`")),
            None if has_tools() => out.done("see your tools: `mcpproxy tools`"),
            None => (),
        }
        if let Some(page) = self.daemon.as_ref().and_then(|daemon| daemon.page.as_ref()) {
            out.done(&format!("web UI: {page} (to log in: `mcpproxy ui`)"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_fails_is_no_example() {
        let row = |name: &str, error: Option<&str>| ServerSummary {
            name: name.to_owned(),
            state: String::new(),
            tools: Some(1),
            error: error.map(str::to_owned),
            next_step: None,
        };
        let report = SetupReport {
            servers: vec![row("alpha", Some("exited with code 1")), row("beta", None)],
            ..SetupReport::default()
        };
        assert!(report.works("beta") && !report.works("alpha"));
    }
}
