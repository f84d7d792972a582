//! `/metrics`: what is counted, and who may read it.

use crate::support::prelude::*;

const KEY: &str = "a-key-that-a-person-chose";

async fn read(daemon: &TestDaemon, headers: &[(&str, &str)]) -> HttpAnswer {
    http::send(daemon.address(), "GET", "/metrics", headers, "").await
}

#[tokio::test]
async fn calls_are_counted_by_server_tool_and_outcome() {
    let server = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .upstream("up", &server)
        .entry("off", json!({ "command": "true", "enabled": false }))
        .await;
    let client = daemon.client_of("up__echo").await;
    for _ in 0..3 {
        client.call("up__echo", "{}").await.result();
    }
    client.call("up__made_up_by_a_client", "{}").await;
    client.call("retrieve_tools", r#"{"query":"echo"}"#).await;
    let expected = [
        r#"mcpproxy_calls_total{server="up",tool="echo",method="tools/call",outcome="ok"} 3"#,
        r#"mcpproxy_calls_total{server="",tool="",method="tools/call",outcome="invalid"} 1"#,
        r#"mcpproxy_calls_total{server="",tool="retrieve_tools",method="tools/call",outcome="ok"} 1"#,
        r#"mcpproxy_call_duration_seconds_count{server="up"} 3"#,
        r#"mcpproxy_server_events_total{server="up",event="ready"} 1"#,
        r#"mcpproxy_servers{state="ready"} 1"#,
        r#"mcpproxy_servers{state="disabled"} 1"#,
        "mcpproxy_tools 1",
    ];
    // What is counted is counted a moment later.
    until_async("all that happened is counted", async || {
        let answer = read(&daemon, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let all = answer.text();
        lacks!(all, "made_up");
        let is_there = |line: &&str| all.lines().any(|found| found == *line);
        expected.iter().all(is_there).then_some(())
    })
    .await;
    let answer = read(&daemon, &[]).await;
    let kind = answer.header("content-type");
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
}

#[tokio::test]
async fn whoever_is_not_of_this_machine_needs_the_key() {
    let config = json!({ "api_key": KEY });
    let daemon = TestDaemon::builder().config(config).await;
    let from_afar = ("x-forwarded-for", "192.0.2.7");
    for (headers, status) in [
        (&[][..], 200),
        (&[from_afar], 401),
        (&[("forwarded", "for=192.0.2.7")], 401),
        (&[from_afar, ("x-api-key", "another")], 401),
        (&[from_afar, ("x-api-key", KEY)], 200),
    ] {
        let answer = read(&daemon, headers).await;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text());
    }
    let foreign = read(&daemon, &[("host", "attacker.example")]).await;
    assert_eq!(foreign.status, 403, "{}", foreign.text());
}
