//! Why a file of a client cannot be read, and where.

use std::{fmt, io, path::Path};

use crate::{config::ConfigError, storage::in_words};

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// Where, counted from 1, if that is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// The step, if it is another than to correct the text.
    pub(super) own_step: Option<&'static str>,
    /// Whether nothing of it could be read.
    is_unread: bool,
}

impl FileFault {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self {
            line: None,
            problem: problem.into(),
            own_step: None,
            is_unread: false,
        }
    }

    pub(super) fn with_step(problem: impl Into<String>, step: &'static str) -> Self {
        Self {
            own_step: Some(step),
            ..Self::new(problem)
        }
    }

    pub(super) fn unread(error: &io::Error) -> Self {
        Self {
            is_unread: true,
            ..Self::new(in_words(error))
        }
    }

    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::new(problem)
        }
    }

    /// What to do about it in this file.
    pub fn step(&self, path: &Path) -> String {
        let file = path.display();
        match self.line {
            Some(line) => format!("correct line {line} of {file}, then try again"),
            None if path.is_dir() => format!("name a file in {file}, or move that folder away"),
            None if self.is_unread => {
                format!("`chmod u+r {file}`, or have its owner let you read it")
            }
            None => format!("correct {file}, then try again"),
        }
    }

    /// One at this byte of the text.
    pub(super) fn at_byte(text: &str, byte: usize, problem: impl Into<String>) -> Self {
        let before = text.as_bytes().get(..byte).unwrap_or_default();
        Self::at(1 + memchr::memchr_iter(b'\n', before).count(), problem)
    }
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
