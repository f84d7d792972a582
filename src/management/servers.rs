//! Servers: their rows in listings, and the changes an operator makes to them.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Backing, LEFT_OUT_STEP, LeftOut, Management,
    entry_review::ShownIn,
    gated::{as_data, configured, held_step, server_refusal},
    health::is_zero,
    logs::{LogLines, last_lines},
    missing_value::{MissingValue, missing},
    operator_hints::closest_server,
    patching::{plan_patch, read_patch},
    server_state::{ServerState, first_start, latest, runs, shown_state, state},
    trouble::Trouble,
    writing::blocking,
};
use crate::{
    catalog::Snapshot,
    config::{
        Author, ChangeOf, DEMO, DemoOrigin, ServerEntry, SessionScope, Settings, Transport,
        TransportKind, Warning,
    },
    failure::{ErrorCode, Failure, NextStep, Result, as_step},
    gate::{self, Standing},
    process,
    storage::in_words,
    text::{count, names::ServerName},
    upstream::Status,
};

/// The servers of the configuration, by name.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerList {
    /// The servers, broken entries included.
    pub servers: Vec<ServerRow>,
}

/// A server in a listing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerRow {
    /// The name as the file has it.
    pub name: String,
    /// The transport; null if the entry does not show it.
    pub transport: Option<TransportKind>,
    /// The state of the connection; see also `enabled` and `quarantined`.
    pub state: ServerState,
    /// The state as the command line shows it: `Ready`, `Asleep`, `Starting`, `Needs a secret`, `Needs a variable`, `Needs a login`,
    /// `Error`, `Disabled`, `Quarantined`, or `Not running` where no daemon runs.
    #[serde(default)]
    pub shown_state: String,
    /// Whether the entry is enabled, even if it is broken.
    #[serde(default = "unless_said_otherwise")]
    pub enabled: bool,
    /// Whether it is quarantined.
    #[serde(default)]
    pub quarantined: bool,
    /// True if the entry cannot be used; `last_error` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unusable: bool,
    /// The number of known tools; null if no list is known.
    pub tools: Option<usize>,
    /// The number of held tools, prompts and resources, and of held instructions; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<usize>,
    /// How many of these are tools; absent if none is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_tools: usize,
    /// Listed definitions that cannot be used; absent if all can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The number of running instances, if clients do not share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<usize>,
    /// Why a start takes long, such as a download.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The last line of its stderr, while `detail` is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_output: Option<String>,
    /// Why the last attempt failed, the last connection ended, or the entry cannot be used.
    pub last_error: Option<String>,
    /// The reason in `last_error`, without the number of attempts; absent if there is no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds until the next automatic attempt; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_in_seconds: Option<u64>,
    /// The next step in the words of a terminal.
    pub next_step: Option<String>,
    /// The next step as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<NextStep>,
    /// How the demo server was started; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demo: Option<DemoOrigin>,
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
    /// The file with its stderr; null for a remote server.
    #[serde(default)]
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

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    /// On.
    On,
    /// Off.
    Off,
}

/// A daemon of an older version leaves the switch out.
fn unless_said_otherwise() -> bool {
    true
}

impl ServerRow {
    /// Whether it may be used at all, whatever its connection.
    pub fn standing(&self) -> Standing {
        match self {
            Self { enabled: false, .. } => Standing::Disabled,
            Self {
                quarantined: true, ..
            } => Standing::Quarantined,
            _ => Standing::Usable,
        }
    }

    /// `2 held, 1 other item held`: tools first, then prompts, resources and instructions.
    pub fn held_in_words(&self) -> Option<String> {
        let (tools, others) = (self.held_tools, self.held?.saturating_sub(self.held_tools));
        let others_held = format!("{} held", count(others, "other item"));
        Some(match (tools, others) {
            (_, 0) => format!("{tools} held"),
            (0, _) => others_held,
            _ => format!("{tools} held, {others_held}"),
        })
    }

    /// Whether it waits for approval, switched on or not.
    pub fn awaits_approval(&self) -> bool {
        let Self { quarantined, .. } = self;
        *quarantined
    }

    /// Whether it waits for a value that its entry refers to. That is no failure.
    pub fn needs_a_value(&self) -> bool {
        let step = self.step.as_ref().filter(|_| self.unusable);
        matches!(
            step,
            Some(NextStep::SetSecret { .. } | NextStep::SetVariable { .. })
        )
    }

    /// Whether it should work and does not.
    pub fn is_failing(&self) -> bool {
        let is_trying = self.state == ServerState::Connecting && self.last_error.is_some();
        let is_down = matches!(self.state, ServerState::Error | ServerState::Authenticating);
        self.standing().is_usable() && (is_down || is_trying)
    }

    /// Whether a person has to look at it.
    pub(super) fn needs_a_person(&self) -> bool {
        let waits = self.standing() == Standing::Quarantined;
        self.is_failing() || self.held.is_some() || self.left_out.is_some() || waits
    }
}

impl ServerChange {
    /// Without warnings and a number.
    pub fn of(server: ServerRow, changed: &[&str]) -> Self {
        Self {
            server,
            changed: changed.iter().map(|&key| key.to_owned()).collect(),
            warnings: Vec::new(),
            id: None,
        }
    }

    /// The same with its number in the history.
    pub(super) fn written(self, id: Option<u64>) -> Self {
        Self { id, ..self }
    }
}

impl<B: Backing> Management<B> {
    /// Every server of the configuration, broken entries included, by name.
    pub fn servers(&self) -> Result<ServerList> {
        let settings = self.settings()?;
        let servers = self.rows(&settings, &self.lists(&settings));
        Ok(ServerList { servers })
    }

    pub(super) fn rows(&self, settings: &Settings, lists: &Snapshot) -> Vec<ServerRow> {
        let sound = settings.servers.values();
        let sound = sound.map(|entry| self.row(settings, lists, entry));
        let broken = settings.broken.iter();
        let broken = broken.map(|broken| Self::broken_row(settings, lists, broken));
        let mut rows: Vec<ServerRow> = sound.chain(broken).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }

    /// All that is known of one server, its secrets redacted. Blocks.
    pub fn server_details(&self, name: &str) -> Result<ServerDetails> {
        let settings = self.settings()?;
        let connections = self.0.connections(name);
        let server = self.server(name)?;
        Ok(ServerDetails {
            log_file: self.log_file(&settings, &server).ok(),
            server,
            entry: self.reviewed_entry(&settings, name, ShownIn::Listing).0,
            in_flight: connections.in_flight,
            logged_in: connections.is_logged_in,
            unrecorded_failures: connections.all().map(|one| one.unrecorded_failures).sum(),
            missing: missing(&settings, name),
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
        let file = self.log_file(&settings, &row)?;
        let written = last_lines(&file, n).map_err(|error| {
            let error = format!("failed to read the log of {name}: {}", in_words(&error));
            let hint = "Let your user read the file.";
            Failure::new(ErrorCode::Internal, error, hint).of_server(name)
        })?;
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
        let file = |name: &ServerName| process::server_log_file(self.0.data_dir(), name);
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
        let settings = self.settings()?;
        let lists = self.lists(&settings);
        match configured(&settings, &lists, name) {
            Ok(entry) => Ok(self.row(&settings, &lists, entry)),
            Err(failure) => {
                let broken = settings.broken_entry(name);
                let row = broken.map(|broken| Self::broken_row(&settings, &lists, broken));
                row.ok_or_else(|| match failure.code {
                    ErrorCode::UnknownServer => {
                        let closest = closest_server(&settings, name);
                        let failure = failure.with_step(NextStep::ShowServers);
                        failure.with_closest(closest)
                    }
                    _ => failure,
                })
            }
        }
    }

    fn row(&self, settings: &Settings, lists: &Snapshot, entry: &ServerEntry) -> ServerRow {
        let connections = self.0.connections(entry.name.as_str());
        let refusal = server_refusal(settings, lists, entry.name.as_str());
        let instances = connections.instances.iter().filter(|one| runs(one)).count();
        let is_divided = match entry.session_scope {
            SessionScope::Shared => false,
            SessionScope::Auto => !connections.instances.is_empty(),
            SessionScope::Client | SessionScope::Workspace => true,
        };
        let switches = gate::switches(entry);
        let state = state(&connections);
        let detail = first_start(&connections);
        let last_output = detail
            .as_ref()
            .and_then(|_| latest(&self.0.recent_log(entry.name.as_str(), 2)));
        let trouble = Trouble::of(entry, &connections);
        let (last_error, reason, next) = match trouble {
            Some(trouble) => {
                let next = (trouble.next, Some(trouble.step));
                (Some(trouble.shown), Some(trouble.reason), Some(next))
            }
            None => (
                None,
                None,
                refusal.map(|failure| {
                    let words = as_step(&failure.terminal_step());
                    (words, failure.step.map(|step| as_data(*step)))
                }),
            ),
        };
        let listed = lists.servers.get(&entry.name);
        // What it listed by a former entry says nothing of the one that a person reviews.
        let listed =
            listed.filter(|listed| !switches.quarantined || *listed.entry == *entry.fingerprint);
        let held = held_step(settings, lists, &entry.name);
        let left_out = listed.and_then(|listed| LeftOut::of(listed, &entry.secrets));
        let left_out_step = left_out.as_ref().map(|_| LEFT_OUT_STEP.to_owned());
        let next = next
            .or_else(|| {
                held.as_ref()
                    .map(|(_, _, next)| (next.clone(), Some(NextStep::Review)))
            })
            .or(left_out_step.map(|next| (next, None)));
        let (next_step, step) = next.unzip();
        ServerRow {
            name: entry.name.to_string(),
            transport: Some(entry.transport.kind()),
            state,
            shown_state: shown_state(state, gate::standing(entry), B::RUNS),
            enabled: switches.enabled,
            quarantined: switches.quarantined,
            unusable: false,
            tools: listed
                .map(|server| server.tools.len())
                .or(B::RUNS.then_some(0)),
            held: held.as_ref().map(|(held, _, _)| *held),
            held_tools: held.map_or(0, |(_, tools, _)| tools),
            left_out,
            instances: is_divided.then_some(instances),
            detail,
            last_output,
            last_error,
            reason,
            next_attempt_in_seconds: connections
                .all()
                .find_map(Status::next_attempt_in)
                .map(|wait| wait.as_secs()),
            next_step,
            step: step.flatten(),
            demo: settings.demo.filter(|_| entry.name.as_str() == DEMO),
        }
    }

    /// Changes what is named of a server's entry, and leaves the rest of it as it is. A person may change everything.
    pub async fn patch_server(
        &self,
        name: &str,
        patch: Map<String, Value>,
    ) -> Result<ServerChange> {
        let row = self.row_before_change(name)?;
        let patch = read_patch(name, patch)?;
        let (server, us) = (name.to_owned(), self.backing().our_address());
        let by = ChangeOf::this_task();
        let note = by.note();
        let planned = self
            .change_seeing("patch", name, by, move |text| {
                plan_patch(text, &server, &patch, &us, Author::Person)
            })
            .await;
        let planned = planned.map_err(|failure| self.not_in_file(name, failure, Author::Person))?;
        drop(row);
        self.backing().follows(name).await;
        Ok(ServerChange {
            server: self.server(name)?,
            changed: planned.changed.clone(),
            warnings: self.warnings_of(name, &planned.changed),
            id: note.id(),
        })
    }

    /// The server that is to be changed. A file that cannot be used as a whole can be changed all the same: that is the inner
    /// failure, which counts only if it is still so afterwards.
    pub(super) fn row_before_change(&self, name: &str) -> Result<Result<ServerRow>> {
        match self.server(name) {
            Err(failure) if failure.code != ErrorCode::ConfigUnusable => Err(failure),
            row => Ok(row),
        }
    }
}

/// Why there is no log of this server here.
fn no_log(row: &ServerRow) -> Failure {
    let name = &row.name;
    let (error, hint, step) = match (&row.last_error, &row.step) {
        (Some(why), Some(step)) if row.unusable => (
            format!("{name} has written no log: {why}"),
            "Tell the user that its entry cannot be used.",
            step.clone(),
        ),
        _ => (
            format!("{name} is a remote server and keeps its own log"),
            "Ask the user to read it where that server runs.",
            NextStep::ShowServer,
        ),
    };
    let failure = Failure::new(ErrorCode::NoLog, error, hint).with_step(step);
    failure.of_server(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_and_one_of_a_later_version_too() {
        for state in [
            "Disconnected",
            "Connecting",
            "Authenticating",
            "Ready",
            "Error",
        ] {
            let row = format!(r#"{{"name":"a","state":"{state}"}}"#);
            let row: ServerRow = serde_json::from_str(&row).expect("a row");
            assert_eq!(row.state.as_str(), state);
            assert_eq!(serde_json::to_value(row.state).expect("JSON"), state);
        }
        let row = r#"{"name":"a","state":"Dreaming","mood":1}"#;
        let row: ServerRow = serde_json::from_str(row).expect("a row");
        assert_eq!(row.state, ServerState::Unknown);
    }
}
