//! The severity of a log line.

use serde::{Deserialize, Serialize};

use super::Notification;

/// The severities of RFC 5424 as the protocol names them, the least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// Something may fail.
    Warning,
    /// Something failed.
    Error,
    /// A part of the system failed.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    /// The level of this name. `warn`, a common slip, is understood.
    pub fn parse(text: &str) -> Option<Self> {
        let text = if text == "warn" { "warning" } else { text };
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(level, _)| *level)
    }

    /// That of a log line; none where it says none that is known.
    pub fn of_line(line: &Notification) -> Option<Self> {
        let level = line.params.as_ref()?.get("level")?.string()?;
        Self::parse(&level)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_are_ordered() {
        for (level, name) in LogLevel::ALL {
            assert_eq!((level.as_str(), LogLevel::parse(name)), (name, Some(level)));
        }
        assert!(LogLevel::Debug < LogLevel::Emergency);
        assert_eq!(LogLevel::parse("warn"), Some(LogLevel::Warning));
        assert_eq!(LogLevel::parse("loud"), None);
    }
}
