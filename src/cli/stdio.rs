//! `mcpproxy stdio`: connects a client that can only start a process with the daemon.

use std::time::Duration;

use clap::Args;

use super::{
    CommandFailure, Done, Location, Output, background::Starter, failure::USAGE, platform,
};
use crate::{
    config::duration,
    daemon_client::bridge::{self, DaemonSocket, Unserved},
    failure::ErrorCode,
    management::Files,
    process,
    storage::{DataFile, in_words},
    text::secret::Secret,
};

/// Serve a client over stdin and stdout
///
/// Use it for clients that can only start a process, such as Claude Desktop. They share one daemon and its servers. If no daemon is
/// running, one starts in the background, and stops 10 min after its last client disconnects.
#[derive(Debug, Args)]
pub(super) struct StdioCommand {
    /// The endpoint to serve, such as /mcp/all or /mcp/server/NAME
    #[arg(long, value_name = "PATH", default_value = "/mcp", value_parser = endpoint)]
    endpoint: String,
    /// The client's access token; without it, the client is `anonymous`
    #[arg(long, value_name = "TOKEN", env = "MCPPROXY_TOKEN", hide_env_values = true, value_parser = token)]
    token: Option<Secret>,
    /// How long a daemon that is started for this client runs after its last client disconnects
    #[arg(long, value_name = "TIME", hide = true, value_parser = time)]
    idle_exit: Option<Duration>,
}

/// How long a daemon that was started for a client runs after its last client disconnects.
pub(super) const IDLE_EXIT: Duration = Duration::from_mins(10);

impl StdioCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let socket = daemon_socket(&files, self.endpoint, self.token);
        let idle_exit = self.idle_exit.unwrap_or(IDLE_EXIT);
        let starter = Starter::new(files, Some(idle_exit), Vec::new(), out);
        let (input, output) = platform::standard_streams().map_err(|error| {
            CommandFailure::failed(format!("stdin or stdout is closed: {}", in_words(&error)))
        })?;
        let carried = bridge::carry(socket, starter, input, output).await;
        carried.map_err(|error| not_served(&error))
    }
}

/// The failure of a command whose client was not served.
pub(super) fn not_served(error: &Unserved) -> CommandFailure {
    match error {
        Unserved::StartedByDaemon => CommandFailure::failed(error.to_string()),
        Unserved::NoDaemon => CommandFailure::not_reachable(""),
        // The endpoint is an argument.
        Unserved::Refused(ErrorCode::UnknownPath) => CommandFailure::with_code("", USAGE),
        Unserved::Refused(code) => CommandFailure::with_code("", code.exit_code()),
    }
}

/// The daemon's socket for a client. An empty token, which an empty variable gives, is none.
pub(super) fn daemon_socket(
    files: &Files,
    endpoint: String,
    token: Option<Secret>,
) -> DaemonSocket {
    DaemonSocket {
        path: DataFile::Socket.within(files.data_dir()),
        endpoint,
        token: token.filter(|token| !token.reveal().is_empty()),
        mark: process::own_mark(),
    }
}

fn endpoint(text: &str) -> Result<String, String> {
    let uri = text.parse::<http::Uri>().ok();
    match uri.as_ref().and_then(http::Uri::path_and_query) {
        Some(path) if path.as_str() == text => Ok(text.to_owned()),
        _ => Err("write a path such as /mcp or /mcp/all".to_owned()),
    }
}

fn token(text: &str) -> Result<Secret, String> {
    match http::HeaderValue::from_str(text) {
        // With an empty --token, the client would be connected as `anonymous`.
        _ if text.trim().is_empty() => Err("leave --token out to connect without one".to_owned()),
        Ok(_) => Ok(Secret::new(text)),
        Err(_) => {
            Err("write it without line breaks and without spaces at the start or end".to_owned())
        }
    }
}

/// Reads a span of time.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| "write a time such as 30s or 10m".to_owned())
}
