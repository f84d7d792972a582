//! Files of clients as values, whatever they are written in.

use std::path::Path;

use serde_json::Value;

use super::{fault::FileFault, toml, yaml};
use crate::config;

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
            Self::Json => {
                let (_, repeated) = config::json_and_repeated(text)?;
                Ok(repeated.into_iter().map(|(path, _)| path).collect())
            }
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
        check(FileFormat::Yaml, "a: 1\nb: [x\nc: 2\n", 3);
        check(FileFormat::Yaml, "a: 1\nb: \"x\nc: 2\n", 2);
    }
}
