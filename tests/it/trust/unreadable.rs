//! Definitions that cannot be read: they are seen with their reason, and nobody has them.

use super::inspected;
use crate::support::prelude::*;

#[tokio::test]
async fn what_cannot_be_read_is_shown_and_cannot_be_called() {
    let half = plain_tool("half").replace("The tool", r"Half \ud800 a character");
    let server = FakeUpstream::stdio()
        .raw_tool(&half, echo())
        .tool("whole", echo())
        .await;
    let builder = TestDaemon::builder();
    // Where changes are allowed, calls of what no list has are sent on.
    let builder = builder.upstream_with("up", &server, json!({ "tool_changes": "allow" }));
    let daemon = builder.await;
    let client = daemon.client_of("up__whole").await;
    let native = TestClient::stateless(&daemon, "/mcp/server/up");
    assert_eq!(client.tool_names().await, ["up__whole"]);
    let things = inspected(&daemon, "up").await["things"].clone();
    let things = things.as_array().expect("a list");
    let found = things.iter().find(|thing| thing["name"] == "half");
    let found = found.expect("it is shown");
    is_like!(found, { "kind": "tool", "held": false, "reason": "unreadable" });
    has!(found["explanation"], "half a character");
    let unheard = native.call("unheard_of", "{}").await;
    has!(unheard.frame, "unknown: unheard_of");
    for (client, tool, arguments) in [
        (&client, "up__half", json!({})),
        (&native, "half", json!({})),
        (
            &client,
            "call_tool_destructive",
            json!({ "name": "up:half" }),
        ),
        (
            &client,
            "call_tool",
            json!({ "server": "up", "tool": "half" }),
        ),
    ] {
        let frame = client.call(tool, &arguments.to_string()).await.frame;
        lacks!(frame, "\"isError\":false");
        has!(frame, "half");
    }
    assert_eq!(server.received("tools/call").len(), 1);
}
