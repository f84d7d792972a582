//! Questions and log lines that do not say which call they belong to, on a connection that clients share: whom they reach, and
//! above all whom they do not.

mod interleavings;

use crate::support::prelude::*;

const LINE: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of a"}}"#;

const QUESTION: &str = r#"{"jsonrpc":"2.0","id":99,"method":"elicitation/create","params":{"message":"of a","requestedSchema":{"type":"object","properties":{}}}}"#;

/// Servers over whose connection everything comes mixed.
fn mixed() -> [FakeUpstream; 2] {
    [FakeUpstream::stdio(), FakeUpstream::sse()].map(with_tools)
}

/// These, and one that says on a stream of its own what it says with no call.
fn shared() -> [FakeUpstream; 3] {
    let [stdio, sse] = mixed();
    let http = FakeUpstream::http().answering(HttpAnswers::Sse);
    [stdio, sse, with_tools(http)]
}

fn with_tools(upstream: FakeUpstream) -> FakeUpstream {
    upstream
        .tool("quick", reply_text("done"))
        .tool("hang", hang())
        .tool("wait", gate("go").then(reply_text("done")))
        .tool(
            "form",
            ask(
                "elicitation/create",
                r#"{"message":"?","requestedSchema":{}}"#,
            )
            .then(reply_with_answer()),
        )
}

async fn two_clients(upstream: &Upstream) -> (TestDaemon, TestClient, TestClient) {
    two_clients_of(upstream, "shared").await
}

async fn two_clients_of(upstream: &Upstream, scope: &str) -> (TestDaemon, TestClient, TestClient) {
    let entry = json!({ "session_scope": scope });
    let builder = TestDaemon::builder().upstream_with("up", upstream, entry);
    let daemon = builder.await;
    let able = || {
        TestClient::speaking("2025-11-25")
            .declaring(r#"{"elicitation":{}}"#)
            .connect(&daemon, "/mcp/server/up")
    };
    let (a, b) = (able().await, able().await);
    b.wait_for_tool("wait").await;
    (daemon, a, b)
}

#[tokio::test]
async fn what_comes_after_an_answer_reaches_the_client_that_got_it() {
    for upstream in shared() {
        let upstream = upstream.await;
        let (_daemon, a, b) = two_clients(&upstream).await;
        assert_eq!(a.call("quick", "{}").await.text(), "done");
        let late = async {
            upstream.wait_for_count("tools/call", 2).await;
            upstream.push(LINE).await;
            upstream.open("go").await;
        };
        let (reply, ()) = tokio::join!(a.call("wait", "{}"), late);
        assert_eq!(reply.notices, [LINE]);
        drop(b);
    }
}

/// The owner of a connection can be meant at any time.
#[tokio::test]
async fn a_client_that_is_alone_on_a_shared_connection_is_reached_outside_of_its_calls() {
    for scope in ["auto", "shared"] {
        for upstream in shared() {
            let upstream = upstream.await;
            let (_daemon, a, _b) = two_clients_of(&upstream, scope).await;
            let mut stream = a.listen().await;
            assert_eq!(a.call("quick", "{}").await.text(), "done");
            upstream.push(LINE).await;
            assert_eq!(stream.next_frame("notifications/message").await, LINE);
            upstream.push(QUESTION).await;
            let asked = stream.next_frame("elicitation/create").await;
            let asked: Value = serde_json::from_str(&asked).expect("JSON");
            a.respond(&asked["id"], r#"{"action":"decline"}"#).await;
            let answer = upstream
                .wait_for_frame(|frame| frame.contains(r#""id":99"#))
                .await;
            has!(answer, "decline");
        }
    }
}

/// Without a session a client is known by its connection.
#[tokio::test]
async fn earlier_calls_over_the_same_connection_are_no_strangers() {
    for upstream in shared() {
        let upstream = upstream.await;
        let (daemon, ..) = two_clients(&upstream).await;
        let able = json!({ "elicitation": {} });
        let client = || ModernClient::able_to(&daemon, "/mcp/server/up", &able).logging_at("debug");
        let (one, other) = (
            client().on_one_connection().await,
            client().on_one_connection().await,
        );
        for n in 0..2 {
            assert_eq!(one.call("quick", "{}").await.text(), "done");
            let late = async {
                upstream.wait_for_count("tools/call", 2 * n + 2).await;
                upstream.push(LINE).await;
                upstream.open("go").await;
            };
            let (reply, ()) = tokio::join!(one.call("wait", "{}"), late);
            assert_eq!(reply.notices, [LINE], "call {n}");
            upstream.shut("go").await;
        }
        // Of the same name, and over another connection: somebody else.
        let late = async {
            upstream.wait_for_count("tools/call", 5).await;
            upstream.push(QUESTION).await;
            let refusal = upstream
                .wait_for_frame(|frame| frame.contains(r#""id":99"#))
                .await;
            has!(refusal, "several clients have used");
            upstream.push(LINE).await;
            upstream.open("go").await;
        };
        let (reply, ()) = tokio::join!(other.call("wait", "{}"), late);
        assert!(reply.notices.is_empty(), "{:?}", reply.notices);
    }
}

#[tokio::test]
async fn the_first_question_over_a_connection_reaches_its_client() {
    for upstream in shared() {
        let upstream = upstream.await;
        let (daemon, ..) = two_clients(&upstream).await;
        let able = json!({ "elicitation": {} });
        let client = ModernClient::able_to(&daemon, "/mcp/server/up", &able);
        let client = client.on_one_connection().await;
        assert_eq!(client.call("quick", "{}").await.text(), "done");
        let asked = client.call("form", "{}").await.value();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
    }
}
