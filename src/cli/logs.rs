//! `mcpproxy logs`, and how any log is shown on a terminal: its last lines, and with `--follow` each new one.

use std::{io, path::Path, time::Duration};

use clap::Args;
use tokio::time::Instant;

use super::{
    CommandFailure, Done, Location, Output, background, connection, mistake::whole_number, output,
};
use crate::{
    management::{FollowedLog, LogLines},
    storage::in_words,
};

/// Show the daemon's log
///
/// A daemon in the background logs to a file, which you can read even after it has stopped. `serve` logs to stderr, which this command
/// cannot show. With `serve --log-file FILE`, the command shows that file while the daemon runs.
#[derive(Debug, Args)]
pub(super) struct DaemonLogs {
    #[command(flatten)]
    part: LogPart,
}

/// The options that say which lines of a log are shown.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct LogPart {
    /// How many lines, at most 500
    #[arg(short = 'n', long, default_value_t = 50, value_parser = whole_number(1..=500_u16))]
    pub(super) lines: u16,
    /// Print new lines as they come, until Ctrl-C
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Print lines unchanged, terminal control characters included
    #[arg(long)]
    raw: bool,
}

/// Between two looks for new lines.
const NEW_LINES_INTERVAL: Duration = Duration::from_millis(200);

/// Between two checks whether the log still has a writer.
const WRITER_INTERVAL: Duration = Duration::from_secs(1);

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
        if self.part.follow {
            return self.part.follow(&file, || false).await.map(drop);
        }
        let lines = usize::from(self.part.lines);
        let log = LogLines::of(file.clone(), lines).map_err(|error| {
            let why = in_words(&error);
            CommandFailure::failed(format!("failed to read {}: {why}", file.display()))
        })?;
        self.part.show("the daemon", log, out)
    }
}

impl LogPart {
    /// Refuses options that contradict `-o json`. A log that is followed has no end that would close a JSON document.
    pub(super) fn check(self, out: Output) -> Done {
        let what = match (self.raw, self.follow) {
            _ if !out.is_json() => return Ok(()),
            (true, _) => "--raw cannot be used with -o json, which never changes lines",
            (_, true) => "--follow cannot be used with -o json",
            (false, false) => return Ok(()),
        };
        Err(CommandFailure::usage(what).next("leave one of them out"))
    }

    fn print(self, text: &str) -> Done {
        if self.raw {
            return output::print_line(text.strip_suffix('\n').unwrap_or(text));
        }
        output::print_escaped(text)
    }

    /// Prints the lines of a log that `writer` writes.
    pub(super) fn show(self, writer: &str, log: LogLines, out: Output) -> Done {
        if out.is_json() {
            return output::print_value(&log);
        }
        if !log.lines.is_empty() {
            return self.print(&log.lines.join("\n"));
        }
        let Some(why) = log.unusable else {
            let file = log.file.display();
            out.note(&format!(
                "{writer} has written no log yet; it will be in {file}"
            ));
            return Ok(());
        };
        out.note(&format!("{writer} has written no log so far; {why}"));
        log.next_step.iter().for_each(|step| out.next(step));
        Ok(())
    }

    /// Prints the last lines of a log file and each new one, until nobody reads them, which gives false, or `is_over` says that nobody writes
    /// any more, which gives true.
    pub(super) async fn follow(self, path: &Path, is_over: impl Fn() -> bool) -> Done<bool> {
        let failed = |error: io::Error| {
            let (path, why) = (path.display(), in_words(&error));
            CommandFailure::failed(format!("failed to read the log {path}: {why}"))
        };
        let (mut log, last) = FollowedLog::open(path, usize::from(self.lines)).map_err(failed)?;
        if !last.is_empty() {
            self.print(&last.join("\n"))?;
        }
        let mut checked = Instant::now();
        loop {
            if output::is_unread() {
                return Ok(false);
            }
            let added = log.added().map_err(failed)?;
            if !added.is_empty() {
                self.print(&added)?;
                continue;
            }
            if checked.elapsed() >= WRITER_INTERVAL {
                if is_over() {
                    return Ok(true);
                }
                checked = Instant::now();
            }
            tokio::time::sleep(NEW_LINES_INTERVAL).await;
        }
    }
}
