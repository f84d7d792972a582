//! `mcpproxy serve`: hands the options to the daemon and lets it run in the foreground.

use clap::{Args, builder::PossibleValuesParser};

use super::{Location, failure::Failure, offline::Files};
use crate::{
    daemon::{self, LogFormat, ServeOptions},
    upstream::process::LoginPath,
};

/// Run the daemon in the foreground: HTTP on 127.0.0.1:8080, logs on stderr
///
/// AI clients connect to `http://127.0.0.1:8080/mcp`. The servers behind it are those of the configuration file; an edit of the
/// file takes effect within a second. Ends on SIGTERM or Ctrl-C, after letting calls in flight finish.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Serve {
    /// The address to listen on, instead of the configuration's [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Serve HTTP, which is the default; with an address the same as --listen
    #[arg(long, value_name = "ADDR", num_args = 0..=1, conflicts_with = "listen")]
    #[expect(
        clippy::option_option,
        reason = "absent, present, present with a value"
    )]
    http: Option<Option<String>>,
    /// What `/mcp` lists, instead of the configuration's `routing_mode`
    #[arg(long, value_parser = PossibleValuesParser::new(["retrieve_tools", "direct", "code_execution", "proxy"]))]
    mode: Option<String>,
    /// Allow an address that other machines can reach
    #[arg(long)]
    insecure: bool,
    /// How much to log
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"]))]
    log_level: Option<String>,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Lines::Text)]
    log_format: Lines,
    /// Add the bundled demo server, under the name demo
    #[arg(long)]
    demo: bool,
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy serve
  mcpproxy serve --demo --log-level debug
  mcpproxy serve --listen 127.0.0.1:9090 --mode direct";

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Lines {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

impl Serve {
    pub(super) fn run(self, location: &Location) -> Result<(), Failure> {
        let options = ServeOptions {
            places: Files::find(location)?.places().clone(),
            listen: self.listen.or(self.http.flatten()),
            mode: self.mode,
            insecure: self.insecure,
            log_level: self.log_level,
            log_format: match self.log_format {
                Lines::Text => LogFormat::Text,
                Lines::Json => LogFormat::Json,
            },
            demo: self.demo,
            login_path: LoginPath::default(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::failed(format!("failed to start the runtime: {error}")))?;
        let served = runtime.block_on(daemon::run(options));
        // The daemon has ended what it began; a system call that hangs must not keep the process.
        runtime.shutdown_background();
        served.map_err(|error| Failure::with_code(error.to_string(), error.exit_code()))
    }
}
