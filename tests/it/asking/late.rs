//! What a server asks and says when no call is in flight, on a connection that a client has to itself.

use super::{able, asking, asks_once, before_with, pid_for, question};
use crate::support::prelude::*;

#[tokio::test]
async fn a_late_question_reaches_the_client_whose_connection_it_comes_on() {
    for (scope, path, tool, message) in [
        ("auto", "/mcp/server/up", "itself", "Who?"),
        ("client", "/mcp/all", "up__itself", "[up] Who?"),
    ] {
        let upstream = asking().await;
        let daemon = before_with(&upstream, json!({ "session_scope": scope })).await;
        if scope == "auto" {
            asks_once(&daemon).await;
        }
        let a = able(&daemon, path).await;
        let mut stream = a.listen().await;
        pid_for(&a, tool).await;
        let unable = daemon.client("/mcp/server/up").await;
        pid_for(&unable, "itself").await;
        upstream.push(&question("late")).await;
        let asked = stream.next_frame("elicitation/create").await;
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        assert_eq!(asked["params"]["message"], message);
        let answer = r#"{"action":"accept","content":{"of":"a"},"n":1.10}"#;
        a.respond(&asked["id"], answer).await;
        let is_sent = |frame: &str| frame.contains(answer);
        upstream.wait_for_frame(is_sent).await;
        // The same question of the other process got no answer of hers.
        upstream
            .wait_for_frame(|frame| frame.contains(r#""id":"late""#) && frame.contains("error"))
            .await;
        // What it did not say it can do is refused for it.
        let strange = r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}"#;
        upstream.push(strange).await;
        let refusal = "cannot be answered: the client does not support it";
        let is_refused = |frame: &str| frame.contains(r#""id":"s""#) && frame.contains(refusal);
        upstream.wait_for_frame(is_refused).await;
    }
}

#[tokio::test]
async fn what_comes_late_is_told_to_the_client_whose_connection_it_comes_on() {
    let line = |level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1.10}}}}"#
        )
    };
    let status = r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t","status":"working"}}"#;
    for upstream in FakeUpstream::of_each_stream() {
        let is_over_pipes = upstream.is_over_pipes();
        let upstream = upstream.tool("form", reply_text("done")).await;
        let daemon = before_with(&upstream, json!({ "session_scope": "client" })).await;
        let (a, b) = (
            able(&daemon, "/mcp/server/up").await,
            able(&daemon, "/mcp/all").await,
        );
        let mut streams = [a.listen().await, b.listen().await];
        a.call("form", "{}").await.result();
        b.call("up__form", "{}").await.result();
        // Each process says it, so each client hears it once.
        if is_over_pipes {
            upstream.wait_for_children(2).await;
        }
        for (method, frame) in [
            ("notifications/message", &*line("debug")),
            ("notifications/tasks/status", status),
        ] {
            upstream.push(frame).await;
            for stream in &mut streams {
                assert_eq!(stream.next_frame(method).await, frame);
            }
        }
        let level = a.request("logging/setLevel", r#"{"level":"error"}"#).await;
        level.result();
        upstream.wait_for("logging/setLevel").await;
        a.call("form", "{}").await.result();
        for level in ["debug", "error"] {
            upstream.push(&line(level)).await;
        }
        let heard = streams[0].next_frame("notifications/message").await;
        assert_eq!(heard, line("error"), "from its level on");
        drop((a, b));
    }
}
