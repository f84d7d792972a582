//! Starts logging: to stderr or to a file, as text for people or JSON for machines, with the secrets of the configuration masked.

mod fields;
mod lines;
mod redacted;
mod rotating;

use std::{
    io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Mutex,
};

use crate::storage::in_words;

use tracing_subscriber::{
    EnvFilter,
    fmt::{self, writer::BoxMakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

pub use self::redacted::{beginning, hide};
use self::{lines::EventLines, redacted::Redacted, rotating::Rotating};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The text is not a log level.
    #[error("{0:?} is not a log level; use error, warn, info, debug or trace")]
    BadLevel(String),
    /// The file cannot be written.
    #[error("the log file {} cannot be opened: {}", path.display(), in_words(error))]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Starts logging. `level` wins over `$MCPPROXY_LOG`, which may hold directives such as `info,mcpproxy::upstream=debug`. With a
/// `file` everything that would go to stderr goes there.
///
/// rmcp logs payloads at info, so it is silent, whatever the level.
pub fn start(
    level: Option<&str>,
    format: LogFormat,
    file: Option<&Path>,
) -> Result<(), LoggingError> {
    let from_environment = std::env::var("MCPPROXY_LOG").ok();
    let wanted = level.or(from_environment.as_deref()).unwrap_or("info");
    if let Some(level) = level {
        tracing::Level::from_str(level).map_err(|_| LoggingError::BadLevel(level.to_owned()))?;
    }
    let filter = EnvFilter::builder()
        .parse(format!(
            "{wanted},rmcp=off,hyper=warn,hyper_util=warn,rustls=warn,notify=warn"
        ))
        .map_err(|_| LoggingError::BadLevel(wanted.to_owned()))?;
    let (writer, colours) = match file {
        None => (BoxMakeWriter::new(io::stderr), is_terminal()),
        Some(path) => {
            let log = Rotating::open(path).map_err(|error| LoggingError::File {
                path: path.to_owned(),
                error,
            })?;
            (BoxMakeWriter::new(Mutex::new(log)), false)
        }
    };
    let layer = fmt::layer()
        .with_writer(Redacted(writer))
        .with_ansi(colours)
        .event_format(EventLines(format));
    // A second daemon in one process, as in tests, logs where the first does.
    let registry = tracing_subscriber::registry().with(filter);
    let _ = registry.with(layer).try_init();
    Ok(())
}

fn is_terminal() -> bool {
    io::IsTerminal::is_terminal(&io::stderr()) && std::env::var_os("NO_COLOR").is_none()
}
