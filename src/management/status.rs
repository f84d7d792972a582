//! The state of the daemon as a whole.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backing, Management, ServerRow, ServerState, health::is_zero};
use crate::{
    activity::ActivityStatus,
    config::{
        Listen, NotLoopback, Policy, Provider, RateLimit, ServerAuth, Settings, Warning, duration,
        loopback::on_this_machine,
    },
    failure::NextStep,
    gate::Standing,
    process,
    text::count,
    wire::Revision,
};

/// The state of the daemon.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// The daemon's version.
    pub version: String,
    /// The daemon's process id.
    pub pid: u32,
    /// Seconds since the daemon started.
    pub uptime_seconds: u64,
    /// The configuration file.
    pub config_file: PathBuf,
    /// The folders, files and addresses of the daemon.
    #[serde(flatten)]
    pub location: DaemonLocation,
    /// What `/mcp` lists.
    pub routing_mode: String,
    /// The numbers of servers.
    pub servers: ServerCounts,
    /// The number of known tools.
    pub tools: usize,
    /// The number of tools that can be called.
    pub callable_tools: Option<usize>,
    /// The number of open sessions.
    pub sessions: usize,
    /// The number of running calls, of all servers.
    #[serde(default)]
    pub in_flight: usize,
    /// The daemon's memory in bytes, without its servers; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The servers that need you, each with its error and its next step.
    #[serde(default)]
    pub problems: Vec<ServerRow>,
    /// Keys without effect, and changes that need a restart.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The changed keys that take effect after a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
    /// The providers and access rules; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The rate limit, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<String>,
    /// The state of the activity log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityStatus>,
    /// Why mcpproxy does not use the configuration file; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_error: Option<String>,
    /// What to do about `config_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_step: Option<NextStep>,
}

/// The remark on a daemon of another version than this program.
pub fn version_note(theirs: &str) -> Option<String> {
    let ours = env!("CARGO_PKG_VERSION");
    (theirs != ours).then(|| {
        format!("this is mcpproxy {ours}, the daemon is mcpproxy {theirs}: `mcpproxy restart`")
    })
}

/// When a change of a key takes effect that is only read at the start.
pub const COUNTS_AFTER_RESTART: &str = "takes effect after a restart of the daemon";

/// The folders, files and addresses of a daemon, which do not change while it runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DaemonLocation {
    /// The data folder in use.
    pub data_dir: PathBuf,
    /// The addresses on which the daemon listens.
    pub listen: Vec<SocketAddr>,
    /// The URL for clients; null if only the local socket is open.
    pub url: Option<String>,
    /// The daemon's log file; absent if it logs to stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<PathBuf>,
    /// Whether the daemon listens only on its local socket: `serve --stdio` without `--http`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local_only: bool,
    /// The lock file in use; only the definitions in it are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_file: Option<PathBuf>,
    /// The options of `serve` with which a restart starts the daemon again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serve_options: Vec<String>,
    /// Seconds without a client after which this daemon stops; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_after_idle_seconds: Option<u64>,
}

impl DaemonLocation {
    /// Whether the daemon may listen on addresses that other machines can reach.
    pub fn is_insecure(&self) -> bool {
        self.serve_options.iter().any(|one| one == "--insecure")
    }

    /// Why the daemon does not listen there after a restart, if it does not.
    pub fn refused(&self, listen: Listen) -> Option<NotLoopback> {
        let refused = listen.for_this_machine().err();
        refused.filter(|_| !self.is_insecure())
    }

    /// The addresses as a list for people; nothing if only the local socket is open.
    pub fn addresses(&self) -> Option<String> {
        let addresses: Vec<_> = self.listen.iter().map(SocketAddr::to_string).collect();
        (!addresses.is_empty()).then(|| addresses.join(", "))
    }

    /// The base of the web UI's address for a browser on this machine, unless only the local socket is open.
    pub fn page_base(&self) -> Option<String> {
        let first = self.listen.first().copied();
        first.map(|socket| format!("http://{}", on_this_machine(socket)))
    }
}

/// A link that logs a browser in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PageLink {
    /// The URL that logs one browser in, once.
    pub url: String,
    /// Seconds until the link expires.
    pub expires_in_seconds: u64,
}

/// The numbers of servers.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerCounts {
    /// Enabled servers with a usable entry.
    pub configured: usize,
    /// Connected now.
    pub connected: usize,
    /// All servers of the file, and the demo server if it runs; the states add up to it.
    pub total: usize,
    /// Whether the demo server is one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
    /// Ready.
    pub ready: usize,
    /// Not connected, and nothing is wrong: the next call connects.
    pub asleep: usize,
    /// Starting.
    pub connecting: usize,
    /// Waiting for your login.
    pub authenticating: usize,
    /// Waiting for a secret or a variable to which their entries refer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub needs_a_value: usize,
    /// Broken or out of reach.
    pub error: usize,
    /// Disabled.
    pub disabled: usize,
    /// Quarantined until you approve them.
    pub quarantined: usize,
}

impl ServerCounts {
    /// The number of servers in each state.
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
    /// The state of the daemon, which has this number of client sessions.
    pub fn status(&self, location: &DaemonLocation, sessions: usize) -> StatusReport {
        let view = self.view_in_force();
        let settings = &view.settings;
        let health = self.health(sessions);
        let rows = self.rows(&view);
        let servers =
            ServerCounts::of(&rows, health.backends_configured, health.backends_connected);
        let in_flight = rows
            .iter()
            .map(|row| self.0.connections(&row.name).in_flight)
            .sum();
        let rejected = self.config_error();
        let mut warnings = settings.all_warnings();
        let needs_restart = self.needs_restart();
        let refused = location.refused(settings.listen);
        warnings.extend(needs_restart.iter().map(|key| {
            let refused = refused.filter(|_| key == "listen");
            let what = refused.map_or_else(
                || format!("was changed; the new value {COUNTS_AFTER_RESTART}"),
                |refused| format!("was changed: {}", refused.in_file()),
            );
            Warning::of_key(key, what)
        }));
        StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_seconds: self.uptime().as_secs(),
            config_file: self.config_file().to_owned(),
            location: location.clone(),
            routing_mode: settings.routing_mode.as_str().to_owned(),
            servers,
            tools: health.tools,
            callable_tools: Some(view.callable_tools().count()),
            problems: rows.into_iter().filter(ServerRow::needs_a_person).collect(),
            sessions: health.active_clients,
            in_flight,
            memory_bytes: process::own_memory(),
            warnings,
            needs_restart,
            access: settings
                .server_auth
                .as_deref()
                .map(|auth| access(auth, settings)),
            rate_limit: settings.rate_limit.map(rate_limit),
            activity: Some(self.0.activity.status()),
            config_error: rejected.as_ref().map(|failure| failure.error.clone()),
            config_step: rejected.and_then(|failure| failure.step.map(|step| *step)),
        }
    }
}

/// `bearer, 2 tokens, 3 access rules, default deny`.
fn access(auth: &ServerAuth, settings: &Settings) -> String {
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
    let most = limit.burst;
    format!("one request every {interval} for each caller, {most} at once")
}

/// The commit of the sources, which the build of a release sets; empty means unknown.
const COMMIT: Option<&str> = option_env!("MCPPROXY_COMMIT");

/// The versions of a program.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProgramVersion {
    /// Its version.
    pub version: &'static str,
    /// The commit that it was built from; null if unknown.
    pub commit: Option<&'static str>,
    /// The revisions of MCP that it speaks.
    pub revisions: Vec<&'static str>,
}

impl ProgramVersion {
    /// The versions of this program.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: COMMIT.filter(|commit| !commit.is_empty()),
            revisions: Revision::all().map(Revision::as_str).collect(),
        }
    }
}
