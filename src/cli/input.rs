//! Reads a whole text from stdin or a file, and the JSON that an option gives.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use serde_json::value::RawValue;

use super::{CommandFailure, Done};
use crate::{config::json_mistake, storage, text::names::shell_word};

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
                let step = format!("give {what} on stdin");
                let text = read_all(io::stdin().lock(), what, "stdin", "stdin");
                let text = text.map_err(|failure| failure.or_next(&step))?;
                if text.trim().is_empty() {
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

/// JSON on the command line: itself, `@FILE`, or `-` for stdin.
pub(super) struct JsonOption<'a> {
    /// Such as `--args`.
    pub(super) option: &'a str,
    /// Such as `the arguments`.
    pub(super) what: &'a str,
    pub(super) is_plural: bool,
    /// The step where JSON that stands on the command line is wrong.
    pub(super) example: &'a str,
    pub(super) given: &'a str,
}

impl JsonOption<'_> {
    /// Reads the JSON, kept as it is written.
    pub(super) fn read(&self) -> Done<Box<RawValue>> {
        let text = match self.file() {
            Some(path) => {
                let file = Input::File {
                    path: Path::new(path),
                    called: path.to_owned(),
                };
                let option = self.option;
                let step = format!(
                    "name a JSON file with `{option} @FILE`, or use `{option} -` and give JSON on stdin"
                );
                file.read(self.what)
                    .map_err(|failure| failure.or_next(&step))?
            }
            None if self.given == "-" => Input::Stdin.read(self.what)?,
            None => self.given.to_owned(),
        };
        let text = text.trim();
        RawValue::from_string(text.to_owned())
            .map_err(|error| self.mistake(&format!("not JSON: {}", json_mistake(text, &error))))
    }

    /// The failure for JSON that is none, or is not the wanted one.
    pub(super) fn mistake(&self, why: &str) -> CommandFailure {
        if let Some(file) = self.file() {
            let what = format!("{file} is {why}");
            return CommandFailure::usage(what).next(format!("correct {file}"));
        }
        let is = if self.is_plural { "are" } else { "is" };
        let failure = CommandFailure::usage(format!("{} {is} {why}", self.what));
        if Path::new(self.given).is_file() {
            let file = shell_word(&format!("@{}", self.given));
            return failure.next(format!("write `{} {file}`", self.option));
        }
        failure.next(self.example)
    }

    fn file(&self) -> Option<&str> {
        self.given.strip_prefix('@')
    }
}

fn read_all(input: impl Read, what: &str, place: &str, called: &str) -> Done<String> {
    let mut bytes = Vec::new();
    let read = input.take(LARGEST + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| unreadable(called, &error))?;
    if read as u64 > LARGEST {
        let why = format!("{what} in {place} is larger than 32 MiB");
        return Err(CommandFailure::failed(why).next("give at most 32 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| {
        let step = format!("give {what} as UTF-8");
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
        assert_eq!(failure.next_step.as_deref(), Some("give the text as UTF-8"));
    }
}
