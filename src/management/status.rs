//! The daemon as a whole.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Backing, Management, gated::count_callable, health::is_zero, server_state::ServerState,
    servers::ServerRow,
};
use crate::{
    activity::ActivityStatus,
    config::{Policy, Provider, RateLimit, ServerAuth, Settings, Warning, duration},
    gate::Standing,
    process,
    wire::Revision,
};

/// The answer of `GET /api/v1/status`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// The daemon's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// How long it runs.
    pub uptime_seconds: u64,
    /// The configuration file.
    pub config_file: PathBuf,
    /// Where it is.
    #[serde(flatten)]
    pub location: DaemonLocation,
    /// What `/mcp` lists.
    pub routing_mode: String,
    /// The servers in numbers.
    pub servers: ServerCounts,
    /// Tools known.
    pub tools: usize,
    /// Those of them that may be called.
    #[serde(default)]
    pub callable_tools: Option<usize>,
    /// Client sessions open.
    pub sessions: usize,
    /// Calls in flight, of all servers.
    #[serde(default)]
    pub in_flight: usize,
    /// What the daemon has in memory, in bytes, without its servers; absent where the system does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The servers that do not work of which something is held, or that wait for approval, each with its error and its next step.
    #[serde(default)]
    pub problems: Vec<ServerRow>,
    /// What of the configuration is ignored, and what waits for a restart.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The keys of the configuration whose new values count only after a restart; `warnings` say it in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
    /// Who has to show what, and what the access rules are; absent where everybody may have everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// How often one caller may ask, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<String>,
    /// How the activity log is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityStatus>,
    /// Why the configuration file as it stands is not in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_error: Option<String>,
}

/// What to tell the user of a daemon of this version, unless it is ours.
pub fn version_note(theirs: &str) -> Option<String> {
    let ours = env!("CARGO_PKG_VERSION");
    (theirs != ours)
        .then(|| format!("this is mcpproxy {ours}, the daemon runs {theirs}: `mcpproxy restart`"))
}

/// That a key of the configuration has a new value, which does not count yet.
pub fn restart_warning(key: &str) -> Warning {
    Warning::of_key(
        key,
        format_args!("was changed; the new value {COUNTS_AFTER_RESTART}"),
    )
}

/// When the new value of a key counts that is read at the start.
pub const COUNTS_AFTER_RESTART: &str = "takes effect after a restart of the daemon";

/// Where a daemon is. It does not change while it runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DaemonLocation {
    /// The data folder in use.
    pub data_dir: PathBuf,
    /// The addresses that are served.
    pub listen: Vec<String>,
    /// Where clients connect, unless only the local socket is served.
    pub url: Option<String>,
    /// The log of a daemon that was started in the background for clients; others log to stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<PathBuf>,
    /// Whether it serves no address on purpose: `serve --stdio` without `--http`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local_only: bool,
    /// The lock file that is served: exactly what it has is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_file: Option<PathBuf>,
    /// The options of `serve` that the daemon has, with which a restart starts it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serve_options: Vec<String>,
    /// How long such a daemon stays when nobody is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_after_idle_seconds: Option<u64>,
}

impl DaemonLocation {
    /// Where a browser of this machine finds the page, unless only the local socket is served.
    pub fn page_base(&self) -> Option<String> {
        let mut address: SocketAddr = self.listen.first()?.parse().ok()?;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        Some(format!("http://{address}"))
    }
}

/// The answer of `POST /api/v1/ui/links`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PageLink {
    /// The address that logs one browser in, once.
    pub url: String,
    /// How long it works.
    pub expires_in_seconds: u64,
}

/// How many servers there are.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerCounts {
    /// Switched on and sound.
    pub configured: usize,
    /// Connected now.
    pub connected: usize,
    /// All that stand in the file, broken and disabled ones included, and the demo server where it runs. The states add up to it.
    pub total: usize,
    /// Whether the demo server is among them, which stands in no file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
    /// Ready.
    pub ready: usize,
    /// Not connected, and nothing is wrong: the next call connects.
    pub asleep: usize,
    /// On their way.
    pub connecting: usize,
    /// Waiting for a person to log in.
    pub authenticating: usize,
    /// Waiting for a secret or a variable that their entries refer to.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub needs_a_value: usize,
    /// Broken, or not to be reached.
    pub error: usize,
    /// Switched off.
    pub disabled: usize,
    /// Held until a person approves.
    pub quarantined: usize,
}

impl ServerCounts {
    /// How many servers are in each state.
    pub fn by_state(&self) -> [(&'static str, usize); 8] {
        let Self {
            ready,
            asleep,
            connecting,
            authenticating,
            needs_a_value,
            error,
            disabled,
            quarantined,
            configured: _,
            connected: _,
            total: _,
            demo: _,
        } = *self;
        [
            ("ready", ready),
            ("asleep", asleep),
            ("connecting", connecting),
            ("authenticating", authenticating),
            ("needs_a_value", needs_a_value),
            ("error", error),
            ("disabled", disabled),
            ("quarantined", quarantined),
        ]
    }

    fn of(rows: &[ServerRow], configured: usize, connected: usize) -> Self {
        let standing = |standing| rows.iter().filter(move |row| row.standing() == standing);
        let count = |state| {
            let rows = standing(Standing::Usable);
            rows.filter(|row| row.state == state).count()
        };
        let waiting = standing(Standing::Usable).filter(|row| row.needs_a_value());
        let needs_a_value = waiting.count();
        Self {
            configured,
            connected,
            total: rows.len(),
            demo: rows.iter().any(|row| row.demo.is_some()),
            ready: count(ServerState::Ready),
            asleep: count(ServerState::Disconnected),
            connecting: count(ServerState::Connecting),
            authenticating: count(ServerState::Authenticating),
            needs_a_value,
            error: count(ServerState::Error) - needs_a_value,
            disabled: standing(Standing::Disabled).count(),
            quarantined: standing(Standing::Quarantined).count(),
        }
    }
}

impl Management {
    /// How the daemon is, told by one who counts its client sessions.
    pub fn status(&self, location: &DaemonLocation, sessions: usize) -> StatusReport {
        let settings = self.settings_in_force();
        let health = self.health(sessions);
        let lists = self.lists(&settings);
        let rows = self.rows(&settings, &lists);
        let servers =
            ServerCounts::of(&rows, health.backends_configured, health.backends_connected);
        let in_flight = rows
            .iter()
            .map(|row| self.0.connections(&row.name).in_flight);
        let rows_in_flight = in_flight.sum();
        let mut warnings = settings.all_warnings();
        let needs_restart = self.needs_restart();
        warnings.extend(needs_restart.iter().map(|key| restart_warning(key)));
        StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_seconds: self.uptime().as_secs(),
            config_file: self.config_file().to_owned(),
            location: location.clone(),
            routing_mode: settings.routing_mode.as_str().to_owned(),
            servers,
            tools: health.tools,
            callable_tools: Some(count_callable(&settings, &lists, |_, _| true)),
            problems: rows.into_iter().filter(ServerRow::needs_a_person).collect(),
            sessions: health.active_clients,
            in_flight: rows_in_flight,
            memory_bytes: process::own_memory(),
            warnings,
            needs_restart,
            access: settings
                .server_auth
                .as_deref()
                .map(|auth| access(auth, &settings)),
            rate_limit: settings.rate_limit.map(rate_limit),
            activity: Some(self.0.activity.status()),
            config_error: self.config_error(),
        }
    }
}

/// `bearer, 2 tokens, 3 access rules, default deny`.
fn access(auth: &ServerAuth, settings: &Settings) -> String {
    let count = |count: usize, of: &str| match count {
        1 => format!("1 {of}"),
        count => format!("{count} {of}s"),
    };
    let providers = auth.providers.iter().map(|provider| match provider {
        Provider::Bearer => format!("bearer, {}", count(auth.tokens.len(), "token")),
        Provider::Forwarded => "forwarded by a proxy".to_owned(),
    });
    let mut parts: Vec<String> = providers.collect();
    if parts.is_empty() {
        let is_required = settings.requires_credentials();
        let word = if is_required {
            "tokens required"
        } else {
            "no credentials needed"
        };
        parts.push(word.to_owned());
    }
    match &auth.acl {
        None => parts.push("no access rules".to_owned()),
        Some(acl) => {
            let default = match acl.default {
                Policy::Allow => "allow",
                Policy::Deny => "deny",
            };
            parts.push(count(acl.rules.len(), "access rule"));
            parts.push(format!("default {default}"));
        }
    }
    parts.join(", ")
}

/// `one request every 100ms, 20 at once`.
fn rate_limit(limit: RateLimit) -> String {
    let interval = duration::show(limit.interval.max(Duration::from_millis(1)));
    format!(
        "one request every {interval} for each caller, {} at once",
        limit.burst
    )
}

/// The commit of the sources, which whoever builds a release names; an empty one counts as none.
const COMMIT: Option<&str> = option_env!("MCPPROXY_COMMIT");

/// What this program is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProgramVersion {
    /// Its version.
    pub version: &'static str,
    /// The commit that it was built from; null in a build that was not told of one.
    pub commit: Option<&'static str>,
    /// The revisions of the protocol that it speaks.
    pub revisions: Vec<&'static str>,
}

impl ProgramVersion {
    /// Ours.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: COMMIT.filter(|commit| !commit.is_empty()),
            revisions: Revision::all().map(Revision::as_str).collect(),
        }
    }
}
