//! A tool that a trusted server did not list before, where those wait for a person.

use super::{LISTS, approve, held};
use crate::support::prelude::*;

/// A server that lists one tool, and then `wave`, too.
async fn house(settings: Value, more: Value) -> (Upstream, TestDaemon, TestClient) {
    let server = FakeUpstream::stdio()
        .capabilities(LISTS)
        .tool("echo", echo());
    let server = server.await;
    let builder = TestDaemon::builder().config(settings);
    let daemon = builder.upstream_with("up", &server, more).await;
    let client = daemon.client_of("up__echo").await;
    let both = [(plain_tool("echo"), echo()), (plain_tool("wave"), echo())];
    server.offer(&both).await;
    (server, daemon, client)
}

async fn until_known(daemon: &TestDaemon) {
    until_async("the new tool to be known", async || {
        let path = "/api/v1/servers/up/inspect";
        let shown = daemon.rest("GET", path, "").await;
        shown.text().contains("\"wave\"").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_new_tool_waits_where_its_server_or_all_of_them_say_so() {
    let (all, none) = (json!({ "new_tools": "hold" }), json!({}));
    let allow = json!({ "tool_changes": "allow", "new_tools": "hold" });
    for (settings, more, is_held) in [
        (&none, &all, true),
        (&all, &none, true),
        (&none, &allow, true),
        (&all, &json!({ "new_tools": "allow" }), false),
        (&none, &none, false),
    ] {
        let (server, daemon, client) = house(settings.clone(), more.clone()).await;
        until_known(&daemon).await;
        let what = format!("{settings} {more}");
        let waits = vec![("wave".to_owned(), "new".to_owned())];
        let expected = if is_held { waits } else { vec![] };
        assert_eq!(held(&daemon, "up").await, expected, "{what}");
        let called = client.call("up__wave", "{}").await;
        if is_held {
            assert_eq!(called.failure()["code"], "tool_held", "{what}");
            assert_eq!(client.tool_names().await, ["up__echo"], "{what}");
            assert_eq!(server.received("tools/call").len(), 0, "{what}");
            approve(&daemon, "up", &["wave"]).await;
        }
        let called = client.call("up__wave", "{}").await;
        has!(called.frame, "result", "{what}");
        assert_eq!(client.tool_names().await, ["up__echo", "up__wave"]);
    }
}
