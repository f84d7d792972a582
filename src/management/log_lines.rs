//! The last lines of a log, and how many of them may be asked for: the command line, REST and the tool for agents go by the same range.

use std::{ops::RangeInclusive, path::PathBuf};

use serde::{Deserialize, Serialize};

/// What a server wrote to its stderr.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LogLines {
    /// The last lines, oldest first.
    pub lines: Vec<String>,
    /// Where all of them are; nothing for a remote server, which writes no log here.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Why its entry cannot be used, so that it does not run; absent where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
}

impl LogLines {
    /// How many may be asked for. Limit: they are held in memory, and more is for the file itself.
    pub const RANGE: RangeInclusive<usize> = 1..=500;

    /// How many are shown unless asked otherwise.
    pub const USUAL: usize = 50;

    /// How many are meant; the error names what is accepted.
    pub fn count(asked: Option<usize>) -> Result<usize, String> {
        let lines = asked.unwrap_or(Self::USUAL);
        if Self::RANGE.contains(&lines) {
            return Ok(lines);
        }
        let (least, most) = (Self::RANGE.start(), Self::RANGE.end());
        Err(format!("`lines` is {lines}; it is {least} to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::LogLines;

    #[test]
    fn a_number_of_lines_outside_of_the_range_is_refused_with_the_range() {
        let check = |asked: Option<usize>, expected: Result<usize, &str>| {
            let count = LogLines::count(asked);
            assert_eq!(count.as_ref().map_err(String::as_str).copied(), expected);
        };
        check(None, Ok(50));
        check(Some(500), Ok(500));
        check(Some(501), Err("`lines` is 501; it is 1 to 500"));
        check(Some(0), Err("`lines` is 0; it is 1 to 500"));
    }
}
