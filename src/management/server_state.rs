//! The state of a server's connection, as data and in the words that people read.

use serde::{Deserialize, Serialize};

use super::Connections;
use crate::{
    config::duration,
    gate::Standing,
    process,
    text::spelt,
    upstream::{State, Status},
};

/// Characters of the line of output that is shown of a starting server.
const LATEST: usize = 200;

spelt! {
    /// The state of a connection.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
    )]
    pub enum ServerState {
        /// Not connected: asleep, disabled or quarantined.
        #[default]
        Disconnected = "Disconnected",
        /// Starting.
        Connecting = "Connecting",
        /// Waiting for your login.
        Authenticating = "Authenticating",
        /// Connected.
        Ready = "Ready",
        /// The entry cannot be used, or the last attempt failed.
        Error = "Error",
        /// A state of a later version.
        #[serde(other)]
        Unknown = "Unknown",
    }
}

/// The state in a word for people. `runs` says whether a daemon runs.
pub(super) fn shown_state(state: ServerState, standing: Standing, runs: bool) -> String {
    let shown = match (standing, state, runs) {
        (Standing::Disabled, ..) => "Disabled",
        (Standing::Quarantined, ..) => "Quarantined",
        (_, ServerState::Disconnected, false) => "Not running",
        (_, ServerState::Disconnected, true) => "Asleep",
        (_, ServerState::Connecting, _) => "Starting",
        (_, ServerState::Authenticating, _) => "Needs a login",
        (_, state, _) => state.as_str(),
    };
    shown.to_owned()
}

/// The remark on a first start, which may have to download the server.
pub(super) fn first_start(connections: &Connections) -> Option<String> {
    let longest = connections.all().find_map(|one| one.first_start)?;
    let longest = duration::show(longest);
    Some(format!("first start may download, up to {longest}"))
}

/// The microseconds that the last start of an asleep server took.
pub(super) fn last_start(connections: &Connections) -> Option<u64> {
    let base = connections.base.as_ref();
    let asleep = base.filter(|base| base.state == State::Asleep)?;
    u64::try_from(asleep.last_start?.as_micros()).ok()
}

/// The last line that is not blank, as a terminal would show it: without what a progress bar has overwritten.
pub(super) fn latest_line(lines: &[String]) -> Option<String> {
    let mut words = lines
        .iter()
        .rev()
        .filter_map(|line| process::own_words(line));
    let line = words.find(|words| !words.trim().is_empty())?;
    let shown = line.trim_end().rsplit('\r').next().unwrap_or_default();
    Some(shown.chars().take(LATEST).collect())
}

/// Whether a connection exists or is being made.
pub(super) fn has_connection(status: &Status) -> bool {
    matches!(status.state, State::Connecting { .. } | State::Ready { .. })
}

/// The state of a server with its instances: the best of them, because the server works if one instance does.
pub(super) fn state(connections: &Connections) -> ServerState {
    let shown = |status: &Status| match status.state {
        State::Asleep => (0, ServerState::Disconnected),
        State::Waiting { .. } | State::Failed { .. } => (1, ServerState::Error),
        State::Authenticating { .. } => (2, ServerState::Authenticating),
        State::Connecting { .. } => (3, ServerState::Connecting),
        State::Ready { .. } => (4, ServerState::Ready),
    };
    let best = connections.all().map(shown).max_by_key(|(rank, _)| *rank);
    match best.map_or(ServerState::Disconnected, |(_, state)| state) {
        // It is connected, but refuses every request.
        ServerState::Ready if connections.login_trouble.is_some() => ServerState::Error,
        state => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_line_is_what_a_terminal_would_show() {
        let shown = |lines: &[&str]| {
            latest_line(
                &lines
                    .iter()
                    .map(|&line| line.to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(shown(&[]), None);
        assert_eq!(shown(&["one", "two"]).as_deref(), Some("two"));
        assert_eq!(shown(&["one", " "]).as_deref(), Some("one"));
        assert_eq!(shown(&["10 %\r50 %\r90 %\r"]).as_deref(), Some("90 %"));
        let long = "x".repeat(9_000);
        assert_eq!(shown(&[&long]).map(|line| line.len()), Some(LATEST));
    }
}
