//! Sections 2.2, 2.3 and 5.1: every parameter is checked, and every error names the parameter.

use super::{call, with};
use crate::support::prelude::*;

#[tokio::test]
async fn arguments_reach_the_tool_under_every_name_that_says_what_they_are() {
    let (upstream, _daemon, client) =
        with(FakeUpstream::stdio().tool("echo", echo()), "up__echo").await;
    for args in [
        r#""args":{"n":1.10}"#,
        r#""arguments":{"n":1.10}"#,
        r#""args":"{\"n\":1.10}""#,
        r#""args_json":"{\"n\":1.10}""#,
    ] {
        let arguments = format!(r#"{{"action":"call","type":"tool","path":"up__echo",{args}}}"#);
        client.call("proxy", &arguments).await.result();
    }
    for call in upstream.received("tools/call") {
        has!(call, r#""name":"echo""#);
        has!(call, r#""arguments":{"n":1.10}"#);
    }
    // Without arguments there are none: servers that hold them against a schema want an object.
    let bare = r#"{"action":"call","type":"tool","path":"up__echo"}"#;
    client.call("proxy", bare).await.result();
    let calls = upstream.received("tools/call");
    assert_eq!(calls.len(), 5);
    has!(calls[4], r#""arguments":{}"#);
    lacks!(calls[4], "action");
    let reply = call(&client, "tool", "up__echo", json!({})).await;
    assert_eq!(reply.value()["structuredContent"], json!({}));
}
