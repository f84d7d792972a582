//! The verbs over the parts of a running daemon, and those that need them running.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Backing, Connections, Management,
    gated::server_refusal,
    servers::{LogLines, ServerChange},
};
use crate::{
    catalog::{Catalog, Snapshot},
    config::{Change, Keeper, Settings, WriteError},
    error_code::{ErrorCode, Failure},
    upstream::{Upstream, Upstreams},
};

/// The parts of a running daemon.
pub struct OverDaemon {
    keeper: Keeper,
    pub(super) catalog: Catalog,
    pub(super) upstreams: Upstreams,
    started: Instant,
}

impl Management {
    /// Verbs over these parts.
    pub fn new(keeper: Keeper, catalog: Catalog, upstreams: Upstreams) -> Self {
        Self(Arc::new(OverDaemon {
            keeper,
            catalog,
            upstreams,
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

    /// Connects a server anew, also one that sleeps, and lists it at once.
    pub async fn restart_server(&self, name: &str) -> Result<ServerChange, Failure> {
        let settings = self.settings_in_force();
        if let Some(failure) = server_refusal(&settings, &self.lists(&settings), name) {
            return Err(failure);
        }
        let Some(upstream) = self.0.upstreams.get(name) else {
            let error = format!("the server {name:?} is only just being set up");
            let failure = Failure::new(ErrorCode::ServerUnavailable, error, "Try again.");
            return Err(failure.of_server(name));
        };
        upstream.restart().await?;
        let instances = self.0.upstreams.instances(name);
        let restarts = instances.iter().map(Upstream::restart);
        // What came of each, its row says.
        let _ = futures_util::future::join_all(restarts).await;
        Ok(ServerChange::of(self.server(name)?, &[]))
    }

    /// The last lines that a server wrote to its stderr.
    pub fn server_logs(&self, name: &str, lines: usize) -> Result<LogLines, Failure> {
        self.server(name)?;
        let upstream = self.0.upstreams.get(name);
        let lines = upstream.map(|upstream| upstream.stderr().tail(lines));
        Ok(LogLines {
            lines: lines.unwrap_or_default(),
        })
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

    fn connections(&self, server: &str) -> Connections {
        let instances = self.upstreams.instances(server);
        Connections {
            base: self.upstreams.get(server).as_ref().map(Upstream::status),
            instances: instances.iter().map(Upstream::status).collect(),
        }
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), WriteError> {
        self.keeper.change(changes).await.map(drop)
    }
}
