//! What is kept of a session on disk beside what its id says: its log level, its subscriptions, and capabilities that no id could hold.

use serde::{Deserialize, Serialize};

use super::bounds::{MAX_SUBSCRIPTIONS, MAX_URI};
use crate::wire::{LogLevel, Raw};

/// The version of the format. What has another is damaged.
const VERSION: u32 = 1;

/// What is kept.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptSession {
    pub(super) version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log_level: Option<LogLevel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capabilities: Option<Raw>,
}

impl Default for KeptSession {
    fn default() -> Self {
        Self {
            version: VERSION,
            log_level: None,
            subscriptions: Vec::new(),
            capabilities: None,
        }
    }
}

impl KeptSession {
    /// The content to be kept; `None` if there is nothing.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let is_nothing = *self == Self::default();
        (!is_nothing)
            .then(|| serde_json::to_vec(self).ok())
            .flatten()
    }

    /// Reads [`KeptSession::write`] back.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let kept: Self = serde_json::from_slice(content).ok()?;
        let is_sound = kept.version == VERSION
            && kept.subscriptions.len() <= MAX_SUBSCRIPTIONS
            && kept.subscriptions.iter().all(|uri| uri.len() <= MAX_URI)
            && kept.capabilities.as_ref().is_none_or(Raw::is_object);
        is_sound.then_some(kept)
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
            ..KeptSession::default()
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
