//! Where log lines go: stderr, as text for people or JSON for machines. What is logged is decided where it happens.

use std::str::FromStr;

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The text is no log level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no log level; use error, warn, info, debug or trace")]
pub struct BadLevel(String);

/// Starts logging. `level` wins over `$MCPPROXY_LOG`, which may hold directives such as `info,mcpproxy::upstream=debug`.
///
/// rmcp prints payloads at info, so it is heard from warnings on, whatever the level.
pub fn start(level: Option<&str>, format: LogFormat) -> Result<(), BadLevel> {
    let from_environment = std::env::var("MCPPROXY_LOG").ok();
    let wanted = level.or(from_environment.as_deref()).unwrap_or("info");
    if let Some(level) = level {
        tracing::Level::from_str(level).map_err(|_| BadLevel(level.to_owned()))?;
    }
    let filter = EnvFilter::builder()
        .parse(format!(
            "{wanted},rmcp=warn,hyper=warn,hyper_util=warn,rustls=warn,notify=warn"
        ))
        .map_err(|_| BadLevel(wanted.to_owned()))?;
    let registry = tracing_subscriber::registry().with(filter);
    // A second daemon in one process, as in tests, logs where the first does.
    let _ = match format {
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_writer(std::io::stderr)
                    .with_ansi(is_terminal()),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(fmt::layer().json().with_writer(std::io::stderr))
            .try_init(),
    };
    Ok(())
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none()
}
