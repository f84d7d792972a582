//! Reads a whole text from stdin or a file.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::{CommandFailure, Done};
use crate::storage;

/// Limit: what the daemon accepts as one request.
const LARGEST: u64 = 32 * 1024 * 1024;

/// Where a text comes from.
pub(super) enum Input<'a> {
    Stdin,
    File {
        path: &'a Path,
        /// The name of the file in errors.
        called: String,
    },
}

impl Input<'_> {
    /// Reads the text. `what` names it in errors, such as `the script`. An empty stdin is an error.
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
    let mut bytes = Vec::new();
    let read = input.take(LARGEST + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| unreadable(called, &error))?;
    if read as u64 > LARGEST {
        let why = format!("{what} in {place} is larger than 32 MiB");
        return Err(CommandFailure::failed(why));
    }
    String::from_utf8(bytes).map_err(|_| {
        let step = format!("convert {place} to UTF-8");
        unreadable(called, &io::ErrorKind::InvalidData.into()).next(step)
    })
}

fn unreadable(called: &str, error: &io::Error) -> CommandFailure {
    let why = storage::in_words(error);
    CommandFailure::failed(format!("{called} cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_too_large_before_it_is_no_text() {
        let failure = |input: &mut dyn Read| {
            let read = read_all(input, "the text", "a", "a");
            read.expect_err("it cannot be read").what
        };
        let large = failure(&mut io::repeat(0xc3));
        assert_eq!(large, "the text in a is larger than 32 MiB");
        let broken = failure(&mut &b"\xc3"[..]);
        assert_eq!(broken, "a cannot be read: it is not UTF-8 text");
        let failure = read_all(&b"\xc3"[..], "the text", "a", "a").expect_err("it is no text");
        let failure = failure.or_next("name a file");
        assert_eq!(failure.next_step.as_deref(), Some("convert a to UTF-8"));
    }
}
