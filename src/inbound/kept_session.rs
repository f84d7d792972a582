//! What is kept of a session on disk beside what its id says: its log level, its subscriptions, and capabilities that no id could hold.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::bounds::{MAX_SUBSCRIPTIONS, MAX_URI};
use crate::wire::{LogLevel, Raw};

/// The version of the format. What has another is damaged.
const VERSION: u32 = 1;

/// What is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KeptSession {
    pub(super) log_level: Option<LogLevel>,
    pub(super) subscriptions: Vec<String>,
    pub(super) capabilities: Option<Raw>,
}

#[derive(Serialize)]
struct WrittenSession<'a> {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_level: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    subscriptions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<&'a Raw>,
}

#[derive(Deserialize)]
struct StoredSession {
    version: u32,
    log_level: Option<String>,
    #[serde(default)]
    subscriptions: Vec<String>,
    capabilities: Option<Box<RawValue>>,
}

impl KeptSession {
    /// The content to be kept; `None` if there is nothing.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        if *self == Self::default() {
            return None;
        }
        let written = WrittenSession {
            version: VERSION,
            log_level: self.log_level.map(LogLevel::as_str),
            subscriptions: &self.subscriptions,
            capabilities: self.capabilities.as_ref(),
        };
        serde_json::to_vec(&written).ok()
    }

    /// Reads [`KeptSession::write`] back.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let stored: StoredSession = serde_json::from_slice(content).ok()?;
        let are_sound = stored.version == VERSION
            && stored.subscriptions.len() <= MAX_SUBSCRIPTIONS
            && stored.subscriptions.iter().all(|uri| uri.len() <= MAX_URI);
        let log_level = match stored.log_level {
            None => None,
            Some(level) => Some(LogLevel::parse(&level)?),
        };
        let capabilities = stored.capabilities.map(|raw| Raw::from(&*raw));
        let capabilities_are_sound = capabilities.as_ref().is_none_or(Raw::is_object);
        (are_sound && capabilities_are_sound).then_some(Self {
            log_level,
            subscriptions: stored.subscriptions,
            capabilities,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back_and_nothing_takes_no_file() {
        assert_eq!(KeptSession::default().write(), None);
        let raw = |text: &str| Raw::parse_str(text).expect("JSON");
        let kept = KeptSession {
            log_level: LogLevel::parse("warning"),
            subscriptions: vec!["a://b".to_owned(), "é\"".to_owned()],
            capabilities: Some(raw(r#"{"x": 1.10}"#)),
        };
        let content = kept.write().expect("something");
        assert_eq!(KeptSession::read(&content), Some(kept));
        for damaged in [
            "",
            "{}",
            r#"{"version":2}"#,
            r#"{"version":1,"log_level":"loud"}"#,
            r#"{"version":1,"subscriptions":[1]}"#,
            r#"{"version":1,"capabilities":[]}"#,
        ] {
            assert_eq!(KeptSession::read(damaged.as_bytes()), None, "{damaged}");
        }
        let many = vec![String::new(); MAX_SUBSCRIPTIONS + 1];
        let many = serde_json::json!({"version": 1, "subscriptions": many}).to_string();
        assert_eq!(KeptSession::read(many.as_bytes()), None);
    }
}
