//! Servers: their rows in listings, and the changes an operator makes to them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Management;
use crate::{
    config::{Change, EditError, ServerEntry, SessionScope, WriteError},
    error_code::{ErrorCode, Failure},
    gate::{self, Rules, Standing},
    names::ServerName,
    upstream::{State, Status, Upstream},
};

/// One server as listings show it.
#[derive(Debug, Clone, Serialize)]
pub struct ServerRow {
    /// The name, as written in the configuration where it is no good one.
    pub name: String,
    /// `stdio`, `http`, `sse` or `auto`; absent where the entry is broken.
    pub transport: Option<&'static str>,
    /// Disconnected, Connecting, Authenticating, Ready or Error; Disabled and Quarantined where that is why nothing runs.
    pub state: &'static str,
    /// Whether the entry is switched on.
    pub enabled: bool,
    /// Whether it waits for approval.
    pub quarantined: bool,
    /// Tools known.
    pub tools: usize,
    /// How many instances run, of a server that not all clients share; absent for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<usize>,
    /// Why the last attempt failed, the last connection ended, or the entry cannot be used.
    pub last_error: Option<String>,
    /// What to do about it.
    pub next_step: Option<String>,
}

impl Management {
    /// Every server of the configuration, broken entries included, by name.
    pub fn servers(&self) -> Vec<ServerRow> {
        let settings = self.settings();
        let mut rows: Vec<ServerRow> = settings
            .servers
            .values()
            .map(|entry| self.row(entry))
            .collect();
        rows.extend(settings.broken.iter().map(|broken| ServerRow {
            name: broken.name.clone(),
            transport: None,
            state: "Error",
            enabled: false,
            quarantined: false,
            tools: 0,
            instances: None,
            last_error: Some(broken.reason.clone()),
            next_step: Some(format!(
                "correct the entry in {}",
                self.config_file().display()
            )),
        }));
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }

    /// One server of the configuration.
    pub fn server(&self, name: &str) -> Result<ServerRow, Failure> {
        let rows = self.servers();
        let found = rows.into_iter().find(|row| row.name == name);
        found.ok_or_else(|| {
            match Rules::new(&self.settings(), &self.0.catalog.glance()).entry(name) {
                Err(failure) => failure,
                Ok(_) => Failure::new(
                    ErrorCode::UnknownServer,
                    format!("no server {name:?} is configured"),
                    "Try again.",
                ),
            }
        })
    }

    fn row(&self, entry: &ServerEntry) -> ServerRow {
        let runs = |one: &Upstream| {
            matches!(
                one.status().state,
                State::Connecting { .. } | State::Ready { .. }
            )
        };
        let is_divided = entry.session_scope != SessionScope::Shared;
        let name = entry.name.as_str();
        let base = self.0.upstreams.get(name);
        let instances = self.0.upstreams.instances(name);
        let all: Vec<Status> = base
            .iter()
            .chain(&instances)
            .map(Upstream::status)
            .collect();
        let last_error = all.iter().find_map(|status| status.last_error.clone());
        let (last_error, next_step) = match last_error {
            Some(error) => (Some(error.reason), Some(error.next_step)),
            None => (None, next_step(entry)),
        };
        let tools = self
            .0
            .catalog
            .glance()
            .servers
            .get(&entry.name)
            .map_or(0, |server| server.tools.len());
        let switches = gate::switches(entry);
        ServerRow {
            name: entry.name.to_string(),
            transport: Some(entry.transport.label()),
            state: shown_state(entry, &all),
            enabled: switches.enabled,
            quarantined: switches.quarantined,
            tools,
            instances: is_divided.then(|| instances.iter().filter(|one| runs(one)).count()),
            last_error,
            next_step,
        }
    }

    /// Adds a server. What a person adds is trusted unless the entry says otherwise.
    pub async fn add_server(
        &self,
        name: &str,
        entry: Map<String, Value>,
    ) -> Result<ServerRow, Failure> {
        let parsed = ServerName::parse(name).map_err(|error| {
            Failure::new(
                ErrorCode::InvalidArguments,
                error.to_string(),
                "Choose another name.",
            )
            .of_server(name)
        })?;
        self.write(vec![Change::AddServer {
            name: parsed,
            entry,
        }])
        .await?;
        self.server(name)
    }

    /// Takes a server out of the configuration.
    pub async fn remove_server(&self, name: &str) -> Result<ServerRow, Failure> {
        let row = self.server(name)?;
        self.write(vec![Change::RemoveServer {
            name: name.to_owned(),
        }])
        .await?;
        Ok(row)
    }

    /// Switches a server on or off. The flag is which of the two.
    pub async fn set_enabled(&self, name: &str, enabled: Enabled) -> Result<ServerRow, Failure> {
        self.server(name)?;
        let changes = vec![
            Change::SetKey {
                server: name.to_owned(),
                path: vec!["enabled".to_owned()],
                value: Value::Bool(enabled == Enabled::On),
            },
            // The inverse spelling would contradict it.
            Change::RemoveKey {
                server: name.to_owned(),
                path: vec!["disabled".to_owned()],
            },
        ];
        self.write(changes).await?;
        self.server(name)
    }

    /// Connects a server anew, also one that sleeps, and lists it at once.
    pub async fn restart_server(&self, name: &str) -> Result<ServerRow, Failure> {
        let settings = self.settings();
        let snapshot = self.0.catalog.snapshot();
        let entry = Rules::new(&settings, &snapshot).entry(name)?;
        match self.0.upstreams.get(name) {
            Some(upstream) => {
                upstream.restart().await?;
                let instances = self.0.upstreams.instances(name);
                let restarts = instances.iter().map(Upstream::restart);
                // What came of each, its row says.
                let _ = futures_util::future::join_all(restarts).await;
            }
            None if gate::standing(entry) == Standing::Disabled => {
                let hint = format!("Run `mcpproxy upstream enable {name}`.");
                let error = format!("the server {name:?} is disabled");
                return Err(Failure::new(ErrorCode::ServerDisabled, error, hint).of_server(name));
            }
            None => {
                let hint =
                    "Review the entry and set \"quarantined\": false in the configuration file.";
                let error = format!("the server {name:?} is quarantined");
                return Err(Failure::new(ErrorCode::ServerQuarantined, error, hint).of_server(name));
            }
        }
        self.server(name)
    }

    /// The last lines that a server wrote to its stderr.
    pub fn server_logs(&self, name: &str, lines: usize) -> Result<Vec<String>, Failure> {
        self.server(name)?;
        Ok(self
            .0
            .upstreams
            .get(name)
            .map(|upstream| upstream.stderr().tail(lines))
            .unwrap_or_default())
    }

    async fn write(&self, changes: Vec<Change>) -> Result<(), Failure> {
        self.0
            .keeper
            .change(changes)
            .await
            .map(drop)
            .map_err(|error| not_written(&error))?;
        match self.config_error() {
            None => Ok(()),
            Some(error) => {
                let hint = "The change is in the file; correct the file's other mistake to put it in force.";
                Err(Failure::new(ErrorCode::ConfigUnusable, error, hint))
            }
        }
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    /// On.
    On,
    /// Off.
    Off,
}

/// Why a change of the configuration was not made, for every face that makes one.
pub fn not_written(error: &WriteError) -> Failure {
    let text = with_source(error);
    match error {
        WriteError::Edit(EditError::ServerExists(name)) => Failure::new(
            ErrorCode::ServerExists,
            text,
            "Choose another name, or remove it first.",
        )
        .of_server(name),
        WriteError::Edit(EditError::UnknownServer(name)) => Failure::new(
            ErrorCode::UnknownServer,
            text,
            "`mcpproxy upstream list` shows the configured servers.",
        )
        .of_server(name),
        WriteError::Edit(EditError::Unreadable(_)) => Failure::new(
            ErrorCode::ConfigUnusable,
            text,
            "`mcpproxy config check` shows the mistake.",
        ),
        WriteError::Edit(_) => {
            Failure::new(ErrorCode::InvalidArguments, text, "Correct the request.")
        }
        WriteError::Locked(_) | WriteError::Io { .. } => Failure::new(
            ErrorCode::ConfigUnusable,
            text,
            "Check that the file may be written, then try again.",
        ),
    }
}

fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Of the server and its instances. It works if one of them does.
fn shown_state(entry: &ServerEntry, all: &[Status]) -> &'static str {
    match gate::standing(entry) {
        Standing::Usable => (),
        Standing::Disabled => return "Disabled",
        Standing::Quarantined => return "Quarantined",
    }
    let shown = |status: &Status| match status.state {
        State::Asleep => (0, "Disconnected"),
        State::Waiting { .. } | State::Failed { .. } => (1, "Error"),
        State::Connecting { .. } => (2, "Connecting"),
        State::Ready { .. } => (3, "Ready"),
    };
    let best = all.iter().map(shown).max();
    best.map_or("Disconnected", |(_, state)| state)
}

fn next_step(entry: &ServerEntry) -> Option<String> {
    match gate::standing(entry) {
        Standing::Usable => None,
        Standing::Disabled => Some(format!(
            "`mcpproxy upstream enable {}` switches it on",
            entry.name
        )),
        Standing::Quarantined => {
            Some("review it and set \"quarantined\": false in the configuration file".to_owned())
        }
    }
}
