//! Files of clients as values, whatever they are written in, and why one cannot be read.

use std::{fmt, path::Path};

use serde_json::Value;

use super::{toml, yaml};
use crate::config::{self, ConfigError};

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON, with comments and trailing commas where it has them.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl FileFormat {
    /// By the ending of a file's name.
    pub fn of(path: &Path) -> Self {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }

    /// The paths of keys that stand twice in one map, of which the last one counts. Only JSON allows that.
    pub fn repeated(self, text: &str) -> Result<Vec<String>, FileFault> {
        match self {
            Self::Json => Ok(config::json_and_repeated(text)?.1),
            Self::Toml | Self::Yaml => Ok(Vec::new()),
        }
    }

    /// The text as a value; an empty one is null.
    pub fn read(self, text: &str) -> Result<Value, FileFault> {
        match self {
            Self::Json => Ok(config::json_of(text)?),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// Where, counted from 1, if that is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
}

impl FileFault {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self {
            line: None,
            problem: problem.into(),
        }
    }

    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            problem: problem.into(),
        }
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
            ConfigError::Syntax { line, problem, .. } => Self::at(line, problem),
            other => Self::new(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FileFormat;

    #[test]
    fn the_same_servers_are_read_out_of_every_format() {
        let expected = json!({ "servers": { "a": { "args": ["x", "1"], "on": true, "n": 3 } } });
        for (format, text) in [
            (
                FileFormat::Json,
                "{ // c\n\"servers\": {\"a\": {\"args\": [\"x\", \"1\"], \"on\": true, \"n\": 3,},},}",
            ),
            (
                FileFormat::Toml,
                "# c\n[servers.a]\nargs = [\n 'x', # c\n \"1\",\n]\non = true\nn = 3\n",
            ),
            (
                FileFormat::Yaml,
                "# c\nservers:\n  a:\n    args: [x, '1']\n    on: true # c\n    n: 3\n",
            ),
        ] {
            assert_eq!(format.read(text), Ok(expected.clone()), "{text}");
            assert!(format.read("").is_ok(), "{format:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_has_its_line() {
        let check = |format: FileFormat, text: &str, line: usize| {
            let fault = format.read(text).expect_err(text);
            assert_eq!(fault.line, Some(line), "{text}: {fault}");
        };
        check(FileFormat::Json, "{\n\"a\": ,\n}", 2);
        check(FileFormat::Toml, "a = 1\n[b\n", 2);
        check(FileFormat::Yaml, "a: 1\nb: [x\nc: 2\n", 4);
        check(FileFormat::Yaml, "a: 1\nb: \"x\nc: 2\n", 2);
    }
}
