//! `mcpproxy serve`: runs the daemon in this process, in the foreground, in the background, or with a client on stdin and stdout.

use std::{env, ffi::OsString, time::Duration};

use clap::Args;

use super::{
    CommandFailure, Done, Location, OrUndone, Output,
    background::{self, Background, Starter},
    connection,
    daemon_options::DaemonOptions,
    output, platform, stdio,
};
use crate::{
    daemon::{self, LogFormat, RunningDaemon, ServeError, ServeOptions, Signals, Tcp},
    daemon_client::bridge::{self, DaemonSocket, Unserved},
    management::Files,
    process::LoginPath,
    storage::in_words,
    text::secret::Secret,
};

/// Run the daemon in the foreground
///
/// By default, the daemon serves HTTP on 127.0.0.1:8080 and logs to stderr. SIGTERM or Ctrl-C stops it; running calls get 10 s to finish.
#[derive(Debug, Args)]
pub(super) struct ServeCommand {
    #[command(flatten)]
    daemon: DaemonOptions,
    /// Serve HTTP, at ADDR if given; only needed with --stdio
    #[arg(long, value_name = "ADDR", num_args = 0..=1, conflicts_with_all = ["listen", "port"])]
    #[expect(clippy::option_option, reason = "absent, present, or with a value")]
    http: Option<Option<String>>,
    /// Log to this file instead of stderr; keeps at most 10 MB
    #[arg(long, value_name = "FILE", conflicts_with = "background")]
    log_file: Option<std::path::PathBuf>,
    /// Serve one client on stdin and stdout; add --http for HTTP, too
    #[arg(long, conflicts_with = "locked")]
    stdio: bool,
    /// Run without a terminal, for clients that come through a bridge
    #[arg(long, hide = true, require_equals = true, conflicts_with = "stdio")]
    background: Option<Background>,
    /// End when nobody has been there for so long
    #[arg(long, value_name = "TIME", hide = true, value_parser = stdio::time)]
    idle_exit: Option<Duration>,
}

/// How this process runs the daemon.
enum ServeMode {
    Foreground,
    Background,
    /// With a client on stdin and stdout. If another daemon has the data folder, the client is connected with that.
    Client(Box<(DaemonSocket, Starter)>),
}

impl ServeCommand {
    /// Whether this process is the daemon, rather than the one that starts it in the background.
    pub(super) fn serves(&self) -> bool {
        self.background != Some(Background::Start)
    }

    pub(super) fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files().or_undone("the daemon was not started")?;
        if self.background == Some(Background::Start) {
            return background::start(files.data_dir());
        }
        let way = match self.background {
            Some(_) => ServeMode::Background,
            None if self.stdio => ServeMode::Client(Box::new(self.joining(&files, out))),
            None => ServeMode::Foreground,
        };
        // A log file takes the place of stderr, and a failure is shown on the terminal, too.
        let terminal = self.log_file.is_some().then(platform::stderr_before_log);
        let options = self.options(&files, out);
        let runtime = super::build_runtime(tokio::runtime::Builder::new_multi_thread())?;
        let served = runtime.block_on(serve(way, options));
        let other = match &served {
            Err(error) if error.is_taken() => runtime.block_on(connection::pid_of_other(&files)),
            _ => None,
        };
        // The daemon has ended all its tasks. A system call that hangs must not keep the process alive.
        runtime.shutdown_background();
        let served = served.map_err(|error| {
            let code = error.exit_code();
            let failure = CommandFailure::with_code(error.to_string(), code);
            let failure = match other {
                // `mcpproxy stop` with these options would look for another daemon.
                Some(pid) => failure.next(format!(
                    "name another folder with --data-dir, or stop that daemon first: `kill {pid}`"
                )),
                None => failure.next(error.next_step()),
            };
            if let Some(terminal) = terminal.flatten().filter(platform::is_former_stderr) {
                output::say_failure(terminal, &failure);
            }
            failure
        })?;
        served.map_or(Ok(()), |error| Err(stdio::not_served(&error)))
    }

    fn options(self, files: &Files, out: Output) -> ServeOptions {
        let listen = self.daemon.address().or(self.http.clone().flatten());
        let speaks_http = !self.stdio || listen.is_some() || self.http.is_some();
        let options = DaemonOptions {
            listen,
            port: None,
            log_level: self.daemon.log_level.or(out.log_level().map(str::to_owned)),
            ..self.daemon
        };
        ServeOptions {
            places: files.places().clone(),
            // These fail only for a path that is not UTF-8.
            arguments: options.arguments().unwrap_or_default(),
            listen: options.listen,
            mode: options.mode,
            insecure: options.insecure,
            log_level: options.log_level,
            log_format: match options.log_format.as_deref() {
                Some("json") => LogFormat::Json,
                _ => LogFormat::Text,
            },
            log_file: self.log_file.or(self
                .background
                .map(|_| background::log_file(files.data_dir()))),
            tcp: match self.background {
                Some(_) => Tcp::IfFree,
                None if speaks_http => Tcp::Always,
                None => Tcp::Never,
            },
            idle_exit: self.idle_exit,
            demo: options.demo,
            locked: options.locked,
            login_path: LoginPath::default(),
            script_program: None,
        }
    }

    /// What connects the client with another daemon.
    fn joining(&self, files: &Files, out: Output) -> (DaemonSocket, Starter) {
        let mode = self.daemon.mode.as_deref();
        let token = env::var("MCPPROXY_TOKEN").ok().map(Secret::new);
        let socket = stdio::daemon_socket(files, endpoint(mode).to_owned(), token);
        let demo = self.daemon.demo.then(|| OsString::from("--demo"));
        let mode = mode.map(|mode| OsString::from(format!("--mode={mode}")));
        let also = demo.into_iter().chain(mode).collect();
        let starter = Starter::new(files.clone(), Some(stdio::IDLE_EXIT), also, out);
        (socket, starter)
    }
}

/// The endpoint that has this routing mode whatever the configuration says.
fn endpoint(mode: Option<&str>) -> &'static str {
    match mode {
        Some("retrieve_tools") => "/mcp/call",
        Some("direct") => "/mcp/all",
        Some("code_execution") => "/mcp/code",
        Some("proxy") => "/mcp/proxy",
        _ => "/mcp",
    }
}

/// Serves until the end. A client may not be served by the daemon that runs already.
async fn serve(way: ServeMode, options: ServeOptions) -> Result<Option<Unserved>, ServeError> {
    let logging = daemon::start_logging(&options);
    if let (ServeMode::Background, Err(error)) = (&way, &logging) {
        background::report(Err(error));
    }
    logging?;
    // Before anybody can see that the daemon serves: a signal that comes at once must be heard.
    let mut signals = Signals::hear()?;
    match way {
        ServeMode::Foreground => {
            if let Some(started) = started(options, &mut signals).await {
                started?.serve(signals).await?;
            }
        }
        ServeMode::Background => {
            if let Some(started) = started(options, &mut signals).await {
                background::report(started.as_ref().map(drop));
                match started {
                    Err(error) if error.is_taken() => (),
                    started => started?.serve(signals).await?,
                }
            }
        }
        ServeMode::Client(joining) => {
            let (socket, starter) = *joining;
            let (input, output) = platform::standard_streams().map_err(|error| {
                let what = format!("stdin or stdout is closed: {}", in_words(&error));
                ServeError::failed(what, "start it with both open, as a client does")
            })?;
            match started(options, &mut signals).await {
                Some(Ok(running)) => {
                    let closed = platform::stdout_closed();
                    running.serve_client(input, output, closed, signals).await?;
                }
                Some(Err(error)) if error.is_taken() => tokio::select! {
                    carried = bridge::carry(socket, starter, input, output) => {
                        return Ok(carried.err());
                    }
                    () = signals.next() => (),
                },
                Some(Err(error)) => return Err(error),
                None => (),
            }
        }
    }
    Ok(None)
}

/// Starts the daemon; nothing if a signal comes first.
async fn started(
    options: ServeOptions,
    signals: &mut Signals,
) -> Option<Result<RunningDaemon, ServeError>> {
    let started = tokio::select! {
        started = daemon::start(options) => Some(started),
        () = signals.next() => None,
    };
    #[cfg(unix)]
    if let Some(Ok(daemon)) = &started {
        super::watcher::start(&daemon.data_dir);
    }
    started
}
