//! Tokens that a person issues: they count at once, until they are revoked or their time is over.

use super::*;

async fn issue(daemon: &TestDaemon, body: &Value) -> String {
    let issued = daemon
        .rest("POST", "/api/v1/tokens", &body.to_string())
        .await
        .json();
    let token = issued["token"].as_str();
    format!("Bearer {}", token.unwrap_or_else(|| panic!("{issued}")))
}

async fn plain() -> (Upstream, TestDaemon) {
    let upstream = upstream().await;
    let daemon = TestDaemon::builder().upstream("up", &upstream).await;
    (upstream, daemon)
}

#[tokio::test]
async fn a_token_names_its_holder_and_a_wrong_one_is_refused_where_none_is_needed() {
    let (_upstream, daemon) = plain().await;
    let ben = issue(&daemon, &json!({ "name": "ben", "calls": "all" })).await;
    let client = as_subject(&daemon, "/mcp/all", &ben).await;
    client.call("up__echo", "{}").await.text();
    let tools = as_subject(&daemon, "/mcp", &ben).await.tool_names().await;
    assert!(
        !tools.iter().any(|name| name.contains("token")),
        "{tools:?}"
    );
    let records = daemon.rest("GET", "/api/v1/activity?caller=ben", "").await;
    let records = records.text();
    has!(records, "\"caller\":\"ben\"", "{records}");
    for wrong in ["Bearer mcpp_nobody", "Bearer x"] {
        let answer = send(&daemon, "POST", "/mcp/all", &[("authorization", wrong)]).await;
        assert_eq!(answer.status, 401, "{wrong}");
    }
    // Whoever shows none is still let in.
    daemon
        .client("/mcp/all")
        .await
        .call("up__echo", "{}")
        .await
        .text();
    let list = daemon.rest("GET", "/api/v1/tokens", "").await;
    let secret = ben.trim_start_matches("Bearer ");
    assert!(!list.text().contains(secret), "{}", list.text());
    let list = list.json();
    is_like!(list, { "required": false });
    is_like!(list["tokens"][0], { "name": "ben", "calls": "all", "expired": false });
    assert!(list["tokens"][0]["last_used"].is_string(), "{list}");
    for file in std::fs::read_dir(daemon.home().data_dir()).expect("the data folder") {
        let file = file.expect("an entry").path();
        let text = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(secret), "{}", file.display());
    }
}

#[tokio::test]
async fn a_revoked_token_ends_everything_within_a_second() {
    let (_upstream, daemon) = plain().await;
    let ben = issue(&daemon, &json!({ "name": "ben", "calls": "all" })).await;
    let client = as_subject(&daemon, "/mcp/all", &ben).await;
    let other = daemon.client("/mcp/all").await;
    let streams = Streams::open(&daemon, &client, &ben).await;
    let began = std::time::Instant::now();
    let revoked = daemon.rest("DELETE", "/api/v1/tokens/ben", "").await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    is_seen_off(&daemon, &client, &ben).await;
    streams.end().await;
    let took = began.elapsed();
    // A busy machine needs longer.
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    other.call("up__echo", "{}").await.text();
    let again = daemon.rest("DELETE", "/api/v1/tokens/ben", "").await;
    is_like!(again.json(), { "code": "unknown_token" });
}

#[tokio::test]
async fn a_call_that_runs_when_its_token_is_revoked_is_refused_and_withdrawn() {
    let upstream = FakeUpstream::stdio().tool("hang", hang()).await;
    let daemon = TestDaemon::builder().upstream("up", &upstream).await;
    let ben = issue(&daemon, &json!({ "name": "ben", "calls": "all" })).await;
    let client = as_subject(&daemon, "/mcp/all", &ben).await;
    client.wait_for_tool("up__hang").await;
    let headers = [
        ("authorization", &*ben),
        ("mcp-session-id", client.session()),
        ("content-type", "application/json"),
        ("accept", "application/json"),
    ];
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__hang","arguments":{}}}"#;
    let calling = http::send(daemon.address(), "POST", "/mcp/all", &headers, call);
    let revoking = async {
        until!(!upstream.received("tools/call").is_empty());
        let revoked = daemon.rest("DELETE", "/api/v1/tokens/ben", "").await;
        assert_eq!(revoked.status, 200, "{}", revoked.text());
    };
    let (answer, ()) = tokio::join!(calling, revoking);
    assert_eq!(answer.status, 401, "{}", answer.text());
    until("the call to be withdrawn", || {
        let cancelled = upstream.received("notifications/cancelled");
        (!cancelled.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_time_of_a_token_ends_its_streams_too() {
    let (_upstream, daemon) = plain().await;
    let ben = issue(&daemon, &json!({ "name": "ben", "expires": "5s" })).await;
    let client = as_subject(&daemon, "/mcp/all", &ben).await;
    let mut stream = client.listen().await;
    within("the stream to end", async {
        while stream.next().await.is_some() {}
    })
    .await;
    let answer = send(&daemon, "POST", "/mcp/all", &[("authorization", &ben)]).await;
    assert_eq!(answer.status, 401);
    has!(answer.text(), "expired", "{}", answer.text());
    let list = daemon.rest("GET", "/api/v1/tokens", "").await.json();
    is_like!(list["tokens"][0], { "expired": true });
}

#[tokio::test]
async fn where_a_token_is_required_nobody_else_comes_in() {
    let upstream = upstream().await;
    let auth = json!({ "serverAuth": { "required": true } });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(auth)
        .await;
    assert_eq!(send(&daemon, "POST", "/mcp/all", &[]).await.status, 401);
    let ben = issue(&daemon, &json!({ "name": "ben", "calls": "all" })).await;
    let client = as_subject(&daemon, "/mcp/all", &ben).await;
    client.call("up__echo", "{}").await.text();
    // What the file loses counts after a restart only.
    daemon
        .home()
        .write_config(TestDaemon::builder().upstream("up", &upstream).text());
    until_async("the file to be read", async || {
        let status = daemon.rest("GET", "/api/v1/status", "").await;
        status.text().contains("serverAuth").then_some(())
    })
    .await;
    assert_eq!(send(&daemon, "POST", "/mcp/all", &[]).await.status, 401);
    let data = daemon.home().data_dir();
    let tokens = std::fs::read_to_string(data.join("tokens.json")).expect("tokens");
    std::fs::write(
        data.join("tokens.json"),
        tokens.replace("\"all\"", "\"most\""),
    )
    .expect("ours");
    daemon.rest("POST", "/api/v1/config/reload", "").await;
    let answer = send(&daemon, "POST", "/mcp/all", &[("authorization", &ben)]).await;
    assert_eq!(
        answer.status, 401,
        "a file that cannot be read lets nobody in"
    );
}
