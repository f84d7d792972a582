//! Texts that a command reads as a whole, from stdin or a file.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::{CommandFailure, Done};
use crate::storage;

/// What the daemon accepts as one request.
const LARGEST: u64 = 32 * 1024 * 1024;

/// Where a text comes from.
pub(super) enum Input<'a> {
    Stdin,
    File {
        path: &'a Path,
        /// What an error calls the file if it cannot be read.
        called: String,
    },
}

impl Input<'_> {
    /// Reads the text. `what` says what it is. Stdin may not be empty.
    pub(super) fn read(&self, what: &str) -> Done<String> {
        match self {
            Self::Stdin => {
                let text = read_all(io::stdin().lock(), what, "stdin", "stdin")?;
                if text.trim().is_empty() {
                    let step = format!("give {what} on stdin");
                    return Err(CommandFailure::usage("stdin is empty").next(step));
                }
                Ok(text)
            }
            Self::File { path, called } => {
                let file = File::open(path).map_err(|error| unreadable(called, &error))?;
                read_all(file, what, &path.display().to_string(), called)
            }
        }
    }
}

fn read_all(input: impl Read, what: &str, place: &str, called: &str) -> Done<String> {
    let mut text = String::new();
    let read = input.take(LARGEST + 1).read_to_string(&mut text);
    let read = read.map_err(|error| unreadable(called, &error))?;
    if read as u64 > LARGEST {
        let why = format!("{what} in {place} is larger than 32 MiB");
        return Err(CommandFailure::failed(why));
    }
    Ok(text)
}

fn unreadable(called: &str, error: &io::Error) -> CommandFailure {
    let why = storage::in_words(error);
    CommandFailure::failed(format!("{called} cannot be read: {why}"))
}
