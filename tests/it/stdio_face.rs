//! Clients on stdin and stdout: `serve --stdio`, and `stdio` with the one daemon behind it.

mod alone;
mod bridges;
mod losing_the_daemon;
mod messages;
mod modern;

use std::time::Duration;

use crate::support::prelude::*;

/// A bridge whose daemon ends soon after it, but not before the others of a busy machine have come.
const BRIDGE: &[&str] = &["stdio", "--endpoint", "/mcp/all", "--idle-exit", "2s"];

const ALONE: &[&str] = &["serve", "--stdio", "--mode", "direct"];

/// A configuration with one upstream, whose daemon would take any free port.
fn builder(upstream: &Upstream) -> Builder {
    TestDaemon::builder()
        .config(json!({"listen": "127.0.0.1:0"}))
        .upstream("up", upstream)
}

/// What the daemon of this home says of itself; nothing without one.
async fn status(home: &Home) -> Option<Value> {
    Some(home.rest("GET", "/api/v1/status", "").await?.json())
}

async fn daemon_pid(home: &Home) -> u32 {
    let status = status(home).await.expect("a daemon runs");
    u32::try_from(status["pid"].as_u64().expect("a pid")).expect("a pid")
}

async fn until_ended(pid: u32) {
    until!(!processes::runs(pid));
}

/// Waits until the daemon counts so many sessions.
async fn until_sessions(home: &Home, count: u64) {
    until_async(&format!("{count} sessions"), async || {
        let sessions = status(home).await?["sessions"].as_u64();
        (sessions == Some(count)).then_some(())
    })
    .await;
}

async fn opened(home: &Home, arguments: &[&str]) -> PipeClient {
    let mut client = PipeClient::start(home, arguments);
    client.open().await;
    client
}

/// Long enough to be no reason for a test to fail.
const SOON: Duration = Duration::from_secs(20);
