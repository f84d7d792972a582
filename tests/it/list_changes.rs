//! Changes of lists: each client hears of those that it sees, and of no others.

use crate::support::prelude::*;

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

async fn server() -> Upstream {
    let lists = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}}"#;
    FakeUpstream::stdio()
        .tool("echo", echo())
        .capabilities(lists)
        .await
}

/// Clients that listen, each on its endpoint.
struct Listeners(Vec<(&'static str, TestClient, EventStream)>);

impl Listeners {
    async fn on(daemon: &TestDaemon, endpoints: &[&'static str]) -> Self {
        let all = daemon.client_of("a__echo").await;
        all.wait_for_tool("b__echo").await;
        let mut listeners = Vec::new();
        for endpoint in endpoints {
            let client = daemon.client(endpoint).await;
            let stream = client.listen().await;
            listeners.push((*endpoint, client, stream));
        }
        Self(listeners)
    }

    /// The next thing that each of these hears is this; what did not concern it never came.
    async fn hear_next(&mut self, expected: &[(&str, &str)]) {
        for (endpoint, method) in expected {
            let found = self.0.iter_mut().find(|(known, ..)| known == endpoint);
            let (_, _, stream) = found.expect("a listener");
            let event = stream.next().await.expect("an open stream");
            let frame: Value = serde_json::from_str(&event.data).expect("JSON");
            assert_eq!(frame["method"], *method, "{endpoint}");
        }
    }
}

#[tokio::test]
async fn a_client_hears_of_what_its_endpoint_shows() {
    let (a, b) = (server().await, server().await);
    let daemon = TestDaemon::with_two(&a, &b).await;
    let endpoints = ["/mcp", "/mcp/all", "/mcp/server/a", "/mcp/server/b"];
    let mut listeners = Listeners::on(&daemon, &endpoints).await;
    let tools = ["echo", "new"].map(|name| (plain_tool(name), echo()));
    a.offer(&tools).await;
    listeners
        .hear_next(&[("/mcp/all", TOOLS), ("/mcp/server/a", TOOLS)])
        .await;
    b.offer_more("prompts", r#"{"name":"new"}"#).await;
    let concerned = ["/mcp", "/mcp/all", "/mcp/server/b"];
    listeners
        .hear_next(&concerned.map(|endpoint| (endpoint, PROMPTS)))
        .await;
    // Said, but nothing changed.
    a.offer(&tools).await;
    a.offer_more("resources", r#"{"uri":"lib://new","name":"new"}"#)
        .await;
    let concerned = ["/mcp", "/mcp/all", "/mcp/server/a"];
    listeners
        .hear_next(&concerned.map(|endpoint| (endpoint, RESOURCES)))
        .await;
    b.offer(&tools).await;
    listeners
        .hear_next(&[("/mcp/all", TOOLS), ("/mcp/server/b", TOOLS)])
        .await;
}

#[tokio::test]
async fn an_edit_of_the_settings_is_heard_where_it_shows() {
    let (a, b) = (server().await, server().await);
    let plain = || TestDaemon::builder().upstream("b", &b);
    let daemon = plain().upstream("a", &a).await;
    let endpoints = ["/mcp", "/mcp/all", "/mcp/server/a", "/mcp/server/b"];
    let mut listeners = Listeners::on(&daemon, &endpoints).await;
    let narrowed = plain().upstream_with("a", &a, json!({"disabled_tools": ["echo"]}));
    daemon.home().write_config(narrowed.text());
    listeners
        .hear_next(&[("/mcp/all", TOOLS), ("/mcp/server/a", TOOLS)])
        .await;
    let direct = narrowed.config(json!({"routing_mode": "direct"}));
    daemon.home().write_config(direct.text());
    listeners.hear_next(&[("/mcp", TOOLS)]).await;
    let without = plain().config(json!({"routing_mode": "direct"}));
    let held = without.upstream_with("a", &a, json!({"quarantined": true}));
    daemon.home().write_config(held.text());
    b.offer_more("prompts", r#"{"name":"new"}"#).await;
    listeners
        .hear_next(&[("/mcp", PROMPTS), ("/mcp/server/b", PROMPTS)])
        .await;
}

#[tokio::test]
async fn a_change_that_a_server_tells_in_a_call_is_heard_when_it_is_listed() {
    let grow = || notice(format!(r#"{{"jsonrpc":"2.0","method":"{TOOLS}"}}"#)).then(echo());
    for server in [
        FakeUpstream::stdio(),
        FakeUpstream::sse(),
        FakeUpstream::http(),
        FakeUpstream::http().without_sessions(),
        FakeUpstream::http().speaking("2026-07-28"),
    ] {
        let upstream = server
            .capabilities(r#"{"tools":{"listChanged":true}}"#)
            .tool("grow", grow())
            .await;
        let (_daemon, client) = TestDaemon::before(&upstream, "grow").await;
        let mut stream = client.listen().await;
        let tools = [("grow", grow()), ("new", echo())];
        let tools = tools.map(|(name, behaviour)| (plain_tool(name), behaviour));
        upstream.offer_silently(&tools).await;
        let reply = client.call("up__grow", "{}").await;
        assert_eq!(reply.notices, [""; 0]);
        let event = stream.next().await.expect("an open stream");
        has!(event.data, TOOLS);
        let listed = client.request("tools/list", "{}").await;
        has!(listed.frame, "up__new");
        client.call("up__new", "{}").await.result();
    }
}
