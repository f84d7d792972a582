//! The language of the tests itself: fake upstreams driven directly, over both transports.

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::support::{
    behaviours::*,
    client::{TestClient, call_params, entries},
    fake_upstream::{FakeUpstream, Upstream, plain_tool},
    patience::within,
    record::How,
    script::{HttpAnswers, UnknownMethods},
    sse::{Event, Parser},
};

const ODD: &str = r#"{"content":[],"structuredContent":{"b":1.10,"a":12345678901234567890123,"big":1e400,"e":"\u00e9\/"},"x":[ 1 , 2 ]}"#;

/// A fake on stdio, driven by hand.
struct Pipe {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Pipe {
    fn to(upstream: &Upstream) -> Self {
        let (command, arguments) = upstream.command_line();
        let mut child = Command::new(command)
            .args(arguments)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the fake starts");
        Self {
            stdin: child.stdin.take().expect("piped"),
            lines: BufReader::new(child.stdout.take().expect("piped")).lines(),
            child,
        }
    }

    async fn send(&mut self, frame: &str) {
        let line = format!("{frame}\n");
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.expect("the fake listens");
    }

    async fn request(&mut self, id: u32, method: &str, params: &str) {
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.send(&frame).await;
    }

    async fn line(&mut self) -> Option<String> {
        within("a line of the fake", self.lines.next_line())
            .await
            .expect("lines of text")
    }
}

#[tokio::test]
async fn a_child_plays_its_script_byte_for_byte() {
    let upstream = FakeUpstream::stdio()
        .instructions("Be kind.")
        .raw_tool(r#"{"name":"odd","z":1.10,"a":{}}"#, reply(ODD))
        .banner("Welcome!")
        .start()
        .await;
    let mut pipe = Pipe::to(&upstream);
    assert_eq!(pipe.line().await.as_deref(), Some("Welcome!"));

    pipe.request(1, "initialize", "{}").await;
    let initialized = pipe.line().await.expect("an answer");
    assert!(
        initialized.contains(r#""protocolVersion":"2025-06-18""#),
        "{initialized}"
    );
    assert!(
        initialized.contains(r#""instructions":"Be kind.""#),
        "{initialized}"
    );

    pipe.request(2, "tools/list", "{}").await;
    let list = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"odd","z":1.10,"a":{}}]}}"#;
    assert_eq!(pipe.line().await.as_deref(), Some(list));

    pipe.request(3, "tools/call", &call_params("odd", "{}"))
        .await;
    let answer = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{ODD}}}"#);
    assert_eq!(pipe.line().await, Some(answer));

    let call =
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"odd","arguments":{}}}"#;
    assert_eq!(upstream.received("tools/call"), [call]);
    assert_eq!(upstream.pids(), [pipe.child.id().expect("it runs")]);
}

#[tokio::test]
async fn a_child_ends_with_its_stdin_or_when_told() {
    let upstream = FakeUpstream::stdio()
        .tool("die", exit())
        .tool("fine", reply_text("fine"))
        .start()
        .await;
    let mut dying = Pipe::to(&upstream);
    dying
        .request(1, "tools/call", &call_params("die", "{}"))
        .await;
    assert_eq!(dying.line().await, None);

    let mut crashing = Pipe::to(&upstream);
    crashing
        .request(1, "tools/call", &call_params("fine", "{}"))
        .await;
    assert!(crashing.line().await.is_some());
    assert_eq!(upstream.alive().len(), 1);
    upstream.crash().await;
    assert_eq!(crashing.line().await, None);

    let leaving = Pipe::to(&upstream);
    upstream.wait_for_children(1).await;
    let Pipe {
        mut child, stdin, ..
    } = leaving;
    drop(stdin);
    let status = within("the fake to end", child.wait()).await;
    assert!(status.expect("it ran").success());
    assert_eq!(upstream.spawn_count(), 3);
}

#[tokio::test]
async fn gates_notices_and_new_tools_work_at_any_time() {
    let upstream = FakeUpstream::stdio()
        .tool("late", gate("go").then(reply_text("now")))
        .noise("~ noise ~")
        .start()
        .await;
    let mut pipe = Pipe::to(&upstream);
    pipe.request(1, "tools/call", &call_params("late", "{}"))
        .await;
    upstream.wait_for("tools/call").await;
    pipe.request(2, "ping", "{}").await;
    assert!(pipe.line().await.expect("a pong").contains(r#""id":2"#));
    assert_eq!(pipe.line().await.as_deref(), Some("~ noise ~"));
    upstream.open("go").await;
    assert!(pipe.line().await.expect("an answer").contains("now"));
    assert_eq!(pipe.line().await.as_deref(), Some("~ noise ~"));

    upstream.offer(&[(plain_tool("fresh"), echo())]).await;
    assert!(
        pipe.line()
            .await
            .expect("a notice")
            .contains("list_changed")
    );
    assert_eq!(pipe.line().await.as_deref(), Some("~ noise ~"));
    pipe.request(3, "tools/call", &call_params("fresh", r#"{"a":1.0}"#))
        .await;
    let echoed = pipe.line().await.expect("an echo");
    assert!(
        echoed.contains(r#""structuredContent":{"a":1.0}"#),
        "{echoed}"
    );
}

#[tokio::test]
async fn lists_come_in_pages_and_unknown_methods_meet_their_fate() {
    let upstream = FakeUpstream::http()
        .tool("a", echo())
        .tool("b", echo())
        .tool("c", echo())
        .pages_of(2)
        .cyclic_pages()
        .start()
        .await;
    let client = TestClient::speaking("2025-06-18")
        .connect(&upstream, "/mcp")
        .await;
    let first = client.request("tools/list", "{}").await;
    assert_eq!(
        entries(first.result(), "tools"),
        [plain_tool("a"), plain_tool("b")]
    );
    assert_eq!(first.value()["nextCursor"], "2");
    let second = client.request("tools/list", r#"{"cursor":"2"}"#).await;
    assert_eq!(entries(second.result(), "tools"), [plain_tool("c")]);
    assert_eq!(second.value()["nextCursor"], "0");
    assert_eq!(
        client.request("server/discover", "{}").await.error_code(),
        -32601
    );

    let fatal = FakeUpstream::stdio()
        .unknown_methods(UnknownMethods::Fatal)
        .start()
        .await;
    let mut pipe = Pipe::to(&fatal);
    pipe.request(1, "server/discover", "{}").await;
    assert_eq!(pipe.line().await, None);
}

#[tokio::test]
async fn http_answers_come_whole_streamed_or_in_pieces() {
    for answers in [
        HttpAnswers::Json,
        HttpAnswers::Sse,
        HttpAnswers::SseInPieces(1),
    ] {
        let upstream = FakeUpstream::http()
            .tool("odd", reply(ODD))
            .tool("steps", progress(2).then(reply_text("done")))
            .tool("bad", error(r#"{"code":-1,"message":"no","data":1.10}"#))
            .answering(answers)
            .start()
            .await;
        let client = TestClient::speaking("2025-06-18")
            .connect(&upstream, "/mcp")
            .await;
        assert_eq!(client.session(), "fake-session-1");
        let reply = client.call("odd", "{}").await;
        assert_eq!(reply.result(), ODD);
        assert_eq!(reply.streamed, answers != HttpAnswers::Json);
        let reply = client.call_with_progress("steps", "{}", r#""t-1""#).await;
        assert_eq!(reply.text(), "done");
        assert_eq!(reply.notices.len(), 2);
        assert!(reply.notices[0].contains(r#""progressToken":"t-1""#));
        let reply = client.call("bad", "{}").await;
        assert_eq!(reply.error(), r#"{"code":-1,"message":"no","data":1.10}"#);
        let seen = upstream.wait_for("tools/call").await;
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"));
    }
}

#[tokio::test]
async fn http_sessions_end_when_deleted_or_forgotten() {
    let upstream = FakeUpstream::http().tool("echo", echo()).start().await;
    let client = TestClient::speaking("2025-06-18")
        .connect(&upstream, "/mcp")
        .await;
    let mut stream = client.listen().await;
    upstream
        .push(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)
        .await;
    stream.next_frame("notifications/x").await;
    upstream.forget_sessions(400);
    assert_eq!(stream.next().await, None);
    assert_eq!(client.call("echo", "{}").await.status, 400);

    let client = TestClient::speaking("2025-06-18")
        .connect(&upstream, "/mcp")
        .await;
    upstream.forget_sessions(404);
    assert_eq!(client.call("echo", "{}").await.status, 404);

    let client = TestClient::speaking("2025-06-18")
        .connect(&upstream, "/mcp")
        .await;
    assert_eq!(client.delete().await.status, 200);
    assert_eq!(
        upstream
            .wait_for_event(How::Delete)
            .await
            .header("mcp-session-id"),
        Some(client.session())
    );
    assert_eq!(client.call("echo", "{}").await.status, 404);
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_over_http() {
    for answers in [HttpAnswers::Json, HttpAnswers::Sse] {
        let upstream = FakeUpstream::http()
            .tool("hang", hang())
            .answering(answers)
            .start()
            .await;
        let client = TestClient::speaking("2025-06-18")
            .connect(&upstream, "/mcp")
            .await;
        let params = call_params("hang", "{}");
        tokio::select! {
            reply = client.request("tools/call", &params) => panic!("{reply:?}"),
            _ = upstream.wait_for("tools/call") => (),
        }
        let abandoned = upstream.wait_for_event(How::Abandoned).await;
        assert_eq!(abandoned.method(), "tools/call");
    }
}

#[tokio::test]
async fn an_upstream_asks_and_repeats_the_answer() {
    let upstream = FakeUpstream::http()
        .tool("ask", ask("roots/list", "{}").then(reply_with_answer()))
        .start()
        .await;
    let client = TestClient::speaking("2025-06-18")
        .connect(&upstream, "/mcp")
        .await;
    let mut exchange = client.start("tools/call", &call_params("ask", "{}")).await;
    let question = exchange.next().await.expect("a question");
    let question: serde_json::Value = serde_json::from_str(&question).expect("a frame");
    assert_eq!(question["method"], "roots/list");
    assert_eq!(
        client
            .respond(&question["id"], r#"{"roots":[]}"#)
            .await
            .status,
        202
    );
    let reply = exchange.finish().await;
    assert!(
        reply.text().contains(r#""result":{"roots":[]}"#),
        "{}",
        reply.frame
    );
}

#[test]
fn event_streams_read_as_the_standard_says() {
    let whole = "event: message\r\ndata: a\r\ndata:b\r\n\r\n: ping\n\nid: 7\ndata: c\n\r\n";
    let expected = [
        event("message", None, "a\nb"),
        event("message", Some("7"), "c"),
    ];
    for size in 1..whole.len() {
        let mut parser = Parser::default();
        let pieces = whole.as_bytes().chunks(size);
        let events: Vec<Event> = pieces.flat_map(|piece| parser.feed(piece)).collect();
        assert_eq!(events, expected, "in pieces of {size}");
    }
}

fn event(kind: &str, id: Option<&str>, data: &str) -> Event {
    Event {
        kind: kind.to_owned(),
        id: id.map(str::to_owned),
        data: data.to_owned(),
    }
}
