//! The demo server on its own: what it does beside the tools that `cli/transcripts/demo.txt` shows.

use tokio::process::Command;

use crate::support::prelude::*;

/// A demo server with which `revision` has been negotiated.
async fn speaking(revision: &str) -> PipeClient {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
    command.arg("demo-server");
    let mut demo = PipeClient::start_command(command);
    let opened = demo.open_speaking(revision).await.value();
    assert_eq!(opened["protocolVersion"], revision);
    demo
}

#[tokio::test]
async fn a_slow_call_reports_progress_and_delays_nobody() {
    let mut demo = speaking("2025-11-25").await;
    let slow = r#"{"name":"slow_count","arguments":{"seconds":2},"_meta":{"progressToken":"t"}}"#;
    let slow = demo.ask("tools/call", slow).await;
    demo.request("ping", "{}").await.result();
    assert_eq!(demo.notices, [""; 0], "the ping overtakes the count");
    for second in 1..=2 {
        let progress = demo.notice("notifications/progress").await;
        let progress: Value = serde_json::from_str(&progress).expect("JSON");
        is_like!(progress["params"], { "progressToken": "t", "progress": second, "total": 2 });
    }
    assert_eq!(demo.answer(&slow).await.text(), "Counted to 2.");
    assert!(demo.leave().await.success());
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer() {
    let mut demo = speaking("2025-11-25").await;
    let slow = r#"{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"slow_count","arguments":{"seconds":60}}}"#;
    demo.send(slow).await;
    demo.notify("notifications/cancelled", r#"{"requestId":"slow"}"#)
        .await;
    let echoed = demo.call("echo", r#"{"text":"still here"}"#).await;
    assert_eq!(echoed.text(), "still here");
    demo.close();
    assert_eq!(demo.line().await, None, "nothing follows the last answer");
    assert!(demo.wait().await.success());
}
