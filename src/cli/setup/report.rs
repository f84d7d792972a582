//! What setup did, for programs, and what is left to do, for people.

use std::{path::Path, time::Duration};

use serde::Serialize;

use super::super::output::Output;
use crate::{
    clients::{Client, Connected},
    management::ServerRow,
};

/// Servers that do not work and are named one by one.
const MOST_PROBLEMS: usize = 5;

/// Everything that was done.
#[derive(Default, Serialize)]
pub(super) struct SetupReport {
    config_file: String,
    pub(super) config_created: bool,
    pub(super) imported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_imported: Vec<String>,
    /// How many servers of other programs could be taken over, where nobody chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<usize>,
    pub(super) daemon: Option<DaemonRow>,
    servers: Vec<ServerSummary>,
    /// How many tools are known.
    pub(super) tools: usize,
    pub(super) clients: Vec<Connected>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_connected: Vec<Client>,
    pub(super) proof: Option<ProofRow>,
    took_ms: u64,
    pub(super) next_steps: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct DaemonRow {
    /// `running`, `service` or `background`.
    pub(super) how: &'static str,
    pub(super) url: String,
    pub(super) pid: u32,
}

#[derive(Serialize)]
struct ServerSummary {
    name: String,
    state: &'static str,
    tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
}

/// A call that was made.
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

    /// How the servers are; `waiting` of them were not listed in time.
    pub(super) fn take_servers(&mut self, rows: &[ServerRow], waiting: usize) {
        self.tools = rows.iter().filter_map(|row| row.tools).sum();
        self.servers = rows
            .iter()
            .map(|row| ServerSummary {
                name: row.name.clone(),
                state: row.state.as_str(),
                tools: row.tools,
                error: row.last_error.clone().filter(|_| row.is_failing()),
                next_step: row.next_step.clone().filter(|_| row.is_failing()),
            })
            .collect();
        let failing: Vec<&ServerRow> = rows.iter().filter(|row| row.is_failing()).collect();
        for row in failing.iter().take(MOST_PROBLEMS) {
            let error = row.last_error.as_deref().unwrap_or("it does not work");
            let step = row.next_step.as_deref().map(|step| format!(": {step}"));
            self.next_steps.push(format!(
                "server {}: {error}{}",
                row.name,
                step.unwrap_or_default()
            ));
        }
        if failing.len() > MOST_PROBLEMS {
            let more = failing.len() - MOST_PROBLEMS;
            self.next_steps.push(format!(
                "{more} more servers do not work: `mcpproxy upstream list` says why"
            ));
        }
        if waiting > 0 {
            self.next_steps.push(format!(
                "{waiting} of the servers are still starting, which may take minutes the first time: `mcpproxy upstream list` shows how they are"
            ));
        }
    }

    /// So many servers could be taken over, and nobody chose.
    pub(super) fn offer(&mut self, offered: usize) {
        self.offered = Some(offered);
        let them = match offered {
            0 => return,
            1 => "the server that another program has".to_owned(),
            n => format!("the {n} servers that other programs have"),
        };
        self.next_steps.push(format!(
            "take over {them} here: `mcpproxy import` shows what there is, `mcpproxy setup --import all` takes everything"
        ));
    }

    /// The clients that are connected.
    pub(super) fn connected(&self) -> Vec<Client> {
        let connected = self.clients.iter().filter(|done| done.is_connected());
        connected.map(|done| done.client).collect()
    }

    pub(super) fn finish(&mut self, took: Duration) {
        self.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if self.servers.is_empty() && self.offered.unwrap_or_default() == 0 {
            self.next_steps.push(
                "add a server: `mcpproxy upstream add time -- uvx mcp-server-time`".to_owned(),
            );
        }
    }

    /// What is left to do.
    pub(super) fn say_end(&self, out: Output) {
        for step in &self.next_steps {
            out.note(&format!("next step: {step}"));
        }
        let seconds = Duration::from_millis(self.took_ms).as_secs_f64();
        out.note(&format!(
            "done in {seconds:.1} seconds; `mcpproxy status` shows how it is"
        ));
    }
}
