//! What an operator can ask and do, once for every face: REST, the command line, and the tools that agents get.

mod health;
mod servers;
mod tools;

use std::{sync::Arc, time::Instant};

pub use self::{
    health::Health,
    servers::{Enabled, ServerRow, not_written},
    tools::{ShownTool, ToolRow},
};
use crate::{
    catalog::Catalog,
    config::{Keeper, Settings},
    upstream::Upstreams,
};

/// The operator's verbs. Cheap to clone.
#[derive(Clone)]
pub struct Management(Arc<Parts>);

struct Parts {
    keeper: Keeper,
    catalog: Catalog,
    upstreams: Upstreams,
    started: Instant,
}

impl Management {
    /// Verbs over these parts.
    pub fn new(keeper: Keeper, catalog: Catalog, upstreams: Upstreams) -> Self {
        Self(Arc::new(Parts {
            keeper,
            catalog,
            upstreams,
            started: Instant::now(),
        }))
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.0.keeper.settings()
    }

    /// The configuration file.
    pub fn config_file(&self) -> &std::path::Path {
        self.0.keeper.file()
    }

    /// Why the file as it stands is not in force.
    pub fn config_error(&self) -> Option<String> {
        self.0.keeper.last_error().map(|error| error.to_string())
    }

    /// How long the daemon runs.
    pub fn uptime(&self) -> std::time::Duration {
        self.0.started.elapsed()
    }
}
