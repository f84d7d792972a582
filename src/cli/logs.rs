//! `mcpproxy logs`: what the daemon in the background wrote.

use clap::Args;

use super::{
    background, connection,
    failure::CommandFailure,
    follow,
    location::Location,
    log_part::LogPart,
    output::{self, Output},
};
use crate::management::{self, LogLines};

/// Show the log of the daemon that was started in the background, by `mcpproxy stdio` or `mcpproxy setup`
///
/// Works also when that daemon has ended. A daemon that was started with `mcpproxy serve` logs to its stderr instead: see there,
/// or with the service manager that started it.
#[derive(Debug, Args)]
pub(super) struct DaemonLogs {
    #[command(flatten)]
    part: LogPart,
}

impl DaemonLogs {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        self.part.check(out)?;
        let files = location.files()?;
        // A running daemon may use another data folder than the file names now.
        let daemon = connection::open_if_running(&files, out).await?;
        let status = daemon.and_then(|daemon| serde_json::from_slice(daemon.status()).ok());
        let status: Option<management::StatusReport> = status;
        let data_dir = status
            .as_ref()
            .map(|status| status.location.data_dir.clone());
        let file = background::log_file(data_dir.as_deref().unwrap_or(files.data_dir()));
        if status.is_some_and(|status| status.location.log_file.is_none()) {
            out.note(
                "the daemon that runs was not started in the background: it logs to its stderr",
            );
        }
        let lines = usize::from(self.part.lines);
        if self.part.follow {
            follow::follow(&file, self.part, || false).await?;
            return Ok(());
        }
        let lines = management::last_lines(&file, lines).map_err(|error| {
            CommandFailure::failed(format!("failed to read {}: {error}", file.display()))
        })?;
        let log = LogLines {
            lines,
            file: Some(file),
            unusable: None,
        };
        show("the daemon", log, self.part, out)
    }
}

/// Prints the lines of a log, which is this one's.
pub(super) fn show(
    of: &str,
    log: LogLines,
    part: LogPart,
    out: Output,
) -> Result<(), CommandFailure> {
    if out.is_json() {
        return output::json(&output::as_json(&log)?);
    }
    match (&log.lines[..], log.file) {
        ([], _) if log.unusable.is_some() => {
            let why = log.unusable.unwrap_or_default();
            out.note(&format!(
                "{of} wrote nothing: it is not started, because its entry cannot be used: {why}; `mcpproxy upstream show {of}` says how it is"
            ));
        }
        ([], Some(file)) => out.note(&format!("nothing was written to {}", file.display())),
        ([], None) => out.note(&format!(
            "{of} writes no log here, because it does not run as a process of this machine; `mcpproxy upstream show {of}` says how it is"
        )),
        (lines, _) => part.print(&lines.join("\n"))?,
    }
    Ok(())
}
