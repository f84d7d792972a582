//! `mcpproxy logs`: what the daemon wrote to its log file.

use clap::Args;

use super::{
    CommandFailure, Done, Location, Output, background, connection, follow, log_part::LogPart,
    output,
};
use crate::{management::LogLines, storage::in_words};

/// Show the daemon's log
///
/// A daemon in the background logs to a file, which you can read even after it has stopped. `serve` logs to stderr, which this command
/// cannot show. With `serve --log-file FILE`, the command shows that file while the daemon runs.
#[derive(Debug, Args)]
pub(super) struct DaemonLogs {
    #[command(flatten)]
    part: LogPart,
}

impl DaemonLogs {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        self.part.check(out)?;
        let files = location.files()?;
        // A running daemon may use another data folder than the file names now.
        let daemon = connection::open_if_running(&files, out).await?;
        let file = match daemon.as_ref().and_then(connection::location_of) {
            None => background::log_file(files.data_dir()),
            Some(location) => location.log_file.ok_or_else(|| {
                CommandFailure::failed("the daemon has no log file: it logs to its stderr").next(
                    "read it where you started `serve`; for a service, see `mcpproxy service status`",
                )
            })?,
        };
        let lines = usize::from(self.part.lines);
        if self.part.follow {
            follow::follow(&file, self.part, || false).await?;
            return Ok(());
        }
        let log = LogLines::of(file.clone(), lines).map_err(|error| {
            CommandFailure::failed(format!(
                "failed to read {}: {}",
                file.display(),
                in_words(&error)
            ))
        })?;
        show("the daemon", log, self.part, out)
    }
}

/// Prints the lines of a log, which is this one's.
pub(super) fn show(of: &str, log: LogLines, part: LogPart, out: Output) -> Done {
    if out.is_json() {
        return output::print_value(&log);
    }
    match (&log.lines[..], log.file) {
        ([], _) if log.unusable.is_some() => {
            let why = log.unusable.unwrap_or_default();
            out.note(&format!("{of} has written no log: {why}"));
            if let Some(step) = log.next_step {
                out.next(&step);
            }
        }
        ([], file) => out.note(&format!(
            "{of} has written no log yet; it will be in {}",
            file.display()
        )),
        (lines, _) => part.print(&lines.join("\n"))?,
    }
    Ok(())
}
