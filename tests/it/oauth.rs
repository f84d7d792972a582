//! Logging in to remote servers: every way to be somebody at an authorization server, what is kept, what is renewed, and that nobody else
//! suffers.

mod kept;
mod refusals;
mod renewal;
mod ways;

use crate::support::{
    authorization_server::{AuthorizationServer, browse, visit},
    prelude::*,
};

/// A daemon before this server, whose name is `up`.
fn before(server: &AuthorizationServer) -> Builder {
    TestDaemon::builder().entry("up", server.entry())
}

async fn row(daemon: &TestDaemon, name: &str) -> Value {
    let path = format!("/api/v1/servers/{name}");
    daemon.rest("GET", &path, "").await.json()["server"].clone()
}

async fn wait_for_state(daemon: &TestDaemon, state: &str) -> Value {
    until_async(state, async || {
        let row = row(daemon, "up").await;
        (row["state"] == state).then_some(row)
    })
    .await
}

async fn begin(daemon: &TestDaemon) -> HttpAnswer {
    daemon.rest("POST", "/api/v1/servers/up/login", "").await
}

/// Begins a login: where the browser goes.
async fn begun(daemon: &TestDaemon) -> String {
    let begun = begin(daemon).await;
    assert_eq!(begun.status, 200, "{}", begun.text());
    begun.json()["url"].as_str().expect("an address").to_owned()
}

/// How the login is that was begun.
async fn progress(daemon: &TestDaemon) -> Value {
    let path = "/api/v1/servers/up/login?wait=20";
    daemon.rest("GET", path, "").await.json()
}

/// A person logs in, in the browser of this machine.
async fn log_in(daemon: &TestDaemon) {
    let back = browse(&begun(daemon).await).await;
    let page = visit(&back).await;
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(progress(daemon).await, json!({"state": "done"}));
}

/// A daemon to whose server somebody has logged in, and a client that sees its tools.
async fn logged_in(server: &AuthorizationServer) -> (TestDaemon, TestClient) {
    let daemon = before(server).await;
    log_in(&daemon).await;
    let client = daemon.client_of("up__echo").await;
    (daemon, client)
}
