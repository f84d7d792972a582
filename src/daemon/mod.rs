//! The composition root: builds every part, spawns every task, listens, and ends everything in order.

mod auth_layer;
mod background;
mod client_io;
mod connections;
mod core;
mod data_folder;
mod faces;
mod guard;
mod http;
mod local_socket;
mod lock;
mod operator_bodies;
mod response_body;
mod running;
mod serve_error;
mod shared_file;
mod shutdown;
mod span_export;
mod tasks;
mod watchdog;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};

use self::{
    core::{Core, CoreParts},
    faces::BoundSockets,
    http::NotBound,
    lock::DataLock,
    serve_error::ServeErrorKind,
    tasks::DaemonTasks,
};
pub use self::{lock::is_taken, serve_error::ServeError, shutdown::Signals};
pub use crate::telemetry::logging::LogFormat;
use crate::{
    config::{
        self, BadListen, DemoProgram, Keeper, Listen, NotLoopback, Overrides, Places, RoutingMode,
        Settings,
    },
    doctor::TakenPort,
    keyring,
    management::DaemonLocation,
    process::LoginPath,
    router::View,
    runtime::waits::or_never,
    storage,
    telemetry::logging,
    trust::approvals::{Lock, LockError},
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
    /// These options as arguments, for whoever starts the daemon again.
    pub arguments: Vec<String>,
    /// The log level.
    pub log_level: Option<String>,
    /// How log lines look.
    pub log_format: LogFormat,
    /// The log file, in place of stderr.
    pub log_file: Option<PathBuf>,
    /// Whether to listen on TCP; the local socket is always served.
    pub tcp: Tcp,
    /// End when nobody has been there for so long.
    pub idle_exit: Option<Duration>,
    /// The bundled demo server is added.
    pub demo: bool,
    /// A lock file, in place of the configuration's.
    pub locked: Option<PathBuf>,
    /// Where commands of servers are found.
    pub login_path: LoginPath,
    /// The program whose processes run scripts; this one if none is named. Tests name it: they are another program.
    pub script_program: Option<PathBuf>,
}

/// Whether a daemon listens on TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tcp {
    /// It does, or it does not run.
    #[default]
    Always,
    /// If the address is free and only this machine can reach it.
    IfFree,
    /// It does not.
    Never,
}

/// A daemon that serves.
pub struct RunningDaemon {
    /// The addresses that clients connect to.
    pub addresses: Vec<SocketAddr>,
    /// The data folder.
    pub data_dir: PathBuf,
    idle_exit: Option<Duration>,
    tasks: DaemonTasks,
    /// Outlives the tasks.
    core: Core,
}

impl RunningDaemon {
    /// Stops accepting, lets calls in flight end, stops every upstream, and returns when nothing is left.
    pub async fn shutdown(self) {
        self.tasks.shutdown().await;
    }

    /// Where clients connect, unless only the local socket is served.
    pub fn url(&self) -> Option<String> {
        url_of(&self.addresses)
    }

    /// Serves until a signal ends it, or until nobody has been there for `idle_exit`.
    pub async fn serve(self, signals: Signals) -> Result<(), ServeError> {
        let place = self.url().map_or_else(
            || "it serves its local socket only".to_owned(),
            |url| format!("connect clients to {url}; `mcpproxy ui` opens the web UI"),
        );
        tracing::info!(version = VERSION, "mcpproxy is ready: {place}");
        let (presence, idle_exit) = (self.core.inbound.presence().clone(), self.idle_exit);
        let idle = async move {
            or_never(idle_exit.map(|time| presence.empty_for(time))).await;
            "idle for a while"
        };
        shutdown::until(idle, self, signals).await
    }

    /// Serves until one client leaves, who is at the other end of these streams, or a signal ends it. `output_closed` returns when the
    /// client reads no more.
    pub async fn serve_client(
        self,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
        output_closed: impl Future<Output = ()> + Send + 'static,
        signals: Signals,
    ) -> Result<(), ServeError> {
        tracing::info!(
            version = VERSION,
            "mcpproxy serves its client on stdin and stdout"
        );
        let caller = self.core.access.standard_streams();
        let inbound = &self.core.inbound;
        let client = inbound.host(View::Configured, caller, input, output, output_closed);
        let left = async move {
            if let Err(error) = client.await {
                tracing::error!(%error, "serving the client ended with a fault");
            }
            "the client has disconnected"
        };
        shutdown::until(left, self, signals).await
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn url_of(addresses: &[SocketAddr]) -> Option<String> {
    let address = addresses.first()?;
    Some(format!("http://{address}/mcp"))
}

/// Starts logging as the options say.
pub fn start_logging(options: &ServeOptions) -> Result<(), ServeError> {
    let (level, file) = (options.log_level.as_deref(), options.log_file.as_deref());
    logging::start(level, options.log_format, file).map_err(|error| match error {
        logging::LoggingError::BadLevel(_) => ServeError::usage(
            error.to_string(),
            "correct --log-level, or $MCPPROXY_LOG if you gave no --log-level",
        ),
        logging::LoggingError::File {
            ref path,
            error: ref why,
        } => match options.tcp {
            // It logs into its data folder.
            Tcp::IfFree => {
                let what = format!("the log file {} cannot be opened", path.display());
                ServeError::in_folder(&what, path, why)
            }
            _ => ServeError::failed(error.to_string(), "name another file with --log-file"),
        },
    })
}

/// Starts a daemon and returns when it serves.
pub async fn start(options: ServeOptions) -> Result<RunningDaemon, ServeError> {
    let overrides = overrides(&options)?;
    let (keeper, keeper_task) = Keeper::open(
        &options.places.config_file,
        overrides,
        config::process_environment(),
        keyring::lookup(&options.places, &config::process_environment()),
    )
    .map_err(|error| {
        let step = error.next_step().at_terminal("");
        ServeError::new(ServeErrorKind::Config, error.to_string(), step)
    })?;
    let settings = keeper.settings();
    if options.tcp == Tcp::Always {
        check_listen(&settings, &options)
            .map_err(|error| ServeError::failed(error.to_string(), NotLoopback::STEP))?;
    }
    let accepted = settings.lock_file.as_deref();
    let accepted = accepted.map(|file| load_lock(file, options.locked.is_some()));
    let lock_file = accepted.transpose()?;
    let data_dir = options.places.data_folder(&settings).to_owned();
    #[cfg(unix)]
    local_socket::check_path(&data_dir)?;
    data_folder::prepare(&data_dir).map_err(|error| {
        let what = format!("the data folder {} cannot be used", data_dir.display());
        ServeError::in_folder(&what, &data_dir, &error)
    })?;
    let lock = DataLock::take(&data_dir)?;
    if let Err(error) = options.places.note_data_folder(&data_dir) {
        let usual = &options.places.data_dir;
        let next = storage::disk_step(usual, &error) + ", then restart mcpproxy";
        tracing::warn!(%error, next, "data folder not noted; after a change of `data_dir`, commands will not find this daemon");
    }
    // The local socket first: who sees the address answer may count on it.
    let local = local_socket::bind_locally(&data_dir)?;
    let tcp = listen(&settings, &options).await?;
    let idle_exit = options.idle_exit;
    let background = DaemonLocation {
        log_file: options.log_file,
        local_only: options.tcp == Tcp::Never,
        lock_file: settings.lock_file.clone(),
        serve_options: options.arguments,
        ends_after_idle_seconds: idle_exit.map(|time| time.as_secs()),
        ..DaemonLocation::default()
    };
    let core = CoreParts {
        keeper,
        keeper_task,
        data_dir,
        places: options.places,
        login_path: options.login_path,
        script_program: options.script_program,
        lock,
        lock_file,
    };
    running::begin(core, BoundSockets { tcp, local }, background, idle_exit)
}

/// Reads what is accepted. A daemon that cannot do that does not start: it would accept something else.
pub fn load_lock(file: &Path, is_named: bool) -> Result<Lock, ServeError> {
    let lock = Lock::load(file).map_err(|error| {
        let name = file.display();
        let what = if matches!(error, LockError::Missing) {
            format!("there is no lock file {name}")
        } else {
            format!("the lock file {name} cannot be used: {error}")
        };
        let step = if is_named {
            "name a lock file with --locked; `mcpproxy upstream lock mcp.lock.json` writes one"
        } else {
            "restore that file, or continue without one: `mcpproxy config set lock_file null`"
        };
        ServeError::failed(what, step)
    })?;
    tracing::info!(file = %file.display(), tools = lock.len(), "only definitions in the lock file are accepted");
    Ok(lock)
}

async fn listen(
    settings: &Settings,
    options: &ServeOptions,
) -> Result<Vec<TcpListener>, ServeError> {
    match options.tcp {
        Tcp::Always => match http::bind(&settings.listen).await {
            Ok(listeners) => Ok(listeners),
            Err(error) => Err(not_bound(settings.listen, &error).await),
        },
        Tcp::Never => Ok(Vec::new()),
        Tcp::IfFree => {
            let listened = match check_listen(settings, options) {
                Ok(()) => http::bind(&settings.listen)
                    .await
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            Ok(listened.unwrap_or_else(|error| {
                tracing::warn!(error, "only the local socket is served");
                Vec::new()
            }))
        }
    }
}

fn check_listen(settings: &Settings, options: &ServeOptions) -> Result<(), NotLoopback> {
    if options.insecure {
        return Ok(());
    }
    settings.listen.for_this_machine()
}

/// Who has the port is looked for here alone: it takes a moment, which a daemon that serves its local socket is not to lose.
async fn not_bound(listen: Listen, error: &NotBound) -> ServeError {
    let taken = match error.reason.kind() {
        io::ErrorKind::AddrInUse => TakenPort::of(listen).await,
        _ => None,
    };
    if let Some(taken) = taken {
        let (address, by) = (error.address, &taken.by);
        let what = format!("failed to listen on {address}: the address is in use{by}");
        let step = taken.step(&format!("`--listen {}`", taken.free));
        return ServeError::failed(what, step);
    }
    let step = match error.reason.kind() {
        io::ErrorKind::PermissionDenied => {
            "choose another port with --port: those below 1024 need privileges"
        }
        _ => "choose another address with --listen",
    };
    ServeError::failed(error.to_string(), step)
}

fn overrides(options: &ServeOptions) -> Result<Overrides, ServeError> {
    let listen = options
        .listen
        .as_deref()
        .map(str::parse::<Listen>)
        .transpose()
        .map_err(|bad: BadListen| ServeError::usage(bad.what(), BadListen::STEP))?;
    let routing_mode = match options.mode.as_deref() {
        None => None,
        Some(text) => Some(RoutingMode::parse(text).ok_or_else(|| {
            let what = format!("{text:?} is not a routing mode");
            ServeError::usage(what, "leave --mode out")
        })?),
    };
    // Relative to where the command was typed, not to the file of the configuration.
    let lock_file = options.locked.as_deref().map(std::path::absolute);
    let lock_file = lock_file.transpose().map_err(|error| {
        let what = format!("--locked: {}", storage::in_words(&error));
        ServeError::usage(what, "name a lock file")
    })?;
    let demo = if options.demo {
        let program = std::env::current_exe().and_then(DemoProgram::at);
        Some(program.map_err(|error| {
            let why = storage::in_words(&error);
            ServeError::failed(format!("no demo server: {why}"), "leave --demo out")
        })?)
    } else {
        None
    };
    Ok(Overrides {
        listen,
        routing_mode,
        lock_file,
        requested_by: options.places.requested_by(),
        demo,
        places: Some(options.places.clone()),
    })
}
