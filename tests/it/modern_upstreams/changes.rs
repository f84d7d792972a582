//! How changes at a server are heard of: one subscription, opened again when it ends.

use serde_json::{Value, json};

use super::{both, daemon_with};
use crate::support::{
    behaviours::*,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, plain_tool},
    modern::{self, Ending},
};

#[tokio::test]
async fn changed_lists_are_heard_of() {
    for upstream in both() {
        let upstream = upstream.tool("a", echo()).start().await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client("/mcp/all").await;
        client.wait_for_tool("up__a").await;
        let asked = upstream.wait_for("subscriptions/listen").await;
        let asked: Value = serde_json::from_str(&asked.body).expect("a frame");
        assert_eq!(
            asked["params"]["notifications"],
            json!({"toolsListChanged": true})
        );
        upstream.offer(&[(plain_tool("b"), echo())]).await;
        client.wait_for_tool("up__b").await;
        assert_eq!(upstream.received("subscriptions/listen").len(), 1);
    }
}

#[tokio::test]
async fn a_subscription_that_ends_is_made_again_and_nothing_is_missed() {
    for upstream in both() {
        let upstream = upstream.tool("a", echo()).start().await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client("/mcp/all").await;
        client.wait_for_tool("up__a").await;
        let names = ["b", "c"];
        for (n, ending) in [Ending::Result, Ending::Cancelled].into_iter().enumerate() {
            upstream.wait_for_count("subscriptions/listen", n + 1).await;
            upstream.end_subscriptions(ending).await;
            upstream
                .offer_silently(&[(plain_tool(names[n]), echo())])
                .await;
            client.wait_for_tool(&format!("up__{}", names[n])).await;
        }
    }
}

/// A line in the log that no request asked for, and a subscription beside the calls: the line still finds its call.
#[tokio::test]
async fn a_subscription_is_no_call() {
    let line = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"here"}}"#;
    let upstream = FakeUpstream::stdio()
        .speaking(modern::REVISION)
        .tool("say", notice(line).then(reply_text("said")))
        .start()
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__say").await;
    upstream.wait_for("subscriptions/listen").await;
    let reply = client.call("up__say", "{}").await;
    assert_eq!(reply.notices.len(), 1, "{:?}", reply.notices);
}

#[tokio::test]
async fn a_server_without_subscriptions_is_polled() {
    for upstream in both() {
        let missing = error(r#"{"code":-32601,"message":"what?"}"#);
        let upstream = upstream
            .on("subscriptions/listen", missing)
            .tool("a", echo())
            .start()
            .await;
        let daemon = TestDaemon::builder()
            .config(json!({"tool_discovery_interval": "1s"}))
            .upstream_with("up", &upstream, json!({"start": "eager"}))
            .start()
            .await;
        let client = daemon.client("/mcp/all").await;
        client.wait_for_tool("up__a").await;
        upstream.offer_silently(&[(plain_tool("b"), echo())]).await;
        client.wait_for_tool("up__b").await;
        assert_eq!(upstream.received("subscriptions/listen").len(), 1);
    }
}
