//! Looks for everything that may keep mcpproxy from working, and says of each thing what to do about it. Needs no daemon, and asks
//! the one that runs. Nothing is changed; servers are started only where no daemon runs, and only those that may be.

mod clients;
mod commands;
mod configuration;
mod file_modes;
mod finding;
mod handshakes;
mod leftovers;
mod platform;
mod port;
mod port_owner;
mod program;
mod repeated;
mod resources;
mod search_path;
mod secrets;
mod trial;

use std::{env, fs::File, time::Duration};

use serde::Serialize;

pub use self::finding::{DoctorFinding, DoctorSeverity};
use crate::{
    client_files::{ClientPlaces, OurAddress},
    config::Settings,
    daemon_client::{DaemonClient, DaemonError},
    management::{ConfigReport, Management, OverFiles, ServerList, StatusReport},
    process::{BaseEnvironment, LoginPath},
};

/// Whether servers may be started where no daemon can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartServers {
    /// All together within this time.
    Within(Duration),
    /// They may not.
    No,
}

/// Everything that was found.
#[derive(Debug, Clone, Serialize)]
pub struct DoctorReport {
    /// Whether nothing fails.
    pub ok: bool,
    /// Our version.
    pub version: &'static str,
    /// The version of the daemon that runs.
    pub daemon: Option<String>,
    /// How many tools are indexed.
    pub tools: usize,
    /// What was looked at, check by check.
    pub findings: Vec<DoctorFinding>,
}

/// Looks at everything. `daemon` is what came of looking for it.
pub async fn examine(
    files: &Management<OverFiles>,
    config: &ConfigReport,
    daemon: Result<DaemonClient, DaemonError>,
    start: StartServers,
) -> DoctorReport {
    let mut findings = Vec::new();
    let mut daemon = match daemon {
        Ok(daemon) => Some(daemon),
        Err(error) => {
            findings.push(no_daemon(&error));
            None
        }
    };
    let status: Option<StatusReport> = daemon
        .as_ref()
        .and_then(|daemon| serde_json::from_slice(daemon.status()).ok());
    let status = status.as_ref();
    let data_dir = status.map_or(files.data_dir(), |status| &status.location.data_dir);
    let settings = files.settings().ok();
    let known = settings.as_deref().cloned().unwrap_or_default();

    findings.splice(0..0, program::check(status));
    findings.extend(configuration::check(config, status));
    // Without a configuration nobody knows which port is meant.
    if settings.is_some() || status.is_some() {
        findings.push(port::check(known.listen, status).await);
    }
    findings.extend(file_modes::configuration(
        files.config_file(),
        configuration::has_secrets(files.config_file(), &known),
    ));
    findings.extend(secrets::check(files));
    findings.extend(file_modes::data_folder(data_dir));
    findings.extend(resources::disk(data_dir));
    findings.push(resources::open_files());
    findings.extend(leftovers::check(data_dir, daemon.is_some()));

    let login_path = LoginPath::default();
    let login = login_path.get().await;
    let base = BaseEnvironment::new(&known.environment, login.as_deref());
    let has_shell = env::var_os("SHELL").is_some_and(|shell| !shell.is_empty());
    let has_terminal = File::open("/dev/tty").is_ok();
    findings.push(search_path::check(
        &base,
        login.as_deref(),
        has_shell,
        has_terminal,
    ));
    let runs = daemon.is_some();
    let programs = commands::check(&known, &base);
    let servers = match &mut daemon {
        Some(daemon) => ask(daemon).await,
        None => match start {
            StartServers::Within(time) => {
                Box::pin(handshakes::tried(&known, data_dir, login_path, time)).await
            }
            StartServers::No => handshakes::not_tried(&known),
        },
    };
    findings.extend(repeated::once(config, programs, servers, runs));
    let tools = status.map_or_else(|| files.lists(&known).tool_count(), |status| status.tools);
    findings.push(index(tools, &known));
    findings.extend(named_by_clients(&known, status));
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

fn no_daemon(error: &DaemonError) -> DoctorFinding {
    if error.is_absence() {
        return DoctorFinding::ok("daemon", "none runs");
    }
    let fix = "look at its log; end it with `kill` if it hangs, and start it again";
    DoctorFinding::fail("daemon", error.to_string(), fix)
}

/// The servers, as the daemon knows them.
async fn ask(daemon: &mut DaemonClient) -> Vec<DoctorFinding> {
    let answer = daemon.get("/api/v1/servers").await;
    let list = answer.map(|body| serde_json::from_slice::<ServerList>(&body));
    match list {
        Ok(Ok(list)) => handshakes::of_daemon(&list.servers),
        Ok(Err(error)) => vec![DoctorFinding::fail(
            "server",
            format!("the daemon's list of servers is not understood: {error}"),
            "make sure that daemon and command line are of the same version",
        )],
        Err(error) => vec![DoctorFinding::fail(
            "server",
            error.to_string(),
            "look at the daemon's log, then try again",
        )],
    }
}

fn index(tools: usize, settings: &Settings) -> DoctorFinding {
    let what = match tools {
        1 => "1 tool is indexed".to_owned(),
        tools => format!("{tools} tools are indexed"),
    };
    if tools == 0 && commands::usable(settings).next().is_some() {
        let fix = "start the daemon, which lists every server once; `mcpproxy upstream list` says how they are";
        return DoctorFinding::warn("index", what, fix);
    }
    DoctorFinding::ok("index", what)
}

fn named_by_clients(settings: &Settings, status: Option<&StatusReport>) -> Vec<DoctorFinding> {
    let Some(places) = ClientPlaces::of_process() else {
        return Vec::new();
    };
    let addresses = status.map(|status| status.location.listen.as_slice());
    let ports = addresses.unwrap_or_default().iter();
    let mut ports: Vec<u16> = ports
        .filter_map(|address| address.rsplit_once(':')?.1.parse().ok())
        .collect();
    if ports.is_empty() {
        ports.push(settings.listen.port());
    }
    let us = OurAddress { ports };
    clients::check(&places, &clients::ServedHere { us, settings })
}
