//! The severity of a log line.

use serde::{Deserialize, Serialize};

use super::Notification;
use crate::text::spelt;

spelt! {
    /// The severities of RFC 5424 as the protocol names them, the least severe first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum LogLevel {
        /// Details for debugging.
        Debug = "debug",
        /// Normal operation.
        Info = "info",
        /// Normal but significant.
        Notice = "notice",
        /// Something may fail.
        Warning = "warning",
        /// Something failed.
        Error = "error",
        /// A part of the system failed.
        Critical = "critical",
        /// Somebody must act at once.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

impl LogLevel {
    /// The level of this name. `warn`, a common slip, is understood.
    pub fn read(text: &str) -> Option<Self> {
        Self::parse(if text == "warn" { "warning" } else { text })
    }

    /// That of a log line; none where it says none that is known.
    pub fn of_line(line: &Notification) -> Option<Self> {
        let level = line.params.as_ref()?.get("level")?.string()?;
        Self::read(&level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_are_ordered() {
        for &(level, name) in LogLevel::ALL {
            assert_eq!((level.as_str(), LogLevel::parse(name)), (name, Some(level)));
        }
        assert!(LogLevel::Debug < LogLevel::Emergency);
        assert_eq!(LogLevel::read("warn"), Some(LogLevel::Warning));
        assert_eq!(LogLevel::read("loud"), None);
    }
}
