//! What a fake upstream has received, in order, and waiting for it.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use tokio::sync::watch;

use super::patience;

/// One thing that reached a fake upstream.
#[derive(Debug, Clone)]
pub struct Received {
    pub how: How,
    /// Lower-case header names with their values; empty on stdio.
    pub headers: Vec<(String, String)>,
    /// The frame exactly as it came.
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A frame: a line on stdin, or the body of a POST.
    Frame,
    Get,
    Delete,
    /// The client closed the connection before the answer to this frame was complete.
    Abandoned,
}

impl Received {
    /// The method of the frame; empty for answers and for what is no JSON.
    pub fn method(&self) -> String {
        #[derive(Deserialize)]
        struct Method {
            method: String,
        }
        serde_json::from_str::<Method>(&self.body).map_or(String::new(), |frame| frame.method)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// Grows only. Cheap to clone: all clones are one record.
#[derive(Debug, Clone)]
pub struct Record {
    entries: Arc<Mutex<Vec<Received>>>,
    changed: watch::Sender<usize>,
}

impl Record {
    pub fn new() -> Self {
        Self {
            entries: Arc::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub fn note(&self, received: Received) {
        self.entries
            .lock()
            .expect("no panic under lock")
            .push(received);
        self.changed.send_modify(|n_changes| *n_changes += 1);
    }

    pub fn select(&self, wanted: impl Fn(&Received) -> bool) -> Vec<Received> {
        let entries = self.entries.lock().expect("no panic under lock");
        entries
            .iter()
            .filter(|entry| wanted(entry))
            .cloned()
            .collect()
    }

    /// Waits until at least `count` entries are wanted ones.
    pub async fn wait_for(
        &self,
        what: &str,
        count: usize,
        wanted: impl Fn(&Received) -> bool,
    ) -> Vec<Received> {
        let mut changes = self.changed.subscribe();
        let arrival = async {
            loop {
                changes.mark_unchanged();
                let found = self.select(&wanted);
                if count <= found.len() {
                    return found;
                }
                changes.changed().await.expect("the sender lives in self");
            }
        };
        patience::within(&format!("{count} × {what} at the upstream"), arrival).await
    }
}
