//! The verbs over the parts of a running daemon, and those that need them running.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Backing, Connections, Management,
    gated::server_refusal,
    servers::{ServerChange, ServerDetails},
};
use crate::{
    activity::{Activity, ActivityReader, UnreadableActivity},
    catalog::{ApprovalRequest, Catalog, ServerCatalog, Snapshot},
    config::{Change, Keeper, Settings, WriteError},
    error_code::{ErrorCode, Failure},
    names::ServerName,
    upstream::{State, Upstream, Upstreams},
};

/// How often it is looked whether a server has settled.
const SETTLING: Duration = Duration::from_millis(50);

/// The parts of a running daemon.
pub struct OverDaemon {
    keeper: Keeper,
    pub(super) catalog: Catalog,
    pub(super) upstreams: Upstreams,
    data_dir: PathBuf,
    pub(super) activity: Activity,
    started: Instant,
}

impl Management {
    /// Verbs over these parts.
    pub fn new(
        keeper: Keeper,
        catalog: Catalog,
        upstreams: Upstreams,
        data_dir: PathBuf,
        activity: Activity,
    ) -> Self {
        Self(Arc::new(OverDaemon {
            keeper,
            catalog,
            upstreams,
            data_dir,
            activity,
            started: Instant::now(),
        }))
    }

    /// How long the daemon runs.
    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// The settings in force. A daemon always has some.
    pub fn settings_in_force(&self) -> Arc<Settings> {
        self.0.keeper.settings()
    }

    /// What of the file counts only after a restart, each in a sentence.
    pub(super) fn restart_needed(&self) -> Vec<String> {
        let keys = self.0.keeper.needs_restart();
        let warning = |key| {
            format!("`{key}` was changed; the new value counts after a restart of the daemon")
        };
        keys.into_iter().map(warning).collect()
    }

    /// How a server is when its first attempt to connect has come to an end, where one is under way or about to be. Waits for that,
    /// but not longer than `patience`.
    pub async fn settled_server(
        &self,
        name: &str,
        patience: Duration,
    ) -> Result<ServerDetails, Failure> {
        let deadline = Instant::now() + patience;
        while self.is_about_to_connect(name) && Instant::now() < deadline {
            tokio::time::sleep(SETTLING).await;
        }
        self.server_details(name)
    }

    /// A server whose lists are known sleeps until it is called; one that may not be contacted never comes.
    fn is_about_to_connect(&self, name: &str) -> bool {
        let settings = self.settings_in_force();
        let entry = settings.servers.get(name);
        let Some(entry) = entry.filter(|entry| entry.may_be_contacted()) else {
            return false;
        };
        let status = self.0.upstreams.get(name).map(|upstream| upstream.status());
        match status {
            // The supervisor has not seen the change yet.
            None => true,
            Some(status) if status.settled => false,
            Some(status) => {
                let is_connecting = matches!(status.state, State::Connecting { .. });
                is_connecting || !self.lists(&settings).servers.contains_key(&entry.name)
            }
        }
    }

    /// Connects a server anew, also one that sleeps, and lists it at once. That it came to nothing, its row says.
    pub async fn restart_server(&self, name: &str) -> Result<ServerChange, Failure> {
        let restarted = self.restart_unrecorded(name).await;
        let error = restarted
            .as_ref()
            .err()
            .map(|failure| failure.error.clone());
        self.0.activity.note_change("restart", name, error);
        restarted
    }

    async fn restart_unrecorded(&self, name: &str) -> Result<ServerChange, Failure> {
        let settings = self.settings_in_force();
        if let Some(failure) = server_refusal(&settings, &self.lists(&settings), name) {
            return Err(failure);
        }
        let Some(upstream) = self.0.upstreams.get(name) else {
            let error = format!("the server {name:?} is only just being set up");
            let failure = Failure::new(ErrorCode::ServerUnavailable, error, "Try again.");
            return Err(failure.of_server(name));
        };
        if let Err(failure) = upstream.restart().await
            && self.server(name)?.last_error.is_none()
        {
            return Err(failure);
        }
        let instances = self.0.upstreams.instances(name);
        let restarts = instances.iter().map(Upstream::restart);
        // What came of each, its row says.
        let _ = futures_util::future::join_all(restarts).await;
        Ok(ServerChange::of(self.server(name)?, &[]))
    }
}

impl Backing for OverDaemon {
    /// The daemon asks its servers: one that it has not listed yet has no tools for anybody.
    const TOOLS_UNLISTED: Option<usize> = Some(0);

    fn settings(&self) -> Result<Arc<Settings>, Failure> {
        Ok(self.keeper.settings())
    }

    fn config_file(&self) -> &Path {
        self.keeper.file()
    }

    fn config_error(&self) -> Option<String> {
        self.keeper.last_error().map(|error| error.to_string())
    }

    fn lists(&self, _: &Settings) -> Arc<Snapshot> {
        self.catalog.snapshot()
    }

    fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    fn recent_log(&self, server: &str, n: usize) -> Vec<String> {
        let upstream = self.upstreams.get(server);
        upstream.map_or_else(Vec::new, |upstream| upstream.stderr().tail(n))
    }

    /// The supervisor removes its log when the server has ended, however the entry went away. What was approved of it stays when an
    /// entry merely vanishes from the file, which may be a mistake.
    async fn forget(&self, server: &str) {
        if let Ok(name) = ServerName::parse(server) {
            self.catalog.forget_approvals(name).await;
        }
    }

    async fn approve(
        &self,
        request: ApprovalRequest,
        _: Option<&ServerCatalog>,
    ) -> Result<(), Failure> {
        self.catalog.approve(request).await
    }

    fn connections(&self, server: &str) -> Connections {
        let instances = self.upstreams.instances(server);
        Connections {
            base: self.upstreams.get(server).as_ref().map(Upstream::status),
            instances: instances.iter().map(Upstream::status).collect(),
        }
    }

    async fn activity(&self) -> Result<ActivityReader, UnreadableActivity> {
        self.activity.reader().await
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), WriteError> {
        let told: Vec<_> = changes.iter().map(told).collect();
        let written = self.keeper.change(changes).await.map(drop);
        let error = written.as_ref().err().map(ToString::to_string);
        for (action, server) in told {
            self.activity.note_change(action, &server, error.clone());
        }
        written
    }
}

/// A change as the log has it: what is done, to which server.
fn told(change: &Change) -> (&'static str, String) {
    match change {
        Change::AddServer { name, .. } => ("add", name.to_string()),
        Change::RemoveServer { name } => ("remove", name.clone()),
        Change::SetKey {
            server,
            path,
            value,
        } => {
            let action = match (&path[..], value) {
                ([key], serde_json::Value::Bool(true)) if key == "enabled" => "enable",
                ([key], serde_json::Value::Bool(false)) if key == "enabled" => "disable",
                _ => "edit",
            };
            (action, server.clone())
        }
        Change::RemoveKey { server, .. } => ("edit", server.clone()),
    }
}
