//! How changes at a server are heard of: one subscription, opened again when it ends.

use futures_util::future::join_all;

use super::{both, daemon_with};
use crate::support::{modern::Ending, prelude::*};

#[tokio::test]
async fn changed_lists_are_heard_of() {
    for upstream in both() {
        let upstream = upstream.tool("a", echo()).await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client_of("up__a").await;
        let asked = upstream.wait_for("subscriptions/listen").await;
        let asked: Value = serde_json::from_str(&asked.body).expect("a frame");
        assert_eq!(
            asked["params"]["notifications"],
            json!({"toolsListChanged": true})
        );
        // Nothing can change unheard between the two.
        let everything = upstream.everything();
        let at = |method: &str| everything.iter().position(|one| one.method() == method);
        assert!(at("subscriptions/listen") < at("tools/list"));
        upstream.offer(&[(plain_tool("b"), echo())]).await;
        client.wait_for_tool("up__b").await;
        assert_eq!(upstream.received("subscriptions/listen").len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_to_a_subscription_is_listed_all_the_same() {
    for upstream in both() {
        let upstream = upstream
            .on("subscriptions/listen", hang())
            .tool("a", echo())
            .await;
        let daemon = daemon_with(&upstream).await;
        daemon.client("/mcp/all").await.wait_for_tool("up__a").await;
    }
}

#[tokio::test]
async fn a_server_that_ends_every_subscription_is_warned_of_once() {
    let [upstream, _] = both();
    let upstream = upstream.on("subscriptions/listen", reply("{}"));
    let upstream = upstream.tool("a", echo()).await;
    let daemon = DaemonProcess::with_upstream(&upstream).await;
    upstream.wait_for_count("subscriptions/listen", 2).await;
    let log = daemon.log();
    let warned = log.matches("server sends no change notifications").count();
    assert!(warned == 1 && log.contains("retry_in"), "{log}");
}

#[tokio::test]
async fn a_subscription_that_ends_is_made_again_and_nothing_is_missed() {
    for upstream in both() {
        let upstream = upstream.tool("a", echo()).await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client_of("up__a").await;
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
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = daemon.client_of("up__say").await;
    upstream.wait_for("subscriptions/listen").await;
    let reply = client.call("up__say", "{}").await;
    assert_eq!(reply.notices.len(), 1, "{:?}", reply.notices);
}

/// Some have no subscriptions, others announce changes and never tell of any.
#[tokio::test]
async fn a_server_that_never_tells_of_changes_is_polled() {
    let missing = || error(r#"{"code":-32601,"message":"what?"}"#);
    let deaf = both().map(|upstream| upstream.on("subscriptions/listen", missing()));
    let legacy = [FakeUpstream::stdio(), FakeUpstream::http()];
    let mute = both().into_iter().chain(legacy);
    let mute = mute.map(|upstream| upstream.capabilities(r#"{"tools":{"listChanged":true}}"#));
    for (n, upstream) in deaf.into_iter().chain(mute).enumerate() {
        let contents = reply(r#"{"contents":[]}"#);
        let upstream = upstream
            .tool("a", echo())
            .resource(r#"{"uri":"lib://one","name":"1"}"#, contents)
            .await;
        let daemon = TestDaemon::builder()
            .config(json!({"tool_discovery_interval": "1s"}))
            .upstream_with("up", &upstream, json!({"start": "eager"}))
            .await;
        let client = daemon.client_of("up__a").await;
        upstream.offer_silently(&[(plain_tool("b"), echo())]).await;
        client.wait_for_tool("up__b").await;
        if n < both().len() {
            assert_eq!(upstream.received("subscriptions/listen").len(), 1);
            let params = r#"{"uri":"lib://one"}"#;
            let reply = client.request("resources/subscribe", params).await;
            has!(reply.error(), "does not report updates");
        }
    }
}

/// A filter is never changed: a new subscription takes the place of the old one, with all that is wanted.
#[tokio::test]
async fn updates_of_resources_reach_who_wants_them() {
    for upstream in both() {
        let over_pipes = upstream.is_over_pipes();
        let contents = reply(r#"{"contents":[]}"#);
        let upstream = upstream
            .tool("a", echo())
            .resource(r#"{"uri":"lib://one","name":"1"}"#, contents.clone())
            .resource(r#"{"uri":"lib://two","name":"2"}"#, contents)
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client_of("up__a").await;
        upstream.wait_for("subscriptions/listen").await;
        let mut stream = client.listen().await;
        for uri in ["lib://one", "lib://two"] {
            let params = json!({ "uri": uri }).to_string();
            client
                .request("resources/subscribe", &params)
                .await
                .result();
            upstream.push(&update(uri)).await;
            let told = stream.next_frame("notifications/resources/updated").await;
            let told: Value = serde_json::from_str(&told).expect("a frame");
            assert_eq!(told["params"], json!({"uri": uri, "n": 1}));
        }
        let asked = upstream.received("subscriptions/listen");
        let wanted = |frame: &String| {
            let frame: Value = serde_json::from_str(frame).expect("a frame");
            let filter = &frame["params"]["notifications"];
            assert_eq!(filter["toolsListChanged"], true);
            filter["resourceSubscriptions"].clone()
        };
        let wanted: Vec<_> = asked.iter().map(wanted).collect();
        let one = json!(["lib://one"]);
        let both = json!(["lib://one", "lib://two"]);
        assert_eq!(wanted, [Value::Null, one, both]);
        if over_pipes {
            upstream.wait_for_count("notifications/cancelled", 2).await;
        } else {
            upstream.wait_for_abandoned(2).await;
        }
        let params = r#"{"uri":"lib://one"}"#;
        client
            .request("resources/unsubscribe", params)
            .await
            .result();
        upstream.wait_for_count("subscriptions/listen", 4).await;
        assert!(upstream.received("resources/subscribe").is_empty());
    }
}

/// One request for all goes out at a time; what is wanted meanwhile goes with the next.
#[tokio::test]
async fn subscriptions_that_come_at_once_are_all_made() {
    for upstream in both() {
        let mut upstream = upstream.tool("a", echo());
        for n in 0..8 {
            let definition = format!(r#"{{"uri":"lib://{n}","name":"{n}"}}"#);
            upstream = upstream.resource(definition, reply(r#"{"contents":[]}"#));
        }
        let upstream = upstream.await;
        let daemon = daemon_with(&upstream).await;
        let client = &daemon.client_of("up__a").await;
        let subscribing = (0..8).map(|n| {
            let params = json!({ "uri": format!("lib://{n}") });
            client.request("resources/subscribe", params)
        });
        for reply in join_all(subscribing).await {
            reply.result();
        }
    }
}

fn update(uri: &str) -> String {
    let params = json!({ "uri": uri, "n": 1 });
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})
        .to_string()
}
