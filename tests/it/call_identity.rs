//! Log lines tell which call they belong to, from the moment that a client's request is read to its server.

use crate::support::prelude::*;

const WARNING: &str = "call made with wrong call type";

/// A server whose tool is not as harmless as callers may claim here, and the daemon for it.
async fn lenient() -> (Upstream, Builder) {
    let tool =
        r#"{"name":"change","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#;
    let upstream = FakeUpstream::stdio()
        .raw_tool(tool, gate("go").then(reply_text("done")))
        .await;
    let lenient = json!({
        "intent_declaration": { "strict_server_validation": false },
    });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(lenient);
    (upstream, daemon)
}

/// The lines of the warning that two calls cause which run at the same time.
async fn lines(upstream: &Upstream, daemon: &DaemonProcess) -> Vec<String> {
    let (a, b) = (
        daemon.client("/mcp/call").await,
        daemon.client("/mcp/call").await,
    );
    daemon.client_of("up__change").await;
    let declared = r#"{"name":"up:change","args":{}}"#;
    let both = async {
        tokio::join!(
            a.call("call_tool_read", declared),
            b.call("call_tool_read", declared)
        )
    };
    let opened = async {
        upstream.wait_for_count("tools/call", 2).await;
        upstream.open("go").await;
    };
    let ((one, other), ()) =
        within("the calls", Box::pin(async { tokio::join!(both, opened) })).await;
    assert_eq!(
        (one.text(), other.text()),
        ("done".to_owned(), "done".to_owned())
    );
    until("both warnings", || {
        let log = daemon.log();
        let lines = log.lines().filter(|line| line.contains(WARNING));
        let lines: Vec<_> = lines.map(str::to_owned).collect();
        (lines.len() == 2).then_some(lines)
    })
    .await
}

#[tokio::test]
async fn lines_of_two_calls_name_different_calls() {
    let (upstream, daemon) = lenient().await;
    let daemon = daemon
        .spawn_with_args(&["--log-format", "json", "--log-level", "warn"])
        .await;
    let id = |line: &String| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let call = &line["span"];
        assert_eq!(call["name"], "call", "{line}");
        assert_eq!(call["method"], "tools/call", "{line}");
        // The call that the built-in tool makes is one of its own.
        assert_eq!(call["parent"], line["spans"][0]["id"], "{line}");
        assert_ne!(call["parent"], call["id"], "{line}");
        assert_eq!(call["caller"], "anonymous", "{line}");
        call["id"].as_str().expect("an id").to_owned()
    };
    let ids: Vec<_> = Box::pin(lines(&upstream, &daemon))
        .await
        .iter()
        .map(id)
        .collect();
    assert_ne!(ids[0], ids[1]);
}
