//! Why a file of a client cannot be read, and where.

use std::{fmt, io, path::Path};

use crate::{
    config::ConfigError,
    storage::{disk_remedy, in_words},
};

/// The step where a pasted text has no server.
pub const PASTE: &str = "paste the JSON or the URL from the server's page";

/// The step where one in it cannot be read or used.
pub const CORRECT_PASTED: &str = "correct that in the text, then paste it again";

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileFault {
    /// Where, counted from 1, if that is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// The step, if it is another than to correct the text.
    pub(super) own_step: Option<&'static str>,
    /// Whether the mistake may also be above the line.
    is_or_above: bool,
    /// The error by which nothing of it could be read.
    unread: Option<io::ErrorKind>,
}

impl FileFault {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            ..Self::default()
        }
    }

    pub(super) fn with_step(problem: impl Into<String>, step: &'static str) -> Self {
        Self {
            own_step: Some(step),
            ..Self::new(problem)
        }
    }

    /// One of a pasted text.
    pub(super) fn no_server(problem: &'static str) -> Self {
        Self::with_step(problem, PASTE)
    }

    pub(super) fn unread(error: &io::Error) -> Self {
        Self {
            unread: Some(error.kind()),
            ..Self::new(in_words(error))
        }
    }

    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::new(problem)
        }
    }

    pub(super) fn at_or_above(line: usize, problem: &str) -> Self {
        Self {
            is_or_above: true,
            ..Self::at(line, problem)
        }
    }

    /// What to do about it in this file.
    pub fn step(&self, path: &Path) -> String {
        let file = path.display();
        match (self.line, self.unread) {
            (Some(line), _) if !self.is_or_above => {
                format!("correct line {line} of {file}, then try again")
            }
            (Some(_), _) | (None, None) => format!("correct {file}, then try again"),
            (None, Some(kind @ io::ErrorKind::PermissionDenied)) => {
                let remedy = disk_remedy(path, &kind.into());
                remedy.unwrap_or_else(|| format!("`chmod u+r {file}`"))
            }
            (None, Some(io::ErrorKind::InvalidData)) => {
                format!("save {file} as UTF-8, then try again")
            }
            (None, Some(io::ErrorKind::FileTooLarge)) => {
                format!("make {file} smaller, then try again")
            }
            (None, Some(_)) => format!("move {file} away, then try again"),
        }
    }
}

/// The line of this byte, counted from 1.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte).unwrap_or_default();
    1 + memchr::memchr_iter(b'\n', before).count()
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl From<ConfigError> for FileFault {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Syntax { place, problem } => {
                Self::at(place.line, format!("not valid JSON: {problem}"))
            }
            other @ ConfigError::Findings(_) => Self::new(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_after_an_unread_file_follows_from_the_error() {
        for (kind, step) in [
            (
                io::ErrorKind::IsADirectory,
                "move /x/y away, then try again",
            ),
            (
                io::ErrorKind::InvalidData,
                "save /x/y as UTF-8, then try again",
            ),
            (
                io::ErrorKind::FileTooLarge,
                "make /x/y smaller, then try again",
            ),
        ] {
            let fault = FileFault::unread(&kind.into());
            assert_eq!(fault.step(Path::new("/x/y")), step);
        }
        let step = FileFault::at_or_above(4, "the mistake is in this line or above it");
        let step = step.step(Path::new("/x/y"));
        assert_eq!(step, "correct /x/y, then try again");
    }
}
