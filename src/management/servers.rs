//! The servers of the configuration: all, one with its entry, the log of one, and changes to an entry.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Backing, Management, OperatorView, ServerRow,
    entry_review::ShownIn,
    logs::{LogLines, last_lines, unreadable_log},
    patching::{plan_patch, read_patch},
    writing::blocking,
};
use crate::{
    config::{
        self, Author, ChangeOf, ConfigFinding, FindingKind, Settings, Transport, TransportKind,
        Warning,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Standing,
    process,
    text::names::ServerName,
};

/// The servers of the configuration, by name.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerList {
    /// The servers, broken entries included.
    pub servers: Vec<ServerRow>,
}

/// The result of a change.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerChange {
    /// The server after the change; of a removed one, its last row.
    pub server: ServerRow,
    /// What changed: keys of the entry, or `added` or `removed`.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The keys without effect, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The number of the change in the history, for an undo; absent if the file was not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
}

/// A server with its entry.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerDetails {
    /// The state of the server.
    pub server: ServerRow,
    /// The entry as the file has it, with secrets as `***`, even if it cannot be used.
    pub entry: Option<Value>,
    /// The line of the configuration file at which the entry begins; absent if the file has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The file with its stderr; null for a remote server.
    pub log_file: Option<PathBuf>,
    /// The number of running calls.
    #[serde(default)]
    pub in_flight: usize,
    /// Whether mcpproxy has a login for it.
    #[serde(default)]
    pub logged_in: bool,
    /// The number of failed starts since the last record of one.
    #[serde(default)]
    pub unrecorded_failures: u32,
    /// The secrets and variables that the entry needs and that are missing; absent if none is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingValue>,
    /// The memory of its processes in bytes; absent if none runs, or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// A missing value to which an entry refers.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MissingValue {
    /// `secret`, or `variable` of the daemon's environment.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The key with the reference, such as `env.TOKEN`.
    pub key: String,
}

/// Whether a server is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    /// It is enabled.
    On,
    /// It is disabled.
    Off,
}

impl ServerChange {
    /// A change without warnings, and without a number in the history.
    pub fn of(server: ServerRow, changed: &[&str]) -> Self {
        Self {
            server,
            changed: changed.iter().map(|&key| key.to_owned()).collect(),
            warnings: Vec::new(),
            id: None,
        }
    }

    /// With the number of the change in the history.
    pub(super) fn with_id(self, id: Option<u64>) -> Self {
        Self { id, ..self }
    }
}

impl<B: Backing> Management<B> {
    /// Every server of the configuration, broken entries included, by name.
    pub fn servers(&self) -> Result<ServerList> {
        let servers = self.rows(&self.view()?);
        Ok(ServerList { servers })
    }

    /// All that is known of one server, its secrets redacted. Blocks.
    pub fn server_details(&self, name: &str) -> Result<ServerDetails> {
        let settings = self.settings()?;
        let connections = self.0.connections(name);
        let server = self.server(name)?;
        let text = config::read_text(self.config_file()).ok();
        Ok(ServerDetails {
            log_file: self.log_file(&settings, &server).ok(),
            server,
            entry: self.reviewed_entry(&settings, name, ShownIn::Listing).0,
            line: text.and_then(|text| config::entry_line(&text, name)),
            in_flight: connections.in_flight,
            logged_in: connections.is_logged_in,
            unrecorded_failures: connections.all().map(|one| one.unrecorded_failures).sum(),
            missing: missing_values(&settings, name),
            memory_bytes: None,
        })
    }

    /// The same when its first attempt to connect has come to an end, where one is under way or about to be. Waits for that, but not
    /// longer than `patience`.
    pub async fn settled_server(&self, name: &str, patience: Duration) -> Result<ServerDetails>
    where
        B: 'static,
    {
        self.0.settles(name, patience).await;
        let (management, server) = (self.clone(), name.to_owned());
        blocking(move || management.server_details(&server)).await?
    }

    /// The last lines that a server wrote to its stderr, also in earlier runs. Blocks.
    pub fn server_logs(&self, name: &str, n: usize) -> Result<LogLines> {
        let row = self.server(name)?;
        let settings = self.settings()?;
        let file = self.log_file(&settings, &row).or_else(|none| {
            let is_local = row
                .transport
                .is_none_or(|kind| kind == TransportKind::Stdio);
            match ServerName::parse(name) {
                // The log of one that was never started is empty.
                Ok(name) if row.unusable && is_local => {
                    Ok(process::server_log_file(self.data_dir(), &name))
                }
                _ => Err(none),
            }
        })?;
        let written = last_lines(&file, n);
        let written = written.map_err(|error| unreadable_log(&file, &error).of_server(name))?;
        let recent = self.0.recent_log(name, n);
        // Lines on their way to the disk, or that a full one did not take, are in memory only.
        let is_ahead = recent.len() >= n || recent.len() > written.len();
        let lines = if is_ahead { recent } else { written };
        let broken = settings.broken_entry(name);
        let unusable = broken.map(|broken| broken.reason.clone()).or_else(|| {
            let why = match row.standing() {
                Standing::Usable => row.reason.clone().or_else(|| row.last_error.clone()),
                Standing::Disabled | Standing::Quarantined => {
                    Some(format!("it is {}", row.shown_state.to_lowercase()))
                }
            };
            why.filter(|_| lines.is_empty())
        });
        Ok(LogLines {
            lines,
            file,
            next_step: unusable.as_ref().and(row.next_step),
            unusable,
        })
    }

    /// Where the stderr of a server of the configuration goes.
    pub fn server_log_file(&self, name: &str) -> Result<PathBuf> {
        let row = self.server(name)?;
        let settings = self.settings()?;
        self.log_file(&settings, &row)
    }

    /// Where a server's stderr goes. A remote one has none here; one whose entry is broken may have written while it was sound.
    fn log_file(&self, settings: &Settings, row: &ServerRow) -> Result<PathBuf> {
        let name = &*row.name;
        let file = |name: &ServerName| process::server_log_file(self.data_dir(), name);
        let found = if let Some(entry) = settings.servers.get(name) {
            let is_process = matches!(entry.transport, Transport::Stdio(_));
            is_process.then(|| file(&entry.name))
        } else {
            let left = ServerName::parse(name).ok().map(|name| file(&name));
            left.filter(|file| file.exists())
        };
        found.ok_or_else(|| no_log(row))
    }

    /// One server of the configuration.
    pub fn server(&self, name: &str) -> Result<ServerRow> {
        self.server_in(&self.view()?, name)
    }

    /// These servers of the configuration, by one view: over files, each view reads all known lists.
    pub(super) fn servers_named(&self, names: &[String]) -> Vec<Result<ServerRow>> {
        let view = self.view();
        let row = |name: &String| match &view {
            Ok(view) => self.server_in(view, name),
            Err(failure) => Err(failure.clone()),
        };
        names.iter().map(row).collect()
    }

    fn server_in(&self, view: &OperatorView, name: &str) -> Result<ServerRow> {
        match view.entry(name) {
            Ok(entry) => Ok(self.row(view, entry)),
            Err(failure) => {
                let broken = view.settings.broken_entry(name);
                let row = broken.map(|broken| Self::broken_row(view, broken));
                row.ok_or(failure)
            }
        }
    }

    /// Changes what is named of a server's entry, and leaves the rest of it as it is. A person may change everything.
    pub async fn patch_server(
        &self,
        name: &str,
        patch: Map<String, Value>,
    ) -> Result<ServerChange> {
        drop(before_change(self.server(name))?);
        let patch = read_patch(name, patch)?;
        let (server, us) = (name.to_owned(), self.0.our_address());
        let by = ChangeOf::this_task();
        let note = by.note();
        let planned = self
            .change_as_planned("patch", name, by, move |text| {
                plan_patch(text, &server, &patch, &us, Author::Person)
            })
            .await;
        let no_entry = |failure| self.not_in_file("patch", name, failure, Author::Person);
        let planned = planned.map_err(no_entry)?;
        self.0.follows(name).await;
        Ok(ServerChange {
            server: self.server(name)?,
            changed: planned.changed.clone(),
            warnings: self.warnings_of(name, &planned.changed),
            id: note.id(),
        })
    }
}

/// The row of a server that is to be changed. A file that cannot be used as a whole can be changed all the same: that is the inner failure,
/// which counts only if the file still cannot be used after the change.
pub(super) fn before_change(row: Result<ServerRow>) -> Result<Result<ServerRow>> {
    match row {
        Err(failure) if failure.code != ErrorCode::ConfigUnusable => Err(failure),
        row => Ok(row),
    }
}

impl MissingValue {
    fn of(finding: &ConfigFinding) -> Option<Self> {
        let (kind, name) = match &finding.kind {
            FindingKind::LacksVariable(name) => ("variable", name),
            FindingKind::LacksSecret { name, .. } => ("secret", name),
            _ => return None,
        };
        Some(Self {
            kind: kind.to_owned(),
            name: name.clone(),
            key: finding.key.clone(),
        })
    }
}

/// The secrets and variables to which the entry of a server refers and that are missing.
fn missing_values(settings: &Settings, name: &str) -> Vec<MissingValue> {
    let broken = settings.broken_entry(name);
    let findings = broken.iter().flat_map(|broken| &broken.findings);
    findings.filter_map(MissingValue::of).collect()
}

/// Why there is no log of this server here.
fn no_log(row: &ServerRow) -> Failure {
    let name = &row.name;
    let (error, hint, step) = match (&row.last_error, &row.step) {
        (Some(why), Some(step)) if row.unusable => (
            format!("{name} has written no log: {why}"),
            match step.lacking() {
                Some(thing) => format!("Tell the user that it lacks {thing}."),
                None => "Tell the user that its entry cannot be used.".to_owned(),
            },
            step.clone(),
        ),
        _ => (
            format!("{name} is remote, so mcpproxy has no log of it"),
            "Ask the user to read its log where that server runs.".to_owned(),
            Some(row.clone())
                .filter(ServerRow::is_failing)
                .and_then(ServerRow::own_step)
                .unwrap_or_else(|| NextStep::act("read the log on its host, or tell its operator")),
        ),
    };
    let failure = Failure::agents_only(ErrorCode::NoLog, error, &hint);
    failure.with_step(step).of_server(name)
}
