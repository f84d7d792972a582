//! Looks for everything that may keep mcpproxy from working, and says of each thing what to do about it. Needs no daemon, and asks
//! the one that runs. Nothing is changed, but for a file in the data folder, or the folder itself, that is created and removed. Servers are
//! started only where no daemon runs, and only those that may be started.

mod clients;
mod configuration;
mod files;
mod finding;
mod new_server;
mod port;
mod program;
mod secrets;
mod servers;
mod trial;

use std::{path::Path, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    finding::{DoctorFinding, DoctorSeverity},
    new_server::{TriedServer, try_new},
    port::{TakenPort, answer_to, why_unheard},
};
use crate::{
    clients::{ClientPlaces, client_rows, our_address},
    config::{self, IssuedTokens, OurAddress, Settings},
    management::{ConfigReport, Files, ServerRow, StatusReport},
    process::{BaseEnvironment, LoginPath},
    text::count,
};

/// Whether servers may be started where no daemon can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartServers {
    /// All together within this time.
    Within(Duration),
    /// They may not.
    No,
}

/// What came of looking for a daemon that runs.
#[derive(Debug)]
pub enum SeenDaemon {
    /// It says how it is, and how its servers are or why that is not known.
    Runs {
        /// How it is.
        status: Box<StatusReport>,
        /// Its servers.
        servers: Result<Vec<ServerRow>, ServersUnknown>,
    },
    /// There is none.
    Absent,
    /// One is there, and does not answer as it should, for this reason.
    Unusable(String, String),
}

/// Why it is not known how the servers of a daemon are, and what to do about it.
#[derive(Debug)]
pub struct ServersUnknown {
    /// Why.
    pub what: String,
    /// The next step.
    pub fix: &'static str,
}

/// The result of all checks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether no check failed.
    pub ok: bool,
    /// The version of the program.
    pub version: &'static str,
    /// The version of the running daemon.
    pub daemon: Option<String>,
    /// The number of indexed tools.
    pub tools: usize,
    /// The findings, check by check.
    pub findings: Vec<DoctorFinding>,
}

/// Looks at everything, beside the daemon that was seen.
pub async fn examine(
    files: &Files,
    config: &ConfigReport,
    daemon: &SeenDaemon,
    start: StartServers,
) -> DoctorReport {
    let mut findings = Vec::new();
    let status = match daemon {
        SeenDaemon::Runs { status, .. } => Some(&**status),
        SeenDaemon::Absent => {
            findings.push(absent(files));
            findings.extend(program::left_behind(files.data_dir()));
            None
        }
        SeenDaemon::Unusable(error, fix) => {
            findings.push(DoctorFinding::fail("daemon", error, fix));
            None
        }
    };
    let runs = status.is_some();
    let data_dir = status.map_or(files.data_dir(), |status| &status.location.data_dir);
    let supposed = || Some(Arc::new(files.supposed_settings().ok()?.settings));
    // What only the daemon knows the values of is in force there; without it nothing is started with values that are none.
    let settings = files
        .settings()
        .ok()
        .or_else(|| supposed().filter(|_| runs));
    let known = settings.as_deref().cloned().unwrap_or_default();

    findings.splice(0..0, program::check(status));
    findings.extend(configuration::check(config));
    // Without a configuration nobody knows which port is meant.
    let listen = settings.as_ref().map(|settings| settings.listen);
    // One that does not answer has its port; that is one finding.
    let listen = listen.filter(|_| !matches!(daemon, SeenDaemon::Unusable(..)));
    findings.extend(port::check(listen, status, files.places()).await);
    let has_secrets = configuration::has_secrets(files.config_file(), &known);
    findings.extend(files::configuration(files.config_file(), has_secrets));
    // A data folder that is none is a finding of the configuration.
    let is_folder = |folder: &Path| !folder.exists() || folder.is_dir();
    findings.extend(secrets::check(files).filter(|_| is_folder(files.data_dir())));
    findings.extend(files::data_folder(data_dir).filter(|_| is_folder(data_dir)));
    findings.extend(status.and_then(files::activity_log));

    let login_path = LoginPath::default();
    let login = login_path.get().await;
    let base = BaseEnvironment::new(&known.environment, login.as_deref());
    let is_path_known = login.is_some() || known.environment.set.contains_key("PATH");
    findings.push(servers::search_path(&base, is_path_known));
    let mut programs = servers::programs(&known, &base);
    // One fault is one finding: what cannot be used is the configuration's, and a daemon knows best why a server fails.
    let servers = match (daemon, start) {
        (SeenDaemon::Runs { servers, .. }, _) => match servers {
            Ok(rows) => {
                let broken: Vec<&str> = config.broken.iter().map(|broken| &*broken.name).collect();
                let servers = servers::of_daemon(rows, &broken);
                let failing = servers::failing(&servers);
                programs.retain(|found| {
                    let place = found.place.as_deref();
                    place.is_none_or(|place| !failing.contains(&place))
                });
                servers
            }
            Err(unknown) => vec![DoctorFinding::fail("server", &unknown.what, unknown.fix)],
        },
        (_, StartServers::Within(time)) => {
            let failing = servers::failing(&programs);
            Box::pin(servers::tried(&known, &failing, data_dir, login_path, time)).await
        }
        (_, StartServers::No) => servers::not_tried(&known),
    };
    findings.append(&mut programs);
    findings.extend(servers);
    let tools = status.map_or_else(|| files.lists(&known).tool_count(), |status| status.tools);
    findings.push(index(tools, &known, status));
    let held_against = settings.as_deref().map(|settings| {
        let mut settings = settings.clone();
        settings.issued = IssuedTokens::usable(data_dir);
        settings
    });
    findings.extend(named_by_clients(files, held_against.as_ref(), status));
    DoctorReport {
        ok: findings
            .iter()
            .all(|found| found.severity != DoctorSeverity::Fail),
        version: env!("CARGO_PKG_VERSION"),
        daemon: status.map(|status| status.version.clone()),
        tools,
        findings,
    }
}

fn index(tools: usize, settings: &Settings, status: Option<&StatusReport>) -> DoctorFinding {
    let what = format!("{} indexed", count(tools, "tool"));
    let starting = status.map_or(0, |status| status.servers.connecting);
    if tools == 0 && starting > 0 {
        let starting = count(starting, "server");
        return DoctorFinding::ok("index", format!("{what} so far; {starting} starting"));
    }
    if tools == 0 && servers::usable(settings).next().is_some() {
        let fix = if status.is_some() {
            "`mcpproxy upstream restart NAME` connects a server and lists its tools"
        } else {
            "`mcpproxy start`, which lists every server once"
        };
        return DoctorFinding::warn("index", what, fix);
    }
    DoctorFinding::ok("index", what)
}

/// A daemon that does not run. Clients that start a bridge start it themselves.
fn absent(files: &Files) -> DoctorFinding {
    let settings = files.settings().ok();
    let reached = where_reached(files, settings.as_deref(), None);
    let rows = reached.map(|(places, us)| client_rows(&places, &us, true));
    let mut rows = rows.unwrap_or_default();
    rows.retain(|row| row.connected && row.shows_token.is_some());
    if rows.is_empty() {
        return DoctorFinding::ok("daemon", "not running");
    }
    let titles: Vec<&str> = rows.iter().map(|row| row.title).collect();
    let what = format!("not running, but needed by {}", titles.join(", "));
    DoctorFinding::warn("daemon", what, "`mcpproxy start`")
}

/// The places of clients' files, and our address in them; nothing where one is not known.
fn where_reached(
    files: &Files,
    settings: Option<&Settings>,
    status: Option<&StatusReport>,
) -> Option<(ClientPlaces, OurAddress)> {
    let location = status.map(|status| &status.location);
    let is_known = location.is_some() || settings.is_some();
    let places = ClientPlaces::of_process().filter(|_| is_known)?;
    Some((places, our_address(files, location)))
}

fn named_by_clients(
    files: &Files,
    settings: Option<&Settings>,
    status: Option<&StatusReport>,
) -> Vec<DoctorFinding> {
    let Some((places, us)) = where_reached(files, settings, status) else {
        return Vec::new();
    };
    let defaults = Settings::default();
    // What is wrong with the file is a finding of its own.
    let text = config::read_text(files.config_file()).unwrap_or_default();
    let entries = config::written_entries(&text).unwrap_or_default();
    let served = clients::ServedHere {
        us,
        settings: settings.unwrap_or(&defaults),
        is_known: settings.is_some(),
        entries: &entries,
    };
    clients::check(&places, &served)
}
