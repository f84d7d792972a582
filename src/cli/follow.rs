//! Following a log file: its last lines, and then what is added, also after the file was set aside for a new one.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::Duration,
};

use tokio::time::Instant;

use super::{failure::CommandFailure, output};
use crate::management;

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(200);

/// How often it is asked whether there still is something to follow.
const ASK: Duration = Duration::from_secs(1);

/// Limit: what is read of the file at once.
const CHUNK: u64 = 1024 * 1024;

/// Prints the last lines of a log file, and what is added to it, until the command is ended or nobody writes there any more.
pub(super) async fn follow(
    path: &Path,
    lines: usize,
    is_over: impl Fn() -> bool,
) -> Result<(), CommandFailure> {
    let failed = |error: io::Error| {
        CommandFailure::failed(format!(
            "failed to read the log {}: {error}",
            path.display()
        ))
    };
    let mut file = open(path).map_err(failed)?;
    // What is added from here on is not among the last lines.
    let end = match &mut file {
        Some(file) => file.seek(SeekFrom::End(0)).map_err(failed)?,
        None => 0,
    };
    let last = management::last_lines_before(path, lines, end).map_err(failed)?;
    if !last.is_empty() {
        output::foreign_text(&last.join("\n"))?;
    }
    let mut unfinished = Vec::new();
    let mut asked = Instant::now();
    loop {
        let current = open(path).map_err(failed)?;
        if let Some(followed) = &mut file {
            print_added(followed, &mut unfinished).map_err(failed)??;
        }
        let is_another = match (&file, &current) {
            (Some(followed), Some(current)) => !is_same(followed, current).map_err(failed)?,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if is_another {
            file = current;
            continue;
        }
        if asked.elapsed() >= ASK {
            if is_over() {
                return Ok(());
            }
            asked = Instant::now();
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Prints the whole lines that were added since the last time.
fn print_added(
    file: &mut File,
    unfinished: &mut Vec<u8>,
) -> io::Result<Result<(), CommandFailure>> {
    loop {
        let read = Read::take(&mut *file, CHUNK).read_to_end(unfinished)?;
        let Some(end) = memchr::memrchr(b'\n', unfinished) else {
            if read == 0 {
                return Ok(Ok(()));
            }
            continue;
        };
        let rest = unfinished.split_off(end + 1);
        let text = String::from_utf8_lossy(unfinished).into_owned();
        *unfinished = rest;
        if let Err(failure) = output::foreign_text(&text) {
            return Ok(Err(failure));
        }
    }
}

#[cfg(unix)]
fn is_same(a: &File, b: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.ino() == b.ino() && a.dev() == b.dev())
}

/// What was set aside is larger than what took its place.
#[cfg(not(unix))]
fn is_same(a: &File, b: &File) -> io::Result<bool> {
    Ok(a.metadata()?.len() <= b.metadata()?.len())
}
