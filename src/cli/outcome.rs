//! Waits for the outcome of adding, enabling or restarting a server, and says it in one sentence.

use super::{Done, Output, connection, output::count};
use crate::{
    daemon_client::{AnswerDeadline, DaemonClient},
    gate::Standing,
    management::{LeftOut, ServerDetails, ServerRow, ServerState},
};

/// Seconds to wait for a first connection. A download takes longer, and should not keep the terminal busy.
pub(super) const CONNECT_TIMEOUT: u64 = 10;

/// Seconds to wait if the outcome is the command's purpose: more than any default of `init_timeout`.
pub(super) const LONG_CONNECT_TIMEOUT: u64 = 540;

/// The server after its first attempt to connect, or after so many seconds.
pub(super) async fn wait_for(
    daemon: &mut DaemonClient,
    name: &str,
    seconds: Option<u64>,
) -> Done<ServerRow> {
    let seconds = seconds.unwrap_or(CONNECT_TIMEOUT);
    let path = connection::server_path(name, &format!("?wait={seconds}"));
    let deadline = AnswerDeadline::Upstream;
    let settled = daemon.request(http::Method::GET, &path, "", deadline);
    let ServerDetails { server, .. } = settled.await?;
    Ok(server)
}

/// Says the outcome. `done` is what the command did, such as `added`.
pub(super) fn say(out: Output, daemon: &DaemonClient, done: &str, server: &ServerRow) {
    let sentence = sentence(server, daemon.is_over_files());
    let (name, file) = (&server.name, daemon.in_file("in"));
    let is_failing = server.is_failing();
    out.done(&match &server.last_error {
        Some(error) if is_failing && server.unusable => {
            format!("{done} {name}{file}, but its entry cannot be used: {error}")
        }
        _ if is_failing && server.state == ServerState::Authenticating => {
            format!("{done} {name}{file}; it needs a login")
        }
        Some(error) if is_failing => format!("{done} {name}{file}, but the server failed: {error}"),
        _ => format!("{done} {name}{file}: {sentence}"),
    });
    if let Some(step) = server.next_step.as_ref().filter(|_| is_failing) {
        out.next(step);
    }
}

fn sentence(server: &ServerRow, is_over_files: bool) -> String {
    let name = &server.name;
    match server.standing() {
        Standing::Usable => (),
        Standing::Disabled => return "disabled".to_owned(),
        Standing::Quarantined => {
            return format!("quarantined; review it: `mcpproxy upstream inspect {name}`");
        }
    }
    let tools = server.tools.map(|tools| count(tools, "tool"));
    let why =
        |what: String, verb: &str| format!("{what}: `mcpproxy upstream {verb} {name}` shows why");
    let held = server.held_in_words().map(|held| why(held, "inspect"));
    let left_out = server.left_out.as_ref().map(LeftOut::short);
    let left_out = left_out.map(|some| why(some, "show"));
    let facts = [tools, held, left_out].into_iter().flatten();
    let facts: String = facts.flat_map(|fact| [", ".to_owned(), fact]).collect();
    match server.state {
        ServerState::Disconnected if is_over_files => {
            format!("starts with the daemon{facts}")
        }
        ServerState::Disconnected => format!("asleep until its next call{facts}"),
        ServerState::Connecting => {
            let detail = server.detail.as_ref();
            let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
            format!("still starting{detail}; `mcpproxy upstream list` shows the result")
        }
        _ => format!("{}{facts}", server.shown_state.to_lowercase()),
    }
}
