//! What passes between a client and us, the same by either way.

use std::time::Duration;

use super::{ALONE, BRIDGE, builder, opened};
use crate::support::prelude::*;

#[tokio::test]
async fn lists_and_results_pass_byte_for_byte() {
    let odd = r#"{"content":[{"type":"text","text":"\u00e9"}],"n":1.10,"big":12345678901234567890123,"_meta":{"b":1,"a":2}}"#;
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio().tool("odd", reply(odd)).await;
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        let initialized = client.open().await.value();
        assert_eq!(initialized["protocolVersion"], "2025-06-18");
        assert_eq!(initialized["serverInfo"]["name"], "mcpproxy");
        client.wait_for_tool("up__odd").await;
        assert_eq!(client.call("up__odd", "{}").await.result(), odd);
        let unknown = client.call("up__even", "{}").await.error_value();
        assert_eq!(unknown["code"], -32602);
        assert!(client.leave().await.success());
    }
}

/// Node gives its children sockets, not pipes.
#[tokio::test]
async fn sockets_do_as_well_as_pipes() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::{fd::OwnedFd, unix::net::UnixStream};

    let upstream = FakeUpstream::stdio().await;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let (mut stdin, theirs_in) = UnixStream::pair().expect("sockets");
        let (stdout, theirs_out) = UnixStream::pair().expect("sockets");
        let mut command = program(&home, arguments);
        command
            .stdin(OwnedFd::from(theirs_in))
            .stdout(OwnedFd::from(theirs_out));
        let mut child = command.kill_on_drop(true).spawn().expect("it starts");
        drop(command);
        let answered = tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(stdout).lines();
            for id in 1..4 {
                let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
                writeln!(stdin, "{ping}").expect("it reads");
                let line = lines.next().expect("an answer").expect("text");
                assert_eq!(
                    line,
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
                );
            }
            drop(stdin);
            assert!(lines.next().is_none());
        });
        within("answers", answered).await.expect("no panic");
        let status = within("the end", child.wait()).await.expect("our child");
        assert!(status.success());
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were_written() {
    let upstream = FakeUpstream::stdio().await;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        for id in [r#""a\u0062""#, "1.0", "-3", "\"\"", "90071992547409931"] {
            client
                .send(&format!(r#"{{"method":"ping","id":{id},"jsonrpc":"2.0"}}"#))
                .await;
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(client.answer(id).await.frame, expected);
        }
    }
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_the_next_one_too() {
    let upstream = FakeUpstream::stdio().await;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        for (line, id, code) in [
            ("nonsense", "null", -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"#, "null", -32700),
            (r#"{"id":1,"method":"ping"}"#, "1", -32600),
            ("[]", "null", -32600),
            ("7", "null", -32600),
        ] {
            client.send(line).await;
            assert_eq!(
                client.answer(id).await.error_value()["code"],
                code,
                "{line}"
            );
        }
        let half = r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\ud800"}}"#;
        client.send(half).await;
        assert_eq!(client.answer("9").await.error_value()["code"], -32600);
        client.send("\n  \r").await;
        client.send(r#"{"jsonrpc":"2.0","method":"ping"}"#).await;
        client.request("ping", "{}").await.result();
        assert_eq!(client.notices, [""; 0]);
    }
}

#[tokio::test]
async fn a_line_that_is_too_large_fails_the_request_it_is() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        let text = "x".repeat(33 << 20);
        let arguments = format!(r#"{{"text":"{text}"}}"#);
        let error = client.call("up__echo", &arguments).await.error_value();
        assert_eq!(error["code"], -32600);
        has!(error["message"], "32 MiB");
        client.request("ping", "{}").await.result();
    }
}

#[tokio::test]
async fn requests_run_at_once_and_notices_come_before_their_answer() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio()
            .tool("slow", gate("go").then(reply_text("late")))
            .tool(
                "work",
                progress(3).then(gate("go")).then(reply_text("done")),
            )
            .await;
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        client.wait_for_tool("up__slow").await;
        let slow = client.ask_to_call("up__slow").await;
        let params = r#"{"name":"up__work","arguments":{},"_meta":{"progressToken":"t"}}"#;
        let work = client.ask("tools/call", params).await;
        upstream.wait_for_count("tools/call", 2).await;
        client.request("ping", "{}").await.result();
        for n in 1..=3 {
            let notice = client.notice("notifications/progress").await;
            let said = format!(r#""progressToken":"t","progress":{n},"#);
            assert!(notice.contains(&said), "{notice}");
        }
        upstream.open("go").await;
        assert_eq!(client.answer(&work).await.text(), "done");
        assert_eq!(client.answer(&slow).await.text(), "late");
    }
}

#[tokio::test]
async fn batches_of_the_revision_that_has_them_are_answered_in_one_line() {
    let upstream = FakeUpstream::stdio().await;
    let batch = r#"[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":8,"method":"nothing"}]"#;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        client.open_speaking("2025-03-26").await.result();
        client.send(batch).await;
        let line = client.line().await.expect("an answer");
        let answers: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answers[0], json!({"jsonrpc":"2.0","id":7,"result":{}}));
        assert_eq!(answers[1]["error"]["code"], -32601);
        assert_eq!(answers.as_array().map(Vec::len), Some(2));

        let mut newer = opened(&home, BRIDGE).await;
        newer.send(batch).await;
        assert_eq!(newer.answer("null").await.error_value()["code"], -32600);
    }
}

#[tokio::test]
async fn requests_in_batches_take_turns_with_all_others() {
    let slow = gate("go").then(reply_text("late"));
    let upstream = FakeUpstream::stdio().tool("slow", slow).await;
    let home = builder(&upstream).home();
    let mut client = PipeClient::start(&home, ALONE);
    client.open_speaking("2025-03-26").await.result();
    client.wait_for_tool("up__slow").await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__slow","arguments":{}}}"#;
    let batch = format!("[{}]", [call; 200].join(","));
    client.send(&batch).await;
    client.send(&batch).await;
    upstream.wait_for_count("tools/call", 256).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(upstream.received("tools/call").len(), 256);
    upstream.open("go").await;
    upstream.wait_for_count("tools/call", 400).await;
}

#[tokio::test]
async fn a_client_that_asks_much_before_it_reads_gets_every_answer() {
    const MANY: usize = 400;
    let upstream = FakeUpstream::stdio()
        .tool("large", oversized(100_000))
        .await;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        client.wait_for_tool("up__large").await;
        let mut ids = Vec::new();
        for _ in 0..MANY {
            ids.push(client.ask_to_call("up__large").await);
        }
        for id in ids {
            assert_eq!(client.answer(&id).await.text().len(), 100_000);
        }
    }
}

#[tokio::test]
async fn what_was_asked_last_is_answered_after_the_end_of_the_input() {
    let upstream = FakeUpstream::stdio().await;
    for arguments in [ALONE, BRIDGE] {
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        // The last line needs no line end, and nobody waits for the answer to the first.
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        client.send(initialize).await;
        let ping = client.ask("ping", "{}").await;
        client.close();
        client.answer("0").await.result();
        client.answer(&ping).await.result();
        assert_eq!(client.line().await, None);
        assert!(client.wait().await.success());
    }
}

#[tokio::test]
async fn what_runs_at_the_end_of_the_input_is_answered_too() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio()
            .tool("slow", gate("go").then(reply_text("late")))
            .await;
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        client.wait_for_tool("up__slow").await;
        let slow = client.ask_to_call("up__slow").await;
        let withdrawn = client.ask_to_call("up__slow").await;
        upstream.wait_for_count("tools/call", 2).await;
        client.withdraw(&withdrawn).await;
        client.close();
        // Longer than a client is given that is gone.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        upstream.open("go").await;
        assert_eq!(client.answer(&slow).await.text(), "late");
        assert!(client.leave().await.success());
    }
}

#[tokio::test]
async fn who_reads_late_gets_every_answer_whole() {
    let text = "x".repeat(300_000);
    let read_late = async |arguments| {
        let upstream = FakeUpstream::stdio().tool("large", reply_text(&text)).await;
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        client.wait_for_tool("up__large").await;
        let mut calls = Vec::new();
        for _ in 0..80 {
            calls.push(client.ask_to_call("up__large").await);
        }
        upstream.wait_for_count("tools/call", 1).await;
        client.close();
        // Longer than anybody is waited for who neither reads nor closes.
        tokio::time::sleep(Duration::from_secs(4)).await;
        for call in calls {
            assert!(client.answer(&call).await.text() == text, "it is whole");
        }
        assert!(client.leave().await.success());
    };
    tokio::join!(read_late(ALONE), read_late(BRIDGE));
}

#[tokio::test]
async fn what_runs_is_withdrawn_when_the_client_is_gone() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio().tool("slow", hang()).await;
        let home = builder(&upstream).home();
        let mut client = opened(&home, arguments).await;
        client.wait_for_tool("up__slow").await;
        client.ask_to_call("up__slow").await;
        upstream.wait_for("tools/call").await;
        client.vanish().await;
        upstream.wait_for("notifications/cancelled").await;
    }
}

#[tokio::test]
async fn the_end_of_a_bridge_withdraws_what_runs() {
    let upstream = FakeUpstream::stdio().tool("slow", hang()).await;
    let home = builder(&upstream).home();
    let mut client = opened(&home, BRIDGE).await;
    client.wait_for_tool("up__slow").await;
    client.ask_to_call("up__slow").await;
    upstream.wait_for("tools/call").await;
    client.close();
    drop(client);
    upstream.wait_for("notifications/cancelled").await;
}
