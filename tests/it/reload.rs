//! An edit of the configuration takes effect by itself, and touches what changed only.

use crate::support::prelude::*;

async fn upstream(tool: &str) -> Upstream {
    FakeUpstream::stdio().tool(tool, echo()).await
}

fn with(servers: &[(&str, &Upstream)]) -> Builder {
    servers
        .iter()
        .fold(TestDaemon::builder(), |builder, (name, upstream)| {
            builder.upstream(name, upstream)
        })
}

#[tokio::test]
async fn an_edit_touches_only_the_servers_that_changed() {
    let (same, changed, gone, fresh) = (
        upstream("s").await,
        upstream("c").await,
        upstream("g").await,
        upstream("f").await,
    );
    let daemon = with(&[("same", &same), ("changed", &changed), ("gone", &gone)]).await;
    let client = daemon.client("/mcp/all").await;
    for tool in ["same__s", "changed__c", "gone__g"] {
        client.wait_for_tool(tool).await;
        client.call(tool, "{}").await.result();
    }
    let pids = same.pids();
    let mut stream = client.listen().await;

    let edited = with(&[("same", &same), ("fresh", &fresh)]).upstream_with(
        "changed",
        &changed,
        json!({"env": {"NEW": "value"}}),
    );
    daemon.home().write_config(edited.text());
    stream.next_frame("notifications/tools/list_changed").await;
    client.wait_for_tool("fresh__f").await;
    gone.wait_for_children(0).await;
    until_async("the removed server to leave the list", async || {
        let names = client.tool_names().await;
        (!names.iter().any(|name| name == "gone__g")).then_some(())
    })
    .await;
    for tool in ["same__s", "changed__c", "fresh__f"] {
        // A server that is being replaced is waited for.
        client.call(tool, "{}").await.result();
    }
    assert_eq!(client.call("gone__g", "{}").await.error_code(), -32602);
    assert_eq!(same.pids(), pids, "it was not touched");
    changed.wait_for_children(1).await;
    assert_eq!(changed.spawn_count(), 2, "it was replaced");
}

#[tokio::test]
async fn a_call_that_an_edit_cuts_off_says_so() {
    let slow = FakeUpstream::stdio().tool("t", hang()).await;
    let daemon = with(&[("slow", &slow)]).await;
    let client = daemon.client_of("slow__t").await;
    let edited = async {
        slow.wait_for("tools/call").await;
        daemon.home().write_config(r#"{ "mcpServers": {} }"#);
    };
    let (reply, ()) = tokio::join!(client.call("slow__t", "{}"), edited);
    let text = reply.text();
    has!(text, "was removed during the call");
    lacks!(text, "connects again");
}

/// Nothing of it was sent yet.
#[tokio::test]
async fn a_call_that_waits_for_its_server_goes_to_the_one_in_its_place() {
    for scope in ["shared", "client"] {
        let upstream = upstream("t").await;
        let entry = |mark: &str| {
            let entry = json!({ "session_scope": scope, "env": { "MARK": mark } });
            TestDaemon::builder().upstream_with("up", &upstream, entry)
        };
        let daemon = entry("before").await;
        let client = daemon.client_of("up__t").await;
        upstream
            .change(|script| {
                script.answers.insert("initialize".to_owned(), hang());
            })
            .await;
        let starts = upstream.received("initialize").len();
        upstream.crash().await;
        // What is written to it before that is noticed would end with it.
        until_async("the crash to be noticed", async || {
            let row = daemon.rest("GET", "/api/v1/servers/up", "").await.json();
            (row["server"]["state"] != "Ready").then_some(())
        })
        .await;
        let replaced = async {
            upstream.wait_for_count("initialize", starts + 1).await;
            upstream
                .change(|script| drop(script.answers.remove("initialize")))
                .await;
            daemon.home().write_config(entry("after").text());
        };
        let (reply, ()) = tokio::join!(client.call("up__t", r#"{"n":1.10}"#), replaced);
        has!(reply.result(), r#"{"n":1.10}"#, "{scope}");
    }
}

#[tokio::test]
async fn a_broken_edit_leaves_the_last_good_one_in_force() {
    let up = upstream("echo").await;
    let more = upstream("more").await;
    let daemon = with(&[("up", &up)]).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    daemon.home().write_config("{ \"mcpServers\": { \"up\": ");
    until_async("the mistake to be reported", async || {
        let status = daemon.rest("GET", "/api/v1/status", "").await.json();
        status["config_error"].as_str().map(|_| ())
    })
    .await;
    client.call("up__echo", "{}").await.result();
    assert_eq!(up.spawn_count(), 1);

    daemon
        .home()
        .write_config(with(&[("up", &up), ("more", &more)]).text());
    client.wait_for_tool("more__more").await;
    assert_eq!(up.spawn_count(), 1);
}

#[tokio::test]
async fn a_disabled_server_is_neither_started_nor_listed() {
    let (on, off) = (upstream("echo").await, upstream("echo").await);
    let daemon = with(&[("on", &on)])
        .upstream_with("off", &off, json!({"enabled": false}))
        .await;
    let client = daemon.client_of("on__echo").await;
    assert_eq!(client.tool_names().await, ["on__echo"]);
    assert_eq!(off.spawn_count(), 0);
    daemon
        .home()
        .write_config(with(&[("on", &on), ("off", &off)]).text());
    client.wait_for_tool("off__echo").await;
}
