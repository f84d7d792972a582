//! The composition root: builds every part, spawns every task, listens, and ends everything in order.

mod guard;
mod http;
mod lock;
mod running;

use std::{net::SocketAddr, path::PathBuf};

use self::{
    lock::DataLock,
    running::{Beginning, Parts},
};
pub use crate::logging::LogFormat;
use crate::{
    config::{self, Keeper, Listen, Overrides, Places, RoutingMode},
    logging, storage,
    upstream::process::LoginPath,
};

/// What the command line says about serving.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where the configuration and the data are.
    pub places: Places,
    /// The address, in place of the configuration's.
    pub listen: Option<String>,
    /// What `/mcp` lists, in place of the configuration's.
    pub mode: Option<String>,
    /// An address that other machines can reach is meant.
    pub insecure: bool,
    /// The log level.
    pub log_level: Option<String>,
    /// How log lines look.
    pub log_format: LogFormat,
    /// The bundled demo server is added.
    pub demo: bool,
    /// Where commands of servers are found.
    pub login_path: LoginPath,
}

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A flag makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Everything else; the text says what to do.
    #[error("{0}")]
    Failed(String),
}

impl ServeError {
    /// The exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }

    fn failed(doing: &str, error: &dyn std::error::Error) -> Self {
        let source = error
            .source()
            .map(|source| format!(": {source}"))
            .unwrap_or_default();
        Self::Failed(format!("{doing}: {error}{source}"))
    }
}

/// A daemon that serves.
pub struct Running {
    /// The addresses that clients connect to.
    pub addresses: Vec<SocketAddr>,
    /// The data folder.
    pub data_dir: PathBuf,
    parts: Parts,
}

impl Running {
    /// Stops accepting, lets calls in flight end, stops every upstream, and returns when nothing is left.
    pub async fn shutdown(self) {
        self.parts.shutdown().await;
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        let address = self
            .addresses
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!("http://{address}/mcp")
    }
}

/// Runs the daemon in the foreground until a signal ends it.
pub async fn run(options: ServeOptions) -> Result<(), ServeError> {
    logging::start(options.log_level.as_deref(), options.log_format)
        .map_err(|error| ServeError::Usage(error.to_string()))?;
    let running = start(options).await?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        "mcpproxy is ready: connect clients to {}",
        running.url()
    );
    running::until_signalled(running).await
}

/// Starts a daemon and returns when it serves.
pub async fn start(options: ServeOptions) -> Result<Running, ServeError> {
    let overrides = overrides(&options)?;
    let (keeper, keeper_task) = Keeper::open(
        &options.places.config_file,
        overrides,
        config::process_environment(),
    )
    .map_err(|error| ServeError::Failed(error.to_string()))?;
    let settings = keeper.settings();
    if !settings.listen.is_loopback() && !options.insecure {
        return Err(ServeError::Failed(format!(
            "{} can be reached from other machines, and everything sent there is plain text; listen on 127.0.0.1 behind \
             a reverse proxy with TLS, or add --insecure if that is meant",
            settings.listen
        )));
    }
    let data_dir = options.places.data_folder(&settings).to_owned();
    storage::create_private_dir(&data_dir).map_err(|error| {
        ServeError::failed(
            &format!("the data folder {} cannot be created", data_dir.display()),
            &error,
        )
    })?;
    let lock = DataLock::take(&data_dir)?;
    // The local socket first: who sees the address answer may count on it.
    let local = http::bind_locally(&data_dir)?;
    let listeners = http::bind(&settings.listen).await?;
    running::begin(Beginning {
        login_path: options.login_path,
        keeper,
        keeper_task,
        data_dir,
        lock,
        listeners,
        local,
    })
}

fn overrides(options: &ServeOptions) -> Result<Overrides, ServeError> {
    let usage = |error: &dyn std::fmt::Display| ServeError::Usage(error.to_string());
    let listen = options
        .listen
        .as_deref()
        .map(str::parse::<Listen>)
        .transpose()
        .map_err(|error| usage(&error))?;
    let routing_mode = match options.mode.as_deref() {
        None => None,
        Some(text) => Some(
            RoutingMode::parse(text)
                .ok_or_else(|| usage(&format!("{text:?} is no routing mode")))?,
        ),
    };
    let demo = if options.demo {
        let program = std::env::current_exe();
        Some(
            program
                .map_err(|error| ServeError::failed("the demo server cannot be found", &error))?,
        )
    } else {
        None
    };
    Ok(Overrides {
        listen,
        routing_mode,
        demo,
    })
}
