//! Following a log file on the terminal: its last lines, and then what is added.

use std::{io, path::Path, time::Duration};

use tokio::time::Instant;

use super::{CommandFailure, Done, log_part::LogPart, output};
use crate::{management::FollowedLog, storage::in_words};

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(200);

/// How often it is checked whether there still is something to follow.
const ASK: Duration = Duration::from_secs(1);

/// Prints the last lines of a log file, and what is added to it, until the command is ended, or nobody writes or reads any more. Whether
/// nobody writes.
pub(super) async fn follow(path: &Path, part: LogPart, is_over: impl Fn() -> bool) -> Done<bool> {
    let failed = |error: io::Error| {
        CommandFailure::failed(format!(
            "failed to read the log {}: {}",
            path.display(),
            in_words(&error)
        ))
    };
    let (mut log, last) = FollowedLog::open(path, usize::from(part.lines)).map_err(failed)?;
    if !last.is_empty() {
        part.print(&last.join("\n"))?;
    }
    let mut checked = Instant::now();
    loop {
        if output::is_unread() {
            return Ok(false);
        }
        let added = log.added().map_err(failed)?;
        if !added.is_empty() {
            part.print(&added)?;
            continue;
        }
        if checked.elapsed() >= ASK {
            if is_over() {
                return Ok(true);
            }
            checked = Instant::now();
        }
        tokio::time::sleep(LOOK).await;
    }
}
